"""OpenAI's own client against the real engine: what it sends is understood and kept."""

import json
import math
import re
import time
from typing import Any

import jsonschema
import openai
import pytest

from .served import LOOSE, NAME, PLAIN, SCHEMA, Served

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "parameters": SCHEMA}}
    for name in ("weather", "forecast")
]
NAMED: dict[str, Any] = {"type": "function", "function": {"name": "forecast"}}


def chat(served: Served, text: str = "Hello", **more: Any) -> Any:
    """Return a chat completion, or the list of a stream's chunks."""
    body = {"temperature": 0, "max_tokens": 24, "extra_body": PLAIN, **more}
    messages: Any = [{"role": "user", "content": text}]
    found = served.openai().chat.completions.create(model=NAME, messages=messages, **body)
    return list(found) if body.get("stream") else found


def test_an_answer_and_what_it_took(served: Served) -> None:
    found = chat(served)
    (choice,) = found.choices
    assert choice.finish_reason in ("stop", "length") and choice.message.content
    usage = found.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert 0 < usage.completion_tokens <= 24
    assert (choice.finish_reason == "length") == (usage.completion_tokens == 24)
    assert chat(served).choices[0].message.content == choice.message.content


def test_a_stream_is_the_answer_in_pieces(served: Served) -> None:
    whole = chat(served)
    *chunks, last = chat(served, stream=True, stream_options={"include_usage": True})
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == (
        whole.choices[0].message.content
    )
    assert [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == [
        whole.choices[0].finish_reason
    ]
    assert not last.choices
    assert last.usage.completion_tokens == whole.usage.completion_tokens
    assert {c.id for c in [*chunks, last]} == {last.id}


def test_thoughts_come_apart_from_the_answer(served: Served) -> None:
    message = chat(served, max_tokens=200, extra_body={}).choices[0].message
    assert message.reasoning and "</think>" not in message.reasoning + (message.content or "")
    assert chat(served).choices[0].message.reasoning is None


def test_a_seed_repeats_an_answer(served: Served) -> None:
    def draw(seed: int) -> str:
        found = chat(served, max_tokens=32, seed=seed, **LOOSE)
        return str(found.choices[0].message.content)

    assert draw(1) == draw(1)
    assert len({draw(seed) for seed in range(1, 5)}) > 1


def test_several_choices_of_one_prompt(served: Served) -> None:
    found = chat(served, n=3, max_tokens=16, **LOOSE)
    assert [choice.index for choice in found.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in found.choices}) > 1
    assert 3 <= found.usage.completion_tokens <= 48
    assert found.usage.prompt_tokens == chat(served, max_tokens=1).usage.prompt_tokens


def test_a_stop_string_ends_the_answer_before_it(served: Served) -> None:
    text = chat(served).choices[0].message.content
    stop = text[5:9]
    (choice,) = chat(served, stop=[stop, "never said"]).choices
    assert choice.message.content == text[: text.index(stop)]
    assert choice.finish_reason == "stop" and choice.stop_reason == stop
    streamed = chat(served, stop=stop, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in streamed) == choice.message.content


def test_log_probabilities_are_those_of_the_answer(served: Served) -> None:
    (choice,) = chat(served, logprobs=True, top_logprobs=3).choices
    tokens = choice.logprobs.content
    assert "".join(t.token for t in tokens if t.token != "<|im_end|>") == choice.message.content
    for token in tokens:
        shares = [math.exp(top.logprob) for top in token.top_logprobs]
        assert len(shares) == 3 and sum(shares) <= 1.001
        assert shares == sorted(shares, reverse=True)
        assert token.logprob == max(top.logprob for top in token.top_logprobs)  # it is greedy
        assert bytes(token.bytes).decode(errors="replace") == token.token


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_keeps_to_its_schema(served: Served, stream: bool) -> None:
    kind = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA}}
    found = chat(served, "Where to?", response_format=kind, max_tokens=200, stream=stream)
    if stream:
        text = "".join(c.choices[0].delta.content or "" for c in found)
    else:
        text = found.choices[0].message.content
    jsonschema.validate(json.loads(text), SCHEMA)


