"""One run of ``qwen3090 bench quality``: the chosen tests, in an order that fails early."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qwen3090.bench.conditions import model_identity, series
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.quality import exact, perplexity, residue, second
from qwen3090.bench.quality.outcome import Outcome, Say, page
from qwen3090.bench.settings import Chosen, choose

RESIDUES = 128
Where = tuple[str | None, Path | None, tuple[str, ...], str | None, Path | None]


@dataclass(frozen=True)
class Wanted:
    """The tests that were asked for, as the options of the command name them."""

    texts: Sequence[Path]
    window: int
    max_perplexity: float | None
    questions: Path | None
    thinking: bool
    output: int
    parallel: int
    min_exact: float | None
    residues: int | None
    second_question: bool

    @property
    def nothing(self) -> bool:
        """Whether no test was named."""
        return not (self.texts or self.questions or self.residues or self.second_question)


def run(where: Where, wanted: Wanted, say: Say) -> tuple[Chosen, list[Outcome]]:
    """Run the tests against the server that the options name.

    Raises:
        InvalidRun: a request failed, or a file cannot be used.
    """
    if wanted.nothing:
        wanted = replace(wanted, residues=RESIDUES, second_question=True)
    if wanted.questions:
        exact.read(wanted.questions)  # a malformed file ends the run before its first request
    chosen = choose(*where)
    target = chosen.target
    assert target is not None
    outcomes = []
    if wanted.second_question:
        outcomes.append(second.second_question(target, say))
    if wanted.residues:
        outcomes.append(residue.residues(target, wanted.residues, say))
    if wanted.texts:
        limit = wanted.max_perplexity
        outcomes.append(perplexity.perplexity(target, wanted.texts, wanted.window, limit, say))
    if wanted.questions:
        outcomes.append(
            exact.exact(
                target,
                wanted.questions,
                streams=wanted.parallel,
                output=wanted.output,
                thinking=wanted.thinking,
                limit=wanted.min_exact,
                say=say,
            )
        )
    return chosen, outcomes


def head(chosen: Chosen) -> dict[str, Any]:
    """Return the conditions of a quality run."""
    target = chosen.target
    assert target is not None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "profile": chosen.profile or "unknown",
        "vllm": target.version,
        "series": series(),
        "model": model_identity(chosen.model),
        "settings": chosen.settings or "unknown",
        "engine": target.engine_report() or "unknown",
    }


def text(chosen: Chosen, outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as Markdown."""
    found = head(chosen)
    line = (
        f"{found['date']}, profile {found['profile']}, vLLM {found['vllm']}, "
        f"series {found['series']['installed'][:12]}"
    )
    return page(outcomes, line)


def write(path: Path, chosen: Chosen, outcomes: Sequence[Outcome]) -> None:
    """Write conditions and outcomes as JSON.

    Raises:
        InvalidRun: the file cannot be written.
    """
    found = {"conditions": head(chosen), "outcomes": [item.as_dict() for item in outcomes]}
    try:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidRun(f"{path}: {error.strerror}", "--json FILE") from None
