"""The demo's four requests, through the ``openai`` client, each with what it must return."""

import json
from typing import Any

from qwen3090.demo.server import SERVED_NAME, Server
from qwen3090.demo.story import ANSWER, CITY, REASONING
from qwen3090.errors import UserError

# The one tool that the demo model knows how to call.
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def connect(server: Server, key: str | None = None) -> Any:
    """Return an ``openai`` client for ``server``, with its key or another one."""
    from openai import OpenAI

    used = server.key if key is None else key
    return OpenAI(base_url=f"{server.url}/v1", api_key=used, max_retries=0, timeout=120)


def _ask(client: Any, text: str, *later: Any, **more: Any) -> Any:
    messages = [{"role": "user", "content": text}, *later]
    options: dict[str, Any] = {"max_tokens": 256, "temperature": 0, **more}
    return client.chat.completions.create(model=SERVED_NAME, messages=messages, **options)


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise UserError(f"{what}: got {found!r}, expected {wanted!r}")


def chat(client: Any) -> tuple[str, str]:
    """Send a chat; return (reasoning, answer), both the demo's own text."""
    choice = _ask(client, "Hello, who are you?").choices[0]
    reasoning = (getattr(choice.message, "reasoning", None) or "").strip()
    answer = (choice.message.content or "").strip()
    _expect("chat: reasoning", reasoning, REASONING)
    _expect("chat: answer", answer, ANSWER)
    _expect("chat: finish_reason", choice.finish_reason, "stop")
    return reasoning, answer


def streamed(client: Any) -> tuple[int, str]:
    """Send a streamed chat without thinking; return (number of pieces, answer)."""
    quiet = {"chat_template_kwargs": {"enable_thinking": False}}
    pieces = [
        chunk.choices[0].delta.content
        for chunk in _ask(client, "Once more, please.", stream=True, extra_body=quiet)
        if chunk.choices and chunk.choices[0].delta.content
    ]
    answer = "".join(pieces).strip()
    _expect("streamed chat: answer", answer, ANSWER)
    if len(pieces) < 2:
        raise UserError(f"streamed chat: the answer came in {len(pieces)} piece")
    return len(pieces), answer


def tool_call(client: Any) -> tuple[str, dict[str, str], str]:
    """Offer a tool, take the model's call, send a result; return (name, arguments, answer)."""
    question = "What is the weather like in Paris?"
    choice = _ask(client, question, tools=[WEATHER]).choices[0]
    calls = choice.message.tool_calls or []
    _expect("tool call: number of calls", len(calls), 1)
    _expect("tool call: finish_reason", choice.finish_reason, "tool_calls")
    function = calls[0].function
    _expect("tool call: name", function.name, "get_weather")
    try:
        arguments: dict[str, str] = json.loads(function.arguments)
    except ValueError as error:
        raise UserError(f"tool call: arguments are not JSON: {function.arguments!r}") from error
    _expect("tool call: arguments", arguments, {"city": CITY})
    result = {"role": "tool", "tool_call_id": calls[0].id, "content": "light rain, 12 degrees"}
    called = choice.message.model_dump(include={"role", "content", "tool_calls"})
    answer = _ask(client, question, called, result, tools=[WEATHER]).choices[0].message
    _expect("tool result: number of further calls", len(answer.tool_calls or []), 0)
    _expect("tool result: answer", (answer.content or "").strip(), ANSWER)
    return function.name, arguments, ANSWER


def unauthorised(server: Server) -> int:
    """Send a request with a wrong key; return the HTTP status, which must be 401."""
    from openai import APIStatusError

    try:
        _ask(connect(server, "wrong-key"), "Hello")
    except APIStatusError as error:
        _expect("request with a wrong key: status", error.status_code, 401)
        return int(error.status_code)
    raise UserError("request with a wrong key: it was answered, expected 401")
