"""The command as a process: killed, out of room, behind a proxy, and within its memory."""

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


def command(world: Any, *words: str, **environment: str) -> dict[str, Any]:
    """Return the arguments of a subprocess that runs ``qwen3090 models``."""
    return {
        "args": [sys.executable, "-m", "qwen3090", "models", *words],
        "env": {**world.environment(), **environment},
        "text": True,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
    }


def wait_for_request(world: Any, process: "subprocess.Popen[str]", before: int) -> None:
    """Wait until more than ``before`` requests were seen: most of the time is Python starting."""
    for _ in range(1200):
        if len(world.hub.seen) > before or process.poll() is not None:
            return
        time.sleep(0.05)


@pytest.fixture
def written(world: Any, tmp_path: Path) -> list[str]:
    """Write the world's manifest to a file; return the options that use it."""
    data = json.loads(world.manifest.model_dump_json())
    entry, variant = data["repositories"].pop("base"), data["variants"].pop("base")
    data["repositories"]["mine"] = entry
    data["variants"]["mine"] = {**variant, "repositories": ["mine"]}
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(data))
    return ["--manifest", str(path), "--dir", str(world.store.root)]


def bytes_under(world: Any) -> dict[str, bytes]:
    final = world.store.final("mine")
    return {path: (final / path).read_bytes() for path in world.files}


@pytest.mark.slow
def test_kill_at_ten_random_moments(world: Any, written: list[str]) -> None:
    for path in world.files:
        world.hub.always[f"owner/model/{path}"] = world.hub.fault("slow", 150_000)
    fetch = ["fetch", "--variant", "mine", "--no-hub-cache", *written]
    source = random.Random(20)
    moments, arrived = [], []
    for _ in range(10):
        before = len(world.hub.seen)
        process = subprocess.Popen(**command(world, *fetch))
        wait_for_request(world, process, before)
        moments.append(source.random() * 0.6)
        time.sleep(moments[-1])
        process.send_signal(signal.SIGKILL)
        process.communicate()
        final = world.store.final("mine")
        if final.exists():
            assert bytes_under(world) == world.files
        arrived.append(sum(p.stat().st_size for p in world.store.root.rglob("*.part")))
    world.hub.always.clear()
    done = subprocess.run(**command(world, *fetch))
    assert done.returncode == 0, done.stdout
    assert bytes_under(world) == world.files
    assert len(set(arrived)) > 3, f"the kills met no transfer: {moments}, {arrived}"
    left = [path.name for path in world.store.root.rglob("*") if ".part" in path.name]
    assert left == []


def test_full_disk_for_real(world: Any, written: list[str]) -> None:
    limit = 500_000

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    fetch = ["fetch", "--variant", "mine", "--no-hub-cache", *written]
    failed = subprocess.run(**command(world, *fetch), preexec_fn=small_files)
    assert failed.returncode == 1
    assert "no room in" in failed.stdout
    assert "next: free some space" in failed.stdout
    assert "Traceback" not in failed.stdout
    assert not world.store.final("mine").exists()
    assert max(p.stat().st_size for p in world.store.root.rglob("*.part")) == limit
    assert subprocess.run(**command(world, *fetch)).returncode == 0
    assert bytes_under(world) == world.files


def test_interrupt_says_how_to_go_on(world: Any, written: list[str]) -> None:
    world.fault(world.hub.fault("slow", 200_000), always=True)
    fetch = ["fetch", "--variant", "mine", "--no-hub-cache", *written]
    process = subprocess.Popen(**command(world, *fetch))
    wait_for_request(world, process, 2)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 130, output
    assert "run the same command again" in output
    assert "Traceback" not in output


def test_proxy_and_token_from_the_environment(world: Any, written: list[str]) -> None:
    world.hub.token = "secret-1"
    fetch = ["fetch", "--variant", "mine", "--no-hub-cache", *written]
    # The hub's name cannot be resolved: only the proxy (our server) can answer.
    settings = {
        "HF_ENDPOINT": "http://hub.invalid",
        "HTTP_PROXY": world.hub.url,
        "http_proxy": world.hub.url,
        "NO_PROXY": "",
        "no_proxy": "",
        "HF_TOKEN": "secret-1",
    }
    done = subprocess.run(**command(world, *fetch, **settings))
    assert done.returncode == 0, done.stdout
    assert bytes_under(world) == world.files
    assert "secret" not in done.stdout


def test_token_from_a_file_and_never_from_a_former_login(
    world: Any, written: list[str], tmp_path: Path
) -> None:
    world.hub.token = "secret-1"
    login = tmp_path / "home"
    login.mkdir()
    (login / "token").write_text("secret-1")
    fetch = ["fetch", "--variant", "mine", "--no-hub-cache", *written]
    refused = subprocess.run(**command(world, *fetch, HF_HOME=str(login)))
    assert refused.returncode == 1
    assert "--token-file" in refused.stdout
    done = subprocess.run(**command(world, *fetch, "--token-file", str(login / "token")))
    assert done.returncode == 0, done.stdout
    assert "secret" not in done.stdout


@pytest.mark.slow
def test_memory_stays_below_500_mib(world: Any, written: list[str], tmp_path: Path) -> None:
    names = [f"part-{number}.bin" for number in range(4)]
    size = 256 << 20
    digest = hashlib.sha256()
    for _ in range(size >> 20):
        digest.update(bytes(1 << 20))
    data = json.loads((tmp_path / "manifest.json").read_text())
    entry = {"size": size, "sha256": digest.hexdigest()}
    data["repositories"]["mine"]["files"] += [{"path": name, **entry} for name in names]
    (tmp_path / "manifest.json").write_text(json.dumps(data))
    for name in names[:2]:
        world.hub.put("owner/model", name, world.hub.zeros(size))
    shared = tmp_path / "shared"
    shared.mkdir()
    with (shared / "part-2.bin").open("wb") as stream:
        stream.truncate(size)  # sparse: found by hash for the other two, and linked
    fetch = ["fetch", "--variant", "mine", "--no-hub-cache", *written]
    script = (
        "import sys; from pathlib import Path; from qwen3090.main import cli;"
        "code = cli(sys.argv[1:], standalone_mode=False);"
        # Not ru_maxrss: a child that vfork made starts with its parent's.
        "status = Path('/proc/self/status').read_text();"
        "print('PEAK', status.partition('VmHWM:')[2].split()[0])"
    )
    arguments = command(world)
    for words in (
        [*fetch],
        [*fetch, "--from", str(shared), "--deep"],
        ["verify", *written, "--deep"],
    ):
        arguments["args"] = [sys.executable, "-c", script, "models", *words]
        if words == fetch:  # the first run downloads two files of 256 MiB side by side
            keep = world.hub.files.copy()
            world.hub.put("owner/model", names[2], world.hub.zeros(size))
            world.hub.put("owner/model", names[3], world.hub.zeros(size))
        done = subprocess.run(**arguments)
        assert done.returncode == 0, done.stdout
        peak = int(done.stdout.rpartition("PEAK")[2])
        print(words[0], "peak RSS", peak >> 10, "MiB")
        assert peak < 500 << 10, f"{words}: {peak} KiB"
        if words == fetch:
            world.hub.files = keep


def test_module_import_is_light(world: Any) -> None:
    script = (
        "import sys; import qwen3090.commands.models, qwen3090.commands.up,"
        "qwen3090.commands.draft_vocab, qwen3090.models.fetch, qwen3090.models.generate;"
        "import qwen3090_prepare.base_config;"
        "print([name for name in ('torch', 'vllm', 'hf_xet') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
