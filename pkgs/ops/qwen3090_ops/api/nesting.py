"""How deep brackets nest in a text, without parsing it: linear, and nothing in it recurses."""

import re

import numpy as np

# A string ends at its quote, or with the text; so a text of escapes costs one pass, not many.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
JSON = b"[{", b"]}"
CODE = b"[{(", b"]})"


def depth(text: bytes, brackets: tuple[bytes, bytes] = JSON, *, strings: bool = True) -> int:
    """Return how many brackets are open at most, at any place of a text.

    Args:
        text: UTF-8.
        brackets: the opening ones and the closing ones.
        strings: whether "..." with JSON's escapes is skipped.
    """
    opening, closing = brackets
    if strings:
        text = _STRING.sub(b"", text)
    others = bytes(set(range(256)) - set(opening + closing))
    found = np.frombuffer(text.translate(None, others), dtype=np.uint8)
    if not found.size:
        return 0
    step = np.full(256, -1, dtype=np.int8)
    step[list(opening)] = 1
    return max(0, int(np.cumsum(step[found], dtype=np.int32).max()))
