"""The checkpoint that is to be: which tensor goes into which file, and how its bytes come about.

Immutable: a step looks at a draft and returns a plan; applying the plan gives the next draft.
Nothing is read or written here, so a whole run is checked before the first byte is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from qwen3090_prepare.checkpoint import Checkpoint
from qwen3090_prepare.header import Spec, Stored
from qwen3090_prepare.vocab import Ids


@dataclass(frozen=True)
class Quantize:
    """Read a float matrix; write ``module``'s packed weights, scales and shape."""

    step: str
    module: str
    source: Stored
    bits: int
    scale_dtype: str


@dataclass(frozen=True)
class Slice:
    """Copy rows ``ids`` of a tensor: a stored one, or (by name) one that this run writes."""

    step: str
    target: str
    origin: Stored | str
    ids: Ids


@dataclass(frozen=True)
class Write:
    """Write given bytes."""

    step: str
    target: str
    data: bytes


Job = Quantize | Slice | Write


@dataclass(frozen=True)
class Placed:
    """A tensor of the draft: its file, and where its bytes are now (None: a job makes them)."""

    spec: Spec
    file: str
    source: Stored | None


@dataclass(frozen=True)
class Addition:
    """New tensors in a file and the job that fills them."""

    file: str
    specs: tuple[Spec, ...]
    job: Job


@dataclass(frozen=True)
class StepPlan:
    """What a step will do.

    Attributes:
        step: its name.
        action: "run", "kept" (the base has it already) or "skipped".
        note: one line for the user.
        bits: weight bits of what the step packs, None when it packs nothing.
        removes: tensors that go.
        adds: tensors that come, with the jobs that make them.
        adopts: stored tensors that come with their whole file, unchanged (overlay).
        files: small new files by name.
    """

    step: str
    action: Literal["run", "kept", "skipped"]
    note: str
    bits: int | None = None
    removes: tuple[str, ...] = ()
    adds: tuple[Addition, ...] = ()
    adopts: tuple[Stored, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """Tensors by name, jobs by file, small files, and what each file of the sources holds."""

    tensors: Mapping[str, Placed]
    jobs: Mapping[str, tuple[Job, ...]]
    files: Mapping[str, bytes]
    origins: Mapping[str, tuple[Path, frozenset[str]]]

    def apply(self, plan: StepPlan) -> "Draft":
        """Return the draft after a step."""
        tensors = {name: t for name, t in self.tensors.items() if name not in plan.removes}
        jobs = dict(self.jobs)
        for add in plan.adds:
            tensors |= {spec.name: Placed(spec, add.file, None) for spec in add.specs}
            jobs[add.file] = (*jobs.get(add.file, ()), add.job)
        tensors |= {s.spec.name: Placed(s.spec, s.path.name, s) for s in plan.adopts}
        origins = {**self.origins, **_origins(plan.adopts)}
        return replace(
            self,
            tensors=tensors,
            jobs=jobs,
            files={**self.files, **plan.files},
            origins=origins,
        )

    def by_file(self) -> dict[str, list[Placed]]:
        """Return the tensors of each file, in name order."""
        found: dict[str, list[Placed]] = {}
        for _, placed in sorted(self.tensors.items()):
            found.setdefault(placed.file, []).append(placed)
        return dict(sorted(found.items()))

    def unchanged(self, file: str) -> Path | None:
        """Return the path of the source file that can be linked as it is, if one can."""
        origin = self.origins.get(file)
        if origin is None or self.jobs.get(file):
            return None
        held = {n: t for n, t in self.tensors.items() if t.file == file}
        same = set(held) == origin[1]
        here = all(t.source is not None and t.source.path == origin[0] for t in held.values())
        return origin[0] if same and here else None


def start(base: Checkpoint) -> Draft:
    """Return the draft that equals the base."""
    placed = {name: Placed(s.spec, s.path.name, s) for name, s in base.tensors.items()}
    return Draft(placed, {}, {}, _origins(base.tensors.values()))


def _origins(tensors: Iterable[Stored]) -> dict[str, tuple[Path, frozenset[str]]]:
    found: dict[str, tuple[Path, set[str]]] = {}
    for stored in tensors:
        found.setdefault(stored.path.name, (stored.path, set()))[1].add(stored.spec.name)
    return {name: (path, frozenset(names)) for name, (path, names) in found.items()}
