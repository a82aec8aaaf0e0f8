"""sd_notify: tells systemd READY, STATUS, WATCHDOG and STOPPING over the socket it names."""

import os
import socket
from collections.abc import Mapping

SEND_SECONDS = 1.0  # a reader that has stopped reading must not hold the supervisor up


class Notifier:
    """Sends states to $NOTIFY_SOCKET; does nothing without one.

    Args:
        environ: the environment to read (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID).
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # A leading @ stands for the NUL byte of an abstract socket.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_seconds = _watchdog(environ)

    @property
    def active(self) -> bool:
        """Return whether systemd (or a test) listens."""
        return bool(self._address)

    def send(self, **states: str) -> None:
        """Send states: ``send(READY="1", STATUS="ready")``; a lost or full socket loses it."""
        if not self._address:
            return
        message = "\n".join(f"{key}={value}" for key, value in states.items())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as client:
            client.settimeout(SEND_SECONDS)
            try:
                client.connect(self._address)
                client.sendall(message.encode())
            except OSError:
                return


def _watchdog(environ: Mapping[str, str]) -> float | None:
    """Return seconds between two watchdog messages (half of what systemd allows), or None."""
    usec = environ.get("WATCHDOG_USEC", "")
    pid = environ.get("WATCHDOG_PID", "")
    if not usec.isdigit() or int(usec) == 0 or (pid and pid != str(os.getpid())):
        return None
    return int(usec) / 2_000_000
