"""Bytes to a Patch: unidiff reads and counts, this module refuses what we do not allow."""

import re
from typing import Any

from unidiff import PatchSet
from unidiff.errors import UnidiffParseError

from qwen3090.patches.errors import PatchError
from qwen3090.patches.model import FilePatch, Hunk, Patch

NAME = re.compile(r"^\d{4}-[a-z0-9][a-z0-9._-]*\.patch$")
STATE_DIR = "vllm/.qwen3090"

_DIFF_START = re.compile(r"^(diff --git |--- \S)")
_REFUSED = re.compile(
    r"^(rename |copy |similarity |dissimilarity |GIT binary patch|Binary files |old mode |new mode "
    r"|new file mode (?!100644)|deleted file mode (?!100644|100755))"
)
_META = re.compile(r"^(diff --git |index |new file mode |deleted file mode |--- |\+\+\+ |@@ -\d)")
_NO_NEWLINE = "\\ No newline at end of file\n"


def parse_patch(name: str, raw: bytes) -> Patch:
    """Parse one patch file.

    Raises:
        PatchError: not UTF-8, no or wrong hunks, a rename, a mode change, binary data, or a
            path that is not below ``vllm/``.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _malformed(name, f"byte {error.start} is not UTF-8") from error
    header, body, first_line = _split(text)
    if not body:
        raise _malformed(name, "it has no diff")
    if not body.endswith("\n"):
        raise _malformed(name, "its last line has no newline (the file is cut short)")
    lines = body.split("\n")[:-1]
    for index, line in enumerate(lines):
        if line.startswith("\\") and f"{line}\n" != _NO_NEWLINE:
            raise _malformed(name, f"line {first_line + index}: unknown marker {line!r}")
    try:
        parsed = PatchSet(body)
    except (UnidiffParseError, ValueError) as error:
        raise _malformed(name, str(error).strip()) from error
    _check_every_line_is_known(name, parsed, lines, first_line)
    files = tuple(_file(name, item) for item in parsed)
    paths = [file.path for file in files]
    if repeated := sorted({path for path in paths if paths.count(path) > 1}):
        raise _malformed(name, f"it has two parts for {repeated[0]}", path=repeated[0])
    return Patch(name=name, raw=raw, header=header, files=files)


def _split(text: str) -> tuple[str, str, int]:
    """Return header, diff, and the diff's first line number."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if _DIFF_START.match(line):
            header = "".join(f"{item}\n" for item in lines[:index])
            return header, "\n".join(lines[index:]), index + 1
    return text, "", len(lines)


def _check_every_line_is_known(name: str, parsed: Any, lines: list[str], first_line: int) -> None:
    """Refuse what unidiff passes over: a damaged ``@@`` line would drop its hunk unseen."""
    known = {line.diff_line_no for file in parsed for hunk in file for line in hunk}
    seen: dict[str, list[str]] = {"---": [], "+++": [], "@@": []}
    for number, line in enumerate(lines, 1):
        where = f"line {first_line + number - 1}"
        if number in known or f"{line}\n" == _NO_NEWLINE:
            continue
        if _REFUSED.match(line):
            raise _malformed(name, f"{where}: renames, modes and binary data are refused: {line!r}")
        if not _META.match(line):
            raise _malformed(name, f"{where}: not part of any hunk (hunk counts wrong?): {line!r}")
        word, _, rest = line.partition(" ")
        if word in seen:
            seen[word].append(rest.split("\t")[0])
    changed = [file for file in parsed if len(file)]
    for word, names in (
        ("---", [file.source_file for file in changed]),
        ("+++", [file.target_file for file in changed]),
    ):
        if seen[word] != names:
            raise _malformed(name, f"its {word} lines name {seen[word]}, its parts are {names}")
    if len(seen["@@"]) != sum(len(file) for file in parsed):
        raise _malformed(name, "one of its @@ lines is damaged")


def _file(name: str, item: Any) -> FilePatch:
    created = item.source_file == "/dev/null"
    deleted = item.target_file == "/dev/null"
    sides = [
        side
        for side, prefix, absent in (
            (item.source_file, "a/", created),
            (item.target_file, "b/", deleted),
        )
        if not absent and _has_prefix(name, side, prefix)
    ]
    paths = {side[2:] for side in sides}
    if len(paths) != 1:
        raise _malformed(name, f"renames are refused: {item.source_file} to {item.target_file}")
    path = paths.pop()
    _check_path(name, path)
    hunks = tuple(_hunk(number, hunk) for number, hunk in enumerate(item, 1))
    if not hunks and not (created or deleted):
        raise _malformed(name, f"{path} has no hunk", path=path)
    for hunk in hunks:
        if all(tag == " " for tag, _ in hunk.lines):
            raise _malformed(name, f"{path}: hunk {hunk.number} changes nothing", path=path)
    if (created and any(h.source for h in hunks)) or (deleted and any(h.target for h in hunks)):
        raise _malformed(name, f"{path}: a created or deleted file has context lines", path=path)
    return FilePatch(path=path, created=created, deleted=deleted, hunks=hunks)


def _has_prefix(name: str, side: str, prefix: str) -> bool:
    if not side.startswith(prefix):
        raise _malformed(name, f"path {side!r} does not begin with {prefix!r}")
    return True


def _check_path(name: str, path: str) -> None:
    parts = path.split("/")
    if parts[0] != "vllm" or len(parts) < 2 or {"", ".", ".."} & set(parts):
        raise _malformed(name, f"path {path!r} is outside vllm/", path=path)
    if path.startswith(f"{STATE_DIR}/") or "__pycache__" in parts or not path.isprintable():
        raise _malformed(name, f"path {path!r} may not be patched", path=path)


def _hunk(number: int, hunk: Any) -> Hunk:
    lines: list[tuple[str, str]] = []
    for line in hunk:
        if line.line_type == "\\":
            tag, text = lines[-1]
            lines[-1] = (tag, text.removesuffix("\n"))
        else:
            lines.append((line.line_type, line.value))
    return Hunk(number, hunk.source_start, hunk.target_start, tuple(lines))


def _malformed(name: str, reason: str, path: str | None = None) -> PatchError:
    return PatchError(
        f"{name} is malformed: {reason}",
        f"restore it (git checkout patches/{name}) or export it again: "
        f"qwen3090 patches export {name.removesuffix('.patch')} --from PRISTINE --to WORKTREE",
        patch=name,
        path=path,
    )
