"""A command that hangs, ignores signals or leaves children at its pipes is not waited for."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from qwen3090 import bounded, smi
from qwen3090.bounded import Ran
from qwen3090.doctor import context as context_module
from qwen3090.doctor.context import Context
from qwen3090.doctor.machine import Machine


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_output_and_status(tmp_path: Path) -> None:
    ran = bounded.run([str(script(tmp_path, "x", "echo out; echo err >&2; exit 3"))], 10)
    assert ran == Ran(3, "out\n", "err\n")
    assert bounded.run(["true"], 10).ok


def test_what_cannot_be_started(tmp_path: Path) -> None:
    assert bounded.run(["no-such-program-here"], 10).trouble == "missing"
    (tmp_path / "x").touch()
    assert bounded.run([str(tmp_path / "x")], 10).trouble == "denied"


def test_a_child_that_keeps_the_pipes_open(tmp_path: Path) -> None:
    text = "trap '' TERM INT HUP\necho begun\n(trap '' TERM; sleep 60) &\nsleep 60"
    begun = time.monotonic()
    ran = bounded.run([str(script(tmp_path, "x", text))], 0.5)
    assert time.monotonic() - begun < 5
    assert (ran.status, ran.trouble, ran.out) == (None, "hung", "begun\n")


def test_a_process_that_no_signal_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(bounded.os, "killpg", lambda *_: None)  # as inside a hung driver
    real = subprocess.Popen

    def remember(*args: object, **options: object) -> object:
        started.append(real(*args, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(bounded.subprocess, "Popen", remember)
    begun = time.monotonic()
    assert bounded.run(["sleep", "60"], 0.2).trouble == "hung"
    assert time.monotonic() - begun < 5
    started[0].kill()
    started[0].wait()


def test_doctor_goes_on_when_nvidia_smi_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "nvidia-smi", "trap '' TERM\nsleep 60 & wait")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(context_module, "SMI_SECONDS", 0.3)
    context = Context(Machine())
    begun = time.monotonic()
    assert isinstance(context.cards, smi.SmiError)
    assert context.cards.kind == "hung"
    assert context.ask("power.limit") == {"power.limit": None}
    assert time.monotonic() - begun < 5


def answers(text: str, status: int = 0) -> smi.Runner:
    def run(_: Sequence[str], __: float) -> Ran:
        return Ran(status, text)

    return run


@pytest.mark.parametrize("text", ["[N/A]", "[Not Supported]", "[Unknown Error]", "N/A", "", "ERR!"])
def test_fields_without_a_value(text: str) -> None:
    (row,) = smi.query(["name", "temperature.gpu"], run=answers(f"RTX 3090, {text}\n"))
    assert row == {"name": "RTX 3090", "temperature.gpu": None}


def test_an_answer_of_another_form() -> None:
    with pytest.raises(smi.SmiError, match="3 fields for 2"):
        smi.query(["a", "b"], run=answers("1, 2, 3\n"))
    with pytest.raises(smi.SmiError, match="XML cannot be read"):
        smi.processes(run=answers("No devices were found\n"))


def test_an_unknown_field_is_told_apart() -> None:
    with pytest.raises(smi.SmiError) as caught:
        smi.query(["a"], run=answers('Field "a" is not a valid field to query.\n', 2))
    assert caught.value.kind == "field"


@pytest.mark.parametrize(
    ("text", "value"), [("0x28", 40.0), ("27.41", 27.41), (None, None), ("0xzz", None), ("x", None)]
)
def test_numbers(text: str | None, value: float | None) -> None:
    assert smi.number(text) == value


def test_the_first_card_of_cuda_is_the_one_asked_for() -> None:
    assert smi.selected({"CUDA_VISIBLE_DEVICES": "1,0"}) == ["-i", "1"]
    assert smi.selected({}) == []
