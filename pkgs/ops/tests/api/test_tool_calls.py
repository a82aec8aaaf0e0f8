"""The grammar of demanded tool calls: when there is one, what it allows, and its token ids."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

VOCAB = {"<tool_call>": 11, "</tool_call>": 12, "<think>": 13, "</think>": 14}
NAMED = {"type": "function", "function": {"name": "b"}}


@pytest.fixture(scope="module")
def calls() -> Any:
    pytest.importorskip("vllm")
    from qwen3090_ops import tool_calls

    return tool_calls


def chat(choice: Any, *, strict: bool | None = None, **more: Any) -> Any:
    """Return a chat request with the tools a and b."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    # The schema has words of its own that look like parts of a tag.
    properties = {"token": {"type": "string"}, "trigger_tokens": {"const": ["<think>"]}}
    function = {"parameters": {"type": "object", "properties": properties}}
    if strict is not None:
        function["strict"] = strict  # type: ignore[assignment]
    tools = [{"type": "function", "function": {"name": n, **function}} for n in "ab"]
    messages = [{"role": "user", "content": "x"}]
    body = {"messages": messages, "tools": tools, "tool_choice": choice, **more}
    return ChatCompletionRequest.model_validate(body)


def compiled(tag: dict[str, Any]) -> None:
    """Check a tag as vLLM's server does, which has no tokenizer at hand."""
    import xgrammar

    xgrammar.Grammar.from_structural_tag(json.dumps(tag))


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_calls_that_are_not_demanded_are_free(calls: Any, choice: Any) -> None:
    assert calls.grammar(chat(choice), VOCAB) is None


def test_without_tools_there_is_nothing_to_demand(calls: Any) -> None:
    request = SimpleNamespace(tool_choice="required", tools=None)
    assert calls.grammar(request, VOCAB) is None


def test_required_allows_every_tool_after_a_break(calls: Any) -> None:
    tag = calls.grammar(chat("required"), VOCAB)
    start, inner = tag["format"]["elements"]
    assert start["content"]["value"] == "\n\n"
    assert inner["at_least_one"]
    assert inner["trigger_tokens"] == [11]
    assert [part["begin"]["token"] for part in inner["tags"]] == [11, 11]
    text = json.dumps(tag)
    assert "<function=a>" in text
    assert "<function=b>" in text
    compiled(tag)


def test_a_named_function_is_the_only_one(calls: Any) -> None:
    tag = calls.grammar(chat(NAMED), VOCAB)
    text = json.dumps(tag)
    assert "<function=b>" in text
    assert "<function=a>" not in text
    compiled(tag)


def test_strict_tools_bind_a_call_but_demand_none(calls: Any) -> None:
    tag = calls.grammar(chat("auto", strict=True), VOCAB)
    assert tag["format"]["type"] == "token_triggered_tags"
    assert not tag["format"]["at_least_one"]
    compiled(tag)


@pytest.mark.parametrize(("parallel", "one"), [(False, True), (True, False), (None, False)])
def test_one_call_or_several(calls: Any, parallel: bool | None, one: bool) -> None:
    tag = calls.grammar(chat("required", parallel_tool_calls=parallel), VOCAB)
    assert tag["format"]["elements"][1]["stop_after_first"] == one


def test_a_schema_keeps_its_own_words(calls: Any) -> None:
    tag = calls.grammar(chat(NAMED), VOCAB)
    schema = json.dumps(tag["format"]["elements"][1]["content"])
    assert '"const": ["<think>"]' in schema


def test_a_tokenizer_without_the_markers(calls: Any) -> None:
    tag = calls.grammar(chat("required"), {})
    assert "<tool_call>" in json.dumps(tag)
    compiled(tag)


def test_the_grammar_takes_the_place_of_a_response_format(calls: Any) -> None:
    request = calls.constrain(chat("required", response_format={"type": "json_object"}), VOCAB)
    assert request.response_format is None
    assert request.structured_outputs.structural_tag
    untouched = chat("auto", response_format={"type": "json_object"})
    assert calls.constrain(untouched, VOCAB).response_format is not None


def test_responses_too(calls: Any) -> None:
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    tool = {"type": "function", "name": "a", "parameters": {"type": "object"}, "strict": True}
    for choice in ("required", {"type": "function", "name": "a"}, "auto"):
        body = {"input": "x", "tools": [tool], "tool_choice": choice, "text": {}}
        request = calls.constrain(ResponsesRequest.model_validate(body), VOCAB)
        assert request.text is None
        compiled(json.loads(request.structured_outputs.structural_tag))


def test_the_two_parsers_become_one_that_demands(calls: Any) -> None:
    """Without this, vLLM would join them to its own parser, which forgets the grammar."""
    from qwen3090_ops import plugin
    from vllm.parser import ParserManager

    plugin.register()
    found = ParserManager.get_parser(plugin.PARSER, plugin.PARSER, enable_auto_tools=True)
    assert found is calls.DemandingParser
    alone = ParserManager.get_parser(plugin.PARSER, None, enable_auto_tools=True)
    assert alone.tool_parser_cls is calls.ToolParser  # type: ignore[union-attr]
    assert not calls.ToolParser.supports_required_and_named
