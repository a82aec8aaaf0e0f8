"""A second, different question on a document must be answered as if nothing had been cached.

A prefix hit that ends between two saved states resumes from the wrong one; asking the same question
twice cannot show it. Cold answers come from requests with a ``cache_salt`` of their own, which no
cached block carries.
"""

import secrets

from qwen3090.bench.asks import numbered, user
from qwen3090.bench.counters import counting
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.quality.drift import Reply, departs, greedy, is_tie
from qwen3090.bench.quality.outcome import Outcome, Say, judged
from qwen3090.bench.suites.fit import QUIET, manual, room
from qwen3090.bench.target import Target

LENGTH, OUTPUT = 8_000, 96
QUESTIONS = (
    "Which node does section 2 describe, and where does it stand?",
    "What is the limit of the node of section 3?",
    "Which port does the node of section 1 listen on?",
    "What went wrong with the node of section 2, and what did the crew do?",
    "Write the shell commands of section 1, one a line.",
    "What is the number of the last report that the manual names?",
)


def second_question(target: Target, say: Say) -> Outcome:
    """Ask six questions on one document warm, each again cold, and compare.

    Raises:
        InvalidRun: a request failed, or somebody else used the server.
    """
    length, notes = room(target, OUTPUT, LENGTH, QUESTIONS)
    run = 10**11 + secrets.randbelow(9 * 10**11)
    text = numbered(manual(target, length), run)

    def one(question: str, salt: str) -> tuple[Reply, int]:
        messages = [dict(message) for message in user(f"{text}\n---\n\n{question}")]
        body = {"messages": messages, "max_tokens": OUTPUT, "cache_salt": salt, **QUIET}
        with counting(target, 1) as counted:
            reply = greedy(target, body)
        return reply, counted.hits

    shared = secrets.token_hex(8)
    one(QUESTIONS[0], shared)
    hits: list[int] = []
    ties: list[str] = []
    wrong: list[str] = []
    for number, question in enumerate(QUESTIONS[1:], 2):
        warm, cached = one(question, shared)
        cold, stray = one(question, secrets.token_hex(8))
        if stray:
            raise InvalidRun(f"{stray} tokens were cached in spite of a new cache_salt")
        hits.append(cached)
        place = departs(cold, warm)
        if place is not None:
            line = f"question {number}: from token {place + 1} on, cold and cached answers differ"
            (ties if is_tie(cold, warm, place) else wrong).append(line)
        say(f"second question {number}: {cached} tokens cached, {_word(place)}")
    if not any(hits):
        notes.append("the server cached nothing: prefix caching is off, so nothing was tested")
    return Outcome(
        test="second question",
        verdict=judged(not wrong if wrong or any(hits) else None),
        method="Greedy answers on one cached document against cold ones (a cache_salt each); a "
        "difference between tokens that were almost equally likely is a tie and passes.",
        figures={
            "document, tokens": length,
            "questions": len(hits),
            "cached tokens, least": min(hits),
            "cached tokens, most": max(hits),
            "equal": len(hits) - len(ties) - len(wrong),
            "ties": len(ties),
            "different": len(wrong),
        },
        details=(*wrong, *ties, *notes),
    )


def _word(place: int | None) -> str:
    return "equal" if place is None else f"different from token {place + 1} on"
