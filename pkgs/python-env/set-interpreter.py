"""Gives every program of a tree the system's interpreter, and says so in the wheel's RECORD.

usage: set-interpreter.py TREE SITE-PACKAGES INTERPRETER

RECORD is what `qwen3090 verify` compares files with, so it must name the bytes that are there.
"""

import base64
import csv
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from elf import interpreters


def row(path: Path, name: str) -> list[str]:
    """Return a file's line of RECORD: name, digest, size in bytes."""
    data = path.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return [name, f"sha256={digest}", str(len(data))]


def main(tree: Path, site: Path, interpreter: str) -> int:
    """Return 0 when every program runs by the interpreter and stands in one RECORD."""
    programs = {os.path.relpath(path, site): path for path in interpreters(tree)}
    for path in programs.values():
        path.chmod(path.stat().st_mode | 0o200)
        subprocess.run(["patchelf", "--set-interpreter", interpreter, path], check=True)
    missing = set(programs)
    for record in sorted(site.glob("*.dist-info/RECORD")) if programs else ():
        if record.is_symlink():
            continue
        with record.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        ours = {line[0] for line in rows} & set(programs)
        missing -= ours
        if ours:
            with record.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(
                    row(programs[line[0]], line[0]) if line[0] in ours else line for line in rows
                )
    for name in sorted(missing):
        print(f"error: {name} stands in no wheel's RECORD", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
