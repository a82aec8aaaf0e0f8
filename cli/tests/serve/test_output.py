"""Whoever reads the server's output may leave or stall: that neither ends it nor keeps it alive."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from qwen3090.serve import exit_codes

from .harness import CLI, PATIENCE, free_port, until


def test_a_reader_that_leaves_does_not_end_the_server(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    process = serve_into(writer, tmp_path)
    os.close(writer)
    os.close(reader)  # as `| head` does
    try:
        until(lambda: (tmp_path / "token").exists(), "a token, although nobody reads")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == exit_codes.OK
    finally:
        process.kill()


def test_a_reader_that_stops_reading_does_not_keep_the_server(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    process = serve_into(writer, tmp_path)
    try:
        until(lambda: (tmp_path / "engine").exists(), "the engine")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE + 30) in (exit_codes.OK, exit_codes.STOP_FORCED)
    finally:
        process.kill()
        os.close(reader)
        os.close(writer)


def serve_into(output: int, directory: Path) -> "subprocess.Popen[bytes]":
    command = json.dumps([sys.executable, str(Path(__file__).with_name("stub_engine.py"))])
    sets = [
        f"model={directory}/model",
        f"port={free_port()}",
        f"engine.command={command}",
        f"engine.env={json.dumps({'STUB_DIR': str(directory)})}",
        "shutdown_timeout=1",
        "kill_timeout=1",
    ]
    options = [word for item in sets for word in ("--set", item)]
    words = [sys.executable, "-m", "qwen3090", "serve", "demo", "--unsafe-skip-checks", *options]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QWEN3090_")}
    environment["PYTHONPATH"] = str(CLI)
    return subprocess.Popen(words, stdout=output, stderr=output, env=environment)
