"""Measures the locked closure that is installed in this environment, for docs/results.

usage: python checks/closure_size.py [cuda|cpu]   (in an environment made by `qwen3090 setup`)
Prints the bytes of every wheel's own files (no bytecode, no tools, no caches), largest first.
"""

import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path

from qwen3090.data import data_file
from qwen3090.lock.wheelfile import normalise, read, select


def size(distribution: Distribution) -> int:
    """Return the bytes of a distribution's installed files, bytecode apart."""
    found = (Path(str(distribution.locate_file(file))) for file in distribution.files or ())
    return sum(path.lstat().st_size for path in found if path.suffix != ".pyc" and path.exists())


def main() -> None:
    """Print the table and the sum."""
    engine = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    wheels = select(read(data_file("wheels.json")), python, ["engine", f"engine-{engine}"])
    site = sysconfig.get_paths()["purelib"]
    have = {normalise(d.metadata["Name"]): d for d in distributions(path=[site])}
    if missing := [wheel.project for wheel in wheels if wheel.project not in have]:
        sys.exit(f"error: not installed: {missing[0]}\n  next: qwen3090 setup --engine {engine}")
    rows = sorted(((size(have[w.project]), w.file) for w in wheels), reverse=True)
    for bytes_, file in rows[:30]:
        print(f"{bytes_ / 1e6:8.1f} MB  {file}")
    print(f"{sum(row[0] for row in rows[30:]) / 1e6:8.1f} MB  {len(rows) - 30} smaller wheels")
    print(f"{sum(row[0] for row in rows) / 1e6:8.1f} MB  {len(rows)} wheels, {engine} engine")


if __name__ == "__main__":
    main()
