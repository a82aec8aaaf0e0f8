"""Perplexity of the served model on the user's own text files.

Each file is tokenized by the server and cut into consecutive windows; every token of a window but
its first is scored given the tokens before it in the same window (``prompt_logprobs``). The result
is exp(-mean log probability), so a larger window gives a smaller figure: compare equal windows.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.quality.outcome import Outcome, Say, judged
from qwen3090.bench.target import Target

WINDOW = 1024


def perplexity(
    target: Target, files: Sequence[Path], window: int, limit: float | None, say: Say
) -> Outcome:
    """Score every file.

    Args:
        window: tokens of a window; at most the context less one.
        limit: largest perplexity that passes, over all files; None only measures.

    Raises:
        InvalidRun: a file cannot be read or is too short, or a log probability is not a number.
    """
    window = min(window, target.context - 1)
    figures: dict[str, Any] = {"window, tokens": window}
    total, count = 0.0, 0
    for path in files:
        parts = windows(_ids(target, path), window)
        logs = [score for ids in parts for score in _score(target, ids)]
        figures[f"{path.name}, tokens scored"] = len(logs)
        figures[f"{path.name}, perplexity"] = math.exp(-math.fsum(logs) / len(logs))
        total, count = total + math.fsum(logs), count + len(logs)
        say(f"perplexity: {path.name}: {figures[f'{path.name}, perplexity']:.4f}")
    whole = math.exp(-total / count)
    figures["all files, perplexity"] = whole
    return Outcome(
        test="perplexity",
        verdict=judged(None if limit is None else whole <= limit),
        method="Windows of consecutive tokens, each token but the first scored by prompt_logprobs; "
        "exp of the negative mean.",
        figures=figures | ({} if limit is None else {"limit": limit}),
    )


def windows(ids: Sequence[int], size: int) -> list[list[int]]:
    """Return consecutive windows; a last one with nothing to score (one token) is left out."""
    found = [list(ids[start : start + size]) for start in range(0, len(ids), size)]
    return [part for part in found if len(part) > 1]


def _ids(target: Target, path: Path) -> list[int]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRun(f"{path} cannot be read: {error}", "--text FILE (UTF-8 text)") from None
    ids = target.tokens(text)
    if len(ids) < 2:
        raise InvalidRun(f"{path} has {len(ids)} tokens: nothing to score", "--text FILE")
    return ids


def _score(target: Target, ids: list[int]) -> list[float]:
    """Return the log probability of each token but the first."""
    body = {"prompt": ids, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    answer = target.post("/v1/completions", body)
    try:
        entries = answer["choices"][0]["prompt_logprobs"][1:]
        found = [
            float(entry[str(token)]["logprob"])
            for token, entry in zip(ids[1:], entries, strict=True)
        ]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidRun(f"the server gave no prompt_logprobs for a window: {error!r}") from None
    if wrong := [place for place, value in enumerate(found) if not math.isfinite(value)]:
        raise InvalidRun(f"prompt_logprobs: no finite number at place {wrong[0] + 1} of a window")
    return found
