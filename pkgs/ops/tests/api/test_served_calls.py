"""Tool calls that are demanded, made by the real engine with speculation."""

import json
from typing import Any

import pytest

from .served import CHAT, MODEL, Client, events

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# Values that end by themselves: this model would go on with a number for ever.
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"rain": {"type": "boolean"}, "city": {"enum": ["Bern", "Rome"]}},
                "required": ["rain", "city"],
            },
        },
    }
    for name in ("weather", "forecast")
]


CHOICES = ["required", {"type": "function", "function": {"name": "forecast"}}]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("thinks", [True, False])
def test_a_demanded_call_is_made(client: Client, choice: Any, thinks: bool) -> None:
    """Stock vLLM 0.28.0 ignores the demand: the model answers what it would have answered."""
    found = client.chat(
        max_tokens=400,
        tools=TOOLS,
        tool_choice=choice,
        chat_template_kwargs={"enable_thinking": thinks},
    )
    message = found["choices"][0]["message"]
    call = message["tool_calls"][0]["function"]
    names = ["weather", "forecast"] if choice == "required" else ["forecast"]
    assert call["name"] in names
    arguments = json.loads(call["arguments"])
    assert isinstance(arguments["rain"], bool)
    assert arguments["city"].strip() in ("Bern", "Rome")  # the format allows blanks around it
    assert not (message["content"] or "").strip()
    assert bool(message["reasoning"]) == thinks


def test_a_demanded_call_in_a_stream(client: Client) -> None:
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 400,
        "tools": TOOLS,
        "tool_choice": "required",
        "stream": True,
    }
    _, response = client.open("POST", CHAT, body)
    parts = [
        call["function"]
        for event in events(response)
        for choice in event["choices"]
        for call in choice["delta"].get("tool_calls") or []
        if call["index"] == 0
    ]
    assert "".join(part.get("name") or "" for part in parts) in ("weather", "forecast")
    arguments = json.loads("".join(part.get("arguments") or "" for part in parts))
    assert set(arguments) == {"rain", "city"}


def test_free_calls_stay_free(client: Client) -> None:
    """The demo's model calls a function that is not among the tools: nothing holds it back."""
    found = client.chat(max_tokens=100, tools=TOOLS, tool_choice="auto")
    assert found["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
