"""The result of a suite: rows of samples, summarised; the shape that the JSON report has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen3090.bench.counters import Counted
from qwen3090.bench.statistics import Summary, summarise
from qwen3090.bench.stream import Answer

Sample = Mapping[str, float]  # by key of QUANTITIES; a quantity that a request lacks is absent


@dataclass
class Row:
    """One line of a suite's table: a kind of prompt, a length, a number of streams.

    Attributes:
        name: what the line is about.
        samples: one mapping a measurement; keys of QUANTITIES.
        counted: the server's counters over all its measurements.
    """

    name: str
    samples: list[Sample] = field(default_factory=list)
    counted: Counted = field(default_factory=Counted)

    def summaries(self) -> dict[str, Summary]:
        """Return the summary of every quantity that some sample has."""
        keys = dict.fromkeys(key for sample in self.samples for key in sample)
        found = {key: summarise([s[key] for s in self.samples if key in s]) for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON."""
        return {
            "name": self.name,
            "summary": {key: value.as_dict() for key, value in self.summaries().items()},
            "acceptance": self.counted.acceptance,
            "drafts": self.counted.drafts,
            "preemptions": self.counted.preemptions,
            "samples": [dict(sample) for sample in self.samples],
        }


@dataclass
class SuiteResult:
    """All rows of one suite.

    Attributes:
        suite: its name.
        about: one sentence on what was asked.
        shows: the quantities of its table, in order.
        axis: what a row's number means in the picture, or "" when rows are kinds.
        warmups: requests that were sent first and left out.
        repeats: times that each request was measured.
        notes: what was left out and why, and what to know when reading.
        prompts: sha256 over the requests as they are written, before anything is made unique.
    """

    suite: str
    about: str
    shows: tuple[str, ...]
    axis: str
    warmups: int
    repeats: int
    prompts: str
    notes: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the suite for JSON."""
        return {
            "suite": self.suite,
            "about": self.about,
            "shows": list(self.shows),
            "axis": self.axis,
            "warmups": self.warmups,
            "repeats": self.repeats,
            "prompts": self.prompts,
            "notes": self.notes,
            "rows": [row.as_dict() for row in self.rows],
        }


def sample_of(answer: Answer, counted: Counted, verbatim: str | None = None) -> Sample:
    """Return one request's quantities; what it does not have is left out.

    Args:
        counted: the server's counters over this request alone.
        verbatim: the text that the answer was to reproduce, if any.
    """
    found: dict[str, float] = {
        "ttft": answer.ttft,
        "e2e": answer.e2e,
        "e2e_rate": answer.tokens / answer.e2e,
        "prompt_tokens": answer.prompt_tokens,
        "output_tokens": answer.tokens,
        "cached_tokens": counted.hits,
    }
    if (decode := answer.decode) is not None:
        found["decode"] = decode
    if (steps := counted.tokens_per_step) is not None:
        found["tokens_per_step"] = steps
    if (new := answer.prompt_tokens - counted.hits) > 0:
        found["prefill"] = new / answer.ttft
    if verbatim is not None:
        found["verbatim"] = same_start(answer.text.strip(), verbatim.strip())
    return found


def same_start(text: str, wanted: str) -> float:
    """Return the share of ``text`` that equals the start of ``wanted``: 1 for a faithful copy."""
    if not text:
        return 0.0
    same = 0
    for mine, its in zip(text, wanted, strict=False):
        if mine != its:
            break
        same += 1
    return same / min(len(text), max(len(wanted), 1))


def short(rows: Sequence[Row]) -> list[str]:
    """Return the names of rows in which no answer was long enough for a decode rate."""
    return [row.name for row in rows if not any("decode" in sample for sample in row.samples)]
