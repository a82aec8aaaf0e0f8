"""What is on disk of each repository and variant, for people and for scripts."""

from dataclasses import dataclass
from pathlib import Path

from qwen3090.models.manifest import Manifest
from qwen3090.models.progress import human
from qwen3090.models.store import JOURNAL, MARKER, PART, Store, read_marker, whole


@dataclass(frozen=True)
class Row:
    """One repository or prepared checkpoint: state and bytes on disk against bytes expected."""

    kind: str
    name: str
    origin: str
    state: str
    on_disk: int
    expected: int


def listing(manifest: Manifest, store: Store, prepared: Path) -> list[Row]:
    """Return a row for every repository, known or only on disk, and every prepared checkpoint."""
    rows = []
    for name, repository in manifest.repositories.items():
        origin = f"{repository.repository}@{repository.revision[:12]}"
        final, staging = store.final(name), store.staging(name)
        if whole(final, repository):
            state, size = "whole", repository.size
        elif staging.is_dir():
            size = _arrived(staging)
            state = f"unfinished, {100 * size / max(repository.size, 1):.0f} %"
        elif final.is_dir():
            marker = read_marker(final)
            other = marker is not None and marker.revision != repository.revision
            state, size = "other revision" if other else "changed or damaged", _arrived(final)
        else:
            state, size = "not fetched", 0
        rows.append(Row("published", name, origin, state, size, repository.size))
    for name in store.names():
        if name not in manifest.repositories:
            marker = read_marker(store.final(name))
            origin = f"{marker.repository}@{marker.revision[:12]}" if marker else "?"
            size = _arrived(store.final(name) if marker else store.staging(name))
            rows.append(Row("published", name, origin, "in no manifest", size, 0))
    for name, variant in manifest.variants.items():
        directory = prepared / name
        if variant.prepared_bytes:
            done = (directory / "prepared.json").is_file()
            state = "prepared" if done else "unfinished" if directory.is_dir() else "not prepared"
            origin = " + ".join(variant.repositories)
            size = _arrived(directory)
            rows.append(Row("prepared", name, origin, state, size, variant.prepared_bytes))
    return rows


def render(rows: list[Row], root: Path) -> str:
    """Return the rows as a table."""
    head = ("KIND", "NAME", "STATE", "ON DISK", "FROM")
    table = [head, *((r.kind, r.name, r.state, human(r.on_disk), r.origin) for r in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(head) - 1)]
    lines = [f"models directory: {root}"]
    for line in table:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        lines.append("  ".join([*cells, line[-1]]).rstrip())
    return "\n".join(lines)


def _arrived(directory: Path) -> int:
    """Return the bytes of a directory's files, partial ones included, the tool's own left out."""
    if not directory.is_dir():
        return 0
    own = {MARKER, JOURNAL, MARKER + ".new"}
    files = (p for p in directory.rglob("*") if p.is_file() and p.name not in own)
    return sum(path.stat().st_size for path in files if not path.name.endswith(".new" + PART))
