"""The quality tests judge as they say, on a stub that copies, scores and caches by known rules."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090.bench.quality.exact import last_number
from qwen3090.bench.quality.perplexity import windows
from qwen3090.bench.quality.residue import repetition

Start = Callable[..., Any]


def outcomes(server: Any, folder: Path, status: int, *words: object) -> list[dict[str, Any]]:
    file = folder / "quality.json"
    done = server.bench("quality", *words, "--json", file)
    assert done.exit_code == status, done.output
    found: list[dict[str, Any]] = json.loads(file.read_text())["outcomes"]
    return found


def test_perplexity(stub: Start, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("x" * 250)
    words = ("--text", text, "--window", 100)
    (found,) = outcomes(stub(), tmp_path, 0, *words)
    assert found["verdict"] == "measured"
    assert found["figures"]["text.txt, tokens scored"] == 250 - 3
    assert found["figures"]["all files, perplexity"] == pytest.approx(math.exp(1.5))
    assert outcomes(stub(), tmp_path, 0, *words, "--max-perplexity", 4.5)[0]["verdict"] == "pass"
    assert outcomes(stub(), tmp_path, 1, *words, "--max-perplexity", 4.4)[0]["verdict"] == "fail"


@pytest.mark.parametrize(
    ("content", "fault", "reason"),
    [("x", "", "nothing to score"), ("xy" * 9, "nan", "no finite number"), (None, "", "cannot be")],
)
def test_no_perplexity(
    stub: Start, tmp_path: Path, content: str | None, fault: str, reason: str
) -> None:
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_text(content)
    done = stub(fault=fault).bench("quality", "--text", text)
    assert done.exit_code == 2 and reason in done.output


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=60), st.integers(2, 9))
def test_windows_score_every_token_but_the_first_of_each(ids: list[int], size: int) -> None:
    parts = windows(ids, size)
    assert [token for part in parts for token in part] == ids[: sum(map(len, parts))]
    assert len(ids) - sum(map(len, parts)) <= 1
    assert all(1 < len(part) <= size for part in parts)


def test_exact_match(stub: Start, tmp_path: Path) -> None:
    """The stub repeats the first 8 characters of a question."""
    file = tmp_path / "questions.jsonl"
    lines = [{"question": "x is 42.", "answer": "So 6 * 7 = #### 42.0"}] * 3
    lines += [{"question": "x is 41.", "answer": "#### 42"}]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    server = stub(sizes=[1, 3, 4])
    (found,) = outcomes(server, tmp_path, 0, "--questions", file, "--min-exact", 0.75)
    assert (found["figures"]["right"], found["figures"]["share"]) == (3, 0.75)
    assert found["details"] == ["line 4: 41, not 42"]
    outcomes(server, tmp_path, 1, "--questions", file, "--min-exact", 0.76)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{}", ":1: not an object with question and answer"),
        ("[1]", ":1: not an object"),
        ('{"question": "a", "answer": "none"}', ":1: the answer has no number"),
        ("", "has no question"),
    ],
)
def test_malformed_questions(stub: Start, tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(line + "\n")
    server = stub()
    done = server.bench("quality", "--questions", file)
    assert done.exit_code == 2 and reason in done.output
    assert not server.sent()


def test_a_failed_question_is_no_wrong_answer(stub: Start, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"question": "1?", "answer": "1"}) + "\n")
    done = stub(fault="500").bench("quality", "--questions", file)
    assert done.exit_code == 2 and "the engine is dead" in done.output


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("it is 1,234.50 in all", "1234.5"),
        ("#### -7", "-7"),
        ("first 3, then 40.", "40"),
        ("100", "1E+2"),
        ("no number", None),
    ],
)
def test_last_number(text: str, number: str | None) -> None:
    assert last_number(text) == (None if number is None else Decimal(number))


def test_second_question(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(), tmp_path, 0, "--second-question")
    assert found["verdict"] == "pass"
    assert found["figures"]["equal"] == found["figures"]["questions"] == 5
    assert found["figures"]["cached tokens, least"] > 1000


def test_second_question_sees_a_garbled_cache(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(fault="garbled"), tmp_path, 1, "--second-question")
    assert found["verdict"] == "fail" and found["figures"]["different"] == 5
    assert "from token 6 on, cold and cached answers differ" in found["details"][0]


def test_a_tie_is_no_failure(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(fault="tie"), tmp_path, 0, "--second-question")
    assert found["verdict"] == "pass" and found["figures"]["ties"] == 5


def test_without_a_cache_nothing_is_claimed(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(cache=False), tmp_path, 0, "--second-question")
    assert found["verdict"] == "measured" and "nothing was tested" in found["details"][-1]


def test_residues(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(), tmp_path, 0, "--residues", 9)
    assert found["verdict"] == "pass" and found["figures"]["verbatim, median"] == 1.0
    low, _, high = found["figures"]["lengths"].removesuffix(" tokens").partition(" to ")
    assert int(high) - int(low) == 8


def test_residues_see_one_bad_length_in_seven(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(fault="residue"), tmp_path, 1, "--residues", 14)
    assert found["figures"]["failed lengths"] == 2
    bad = {int(line.split(" tokens")[0]) for line in found["details"]}
    assert all(length % 7 == 0 for length in bad)
    assert any("repeats itself" in line for line in found["details"])


def test_residues_of_a_server_that_copies_nothing(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(fault="mute"), tmp_path, 1, "--residues", 3)
    assert found["verdict"] == "fail" and found["figures"]["verbatim, median"] == 0
    assert found["figures"]["failed lengths"] == 0
    assert "no answer begins as its text does" in found["details"][0]


def test_residues_see_a_cached_answer_that_departs(stub: Start, tmp_path: Path) -> None:
    (found,) = outcomes(stub(fault="garbled"), tmp_path, 1, "--residues", 3)
    assert "the cached answer departs at token 6" in found["details"][0]


def test_repetition() -> None:
    assert repetition(tuple("abcdefgh")) == 0.0
    assert repetition(tuple("ab" * 20)) > 0.9
    assert repetition(()) == 0.0
