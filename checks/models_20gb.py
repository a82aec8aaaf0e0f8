"""19.5 GB over HTTP from this machine to its disk: cuts, kills, memory, deep verify.

Run by hand (it writes 20 GB and removes it): python checks/models_20gb.py [DIR]. Needs the CLI.
Every file is zeros, so that the server needs no room and the hashes are computed in one pass.
"""

import importlib.util
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "cli" / "tests" / "models"
KILLS = 5


def load(name: str) -> Any:
    """Import a module of the tests by its file."""
    spec = importlib.util.spec_from_file_location(f"check_{name}", TESTS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def peak_rss(pid: int) -> int:
    """Return the highest resident memory of a process so far, in KiB (0 when it ended)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) if found else 0


class Run:
    """One command with its wall time and peak memory."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self.begin = time.monotonic()
        self.peak = 0
        self.process = subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.output: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.output.append(line.rstrip())

    def wait(self, seconds: float) -> bool:
        """Wait at most that long; return whether it ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            self.peak = max(self.peak, peak_rss(self.process.pid))
            time.sleep(0.1)
        return self.process.poll() is not None

    def wait_for_bytes(self, models: Path) -> bool:
        """Wait until a partial file grows (at most ten minutes); return whether it ended first."""
        before = partial(models)
        for _ in range(1200):
            if self.wait(0.5):
                return True
            if partial(models) > before:
                break
        return False


def partial(models: Path) -> int:
    """Return the bytes of all partial files."""
    return sum(path.stat().st_size for path in models.glob(".big.staging/*.part"))


def main() -> int:
    """Run the whole check; print what happened; return the exit status."""
    large, server = load("test_large"), load("hub_server")
    root = Path(tempfile.mkdtemp(prefix="models-20gb-", dir=sys.argv[1] if sys.argv[1:] else None))
    hub = server.HubServer().start()
    manifest = large.synthetic()
    repository = manifest.repositories["big"]
    for file in repository.files:
        cuts = [hub.fault("cut", 700 << 20)] if file.size > 1 << 30 else []
        hub.put("owner/big", file.path, hub.zeros(file.size), *cuts)
    path = root / "big.json"
    path.write_text(manifest.model_dump_json(), encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "QWEN3090_"))}
    environment = {**kept, "HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
    models = root / "models"
    base = [sys.executable, "-m", "qwen3090", "models"]
    where = ["--variant", "big", "--manifest", str(path), "--dir", str(models)]
    fetch = [*base, "fetch", "--no-hub-cache", *where]
    where_run = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{where_run}, {repository.size} bytes", flush=True)
    source, peak, begin = random.Random(7), 0, time.monotonic()
    try:
        for number in range(KILLS):
            run = Run(fetch, environment)
            moment = 1 + source.random() * 12  # seconds from the first new byte
            ended = run.wait_for_bytes(models) or run.wait(moment)
            run.process.send_signal(signal.SIGKILL)
            run.process.wait()
            peak = max(peak, run.peak)
            state = f"{partial(models)} bytes in partial files, whole: {(models / 'big').exists()}"
            print(
                f"kill {number + 1}, {moment:.1f} s after the first new byte: {state}", flush=True
            )
            assert ended or not (models / "big").exists()
        run = Run(fetch, environment)
        run.wait(3600)
        peak = max(peak, run.peak)
        print(f"last run: exit {run.process.returncode}, {time.monotonic() - run.begin:.0f} s")
        print("\n".join(f"  | {line.replace(str(root), 'DIR')}" for line in run.output))
        print(f"all runs: {time.monotonic() - begin:.0f} s, peak RSS {peak / 1024:.0f} MiB")
        verify = Run([*base, "verify", "--deep", *where], environment)
        verify.wait(3600)
        seconds = time.monotonic() - verify.begin
        rate = repository.size / seconds / 1e6
        print(f"verify --deep: exit {verify.process.returncode}, {seconds:.0f} s, {rate:.0f} MB/s")
        print("\n".join(f"  | {line.replace(str(root), 'DIR')}" for line in verify.output))
        asked = [s.headers.get("range", "bytes=0-") for s in hub.seen]
        resumed = sum(1 for value in asked if value != "bytes=0-")
        print(json.dumps({"requests": len(asked), "resumed": resumed, "peak_rss_kib": peak}))
        return int(bool(run.process.returncode or verify.process.returncode or peak > 500 << 10))
    finally:
        hub.stop()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
