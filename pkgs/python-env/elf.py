"""What ELF files in a tree ask of the system: programs' interpreters, and libraries by name.

usage: elf.py ALLOWED.json TREE...     fails on a library that is needed, that no file of the trees
                                       is, and that ALLOWED.json does not name
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def elf_files(tree: Path) -> Iterator[Path]:
    """Yield every regular ELF file below a directory."""
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix not in {".py", ".pyc", ".h"}:
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def readelf(files: list[Path], option: str) -> Iterator[tuple[Path, str]]:
    """Yield each line that readelf prints, with its file; objects without the section have none."""
    for start in range(0, len(files), 200):
        part = files[start : start + 200]
        # The same file twice keeps the "File:" headings when there is only one.
        command = ["readelf", "-W", option, *map(str, part), str(part[0])]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        current = part[0]
        for line in text.splitlines():
            if line.startswith("File: "):
                current = Path(line.removeprefix("File: "))
            else:
                yield current, line


def bracketed(line: str) -> str:
    """Return what stands between the first pair of brackets."""
    return line.partition("[")[2].partition("]")[0]


def interpreters(tree: Path) -> list[Path]:
    """Return the programs of a tree that name an interpreter."""
    files = list(elf_files(tree))
    lines = readelf(files, "--program-headers")
    return sorted({path for path, line in lines if "program interpreter:" in line})


def needed(allowed_file: Path, trees: list[Path]) -> list[str]:
    """Return a line for each needed library that no file provides and nothing allows."""
    allowed = json.loads(allowed_file.read_text(encoding="utf-8"))
    names = {name for group in allowed.values() if isinstance(group, dict) for name in group}
    files = [path for tree in trees for path in elf_files(tree)]
    have = {path.name for path in files}
    have |= {path.name for tree in trees for path in tree.rglob("*.so*") if path.is_symlink()}
    problems: dict[str, str] = {}
    for path, line in readelf(files, "--dynamic"):
        if "(NEEDED)" not in line:
            continue
        library = bracketed(line)
        if library not in names and library not in have:
            problems.setdefault(
                library, f"{library}: needed by {path}, in no wheel and not allowed"
            )
    return [problems[name] for name in sorted(problems)]


def main(allowed: str, *trees: str) -> int:
    """Return 0 when every library that is needed is there or allowed."""
    problems = needed(Path(allowed), [Path(tree) for tree in trees])
    for line in problems:
        print(line, file=sys.stderr)
    if problems:
        print(f"  next: add it to {Path(allowed).name} with its reason", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
