"""The API's keys: read once from their file, kept as SHA-256, compared in constant time.

The rules of a key file are those of qwen3090.config.keyfile, which says what is wrong in more
words before the engine starts; a test holds the two together.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from qwen3090_ops.api.settings import FROM_VARIABLE, KEYS_VARIABLE

SHORTEST = 16
_KEY = re.compile(rf"[!-~]{{{SHORTEST},}}")


class Keyring:
    """The keys that open the API.

    Args:
        keys: at least one.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]
        if not self._digests:
            raise ValueError("a keyring without keys would let nobody in")

    def opens(self, presented: Iterable[bytes]) -> bool:
        """Return whether one of the presented words is a key.

        Every word is compared with every key, by hash, so that time tells nothing.
        """
        found = False
        for word in presented:
            digest = hashlib.sha256(word).digest()
            for known in self._digests:
                found |= hmac.compare_digest(digest, known)
        return found


def parse(text: str, where: str) -> list[str]:
    """Return the keys of a text: one a line; blank lines and lines that begin with # are skipped.

    Raises:
        ValueError: no key, or a line that is none; the message names the line, never the key.
    """
    keys = []
    for number, line in enumerate(text.splitlines(), start=1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if not _KEY.fullmatch(key):
            rule = f"{SHORTEST} or more printable ASCII characters without spaces"
            raise ValueError(f"{where}:{number}: a key has {rule}")
        keys.append(key)
    if not keys:
        raise ValueError(f"{where}: holds no key")
    return keys


def load(source: str | None, environ: Mapping[str, str]) -> Keyring | None:
    """Return the keyring that a Settings.keys names; None when it names none.

    Raises:
        RuntimeError: the file or variable is missing, cannot be read or holds no good key.
    """
    if source is None:
        return None
    try:
        if source == FROM_VARIABLE:
            return Keyring(parse(environ[KEYS_VARIABLE], KEYS_VARIABLE))
        return Keyring(parse(Path(source).read_text(encoding="utf-8", errors="replace"), source))
    except KeyError:
        raise RuntimeError(f"{KEYS_VARIABLE} is not set, and a key is required") from None
    except OSError as error:
        raise RuntimeError(f"key file {source}: {error.strerror}; a key is required") from error
    except ValueError as error:
        raise RuntimeError(str(error)) from error
