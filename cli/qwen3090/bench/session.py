"""One run of the bench: suites one after the other, the card watched, then the conditions."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from qwen3090.bench.card import Watch
from qwen3090.bench.conditions import conditions, fingerprint
from qwen3090.bench.report import document
from qwen3090.bench.results import SuiteResult
from qwen3090.bench.runner import Options, Say, run_plan
from qwen3090.bench.settings import Chosen
from qwen3090.bench.suites import load

COLD_START = "cold-start"


def new_run() -> str:
    """Return a text that no other run has."""
    return secrets.token_hex(8)


def measure(
    chosen: Chosen, suites: Sequence[str], options: Options, serve: Sequence[str], say: Say
) -> dict[str, Any]:
    """Run suites and return the report as JSON types.

    Args:
        serve: profile and options of ``qwen3090 serve``, for ``cold-start``.

    Raises:
        InvalidRun: one of them has no result; nothing is reported then.
    """
    results: list[SuiteResult] = []
    engine = None
    options = replace(options, seats=chosen.seats)
    with Watch() as watch:
        for name in suites:
            module = load(name)
            if name == COLD_START:
                results.append(module.run(serve, options, say))
            elif hasattr(module, "plan"):
                assert chosen.target is not None
                plan = module.plan(chosen.target, options)
                results.append(run_plan(chosen.target, plan, options, say))
            else:
                results.append(module.run(chosen.target, options, say))
        if chosen.target is not None:
            engine = chosen.target.engine_report()
    found = conditions(chosen, options, watch, engine)
    return document(found, fingerprint(found, results), results)
