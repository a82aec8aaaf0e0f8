"""Exact match on questions with a number for an answer, in the way GSM8K is scored.

One JSON object a line: ``{"question": ..., "answer": ...}``. The last number of the model's answer
must equal the last number of the given one, so GSM8K's own files ("... #### 42") fit.
"""

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.quality.outcome import Outcome, Say, judged
from qwen3090.bench.stream import Answer, ask
from qwen3090.bench.target import Target

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
ENDING = "\n\nThink step by step, then give the answer as one number on a line of its own."


def exact(
    target: Target,
    path: Path,
    *,
    streams: int,
    output: int,
    thinking: bool,
    limit: float | None,
    say: Say,
) -> Outcome:
    """Ask every question of a file, greedily.

    Args:
        streams: questions that are asked at the same time.
        output: longest answer in tokens.
        thinking: whether the model may think first.
        limit: smallest share of right answers that passes; None only measures.

    Raises:
        InvalidRun: the file is malformed, or a request failed.
    """
    questions = read(path)

    def one(question: str) -> Answer:
        body = {
            "messages": [{"role": "user", "content": question + ENDING}],
            "max_tokens": output,
            "temperature": 0,
            "chat_template_kwargs": {"enable_thinking": thinking},
        }
        return ask(target, body)

    with ThreadPoolExecutor(streams) as pool:
        answers = list(pool.map(one, [question for question, _ in questions]))
    right = [
        last_number(answer.text) == wanted
        for answer, (_, wanted) in zip(answers, questions, strict=True)
    ]
    share = sum(right) / len(right)
    cut = sum(answer.finish == "length" for answer in answers)
    say(f"exact match: {sum(right)} of {len(right)}")
    wrong = [
        f"line {place + 1}: {last_number(answer.text)}, not {wanted}"
        for place, (answer, (_, wanted)) in enumerate(zip(answers, questions, strict=True))
        if not right[place]
    ]
    return Outcome(
        test="exact match",
        verdict=judged(None if limit is None else share >= limit),
        method=f"Greedy, {'' if thinking else 'no '}thinking, at most {output} tokens; the last "
        "number of the answer must equal the file's.",
        figures={
            "questions": len(right),
            "right": sum(right),
            "share": share,
            "cut off at the longest answer": cut,
        },
        details=tuple(_first(wrong, 20)),
    )


def read(path: Path) -> list[tuple[str, Decimal]]:
    """Return (question, number) of each line.

    Raises:
        InvalidRun: unreadable, empty, not JSON lines, or an answer without a number.
    """
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRun(f"{path} cannot be read: {error}", "--questions FILE") from None
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            question, answer = str(entry["question"]), str(entry["answer"])
        except (ValueError, KeyError, TypeError):
            raise InvalidRun(
                f"{path}:{place}: not an object with question and answer", f"mend {path}"
            ) from None
        number = last_number(answer)
        if number is None:
            raise InvalidRun(f"{path}:{place}: the answer has no number", f"mend {path}")
        found.append((question, number))
    if not found:
        raise InvalidRun(f"{path} has no question", "--questions FILE")
    return found


def last_number(text: str) -> Decimal | None:
    """Return the last number of a text, commas and trailing zeros aside, or None."""
    found = NUMBER.findall(text)
    return Decimal(found[-1].replace(",", "")).normalize() if found else None


def _first(lines: Sequence[str], count: int) -> list[str]:
    more = [f"and {len(lines) - count} more"] if len(lines) > count else []
    return [*lines[:count], *more]
