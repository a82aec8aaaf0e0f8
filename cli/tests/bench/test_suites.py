"""What each suite asks: lengths that fit, documents that are new or shared, its rows."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.bench.asks import body, session_number
from qwen3090.bench.document import document
from qwen3090.bench.suites import SUITES, chat, load
from qwen3090.main import cli


def run(server: Any, out: Path, *words: object) -> dict[str, Any]:
    done = server.bench(*words, "--out", out)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads((out / "bench.json").read_text())
    return found


def test_prefix_meets_the_cache_at_the_second_question(
    stub: Callable[..., Any], tmp_path: Path
) -> None:
    (suite,) = run(stub(context=3000), tmp_path, "prefix", "--repeats", 2)["suites"]
    first, second = suite["rows"]
    assert first["summary"]["cached_tokens"]["max"] == 0
    assert second["summary"]["cached_tokens"]["min"] > 2000
    assert "instead of 24,000" in suite["notes"][0]


def test_copy_shares_its_document_and_checks_the_copy(
    stub: Callable[..., Any], tmp_path: Path
) -> None:
    server = stub(context=9000)
    (suite,) = run(server, tmp_path, "copy", "--repeats", 1)["suites"]
    assert [r["name"] for r in suite["rows"]] == [
        "copy", "edit", "quote", "commands", "summary", "question",
    ]  # fmt: skip
    assert suite["rows"][0]["summary"]["verbatim"]["median"] == 1.0  # the stub copies
    assert "verbatim" not in suite["rows"][1]["summary"]
    assert all(row["summary"]["cached_tokens"]["min"] > 6000 for row in suite["rows"])
    assert {answer["body"]["temperature"] for answer in server.sent()} == {0}


def test_depth_leaves_out_what_does_not_fit(stub: Callable[..., Any], tmp_path: Path) -> None:
    (suite,) = run(stub(context=9000), tmp_path, "depth", "--repeats", 1)["suites"]
    assert [row["name"] for row in suite["rows"]] == ["4,096", "8,192"]
    assert suite["notes"][0].startswith("left out, longer than the context of 9,000: 16,384, ")
    for row, length in zip(suite["rows"], (4096, 8192), strict=True):
        (tokens,) = {sample["prompt_tokens"] for sample in row["samples"]}
        assert length - 250 < tokens <= length


def test_depth_without_a_length_that_fits(stub: Callable[..., Any]) -> None:
    done = stub(context=2000).bench("depth")
    assert done.exit_code == 2 and "--lengths" in done.output


def test_depth_takes_lengths(stub: Callable[..., Any], tmp_path: Path) -> None:
    words = ("depth", "--repeats", 1, "--lengths", "900,500", "--output", 64)
    (suite,) = run(stub(context=2000), tmp_path, *words)["suites"]
    assert [row["name"] for row in suite["rows"]] == ["500", "900"]


def test_several_suites_make_one_report(stub: Callable[..., Any], tmp_path: Path) -> None:
    found = run(stub(), tmp_path, "chat", "prefix", "chat", "--repeats", 1)
    assert [suite["suite"] for suite in found["suites"]] == ["chat", "prefix"]


@pytest.mark.parametrize("words", [("cold-start", "chat"), ("cold-start", "--url", "http://x")])
def test_cold_start_stands_alone(stub: Callable[..., Any], words: tuple[str, ...]) -> None:
    done = stub().bench(*words)
    assert done.exit_code == 2 and "starts a server itself" in done.output


@pytest.mark.parametrize("value", ["", "1,x", "0,2", "-1"])
def test_numbers_are_checked(stub: Callable[..., Any], value: str) -> None:
    assert stub().bench("ladder", f"--streams={value}").exit_code == 2


def test_every_suite_loads() -> None:
    for name in SUITES:
        module = load(name)
        assert hasattr(module, "plan") or hasattr(module, "run")


def test_the_prompts_cover_what_they_should() -> None:
    rows = [row for row, _ in chat.prompts()]
    assert len(rows) == 8
    assert {"chat", "code", "English prose", "other languages"} == set(rows)


def test_the_document_is_one_text() -> None:
    short, longer = document(5_000), document(50_000)
    assert longer.startswith(short) and len(longer) >= 50_000
    import hashlib

    digest = hashlib.sha256(short.encode()).hexdigest()
    assert digest.startswith("0e4c79947183")


def test_only_the_session_number_differs() -> None:
    from qwen3090.bench.asks import Ask, user

    ask = Ask("row", user("text"), 8, unit="1")
    one, two = (body(ask, "run", repeat, 1, {})["messages"][0]["content"] for repeat in (0, 1))
    assert one != two and one[20:] == two[20:] and len(one) == len(two)
    assert len(str(session_number("a", -1, "b"))) == 12


def test_a_suite_stands_for_run_and_help_names_all(stub: Callable[..., Any]) -> None:
    helped = CliRunner().invoke(cli, ["bench", "--help"]).output
    assert all(name in helped for name in (*SUITES, "run", "compare", "quality"))
    one = CliRunner().invoke(cli, ["bench", "chat", "--help"]).output
    assert one == CliRunner().invoke(cli, ["bench", "run", "--help"]).output
    assert CliRunner().invoke(cli, ["bench", "chatt"]).exit_code == 2


def test_help_needs_no_engine() -> None:
    code = "import sys; from qwen3090.commands.bench import cli; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
