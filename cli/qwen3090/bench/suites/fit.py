"""Fit texts and lengths into what the server serves, and say what was left out."""

from collections.abc import Iterable, Sequence

from qwen3090.bench.document import document
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.target import Target

FRAME = 64  # tokens kept for the template and the session number around a document
QUIET = {"chat_template_kwargs": {"enable_thinking": False}}


def manual(target: Target, tokens: int) -> str:
    """Return the start of the manual, whole lines, at most ``tokens`` long for this server."""
    characters = tokens * 5
    while len(ids := target.tokens(document(characters))) < tokens:
        characters *= 2
    text = target.detokenize(ids[:tokens])
    return text[: text.rindex("\n") + 1]


def around(target: Target, questions: Iterable[str]) -> int:
    """Return the tokens to keep for all that is not the document in a prompt."""
    return FRAME + max(len(target.tokens(question)) for question in questions)


def room(
    target: Target, output: int, wanted: int, questions: Iterable[str]
) -> tuple[int, list[str]]:
    """Return how long a document may be, and a note when it is shorter than wanted.

    Args:
        output: longest answer in tokens.
        wanted: tokens that the document should have.
        questions: what is asked about it, one at a time.

    Raises:
        InvalidRun: the context has no room for a document.
    """
    fits = target.context - output - around(target, questions)
    if fits < 256:
        raise InvalidRun(
            f"a context of {target.context} tokens has no room for a document and {output} more",
            "--output N, or serve a longer context",
        )
    if fits >= wanted:
        return wanted, []
    note = (
        f"the document has {fits:,} tokens instead of {wanted:,}: the server's context is "
        f"{target.context:,}"
    )
    return fits, [note]


def lengths(
    target: Target, wanted: Sequence[int], output: int
) -> tuple[tuple[int, ...], list[str]]:
    """Return the lengths that fit beside ``output`` tokens, and a note on those that do not.

    Raises:
        InvalidRun: none fits.
    """
    fit = tuple(length for length in wanted if length + output <= target.context)
    if not fit:
        raise InvalidRun(
            f"no prompt of {wanted[0]:,} tokens or more fits into a context of {target.context:,}",
            "--lengths N,N",
        )
    left = [f"{length:,}" for length in wanted if length not in fit]
    note = f"left out, longer than the context of {target.context:,}: {', '.join(left)}"
    return fit, [note] if left else []
