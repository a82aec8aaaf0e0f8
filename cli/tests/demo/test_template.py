"""The chat template: roles, tools, reasoning and its switch, tool results, and refusals."""

import json
from typing import Any

import pytest
from jinja2 import TemplateError
from qwen3090.demo.client import WEATHER

USER: dict[str, Any] = {"role": "user", "content": "Hi"}


def call(**arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "get_weather", "arguments": arguments}}


def test_plain_chat_thinks_by_default(render: Any) -> None:
    assert render([USER], add_generation_prompt=True) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"
    )


def test_thinking_switched_off(render: Any) -> None:
    text = render([USER], add_generation_prompt=True, enable_thinking=False)
    assert text.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_system_comes_first(render: Any) -> None:
    text = render([{"role": "system", "content": "Be brief."}, USER])
    assert text == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"


def test_tools_are_listed_before_the_system_text(render: Any) -> None:
    text = render([{"role": "system", "content": "Be brief."}, USER], tools=[WEATHER])
    listed = text.split("<tools>\n")[1].split("\n</tools>")[0]
    assert json.loads(listed) == WEATHER
    assert text.index("</tools>") < text.index("<tool_call>") < text.index("Be brief.")
    assert text.count("<|im_start|>system") == 1


def test_a_call_and_its_results(render: Any) -> None:
    messages: list[dict[str, Any]] = [
        USER,
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Look it up.",
            "tool_calls": [call(city="Oslo", days=[1, 2]), call(city="Paris")],
        },
        {"role": "tool", "content": "snow"},
        {"role": "tool", "content": [{"type": "text", "text": "sun"}]},
    ]
    assert render(messages) == (
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n<think>\nLook it up.\n</think>\n\n"
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n"
        "<parameter=days>\n[1, 2]\n</parameter>\n</function>\n</tool_call>\n"
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
        "</function>\n</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nsnow\n</tool_response>\n"
        "<tool_response>\nsun\n</tool_response><|im_end|>\n"
    )


def test_reasoning_of_earlier_turns_is_dropped(render: Any) -> None:
    old: dict[str, Any] = {"role": "assistant", "content": "<think>\nsecret\n</think>\n\nHello."}
    text = render([USER, old, USER])
    assert "secret" not in text and "<|im_start|>assistant\nHello.<|im_end|>" in text


def test_image_parts_become_placeholders(render: Any) -> None:
    parts = [{"type": "text", "text": "See "}, {"type": "image_url", "image_url": {"url": "x"}}]
    text = render([{"role": "user", "content": parts}])
    assert "See <|vision_start|><|image_pad|><|vision_end|><|im_end|>" in text


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "at least one message"),
        ([{"role": "owner", "content": "x"}], "unknown role: owner"),
        ([USER, {"role": "system", "content": "x"}], "must be the first"),
        ([{"role": "user", "content": [{"type": "audio"}]}], "text, image and video"),
    ],
)
def test_refusals(render: Any, messages: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(TemplateError, match=reason):
        render(messages)
