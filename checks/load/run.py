"""Load and faults against the real engine on the CPU: what holds, what is lost, how long it takes.

    python checks/load/run.py [--short] [--only NAME]... [--raw FILE]

Boots ``qwen3090 serve demo`` on the demo's checkpoint, with a key, and writes a line of JSON for
each scenario into docs/results/load-faults.txt, which the table in docs/guide/operate.md is made
from. The whole takes about 25 minutes on two cores; --short takes fewer and writes nothing unless
--raw names a file. ``openapi`` needs schemathesis on PATH, ``full-disk`` root or user namespaces.
"""

import argparse
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import crowd  # noqa: E402 - modules beside this script
import full_disk  # noqa: E402
import killed  # noqa: E402
import malformed  # noqa: E402
import slow  # noqa: E402
import vanish  # noqa: E402
import wrong_keys  # noqa: E402
from booted import Booted, Place, booted, checkpoint  # noqa: E402
from report import Row, append  # noqa: E402

ROOT = HERE.parent.parent
RAW = ROOT / "docs/results/load-faults.txt"
# On one server, one after the other: what one breaks, the next one shows.
SHARED: dict[str, Callable[[Booted, bool], Row]] = {
    "crowd": crowd.run,
    "slow": slow.run,
    "vanish": vanish.run,
    "malformed": malformed.run,
    "openapi": malformed.run_schemathesis,
    "wrong-keys": wrong_keys.run,
}
# Each with servers of its own.
ALONE: dict[str, Callable[[Place, bool], Row]] = {
    "killed": killed.run,
    "full-disk": full_disk.run,
}


def main() -> int:
    """Run the scenarios; return how many have a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", choices=[*SHARED, *ALONE])
    parser.add_argument("--raw", type=Path)
    asked = parser.parse_args()
    names = asked.only or [*SHARED, *ALONE]
    raw = asked.raw or (None if asked.short else RAW)
    rows: list[Row] = []

    def done(row: Row) -> None:
        rows.append(row)
        print(f"{row.name}: {'; '.join(row.problems) or 'held'}\n  {row.figures}", flush=True)
        if raw:
            append(raw, row)

    with tempfile.TemporaryDirectory(prefix="load-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        model = checkpoint(folder)
        if shared := [name for name in names if name in SHARED]:
            with booted(Place(folder / "shared", model)) as at:
                print(f"ready after {at.seconds:.0f} s on {platform.machine()}", flush=True)
                for name in shared:
                    done(SHARED[name](at, asked.short))
        for name in (name for name in names if name in ALONE):
            done(ALONE[name](Place(folder / name, model), asked.short))
    if raw == RAW:
        print("the table in docs/guide/operate.md is made from it: make generate")
    return sum(bool(row.problems) for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
