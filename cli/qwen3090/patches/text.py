"""Bytes to lines and back without loss, so that only what a patch says changes."""


def to_lines(data: bytes) -> list[str]:
    r"""Split at ``\n`` alone, newlines kept; bytes that are not UTF-8 survive the round trip."""
    parts = data.decode("utf-8", "surrogateescape").split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def to_bytes(lines: list[str]) -> bytes:
    """Undo `to_lines`."""
    return "".join(lines).encode("utf-8", "surrogateescape")


def show(line: str | None) -> str:
    """Return a line as an error message quotes it."""
    if line is None:
        return "the end of the file"
    text = line.encode("utf-8", "replace").decode("utf-8")
    if text.endswith("\n"):
        return repr(text[:-1])
    return f"{text!r} without a newline at the end of the file"
