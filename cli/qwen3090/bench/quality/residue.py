"""Verbatim answers over prompt lengths that grow by one token: is any one length read wrongly?

Errors at the edge of a block, a tile or a graph hit one prompt length in 128 or so and read as
garbled or repeated text. Each length is asked twice, so that the second comes from the cache.
"""

import secrets
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Any

from qwen3090.bench.asks import numbered, user
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.quality.drift import departs, greedy, is_tie
from qwen3090.bench.quality.outcome import Outcome, Say, judged
from qwen3090.bench.results import same_start
from qwen3090.bench.suites.fit import QUIET, manual, room
from qwen3090.bench.target import Target

LENGTH, OUTPUT, RESIDUES = 1_500, 64, 128
TASK = "Repeat the text above word for word from its beginning. Write nothing else."
GOOD, LOOP = 0.5, 0.5
SEARCH = 8  # cuts that are tried for one length


@dataclass(frozen=True)
class _Case:
    """A prompt: its length in tokens, the text to repeat, and the request."""

    length: int
    shown: str
    body: dict[str, Any]


def residues(target: Target, count: int, say: Say) -> Outcome:
    """Ask ``count`` lengths, one token apart, twice each.

    A length fails when its copy is less than half as faithful as the median one, provided the
    median copies at all; when it repeats itself; or when its cached answer departs from the cold
    one at no tie. The test fails as well when the median answer copies nothing at all.

    Raises:
        InvalidRun: a request failed, or so many lengths do not fit into the context.
    """
    length, notes = room(target, OUTPUT, LENGTH, [TASK])
    cases = _cases(target, count, length)
    if len(cases) < count:
        notes.append(f"{count - len(cases)} lengths could not be made of whole words")
    faithful: list[float] = []
    loops: list[float] = []
    wrong: list[str] = []
    ties = 0
    for number, case in enumerate(cases):
        cold, warm = greedy(target, case.body), greedy(target, case.body)
        faithful.append(same_start(warm.text.strip(), case.shown))
        loops.append(repetition(warm.tokens))
        place = departs(cold, warm)
        if place is not None and is_tie(cold, warm, place):
            ties += 1
        elif place is not None:
            wrong.append(f"{case.length} tokens: the cached answer departs at token {place + 1}")
        if number % 16 == 0:
            say(f"residues: {number + 1} of {len(cases)}, verbatim {faithful[-1]:.2f}")
    lengths = [case.length for case in cases]
    median = statistics.median(faithful)
    for size, share, loop in zip(lengths, faithful, loops, strict=True):
        if median >= GOOD and share < GOOD * median:
            wrong.append(f"{size} tokens: verbatim {share:.2f}, the median is {median:.2f}")
        if median >= GOOD and loop > LOOP:
            wrong.append(f"{size} tokens: {loop:.0%} of the answer repeats itself")
    if median < GOOD:
        notes.append("this model does not copy: only cold and cached answers were compared")
    if median == 0:
        wrong.append(
            "no answer begins as its text does: nothing was tested, or everything is wrong"
        )
    return Outcome(
        test="residues",
        verdict=judged(not wrong),
        method="Prompts one token apart, each asked twice for its own beginning, greedily.",
        figures={
            "prompts": len(lengths),
            "lengths": f"{lengths[0]} to {lengths[-1]} tokens",
            "verbatim, median": median,
            "verbatim, least": min(faithful),
            "repetition, most": max(loops),
            "cached answers at a tie": ties,
            "failed lengths": len(
                {line.split(" tokens")[0] for line in wrong if " tokens: " in line}
            ),
        },
        details=(*wrong, *notes),
    )


def repetition(tokens: tuple[str, ...], size: int = 4) -> float:
    """Return the share of runs of ``size`` tokens that occurred before in the same answer."""
    runs = [tokens[i : i + size] for i in range(len(tokens) - size + 1)]
    return sum(n - 1 for n in Counter(runs).values()) / len(runs) if runs else 0.0


def _cases(target: Target, count: int, length: int) -> list[_Case]:
    """Return prompts whose lengths grow by exactly one token.

    A text that is cut after one more token may count two more, or none: cuts are tried until the
    whole prompt has the wanted length.
    """
    ids = target.tokens(manual(target, length))
    cut = len(ids) - count - count // 2 - SEARCH
    if cut < 1:
        raise InvalidRun(f"{count} lengths do not fit into {length} tokens", "--residues N")
    run = 10**11 + secrets.randbelow(9 * 10**11)
    cases: list[_Case] = []
    wanted = 0
    for number in range(count):
        for step in range(SEARCH):
            case = _case(target, target.detokenize(ids[: cut + step]), run + number * SEARCH + step)
            if case.length == wanted or not wanted:
                cases.append(case)
                cut += step
                break
        wanted = (wanted or case.length) + 1
        cut += 1
    return cases


def _case(target: Target, text: str, number: int) -> _Case:
    shown = numbered(text, number)
    messages = [dict(message) for message in user(f"{shown}\n---\n\n{TASK}")]
    asked = {"messages": messages, "add_generation_prompt": True, **QUIET}
    found = target.post("/tokenize", asked).get("tokens")
    if not isinstance(found, list):
        raise InvalidRun("/tokenize gave no tokens")
    return _Case(len(found), shown, {"messages": messages, "max_tokens": OUTPUT, **QUIET})
