"""What a file of API keys may hold; the engine's API layer reads it by the same rules.

qwen3090_ops/api/keys.py states them for the engine, which has no command line in it.
"""

import string

SHORTEST = 16
_ALLOWED = frozenset(string.digits + string.ascii_letters + string.punctuation)


def parse_keys(text: str) -> list[str]:
    """Return the keys of a text: one a line; blank lines and lines that begin with # are skipped.

    Raises:
        ValueError: no key, or a line that is none; the message has the line's number, not its text.
    """
    keys: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if not _ALLOWED.issuperset(key):
            raise ValueError(f"line {number}: a key is printable ASCII without spaces, one a line")
        if len(key) < SHORTEST:
            raise ValueError(f"line {number}: a key has {SHORTEST} characters or more")
        keys.append(key)
    if not keys:
        raise ValueError("holds no key")
    return keys
