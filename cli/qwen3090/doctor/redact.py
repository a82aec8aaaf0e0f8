"""Takes out of a text what names a person, a machine or a secret, before it leaves the machine.

Two ways at once: values that are known here (users, host, keys), and shapes (addresses, tokens).
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping

Replace = str | Callable[[re.Match[str]], str]


def _address(match: re.Match[str]) -> str:
    """Return an address redacted, when it is one and others than this machine answer to it."""
    text = match[0] if match[0].endswith("::") else match[0].rstrip(".:")
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return match[0]
    kept = found.is_loopback or found.is_unspecified
    return match[0] if kept else f"<ip>{match[0][len(text) :]}"


def _url(match: re.Match[str]) -> str:
    host = match["host"].strip("[]").lower()
    return match[0] if host in ("localhost", "127.0.0.1", "::1") else f"{match['scheme']}<host>"


def _opaque(match: re.Match[str]) -> str:
    """Return a long run of letters and digits redacted, unless it is one word or a path."""
    text = match[0]
    mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
    return "<redacted>" if mixed and text.count("/") < 3 else text


_NAMED = r"[\w-]*(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|passw(?:or)?d|[_-]token)"
_QUOTE = r"(?:\\*[\"'])?"  # escaped where JSON holds JSON
_VALUE = r"[^\s\"',\\]+"
_PREFIXES = "hf_|sk-|gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|eyJ"
_HOME = r"(?:/home|/Users|/export/home|/mnt/[a-z]/Users|[a-z]:[\\/]+Users)[\\/]+[^\\/\s:\"',;)]+"
_HOST = r"(?P<host>\[[^\]\s]+\]|[^\s/:\"')]+)(?::\d+)?"
_OPAQUE = r"[A-Za-z0-9+/_=-]"

# In this order: what holds other shapes comes before them.
_SHAPES: tuple[tuple[str, Replace], ...] = (
    (r"-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|\Z)", "<key>"),
    (r"\b[a-z][a-z0-9+.-]*:/+[^\s/@\"']*@[^\s/:\"']+", "<url>"),
    (rf"\b(?P<scheme>(?:https?|wss?|socks5h?|ftp):/+){_HOST}", _url),
    (r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "<email>"),
    (r"(\b(?:bearer|basic)\s+)[\w.+/=~-]{4,}", r"\1<key>"),
    (rf"(\b{_NAMED}\b{_QUOTE}(?:\s*[:=,]\s*|\s+){_QUOTE}){_VALUE}", r"\1<key>"),
    (rf"(\btoken{_QUOTE}\s*[:=]\s*{_QUOTE}){_VALUE}", r"\1<key>"),
    (rf"\b(?:{_PREFIXES})[\w.-]{{8,}}", "<key>"),
    (r"\b(?:GPU-|MIG-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>"),
    (r"(\bserial(?: ?number| ?no\.?)?[\"']?\s*[:=#]?\s*)[\w-]*\d[\w-]*", r"\1<serial>"),
    (r"\b[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}\b", "<mac>"),
    (r"(?<![\w.:])[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]*(?:%\w+)?", _address),
    (r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)", _address),
    (_HOME, "~"),
    (r"(?<![\w/])/root(?![\w-])", "~"),
    (rf"(?<!/nix/store/)(?<!{_OPAQUE}){_OPAQUE}{{32,}}", _opaque),
)
SHAPES = tuple((re.compile(pattern, re.I), replacement) for pattern, replacement in _SHAPES)


class Redactor:
    """Redacts texts.

    Args:
        secrets: texts that are taken out wherever they stand, as keys are.
        names: label by text that is taken out where it stands as a word of its own.
        homes: directories of users, wherever they are; each becomes ``~``.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
        homes: Iterable[str] = (),
    ) -> None:
        self._secrets = sorted({text for text in secrets if text}, key=len, reverse=True)
        self._homes = sorted(homes, key=len, reverse=True)
        self._names = sorted((names or {}).items(), key=lambda item: -len(item[0]))

    def __call__(self, text: str) -> str:
        """Return the text without what must not leave the machine."""
        for secret in self._secrets:
            text = text.replace(secret, "<key>")
        for home in self._homes:
            text = re.sub(rf"(?<![\w/.]){re.escape(home)}(?![\w-])", "~", text)
        for pattern, replacement in SHAPES:
            text = pattern.sub(replacement, text)
        for name, label in self._names:
            word = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
            text = re.sub(word, f"<{label}>", text, flags=re.I)
        return text
