"""A reader of notifications that has stopped reading does not hold the supervisor up."""

import socket
import time
from pathlib import Path

import pytest
from qwen3090.serve import notify


def test_a_full_socket_loses_the_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "SEND_SECONDS", 0.05)
    address = str(tmp_path / "full")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as reader:
        reader.bind(address)
        teller = notify.Notifier({"NOTIFY_SOCKET": address})
        slowest = 0.0
        for _ in range(2000):
            began = time.monotonic()
            teller.send(WATCHDOG="1")
            slowest = time.monotonic() - began
            if slowest > 0.04:
                break
        assert 0.04 < slowest < 5, "the socket never filled, or the message was waited for"
