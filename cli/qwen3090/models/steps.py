"""Says each step of ``qwen3090 up`` and what it costs, before anything happens."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from qwen3090.config import Resolved
from qwen3090.models.manifest import Manifest
from qwen3090.models.need import Need
from qwen3090.models.progress import duration, human
from qwen3090.models.store import Store, whole

LINE_RATES = (50, 250, 1000)  # Mbit/s, for the time a download takes


def describe(
    need: Need, manifest: Manifest, store: Store, resolved: Resolved, *, serve: bool
) -> Iterator[str]:
    """Yield the lines: one or more for each step, with bytes and time where they are known."""
    yield f"profile {resolved.profile}: {_what(resolved)}"
    step = 0
    for name in need.fetch:
        step += 1
        missing = {
            key: repository
            for key, repository in manifest.select(name).items()
            if not whole(store.final(key), repository)
        }
        size = sum(repository.size for repository in missing.values())
        count = sum(len(repository.files) for repository in missing.values())
        yield f"{step}. fetch {name}: {count} files, {human(size)} at most, to {store.root}"
        times = ", ".join(f"{duration(size * 8 / (r * 1e6))} at {r} Mbit/s" for r in LINE_RATES)
        yield f"   {times}; less when files are here already"
    if need.prepare:
        step += 1
        yield (
            f"{step}. prepare {need.variant}: reads the checkpoint once, writes"
            f" {human(need.prepared_bytes)} at most to {need.prepared}; at most 2 GiB of memory"
        )
    if not step:
        yield "everything it needs is on disk already"
    elif (free := _free(store.root)) is not None:
        peak = need.download_bytes + need.prepared_bytes
        yield f"   disk: {human(peak)} needed at the peak, {human(free)} free"
    yield f"{step + 1}. plan: the memory the server will take; reads no file, takes a second"
    if serve:
        yield f"{step + 2}. serve on {resolved.config.host}:{resolved.config.port}"


def _what(resolved: Resolved) -> str:
    config = resolved.config
    drafter = f", drafter {config.drafter}" if config.drafter else ""
    return f"{config.context} tokens, {config.seats} seats, model {config.model}{drafter}"


def _free(directory: Path) -> int | None:
    """Return what is free where the directory stands or will stand."""
    for path in (directory, *directory.parents):
        if path.exists():
            return shutil.disk_usage(path).free
    return None
