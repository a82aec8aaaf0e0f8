"""vLLM's own parsers read what the chat template writes: reasoning and tool calls."""

import json
from typing import Any

import pytest
from qwen3090.demo import TinyPaths, story
from qwen3090.demo.client import WEATHER
from qwen3090.demo.story import ANSWER, REASONING

pytestmark = pytest.mark.engine
CALL = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
    "</function>\n</tool_call>"
)


@pytest.fixture(scope="module")
def tokenizer(tiny: TinyPaths) -> Any:
    vllm = pytest.importorskip("vllm")
    assert vllm is not None
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(tiny.base))


def _request(**more: Any) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return ChatCompletionRequest(model="demo", messages=[{"role": "user", "content": "Hi"}], **more)


def test_reasoning_parser(tokenizer: Any) -> None:
    from vllm.reasoning import ReasoningParserManager

    parser = ReasoningParserManager.get_reasoning_parser("qwen3")(tokenizer)
    reasoning, content = parser.extract_reasoning(f"{REASONING}</think>\n\n{ANSWER}", _request())
    assert reasoning.strip() == REASONING
    assert content.strip() == ANSWER


@pytest.mark.parametrize("text", [CALL, "".join(story.CALL)])
def test_tool_parser(tokenizer: Any, text: str) -> None:
    from vllm.tool_parsers import ToolParserManager

    request = _request(tools=[WEATHER])
    parser = ToolParserManager.get_tool_parser("qwen3_coder")(tokenizer, request.tools)
    found = parser.extract_tool_calls(text, request)
    assert found.tools_called
    assert [call.function.name for call in found.tool_calls] == ["get_weather"]
    arguments = json.loads(found.tool_calls[0].function.arguments)
    assert arguments == {"city": story.CITY}


def test_the_template_writes_calls_as_the_parser_reads_them(tokenizer: Any) -> None:
    function = {"name": "get_weather", "arguments": {"city": "Paris"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": function}]},
    ]
    text = tokenizer.apply_chat_template(messages, tools=[WEATHER], tokenize=False)
    assert text.endswith(f"</think>\n\n{CALL}<|im_end|>\n")
