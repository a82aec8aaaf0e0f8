"""Applies hunks in memory, fuzz 0: every line must be exactly where the hunk says it is."""

from dataclasses import dataclass, field

from qwen3090.patches.errors import PatchError
from qwen3090.patches.model import FilePatch, Hunk
from qwen3090.patches.text import show


@dataclass
class Moves:
    """Where hunks were found away from their stated line: (hunk number, offset in lines)."""

    found: list[tuple[int, int]] = field(default_factory=list)


def apply_file(
    lines: list[str] | None, file: FilePatch, patch: str, *, moves: Moves | None = None
) -> list[str] | None:
    """Return the file's lines after the patch; None stands for an absent file.

    Args:
        lines: the file's lines before, newlines kept.
        file: what to do to it.
        patch: the patch's name, for messages.
        moves: give one to let hunks match at other lines (context still exact); it is filled.

    Raises:
        PatchError: a hunk does not match, or the file is there when it should not be or not
            when it should.
    """
    if file.created and lines is not None:
        raise _error(patch, file.path, None, "the patch creates this file, but it exists")
    if not file.created and lines is None:
        raise _error(patch, file.path, None, "the patch changes this file, but it does not exist")
    before = lines or []
    result: list[str] = []
    done = 0
    shift = 0
    for hunk in file.hunks:
        start = _index(hunk.source_start, hunk.source)
        if moves is not None:
            start = _find(before, hunk, start + shift, done, patch, file.path)
            shift = start - _index(hunk.source_start, hunk.source)
            if shift:
                moves.found.append((hunk.number, shift))
        if start < done:
            raise _error(patch, file.path, hunk, "it overlaps the hunk before it")
        _match(before, hunk, start, patch, file.path)
        ends = start + len(hunk.source) == len(before)
        if moves is None and not ends and hunk.context[1] < hunk.context[0]:
            reason = "less context behind than before, which GNU patch takes for the file's end"
            raise _error(patch, file.path, hunk, reason)
        result += before[done:start]
        lands = len(result) + (1 if hunk.target else 0)
        if moves is None and lands != hunk.target_start:
            raise _error(
                patch,
                file.path,
                hunk,
                f"its header says +{hunk.target_start}, it lands at +{lands}",
            )
        result += hunk.target
        done = start + len(hunk.source)
    result += before[done:]
    if file.deleted:
        if result:
            raise _error(patch, file.path, None, f"the deletion leaves {len(result)} lines")
        return None
    _check_newlines(result, patch, file)
    return result


def _index(start: int, lines: list[str]) -> int:
    return start - 1 if lines else start


def _match(before: list[str], hunk: Hunk, start: int, patch: str, path: str) -> None:
    if start > len(before) or start < 0:
        raise _error(patch, path, hunk, f"line {start + 1} is past the end ({len(before)} lines)")
    for offset, expected in enumerate(hunk.source):
        index = start + offset
        found = before[index] if index < len(before) else None
        if found != expected:
            raise _error(
                patch,
                path,
                hunk,
                f"line {index + 1}: expected {show(expected)}, found {show(found)}",
            )


def _find(before: list[str], hunk: Hunk, guess: int, lower: int, patch: str, path: str) -> int:
    """Return the index nearest to ``guess`` where the hunk's source stands exactly."""
    source = hunk.source
    if not source:
        return guess
    last = len(before) - len(source)
    spots = [
        index
        for index in range(lower, last + 1)
        if before[index] == source[0] and before[index : index + len(source)] == source
    ]
    if not spots:
        raise _error(patch, path, hunk, "its lines are nowhere in the file: the code changed")
    spots.sort(key=lambda index: abs(index - guess))
    if len(spots) > 1 and abs(spots[0] - guess) == abs(spots[1] - guess):
        first, second = sorted(spots[:2])
        raise _error(patch, path, hunk, f"it fits line {first + 1} and line {second + 1} alike")
    return spots[0]


def _check_newlines(result: list[str], patch: str, file: FilePatch) -> None:
    """A line without a newline may stand only at the end, else two lines would merge."""
    for index, line in enumerate(result[:-1]):
        if not line.endswith("\n"):
            raise _error(patch, file.path, None, f"line {index + 1} has no newline but is not last")


def _error(patch: str, path: str, hunk: Hunk | None, reason: str) -> PatchError:
    where = f", hunk {hunk.number}" if hunk else ""
    return PatchError(
        f"{patch} does not fit {path}{where}: {reason}",
        f"if an earlier patch moved its lines: qwen3090 patches refresh {patch}",
        patch=patch,
        path=path,
        hunk=hunk.number if hunk else None,
    )
