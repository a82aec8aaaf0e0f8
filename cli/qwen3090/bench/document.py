"""A technical document of any length, written by rule: the text for copying, quoting and depth.

The manual of a made-up service: prose, TOML, Python, shell commands and tables, every section with
names and numbers of its own, so that a question has one answer and a copy can be checked. One seed
gives one text, byte for byte, and a longer document begins with the shorter one.
"""

import hashlib
import random
from functools import cache

SEED = 20_260
TITLE = "# Heron: operations manual\n\nHeron is a fictitious queue service.\n\n"

_PARTS = ("intake", "ledger", "router", "archive", "sampler", "courier", "beacon", "mirror")
_VERBS = ("collects", "orders", "signs", "compacts", "forwards", "expires", "verifies", "splits")
_THINGS = ("batches", "leases", "receipts", "segments", "snapshots", "tickets", "windows", "keys")
_PLACES = ("Aarhus", "Bergen", "Cork", "Delft", "Evora", "Faro", "Ghent", "Hamar", "Izmir", "Jena")
_FAULTS = (
    "the clock of one node ran ahead",
    "a disk filled up with unread segments",
    "two nodes claimed the same lease",
    "a certificate expired over a holiday",
    "a retry loop had no upper bound",
    "an index was rebuilt from an old snapshot",
)
_CURES = (
    "drained the node and started it again with an empty journal",
    "moved the oldest segments to cold storage and raised the quota",
    "released the younger lease by hand and kept the older one",
    "installed the new certificate and shortened the reminder to thirty days",
    "put a ceiling of six attempts on the loop",
    "restored the snapshot of the night before and replayed the journal",
)


@cache
def document(characters: int) -> str:
    """Return at least ``characters`` characters of the manual, whole sections."""
    # Not for secrets: the same text on every machine is the point.
    source = random.Random(SEED)  # noqa: S311
    parts, length, number = [TITLE], len(TITLE), 0
    while length < characters:
        number += 1
        parts.append(section(source, number))
        length += len(parts[-1])
    return "".join(parts)


def section(source: random.Random, number: int) -> str:
    """Return section ``number``: what the part does, its settings, code, commands, an incident."""
    part, verb = source.choice(_PARTS), source.choice(_VERBS)
    thing, place = source.choice(_THINGS), source.choice(_PLACES)
    port, limit = source.randint(2000, 9999), source.randint(3, 900)
    minutes, day = source.randint(4, 180), source.randint(1, 28)
    fault = source.randrange(len(_FAULTS))
    name = f"{part}-{number}"
    return (
        f"## {number}. The {name} node\n\n"
        f"The node {name} stands in {place} and {verb} {thing} for the rest of the cluster. "
        f"It accepts at most {limit} {thing} a second; what is above that waits in its journal, "
        f"which is read again every {minutes} seconds. A node that has not answered for "
        f"{minutes * 3} seconds is taken out of the ring, and its {thing} go to the next one.\n\n"
        f'```toml\n[node.{name}]\nlisten = "10.{number % 250}.{day}.{limit % 250}:{port}"\n'
        f'limit = {limit}\njournal = "/var/lib/heron/{name}.log"\nreread_seconds = {minutes}\n'
        f'owner = "{place.lower()}-{source.randint(10, 99)}"\n```\n\n'
        f"```python\ndef {part}_{number}(items, limit={limit}):\n"
        f'    """{verb.capitalize()} {thing} until the limit is reached."""\n'
        f"    done = []\n    for item in items:\n"
        f'        if len(done) == limit:\n            raise Overflow("{name}", len(items))\n'
        f"        done.append(item.key() + {port})\n    return done\n```\n\n"
        f"```sh\nheronctl drain {name} --after {minutes}s\n"
        f"heronctl show {name} --format table | grep {thing}\n"
        f"heronctl resume {name} --limit {limit}\n```\n\n"
        f"| measure | usual | alarm |\n|---|---|---|\n"
        f"| {thing} a second | {limit * 2 // 3} | {limit} |\n"
        f"| journal, MB | {port // 7} | {port // 3} |\n\n"
        f"On day {day} of month {number % 12 + 1} {_FAULTS[fault]}, and {name} stopped for "
        f"{minutes} minutes. The crew in {place} {_CURES[fault]}. Since then the alarm for "
        f"{thing} stands at {limit}, and the report is number {port}-{number}.\n\n"
    )


def document_hash(characters: int) -> str:
    """Return the sha256 (hex) of ``document(characters)``."""
    return hashlib.sha256(document(characters).encode()).hexdigest()
