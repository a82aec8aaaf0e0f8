"""Parsers of reasoning and tool calls that also hold the model to a call that is demanded.

vLLM 0.28.0 joins the parsers `qwen3` and `qwen3_coder` into one, and that one never asks for the
grammar of the calls: `tool_choice` "required" or a named function, and `strict` tools, are ignored
without a word. These two are the same parsers with the grammar. Registered as NAME through vLLM's
parser registries; they parse what `qwen3` and `qwen3_coder` parse.
"""

import json
from typing import Any

from vllm.parser.engine.adapters import make_adapters
from vllm.parser.qwen3 import Qwen3Parser
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers import structural_tag_registry as registry
from xgrammar import get_model_structural_tag

MODEL = "qwen_3_coder"  # xgrammar's name of the format
# Blanks in a row between the parts of a call, enough for indented JSON: without a limit a model can
# go on with them for ever.
BLANKS = 16
# What the model writes between its thoughts and a call; a grammar without it makes it stumble.
BREAK = "\n\n"


class DemandingParser(Qwen3Parser):  # type: ignore[misc]
    """Qwen3's parser, with a grammar for calls that are demanded or strict."""

    def adjust_request(self, request: Any) -> Any:
        """Return the request, its tool calls constrained."""
        return constrain(super().adjust_request(request), self.vocab)


ReasoningParser, _ToolParser = make_adapters(DemandingParser)


class ToolParser(_ToolParser):  # type: ignore[misc, valid-type]
    """The tool parser; `structural_tag_model` has vLLM read demanded calls as the model writes."""

    structural_tag_model = MODEL

    def get_structural_tag(self, request: Any, *, reasoning: bool = False) -> None:
        """Return nothing: adjust_request has set the grammar, or will."""
        return


def constrain(request: Any, vocab: dict[str, int]) -> Any:
    """Set the grammar of a chat or responses request that demands calls; return the request.

    Args:
        request: it; `response_format` and the like give way to the grammar.
        vocab: token ids by token, of the model's tokenizer.

    Raises:
        ValueError: the tools cannot be made a grammar of (answered 400).
    """
    tag = grammar(request, vocab)
    if tag is not None:
        request.structured_outputs = StructuredOutputsParams(structural_tag=json.dumps(tag))
        # The two kinds of request have each one of these, and both would be a second constraint.
        for name in ("response_format", "text"):
            if name in type(request).model_fields:
                setattr(request, name, None)
    return request


def grammar(request: Any, vocab: dict[str, int]) -> dict[str, Any] | None:
    """Return xgrammar's structural tag for the calls of a request, or None when they are free."""
    choice, tools = request.tool_choice, request.tools
    if not tools or choice in (None, "none"):
        return None
    if choice == "auto" and not registry._any_tool_strict(tools):
        return None
    marked = {"<tool_call>", "</tool_call>", "<think>", "</think>"} <= set(vocab)
    tag: dict[str, Any] = get_model_structural_tag(
        model=MODEL,
        tools=[registry._dump_tool_for_xgrammar(tool) for tool in tools],
        tool_choice=registry._dump_tool_choice_for_xgrammar(choice),
        reasoning=False,  # the engine applies a grammar after the thoughts only
        token_markers=marked,
        max_whitespace_cnt=BLANKS,
        parallel_tool_calls=request.parallel_tool_calls is not False,
    ).model_dump()
    inner = _with_ids(tag["format"], vocab)
    if choice != "auto":
        start = {"type": "optional", "content": {"type": "const_string", "value": BREAK}}
        inner = {"type": "sequence", "elements": [start, inner]}
    return {**tag, "format": inner}


def _with_ids(part: Any, vocab: dict[str, int]) -> Any:
    """Return a part of a tag with the ids of its tokens: vLLM checks it without a tokenizer."""
    if isinstance(part, list):
        return [_with_ids(item, vocab) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "json_schema":  # the user's own words
        return part
    found = {key: _with_ids(value, vocab) for key, value in part.items()}
    if part.get("type") == "token":
        found["token"] = vocab[part["token"]]
    for key in ("trigger_tokens", "exclude_tokens"):
        if key in part:
            found[key] = [vocab[token] for token in part[key]]
    return found
