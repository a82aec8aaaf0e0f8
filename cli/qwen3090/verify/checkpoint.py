"""Does a checkpoint satisfy every rule that prepare guarantees and the engine relies on?"""

from pathlib import Path

from qwen3090.verify.report import Finding, Status


def check_checkpoint(directory: Path) -> list[Finding]:
    """Check a prepared checkpoint; needs torch, which is imported here.

    Args:
        directory: what ``serve`` would load.
    """
    if not directory.is_dir():
        return [
            Finding(
                "checkpoint",
                Status.FAIL,
                f"{directory} is not a directory",
                f"qwen3090 prepare BASE --out {directory}",
            )
        ]
    import qwen3090_prepare

    found = qwen3090_prepare.check(directory)
    if not found:
        return [Finding("checkpoint", Status.PASS, f"{directory}: every rule holds")]
    return [
        Finding(
            f"checkpoint.{item.rule}",
            Status.FAIL if item.severity == "error" else Status.WARN,
            item.problem,
            item.next_step,
        )
        for item in found
    ]
