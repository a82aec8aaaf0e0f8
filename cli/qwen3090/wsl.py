"""Whether Windows runs this kernel: there it owns the card, and some settings differ."""

from pathlib import Path

RELEASE = Path("/proc/sys/kernel/osrelease")


def is_windows(kernel: str) -> bool:
    """Return whether a kernel's version or release is of Windows' build (it names the builder)."""
    return "microsoft" in kernel.lower()


def on_wsl(release: Path = RELEASE) -> bool:
    """Return whether the running kernel is one of Windows'."""
    try:
        return is_windows(release.read_text())
    except OSError:
        return False