@pytest.mark.parametrize("choice", ["required", NAMED])
@pytest.mark.parametrize("stream", [False, True])
def test_a_demanded_call_arrives_and_parses(served: Served, choice: Any, stream: bool) -> None:
    """The stream is put together by the client's own helper, as an agent does it."""
    names = ("weather", "forecast") if choice == "required" else ("forecast",)
    body: dict[str, Any] = {
        "model": NAME,
        "messages": [{"role": "user", "content": "Rome?"}],
        "tools": TOOLS,
        "tool_choice": choice,
        "temperature": 0,
        "max_tokens": 300,
        "extra_body": PLAIN,
    }
    client = served.openai()
    if stream:
        with client.chat.completions.stream(**body) as events:
            answer = events.get_final_completion().choices[0]
    else:
        answer = client.chat.completions.create(**body).choices[0]
    call = answer.message.tool_calls[0]
    assert call.type == "function" and call.id and call.function.name in names
    jsonschema.validate(json.loads(call.function.arguments), SCHEMA)
    # As OpenAI's own server has it: "stop" after a call of the function that was named.
    assert answer.finish_reason == ("tool_calls" if choice == "required" else "stop")


def test_plain_completions_and_tokens(served: Served) -> None:
    client, text = served.openai(), "The code for apple is"
    found = client.completions.create(model=NAME, prompt=text, max_tokens=6, temperature=0)
    assert found.choices[0].text and found.usage
    tokens: Any = client.post("/../tokenize", body={"model": NAME, "prompt": text}, cast_to=object)
    assert tokens["count"] == len(tokens["tokens"]) == found.usage.prompt_tokens
    body = {"model": NAME, "tokens": tokens["tokens"]}
    back: Any = client.post("/../detokenize", body=body, cast_to=object)
    assert back["prompt"] == text
    same = client.completions.create(
        model=NAME, prompt=tokens["tokens"], max_tokens=6, temperature=0
    )
    assert same.choices[0].text == found.choices[0].text


def test_the_model_is_listed_with_its_context(served: Served) -> None:
    (model,) = served.openai().models.list().data
    assert model.id == NAME
    assert model.max_model_len == served.context  # type: ignore[attr-defined]


def test_responses(served: Served) -> None:
    found = served.openai().responses.create(model=NAME, input="Hello", max_output_tokens=8)
    assert found.status == "incomplete" and found.usage and found.usage.output_tokens == 8


def test_errors_have_their_class_and_say_the_numbers(served: Served) -> None:
    with pytest.raises(openai.AuthenticationError, match="Authorization: Bearer KEY"):
        served.openai("wrong-key-of-16-characters").models.list()
    messages: Any = [{"role": "user", "content": "hi"}]
    ask = served.openai().chat.completions.create
    with pytest.raises(openai.NotFoundError, match=f"`gpt-4` does not exist.*`{NAME}`"):
        ask(model="gpt-4", messages=messages)
    with pytest.raises(openai.BadRequestError, match=rf"9999.*{served.context}"):
        ask(model=NAME, messages=messages, max_tokens=9999)
    long: Any = [{"role": "user", "content": "hi " * 2 * served.context}]
    with pytest.raises(openai.BadRequestError, match=f"{served.context} tokens"):
        ask(model=NAME, messages=long)
    with pytest.raises(openai.BadRequestError, match="temperature"):
        ask(model=NAME, messages=messages, temperature=-1)


def test_denied_requests_do_not_fill_the_log(served: Served) -> None:
    """One line in ten seconds, and no word that the client chose."""
    client, before = served.openai("wrong-key-of-16-characters"), len(served.log.read_text())
    for _ in range(30):
        with pytest.raises(openai.AuthenticationError):
            client.get("/chosen-by-the-client", cast_to=object)
    time.sleep(0.3)
    added = served.log.read_text()[before:]
    assert len(re.findall("denied|401|Unauthorized", added)) <= 1
    assert "chosen-by-the-client" not in added
