"""Anthropic's own client against /v1/messages of the real engine."""

from typing import Any

import anthropic
import jsonschema
import pytest

from .served import NAME, PLAIN, SCHEMA, Served

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TOOLS: list[Any] = [
    {"name": name, "description": "x", "input_schema": SCHEMA} for name in ("weather", "forecast")
]
MESSAGES: list[Any] = [{"role": "user", "content": "Hello"}]
# The client has no argument for the temperature.
GREEDY = {**PLAIN, "temperature": 0}


def create(served: Served, **more: Any) -> anthropic.types.Message:
    body = {"messages": MESSAGES, "max_tokens": 16, "extra_body": GREEDY, **more}
    found: anthropic.types.Message = served.anthropic().messages.create(model=NAME, **body)
    return found


def test_an_answer_is_that_of_the_other_endpoint(served: Served) -> None:
    found = create(served)
    (block,) = found.content
    other = served.openai().chat.completions.create(
        model=NAME, messages=MESSAGES, temperature=0, max_tokens=16, extra_body=PLAIN
    )
    assert block.type == "text" and block.text == other.choices[0].message.content
    assert other.usage and found.usage.output_tokens == other.usage.completion_tokens
    assert found.usage.input_tokens == other.usage.prompt_tokens
    reasons = {"length": "max_tokens", "stop": "end_turn"}
    assert found.stop_reason == reasons[other.choices[0].finish_reason]


def test_a_stream_is_the_answer_in_pieces(served: Served) -> None:
    whole = create(served)
    client = served.anthropic()
    with client.messages.stream(
        model=NAME, messages=MESSAGES, max_tokens=16, extra_body=GREEDY
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    (block,) = whole.content
    assert block.type == "text" and text == block.text
    assert final.stop_reason == whole.stop_reason
    assert final.usage.output_tokens == whole.usage.output_tokens


def test_a_system_prompt_counts(served: Served) -> None:
    client = served.anthropic()
    short = client.messages.count_tokens(model=NAME, messages=MESSAGES)
    long = client.messages.count_tokens(model=NAME, messages=MESSAGES, system="Be brief. " * 20)
    assert long.input_tokens > short.input_tokens + 20
    assert create(served, system="Be brief. " * 20).usage.input_tokens > short.input_tokens


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "forecast"}])
def test_a_demanded_call_arrives_and_its_result_is_taken(served: Served, choice: Any) -> None:
    found = create(served, tools=TOOLS, tool_choice=choice, max_tokens=300)
    # vLLM 0.28.0 says "end_turn" after a call of the tool that was named.
    assert found.stop_reason == ("tool_use" if choice["type"] == "any" else "end_turn")
    call = found.content[-1]
    assert call.type == "tool_use" and call.name in ("weather", "forecast")
    assert call.name == choice.get("name", call.name)
    jsonschema.validate(call.input, SCHEMA)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    turns = [
        *MESSAGES,
        {"role": "assistant", "content": [block.model_dump() for block in found.content]},
        {"role": "user", "content": [result]},
    ]
    after = create(served, messages=turns, tools=TOOLS)
    assert after.usage.input_tokens > found.usage.input_tokens
    assert after.content


def test_a_stop_sequence_ends_the_answer(served: Served) -> None:
    (block,) = create(served).content
    assert block.type == "text"
    stop = block.text[5:9]
    (cut,) = create(served, stop_sequences=[stop]).content
    assert cut.type == "text" and cut.text == block.text[: block.text.index(stop)]


def test_the_key_in_either_header(served: Served) -> None:
    for options in ({"api_key": served.key}, {"auth_token": served.key}):
        found = served.anthropic(**options).messages.count_tokens(model=NAME, messages=MESSAGES)
        assert found.input_tokens > 0
    with pytest.raises(anthropic.AuthenticationError, match="No valid API key"):
        served.anthropic("wrong-key-of-16-characters").messages.create(
            model=NAME, messages=MESSAGES, max_tokens=1
        )


def test_errors_have_their_class_and_say_the_numbers(served: Served) -> None:
    ask = served.anthropic().messages.create
    with pytest.raises(anthropic.NotFoundError, match=f"`other` does not exist.*`{NAME}`"):
        ask(model="other", messages=MESSAGES, max_tokens=1)
    with pytest.raises(anthropic.BadRequestError, match=rf"9999.*{served.context}"):
        ask(model=NAME, messages=MESSAGES, max_tokens=9999)
