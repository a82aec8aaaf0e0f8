"""``qwen3090 config``: what it prints, its exit status, and that the reference page is current."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from qwen3090.commands.config import cli
from qwen3090.config.model import keys
from qwen3090.config.reference import REFRESH, settings_page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "settings.md"


def run(*words: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, words, env=env)


def write(directory: Path, text: str) -> str:
    path = directory / "server.toml"
    path.write_text(text)
    return str(path)


def test_check_accepts(tmp_path: Path) -> None:
    result = run("check", write(tmp_path, 'profile = "long"\nseats = 2\n'))
    assert result.exit_code == 0
    assert "valid (profile long)" in result.output


def test_check_prints_every_problem(tmp_path: Path) -> None:
    path = write(tmp_path, 'context = 300000\nhost = "0.0.0.0"\ndraft_tokens = 9\n')
    result = run("check", path)
    assert result.exit_code == 1
    assert result.output.count("error:") == 3
    assert f"{path}:1: context = 300000" in result.output
    assert "next: --set draft_tokens=7" in result.output


def test_check_ignores_the_environment(tmp_path: Path) -> None:
    path = write(tmp_path, "seats = 2\n")
    assert run("check", path, env={"QWEN3090_SEATS": "x"}).exit_code == 0


def test_check_looks_at_the_key_unless_told_not_to(tmp_path: Path) -> None:
    path = write(tmp_path, 'host = "0.0.0.0"\napi_key_file = "absent"\n')
    result = run("check", path)
    assert result.exit_code == 1
    assert "absent cannot be read" in result.output
    assert run("check", path, "--no-files").exit_code == 0


def test_show_names_sources(tmp_path: Path) -> None:
    result = run("show", "long", "--set", "seats=3", env={"QWEN3090_PORT": "7000"})
    lines = [line.split() for line in result.output.splitlines()]
    assert ["seats", "3", "--set"] in lines
    assert ["port", "7000", "QWEN3090_PORT"] in lines
    assert ["context", "131072", "profile", "long"] in lines


def test_show_json() -> None:
    document = json.loads(run("show", "fast", "--json").output)
    assert document["settings"]["seats"] == {"value": 8, "from": "profile fast"}
    assert document["problems"] == []


def test_show_prints_settings_and_problems() -> None:
    result = run("show", "fast", "--set", "context=300000")
    assert result.exit_code == 1
    assert "300000" in result.output
    assert "longest is 262144" in result.output


def test_profiles() -> None:
    result = run("profiles")
    assert result.exit_code == 0
    assert "fast-mtp" in result.output
    assert "not available: needs lookup drafting" in result.output


def test_the_reference_page_is_current() -> None:
    assert run("reference").output == settings_page()
    assert PAGE.read_text() == settings_page(), f"stale; run: {REFRESH}"


@pytest.mark.parametrize("command", ["config profiles", "config show fast", "serve --dry-run"])
def test_nothing_heavy_is_imported(command: str) -> None:
    code = (
        "import sys\nfrom qwen3090.main import cli\n"
        f"try:\n cli({command.split()!r})\n"
        "except SystemExit as end:\n assert not end.code, end.code\n"
        "bad = {'torch', 'vllm', 'transformers', 'numpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_schema_is_current_and_names_every_setting() -> None:
    text = run("schema").output
    schema = json.loads(text)
    assert (Path(__file__).resolve().parents[3] / "nix" / "settings.json").read_text() == text
    assert list(schema["settings"]) == list(keys())
    assert schema["settings"]["kv_bytes"]["type"] == "bytes"
    assert schema["settings"]["seats"] == {
        "type": "int",
        "ge": 1,
        "le": 1024,
        "default": 8,
        "description": "Requests that may run at the same time.",
    }
    assert 64 in schema["permanent_exit_statuses"]
    assert 67 not in schema["permanent_exit_statuses"]  # the card may become free
