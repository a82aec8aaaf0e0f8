"""Kills, full disks, rivals: the bytes are always the same and the message always clear."""

import errno
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from qwen3090_prepare import PrepareError, check, files, run, staging
from safetensors.torch import save_file

ROOT = str(Path(files.__file__).parent.parent)


def start(base: Path, out: Path, ids: Path) -> int:
    """Fork a process that prepares; a fork has everything imported, so kills hit the work."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        run(base, out, draft_vocab=ids, threads=2)
        status = 0
    finally:
        os._exit(status)


def wait(child: int, seconds: float) -> int | None:
    """Return the exit status, or None when the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    return None


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def wider(files):
    """Make one rewritten file large enough that kills fall into its copying, too."""
    files["model_extra_tensors.safetensors"]["mtp.pad.weight"] = torch.zeros(1 << 22)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_at_ten_random_moments(make_base, ids_file, tmp_path):
    base, out, whole = make_base(change=wider), tmp_path / "out", tmp_path / "whole"
    began = time.monotonic()
    assert wait(start(base, whole, ids_file), 60) == 0
    duration = time.monotonic() - began
    chance = random.Random(2026)
    kills = 0
    while kills < 10:
        child = start(base, out, ids_file)
        status = wait(child, chance.uniform(0.05, 0.95) * duration)
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            kills += 1
            # Nothing half-done is ever visible under the target's name.
            assert not out.exists() or content(out) == content(whole)
            continue
        assert status == 0
        assert content(out) == content(whole)
        shutil.rmtree(out)
    assert wait(start(base, out, ids_file), 60) == 0
    assert content(out) == content(whole)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base", "ids.pt", "out", "whole"]


def test_stopped_after_every_single_write(make_base, ids_file, tmp_path, monkeypatch):
    """Stop at the n-th write, rename or sync for every n, as a kill there would."""
    base, whole = make_base(), tmp_path / "whole"
    run(base, whole, draft_vocab=ids_file, threads=1)
    calls = ("pwrite", "fsync", "rename", "replace", "link")
    real = {name: getattr(os, name) for name in calls}

    class Stop(BaseException):
        pass

    left = 0

    def counted(name):
        def call(*args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0:
                raise Stop
            return real[name](*args, **kwargs)

        return call

    step, finished = 0, False
    while not finished:
        out, left = tmp_path / f"out{step}", step
        for name in calls:
            monkeypatch.setattr(os, name, counted(name))
        try:
            run(base, out, draft_vocab=ids_file, threads=1)
            finished = True
        except Stop:
            pass
        monkeypatch.undo()
        if not finished:
            assert not out.exists() or content(out) == content(whole)
            run(base, out, draft_vocab=ids_file, threads=1)
        assert content(out) == content(whole)
        step += 3 if step > 12 else 1
    assert step > 20
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_finished_files_are_verified_before_they_are_kept(make_base, tmp_path, monkeypatch):
    base, out, whole = make_base(), tmp_path / "out", tmp_path / "whole"
    run(base, whole)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("qwen3090_prepare.runner.publish", stop)
    with pytest.raises(KeyboardInterrupt):
        run(base, out)
    staged = tmp_path / ".out.prepare" / "files"
    kept = staged / "model-00006-of-00007.safetensors"
    damaged = staged / "model-00007-of-00007.safetensors"
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    inode = kept.stat().st_ino
    monkeypatch.undo()
    result = run(base, out)
    assert content(out) == content(whole)
    assert (out / kept.name).stat().st_ino == inode
    assert result.written_bytes < sum(entry["size"] for entry in result.outputs.values())


def test_what_other_parameters_left_behind_is_dropped(make_base, tmp_path, monkeypatch):
    base, out = make_base(), tmp_path / "out"

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("qwen3090_prepare.runner.publish", stop)
    with pytest.raises(KeyboardInterrupt):
        run(base, out, head_bits=4)
    monkeypatch.undo()
    run(base, out)
    assert check(out, hashes=True) == []
    assert json.loads((out / "prepared.json").read_text())["parameters"]["bits"]["lm-head"] == 8


def test_a_full_disk(make_base, tmp_path, monkeypatch):
    base, out = make_base(), tmp_path / "out"

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(PrepareError, match="the disk is full") as caught:
        run(base, out)
    assert "resumes" in (caught.value.next_step or "")
    assert not out.exists()
    monkeypatch.undo()
    run(base, out)
    assert check(out, hashes=True) == []


def test_too_little_space_is_seen_before_the_work(make_base, tmp_path, monkeypatch):
    base, out = make_base(), tmp_path / "out"
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(staging.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(PrepareError, match="GB needed"):
        run(base, out)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base"]


def test_two_runs_are_kept_apart_and_a_stale_lock_is_harmless(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    lock = tmp_path / ".out.lock"
    lock.write_text("4242")
    with lock.open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(PrepareError, match="process 4242"):
            run(base, out)
    run(base, out)
    assert not lock.exists()


def test_without_an_exchange_the_old_one_is_still_replaced(make_base, tmp_path, monkeypatch):
    base, out = make_base(), tmp_path / "out"
    run(base, out)
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    run(base, out, mtp_bits=4, force=True)
    assert check(out, hashes=True) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base", "out"]


@pytest.mark.slow
def test_memory_stays_small_on_a_large_table(tmp_path):
    """A 600 MB table; numpy and the interpreter take about 30 MB by themselves."""
    rows = 600_000_000 // (2 * 5120)
    table = {"lm_head.weight": torch.ones(rows, 5120, dtype=torch.bfloat16)}
    big = tmp_path / "big"
    big.mkdir()
    save_file(table, big / "model.safetensors")
    del table
    script = (
        "import sys; from pathlib import Path\n"
        "from qwen3090_prepare.draft import Placed, Quantize\n"
        "from qwen3090_prepare.header import read_header\n"
        "from qwen3090_prepare.runner import peak_rss\n"
        "from qwen3090_prepare.steps import packed_specs\n"
        "from qwen3090_prepare.writer import write_file\n"
        "s = read_header(Path(sys.argv[1]))['lm_head.weight']\n"
        "job = Quantize('lm-head', 'lm_head', s, 8, 'F16')\n"
        "placed = [Placed(p, 'x', None) for p in packed_specs('lm_head', s.spec.shape, job)]\n"
        "write_file(Path(sys.argv[2]), placed, [job], threads=4, locate=None,"
        " seen=lambda *_: None)\n"
        "print(peak_rss())\n"
    )
    arguments = [str(big / "model.safetensors"), str(tmp_path / "packed.safetensors")]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        check=True,
    )
    assert int(done.stdout) < 200e6
