"""20 GB without the network: sparse files prove the arithmetic, the locks and the resume.

The trick: all files are zeros, of the published sizes. One pass over the longest gives the sha256
of each (a digest copied when a size is reached), and sparse files take no room and little time.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from qwen3090.models.manifest import Manifest, load_manifest

pytestmark = pytest.mark.slow


def zero_hashes(sizes: set[int]) -> dict[int, str]:
    """Return the sha256 of that many zero bytes, for every size, in one pass."""
    digest, done, found = hashlib.sha256(), 0, {}
    chunk = bytes(4 << 20)
    for size in sorted(sizes):
        while done < size:
            step = min(len(chunk), size - done)
            digest.update(memoryview(chunk)[:step])
            done += step
        found[size] = digest.copy().hexdigest()
    return found


def synthetic() -> Manifest:
    """Return a manifest of zeros with every size of the published base; names not .safetensors."""
    shipped = load_manifest().repositories["base"].files
    hashes = zero_hashes({file.size for file in shipped})
    files = [
        {"path": file.path + ".zero", "size": file.size, "sha256": hashes[file.size]}
        for file in shipped
    ]
    entry = {"repository": "owner/big", "revision": "c" * 40, "purpose": "test", "files": files}
    variant = {"repositories": ["big"], "prepared_bytes": 3_226_839_712, "purpose": "test"}
    return Manifest.model_validate(
        {"format": 1, "repositories": {"big": entry}, "variants": {"big": variant}}
    )


def test_twenty_gigabytes(world: Any, tmp_path: Path) -> None:
    manifest = synthetic()
    total = manifest.repositories["big"].size
    assert total == 19_472_791_973
    tree = tmp_path / "tree"
    tree.mkdir()
    for file in manifest.repositories["big"].files:
        with (tree / file.path).open("wb") as stream:
            stream.truncate(file.size)
    path = tmp_path / "big.json"
    path.write_text(manifest.model_dump_json())
    root = tmp_path / "models"
    base = [sys.executable, "-m", "qwen3090", "models"]
    where = ["--manifest", str(path), "--dir", str(root)]
    fetch = [*base, "fetch", "--variant", "big", "--from", str(tree), "--no-hub-cache", *where]
    environment = {**world.environment(), "HF_HUB_OFFLINE": "1"}

    def start() -> "subprocess.Popen[str]":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(fetch, env=environment, **pipes)  # type: ignore[call-overload]

    # Killed once something was verified: that is not read again.
    killed = start()
    journal = root / ".big.staging" / ".verified.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (journal.exists() and journal.stat().st_size > 900):
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    kept = [json.loads(line)["path"] for line in journal.read_text().splitlines() if line.strip()]
    assert kept
    assert not (root / "big").exists()

    # Two at once: one works, one waits and then finds everything whole.
    both = [start(), start()]
    outputs = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert sum("waiting for it" in output for output in outputs) == 1
    assert sum("whole already" in output for output in outputs) == 1
    worker = next(output for output in outputs if "whole already" not in output)
    assert not any(f"{name}: taken from" in worker for name in kept)
    assert "19.47 GB in all, 19.47 GB here already, 0 B to download in 0 files" in worker
    assert "preparing adds 3.23 GB later" in worker

    final = root / "big"
    assert sum(file.stat().st_size for file in final.glob("*.zero")) == total
    for name, file in ((name, final / name) for name in os.listdir(tree)):
        assert file.stat().st_ino == (tree / name).stat().st_ino or file.stat().st_blocks == 0
    begin = time.monotonic()
    verified = subprocess.run(
        [*base, "verify", "--variant", "big", *where],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert verified.returncode == 0, verified.stderr
    assert "ok   big: 14 files, 19.47 GB" in verified.stdout
    assert time.monotonic() - begin < 30


def test_half_of_it_over_http_in_two_runs(world: Any, tmp_path: Path) -> None:
    """One file of the drafter's size: cut twice, refused, and finished by a later run."""
    size = 320 << 20
    (digest,) = zero_hashes({size}).values()
    files = [{"path": "x.zero", "size": size, "sha256": digest}]
    entry = {"repository": "owner/big", "revision": "c" * 40, "purpose": "test", "files": files}
    variant = {"repositories": ["base"], "prepared_bytes": 0, "purpose": "test"}
    world.manifest = Manifest.model_validate(
        {"format": 1, "repositories": {"base": entry}, "variants": {"base": variant}}
    )
    hub = world.hub
    cuts = [hub.fault("cut", 100 << 20), hub.fault("cut", 60 << 20)]
    hub.put("owner/big", "x.zero", hub.zeros(size), *cuts, *[hub.fault("status", 500)] * 9)
    failures: list[BaseException] = []

    def first() -> None:
        try:
            world.fetch()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    thread.join(120)
    assert f"{160 << 20} of {size} bytes are kept" in str(failures[0])
    hub.faults.clear()
    world.fetch()
    assert hub.seen[-1].headers["range"] == f"bytes={160 << 20}-"
    assert (world.store.final("base") / "x.zero").stat().st_size == size
