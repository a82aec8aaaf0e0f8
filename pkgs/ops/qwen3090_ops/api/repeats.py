"""How much the repetition counts of a request's schemas, patterns and grammars multiply out to.

xgrammar 0.2.9 unfolds the counts in a schema's patterns, and the time grows with their square; vLLM
0.28.0 does it on its only event loop. Counts that xgrammar does not unfold (minLength, maxLength,
minItems, maxItems, of any size) are free and not looked at.
"""

import json
import re
from collections.abc import Iterator, Mapping

# Top-level fields that hold text and data for the model; no grammar is made of anything in them.
SPOKEN = frozenset(
    {"messages", "input", "prompt", "system", "instructions", "metadata", "documents"}
    | {"chat_template", "chat_template_kwargs"}
)
PATTERNS = frozenset({"pattern", "regex", "grammar"})
TEXTS = frozenset({"json", "structural_tag"})  # these may be JSON in a text
SCHEMAS = frozenset({"json", "schema", "json_schema", "parameters", "input_schema"})
MOST = 10**9  # beyond this, counts are not told apart
SHOWN = 60  # characters of a pattern that are repeated in a refusal
LONGEST = 2**17  # characters of a pattern that is read for its counts; a longer one has too many
_ANY_COUNT = re.compile(r"\{\s*+(?:\d|,\s*+\d)")
_WORDS = r"""(?P<count>\{\s*+(?P<least>\d*+)\s*+(?:,\s*+(?P<most>\d*+)\s*+)?\})
    |(?P<open>\()|(?P<close>\))
    |\\.|\[(?:[^\]\\]++|\\.)*+(?:\]|\Z)
    |(?P<none>[*+?|^$\s])|."""
_REGEX = re.compile(_WORDS, re.VERBOSE | re.DOTALL)
_GRAMMAR = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|' + _WORDS, re.VERBOSE | re.DOTALL)


def repeated(pattern: str, *, quoted: bool = False) -> int:
    """Return how many characters and classes the counts `{n,m}` of a pattern make, nested ones too.

    What stands outside every count is free, but for a part in 64 characters, so that reading many
    long patterns ends too. A count without an upper end counts with its lower.

    Args:
        pattern: a regular expression, or an EBNF grammar.
        quoted: whether "..." is one literal, as in a grammar.
    """
    if not _ANY_COUNT.search(pattern):
        return 0
    if len(pattern) > LONGEST:
        return MOST
    frames: list[list[tuple[int, int]]] = [[]]  # of (parts unfolded, of these within a count)
    for found in (_GRAMMAR if quoted else _REGEX).finditer(pattern):
        if found["open"]:
            frames.append([])
        elif found["close"]:
            if len(frames) > 1:
                inner = frames.pop()
                frames[-1].append(_sum(inner))
        elif found["count"]:
            times = max((int(n[:10]) for n in (found["least"], found["most"]) if n), default=1)
            if times > 1 and frames[-1]:
                size = min(MOST, max(1, frames[-1].pop()[0]) * times)
                frames[-1].append((size, size))
        elif not found["none"]:
            frames[-1].append((1, 0))
    return min(MOST, max(len(pattern) // 64, sum(_sum(frame)[1] for frame in frames)))


def _sum(parts: list[tuple[int, int]]) -> tuple[int, int]:
    sizes, counted = sum(part[0] for part in parts), sum(part[1] for part in parts)
    return min(MOST, sizes), min(MOST, counted)


def counts(body: object) -> Iterator[tuple[str, str, int]]:
    """Yield the field, what stands there, and what it multiplies out to, for a request's body."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name not in SPOKEN:
                yield from _counts(value, name)


def _counts(value: object, place: str) -> Iterator[tuple[str, str, int]]:
    name = place.rpartition(".")[2]
    if isinstance(value, str) and name in PATTERNS:
        yield place, shown(value), repeated(value, quoted=name == "grammar")
    elif isinstance(value, str) and name in TEXTS:
        yield from _counts(_parsed(value), place)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _counts(each, f"{place}.{number}")
    elif isinstance(value, dict):
        yield from _properties(value, place)
        for key, each in value.items():
            if name == "patternProperties":
                yield place, shown(key), repeated(key)
            yield from _counts(each, f"{place}.{key}")


def _properties(schema: Mapping[str, object], place: str) -> Iterator[tuple[str, str, int]]:
    """Yield what a count of properties costs: each is listed once for each number of others."""
    listed = schema.get("properties")
    for name in ("maxProperties", "minProperties"):
        wanted = schema.get(name)
        if isinstance(listed, dict) and isinstance(wanted, int) and wanted > 0 and listed:
            most = wanted if name == "maxProperties" else len(listed)
            words = f"{wanted} of {len(listed)} properties"
            yield f"{place}.{name}", words, min(most, len(listed)) * len(listed)
            return


def circular(body: object) -> str:
    """Return a `$ref` of a request's schemas that leads back to itself and nowhere else, or ""."""
    pending = [(v, k) for k, v in body.items() if k not in SPOKEN] if isinstance(body, dict) else []
    while pending:
        value, name = pending.pop()
        if isinstance(value, str) and name in TEXTS:
            value = _parsed(value)
        if isinstance(value, list):
            pending.extend((each, "") for each in value)
        elif isinstance(value, dict):
            wrapped = name == "json_schema" and isinstance(value.get("schema"), dict)
            if name in SCHEMAS and not wrapped:
                if found := _circular(value):
                    return found
            else:
                pending.extend((each, key) for key, each in value.items())
    return ""


def _circular(root: dict[str, object]) -> str:
    """Return the first reference within one schema that only leads to references."""
    pending: list[object] = [root]
    good: set[int] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            pending.extend(value.values())
            seen: set[int] = set()
            node: object = value
            while isinstance(node, dict) and isinstance(node.get("$ref"), str):
                if id(node) in good:
                    break
                if id(node) in seen:
                    return shown(str(value["$ref"]))
                seen.add(id(node))
                node = _target(root, node["$ref"])
            good |= seen
    return ""


def _target(root: object, reference: str) -> object:
    """Return what a reference within the schema points at; None for any other."""
    if not reference.startswith("#"):
        return None
    node = root
    for part in filter(None, reference[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key.isdecimal() and len(key) < 9 and int(key) < len(node):
            node = node[int(key)]
        else:
            node = node.get(key) if isinstance(node, dict) else None
    return node


def _parsed(text: str) -> object:
    """Return the JSON in a text, None when it is none; its depth has been judged before."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def shown(text: str) -> str:
    """Return a text as a refusal repeats it."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
