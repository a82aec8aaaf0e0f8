"""What agents do: many requests at once over one long beginning, and turns with tool results."""

import asyncio
import json
from pydoc_data.topics import topics
from typing import Any

import openai
import pytest

from .served import NAME, PLAIN, Served

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# The trained model knows these from its training: each is a few of its tokens.
WORDS = {"HOME": 1907, "ENCOVE": 7352, "PRIS": 2648, "SHECING": 5570, "INCONTRA": 4821}
PROSE = " ".join((topics["with"] + topics["assignment"] + topics["class"]).split())
READ = {
    "type": "function",
    "function": {"name": "read", "parameters": {"type": "object", "properties": {}}},
}


def ask_at_once(served: Served, prompts: list[str]) -> list[Any]:
    """Have all prompts completed at the same time, more of them than there are seats."""

    async def run() -> list[Any]:
        options: Any = {"api_key": served.key, "max_retries": 0, "timeout": 120}
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", **options) as client:
            body: Any = {"model": NAME, "max_tokens": 8, "temperature": 0}
            waits = [client.completions.create(prompt=text, **body) for text in prompts]
            return list(await asyncio.gather(*waits))

    return asyncio.run(run())


def question(word: str) -> str:
    return f" The code for {word} is"


def right(answers: list[Any]) -> int:
    """Return how many answers are the code of their own word."""
    pairs = zip(answers, WORDS.values(), strict=True)
    return sum(answer.choices[0].text.strip().startswith(str(code)) for answer, code in pairs)


def test_each_of_many_gets_the_answer_to_its_own_text(reads: Served) -> None:
    prompts = [
        f"{PROSE[place : place + 900]} The code for {word} is {code}. {PROSE[:400]}{question(word)}"
        for place, (word, code) in enumerate(WORDS.items())
    ]
    answers = ask_at_once(reads, prompts)
    assert right(answers) == len(WORDS)
    assert all(a.usage.total_tokens == a.usage.prompt_tokens + 8 for a in answers)


def test_a_shared_beginning_is_computed_once(reads: Served) -> None:
    """One document with five facts, five questions at once; the first one filled the cache."""
    document = "".join(
        f"{PROSE[place * 1000 : place * 1000 + 1000]} The code for {word} is {code}. "
        for place, (word, code) in enumerate(WORDS.items())
    )
    document += PROSE[5000:6000]
    prompts = [document + question(word) for word in WORDS]
    (first,) = ask_at_once(reads, prompts[:1])
    assert reads.logged(first.id)["cached"] == 0
    answers = ask_at_once(reads, prompts)
    assert answers[0].choices[0].text == first.choices[0].text
    for answer in answers:
        numbers = reads.logged(answer.id)
        assert numbers["prompt"] == answer.usage.prompt_tokens
        assert numbers["cached"] == answer.usage.prompt_tokens_details.cached_tokens
        assert numbers["prompt"] - 256 <= numbers["cached"] < numbers["prompt"]
    assert right(answers) >= len(WORDS) - 1


def test_more_at_once_than_seats_each_as_alone(served: Served) -> None:
    """Also with drafts: what shares a batch must not change an answer."""
    prompts = [f"{'Hello there. ' * count}Go" for count in range(1, 9)]
    alone = [ask_at_once(served, [text])[0].choices[0].text for text in prompts]
    together = [answer.choices[0].text for answer in ask_at_once(served, prompts)]
    assert together == alone


def test_turns_with_results_of_tools(served: Served) -> None:
    """Three turns: a demanded call, its result, and the answer; each begins like the last."""
    client, sizes = served.openai(), []
    messages: list[Any] = [
        {"role": "system", "content": PROSE[:1500]},
        {"role": "user", "content": "What is the code for apple?"},
    ]
    for turn in range(3):
        found = client.chat.completions.create(
            model=NAME,
            messages=messages,
            tools=[READ],  # type: ignore[list-item]
            tool_choice="required" if turn < 2 else "none",
            temperature=0,
            max_tokens=120,
            extra_body=PLAIN,
        )
        choice = found.choices[0]
        assert found.usage
        sizes.append(found.usage.prompt_tokens)
        if turn == 2:
            assert choice.message.content and not choice.message.tool_calls
            break
        assert choice.finish_reason == "tool_calls" and choice.message.tool_calls
        call = choice.message.tool_calls[0]
        assert call.type == "function" and json.loads(call.function.arguments) == {}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call.model_dump()]},
            {"role": "tool", "tool_call_id": call.id, "content": "The code for apple is 4821."},
        ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
