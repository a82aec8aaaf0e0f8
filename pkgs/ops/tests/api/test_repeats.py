"""Counts that multiply out, and references without an end, are refused wherever they stand."""

import json
import time
from typing import Any

import pytest
from qwen3090_ops.api.limits import Limits
from qwen3090_ops.api.repeats import LONGEST, MOST, circular, counts, repeated

from .fake import Inside, get, scope_of

ATTACK = "(a|aa|b?c){1,7000}"
SCHEMA = {"type": "string", "pattern": ATTACK}


def refusal(body: dict[str, Any]) -> str:
    """Return the message of the refusal, "" when the body came through."""
    answer = get(Limits(Inside(), 10**6, 64, 4000), scope_of(), [json.dumps(body).encode()])
    return "" if answer.status == 200 else str(answer.error["message"])


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (ATTACK, 35_000),
        ("a{1,100}{3}", 300),
        ("((ab){1,40}c){1,40}", 3240),
        ("[(]{5}", 5),
        (r"x\{7\}", 0),
        ("a{2,}b{,4}", 6),
        ("a" * 99 + "(b|c)*", 0),
        ("a{99999999999999999999}", MOST),
        ("a{2}" + "a" * LONGEST, MOST),
    ],
)
def test_what_a_pattern_multiplies_out_to(pattern: str, found: int) -> None:
    assert repeated(pattern) == found


def test_a_literal_of_a_grammar_has_no_counts() -> None:
    assert repeated('root ::= "{9}" x{9}', quoted=True) == 9


@pytest.mark.parametrize("unit", ["a{2}", "(", '"', "[", "{1,", "({2}", "{   "])
def test_no_pattern_takes_long(unit: str) -> None:
    started = time.perf_counter()
    repeated("a{2}" + unit * ((LONGEST - 4) // len(unit)))
    assert time.perf_counter() - started < 2.0


@pytest.mark.parametrize(
    "body",
    [
        {"structured_outputs": {"json": SCHEMA}},
        {"structured_outputs": {"json": json.dumps(SCHEMA)}},
        {"structured_outputs": {"regex": ATTACK}},
        {"structured_outputs": {"grammar": f"root ::= {ATTACK}"}},
        {"structured_outputs": {"structural_tag": json.dumps({"structures": [SCHEMA]})}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"tools": [{"function": {"parameters": {"properties": {"default": SCHEMA}}}}]},
        {"tools": [{"input_schema": {"patternProperties": {ATTACK: {}}}}]},
    ],
)
def test_counts_are_refused_wherever_a_grammar_is_made(body: dict[str, Any]) -> None:
    text = refusal(body)
    assert ATTACK in text and "35000" in text and "at most 4000" in text


def test_the_total_of_a_request_counts() -> None:
    fields = {f"p{n}": {"type": "string", "pattern": "a{1,900}"} for n in range(5)}
    assert "p4.pattern = a{1,900}" in refusal({"response_format": {"properties": fields}})


def test_counts_of_properties_and_lengths() -> None:
    schema = {"properties": {f"p{n}": {} for n in range(100)}, "minProperties": 50}
    assert "50 of 100 properties" in refusal({"response_format": schema})
    assert not refusal({"response_format": {"maxLength": 10**6, "minItems": 10**6}})


def test_a_prompt_may_hold_patterns() -> None:
    assert not list(counts({"messages": [{"pattern": ATTACK}], "prompt": ATTACK}))


def test_a_pattern_that_nests_too_deep() -> None:
    text = refusal({"structured_outputs": {"json": {"pattern": "(" * 65}}})
    assert "The text in 'pattern' nests 65 levels deep" in text


TWO = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}


@pytest.mark.parametrize("schema", [{"$ref": "#"}, json.dumps({"$ref": "#"}), TWO])
def test_a_reference_to_nothing_but_itself(schema: Any) -> None:
    assert "leads back to itself" in refusal({"structured_outputs": {"json": schema}})


def test_references_that_lead_somewhere() -> None:
    tree = {"properties": {"a": {"$ref": "#"}, "schema": {"$ref": "#/properties/a"}}}
    for schema in (tree, {"items": {"$ref": "#/none"}}, {"properties": {"$ref": {}}}):
        assert not circular({"structured_outputs": {"json": schema}})
    assert not circular([])
