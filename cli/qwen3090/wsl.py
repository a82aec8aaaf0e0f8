"""Whether Windows runs this kernel: there it owns the card, and some settings differ."""

from pathlib import Path

RELEASE = Path("/proc/sys/kernel/osrelease")


def on_wsl(release: Path = RELEASE) -> bool:
    """Return whether the kernel is one of Windows' (WSL names its builder in the release)."""
    try:
        return "microsoft" in release.read_text().lower()
    except OSError:
        return False
