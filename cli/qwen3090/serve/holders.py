"""Names the process that is in the way: who listens on a port, and what a pid is."""

import contextlib
from pathlib import Path

_LISTEN = "0A"


def describe_pid(pid: int, otherwise: str = "") -> str:
    """Return ``pid 123 (command line)``, or a name given otherwise when that cannot be read."""
    with contextlib.suppress(OSError):
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        words = raw.replace(b"\0", b" ").decode(errors="replace").strip()
        if words:
            return f"pid {pid} ({words[:120]})"
    return f"pid {pid} ({otherwise})" if otherwise else f"pid {pid}"


def holder_of_port(port: int) -> str:
    """Return who listens on a TCP port; "another process" when that cannot be read."""
    inodes = _listening_inodes(port)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for link in (entry / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(link.readlink()) in inodes:
                        return describe_pid(int(entry.name))
    return "another process (of another user)"


def _listening_inodes(port: int) -> set[str]:
    """Return ``socket:[inode]`` for every socket that listens on the port."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found
