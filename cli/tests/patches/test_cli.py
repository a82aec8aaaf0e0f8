"""The commands: exit codes, JSON, and errors a user can act on."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from qwen3090.main import cli


def call(lab: Any, *arguments: str | Path) -> Result:
    command = ["patches", str(arguments[0]), "--patches", str(lab.patches)]
    return CliRunner().invoke(cli, [*command, *map(str, arguments[1:])])


def test_life_of_a_tree(standard: Any) -> None:
    tree = standard.tree()
    assert call(standard, "verify", "--tree", tree).exit_code == 1
    done = call(standard, "apply", "--tree", tree)
    assert done.exit_code == 0 and "applied 3 patches: 6 files changed" in done.output
    assert "applied already" in call(standard, "apply", "--tree", tree).output
    verified = json.loads(call(standard, "verify", "--tree", tree, "--json").output)
    assert verified["ok"] and [p["state"] for p in verified["patches"]] == ["applied"] * 3
    listed = json.loads(call(standard, "list", "--tree", tree, "--json").output)
    assert listed["series_hash"] == verified["series_hash"]
    assert listed["patches"][0]["number"] == "0101"
    assert listed["patches"][0]["title"] == "Change a thing."
    out = CliRunner().invoke(cli, ["patches", "unapply", "--tree", str(tree)])
    assert out.exit_code == 0 and "taken out: 6 files changed" in out.output
    assert "missing" in call(standard, "list", "--tree", tree).output


def test_error_has_the_next_command(standard: Any) -> None:
    tree = standard.tree()
    (tree / "vllm/a.py").write_text("other\n")
    done = call(standard, "apply", "--tree", tree)
    assert done.exit_code == 1 and "Traceback" not in done.output
    assert "error: " in done.output and "next: reinstall vLLM" in done.output


def test_check_reads_a_wheel_in_place(lab: Any) -> None:
    files = {"vllm/__init__.py": "", "vllm/m.py": "x = 1\ny = 2\n"}
    lab.patch("0101-x", {"vllm/m.py": "x = 1\ny = 3\n"}, files)
    tree = lab.tree(files=files)
    wheel = lab.root / "vllm-0.28.0-cp38-abi3-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in tree.rglob("*"):
            archive.write(path, path.relative_to(tree).as_posix())
    done = call(lab, "check", wheel)
    assert done.exit_code == 0 and "1 patches fit" in done.output, done.output
    assert call(lab, "check", tree).exit_code == 0
    call(lab, "apply", "--tree", tree)
    again = call(lab, "check", tree)
    assert again.exit_code == 0 and "1 files change" in again.output


def test_check_finds_invalid_python(standard: Any) -> None:
    patch = standard.patches / "0201-second.patch"
    patch.write_text(patch.read_text().replace("+x = 1", "+x = = 1"))
    tree = standard.tree(files={"vllm/__init__.py": ""})
    series = standard.patches / "series"
    edits = patch.read_text().split("diff --git")
    patch.write_text(edits[0] + "diff --git" + edits[2])
    series.write_text("0201-second.patch\n")
    done = call(standard, "check", tree)
    assert done.exit_code == 1 and "makes vllm/new/mod.py invalid Python" in done.output


def test_broken_wheel(standard: Any) -> None:
    wheel = standard.root / "x.whl"
    wheel.write_text("no zip")
    done = call(standard, "check", wheel)
    assert done.exit_code == 1 and "cannot read the wheel" in done.output


def test_export_refresh_lint_table(standard: Any) -> None:
    pristine, work = standard.tree("pristine"), standard.tree("work")
    call(standard, "apply", "--tree", work)
    (work / "vllm/__init__.py").write_text("version = 1\nmore = 2\n")
    fields = ["--what", "W.", "--why", "Y.", "--kind", "wiring", "--upstream", "none"]
    made = call(standard, "export", "0302-last", "--from", pristine, "--to", work, *fields)
    assert made.exit_code == 0 and "made" in made.output, made.output
    assert "every patch" in call(standard, "refresh", "--from", pristine).output
    lint = call(standard, "lint")
    assert lint.exit_code == 1 and "0302-last.patch: header field 'Retires-when:'" in lint.output


@pytest.mark.parametrize("command", ["list", "apply", "verify", "lint"])
def test_help_does_not_need_vllm(command: str) -> None:
    done = CliRunner().invoke(cli, ["patches", command, "--help"])
    assert done.exit_code == 0 and "Usage" in done.output


def test_nothing_heavy_is_imported() -> None:
    import subprocess
    import sys

    import qwen3090

    code = (
        "import sys, qwen3090.commands.patches;"
        "sys.exit(any(m.split('.')[0] in ('torch', 'vllm', 'numpy') for m in sys.modules))"
    )
    root = str(Path(qwen3090.__file__).parent.parent)
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": root}).returncode == 0
