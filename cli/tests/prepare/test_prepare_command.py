"""``qwen3090 prepare``: options reach the library, errors end as one message, help stays light."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from qwen3090.main import cli

prepare = pytest.importorskip("qwen3090_prepare")


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, ["prepare", *map(str, words)])


def test_options_reach_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def run(base: Path, out: Path, **options: Any) -> Any:
        seen.update(options, base=base, out=out)
        return prepare.PrepareResult(out, "prepared", (), {}, 5, 1.0, 7)

    monkeypatch.setattr(prepare, "run", run)
    words = ["base", "--out", tmp_path, "--step", "embed", "--step", "mtp", "--head-bits", "4"]
    done = call(*words, "--threads", "3", "--draft-vocab", "ids.pt", "--force")
    assert done.exit_code == 0, done.output
    assert "prepared:" in done.output
    seen.pop("progress")
    assert seen == {
        "base": Path("base"),
        "out": tmp_path,
        "steps": ("embed", "mtp"),
        "head_bits": 4,
        "embed_bits": 8,
        "mtp_bits": 8,
        "draft_vocab": Path("ids.pt"),
        "overlay": None,
        "threads": 3,
        "force": True,
    }


def test_bad_input_is_one_message_with_a_next_step(tmp_path: Path) -> None:
    done = call(tmp_path / "nowhere", "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "no such directory" in done.output and "next:" in done.output
    assert list(tmp_path.iterdir()) == []


def test_usage(tmp_path: Path) -> None:
    assert call("--out", tmp_path).exit_code == 2
    assert call("base", "--out", tmp_path, "--step", "nothing").exit_code == 2
    assert call("base", "--out", tmp_path, "--head-bits", "5").exit_code == 2
    assert call("base").exit_code == 2


def test_check_fails_on_what_is_no_checkpoint(tmp_path: Path) -> None:
    done = call("--check", "--out", tmp_path)
    assert done.exit_code == 1
    assert "no *.safetensors file" in done.output


def test_the_steps_are_the_librarys() -> None:
    from qwen3090.commands.prepare import STEPS

    assert STEPS == prepare.STEPS


def test_help_imports_neither_torch_nor_numpy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from qwen3090.main import cli;"
        "r = CliRunner().invoke(cli, ['prepare', '--help']); assert r.exit_code == 0, r;"
        "print(sorted({'torch', 'numpy', 'vllm'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
