"""No check of the engine may pass on a stock vLLM: what it found there proves nothing of ours.

The series' own findings say what is missing; everything else about the engine fails with it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from qwen3090.verify.catalogue import entry
from qwen3090.verify.report import Finding, Status

UNPROVEN = "the patch series is not proved in this vLLM"


def proven(series: Iterable[Finding]) -> bool:
    """Return whether every patch was proved by content, and there is one."""
    found = list(series)
    patches = [f for f in found if f.check.startswith("series.0")]
    return bool(patches) and not any(f.status is Status.FAIL for f in found)


def gate(findings: Iterable[Finding], holds: bool, cure: str) -> Iterator[Finding]:
    """Yield the findings; without the series those about the engine do not pass.

    Args:
        findings: any findings, patches among them (which are what ``holds`` is made of).
        holds: whether the engine's series is proven.
        cure: the next command where it is not.
    """
    for finding in findings:
        patch = finding.check.startswith("series.0")
        if holds or patch or finding.status is not Status.PASS or not entry(finding.check).engine:
            yield finding
        else:
            text = f"{UNPROVEN} ({finding.detail})"
            yield replace(finding, status=Status.FAIL, detail=text, next=cure)
