"""Is every patch in the installed vLLM, proved by the files' content?"""

from pathlib import Path

from qwen3090.data import data_file
from qwen3090.errors import UserError
from qwen3090.patches import inspect, load_series
from qwen3090.patches.locate import default_tree
from qwen3090.verify.report import Finding, Status

APPLY = "qwen3090 patches apply"
REPAIR = "qwen3090 setup --repair"


def check_series(tree: Path | None = None) -> list[Finding]:
    """Return one finding a patch, and one for files changed outside the series.

    Args:
        tree: directory that contains ``vllm/``; default: the running interpreter's.
    """
    try:
        series = load_series(data_file("patches"))
        report = inspect(tree or default_tree(), series)
    except UserError as error:
        return [Finding("series", Status.FAIL, error.message, error.next_step or APPLY)]
    findings = []
    # The series goes onto a wheel's own files alone.
    damaged = report.outside or any(state.state == "altered" for state in report.states)
    cure = REPAIR if damaged else APPLY
    for state in report.states:
        good = state.state == "applied"
        detail = state.title if good else f"{state.state}: {state.detail or state.title}"
        status = Status.PASS if good else Status.FAIL
        findings.append(Finding(f"series.{state.name}", status, detail, "" if good else cure))
    if report.outside:
        shown = ", ".join(report.outside[:5])
        more = f" and {len(report.outside) - 5} more" if len(report.outside) > 5 else ""
        detail = f"files of vllm differ from the wheel outside the series: {shown}{more}"
        findings.append(Finding("series.outside", Status.FAIL, detail, REPAIR))
    else:
        detail = "without the series, each of vLLM's files is the wheel's"
        findings.append(Finding("series.outside", Status.PASS, detail))
    findings += [Finding("series.note", Status.WARN, note, cure) for note in report.notes]
    return findings
