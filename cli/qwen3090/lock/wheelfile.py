"""Reads and writes nix/wheels.json; standard library only, so that the bootstrap can use it.

The fields of a wheel are the parts of its real file name, never taken from the WHEEL metadata
inside (vLLM's says linux_x86_64, its file name manylinux_2_28_x86_64).
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_x86_64")
_OLD_GLIBC = {
    "manylinux1_x86_64": (2, 5),
    "manylinux2010_x86_64": (2, 12),
    "manylinux2014_x86_64": (2, 17),
}


class LockError(Exception):
    """wheels.json, or a file name for it, is not as it must be."""


@dataclass(frozen=True, order=True)
class Wheel:
    """One wheel of the lock.

    ``name``, ``version``, ``python``, ``abi`` and ``platform`` stand exactly as in ``file``
    (``build`` too, which is empty for nearly every wheel). ``pythons`` are the CPython versions
    that install it; ``groups`` say for what: engine (both engines), engine-cuda, engine-cpu,
    cubins, cli, prepare, build, dev.
    """

    name: str
    version: str
    file: str
    sha256: str
    python: str
    abi: str
    platform: str
    pythons: tuple[str, ...]
    groups: tuple[str, ...]
    build: str = ""

    @property
    def project(self) -> str:
        """The normalised project name, as indexes and requirements spell it."""
        return normalise(self.name)

    @property
    def requirement(self) -> str:
        """A pip requirement that only this file satisfies.

        ``===`` compares the whole string: a local build such as ``2.13.0+cpu`` never matches.
        """
        return f"{self.project}==={self.version} --hash=sha256:{self.sha256}"

    @property
    def glibc(self) -> tuple[int, int]:
        """The oldest glibc that can load it; (0, 0) for a wheel without compiled code."""
        return glibc_of(self.platform)


def normalise(name: str) -> str:
    """Return a project name in its normal form: lower case, runs of ``-_.`` as one hyphen."""
    return re.sub(r"[-_.]+", "-", name).lower()


def glibc_of(platform: str) -> tuple[int, int]:
    """Return the oldest glibc a compressed platform tag set accepts; (0, 0) when it names none."""
    found = [_OLD_GLIBC[tag] for tag in platform.split(".") if tag in _OLD_GLIBC]
    found += [(int(a), int(b)) for a, b in _GLIBC.findall(platform)]
    return min(found, default=(0, 0))


def split_name(file: str) -> dict[str, str]:
    """Split a wheel's file name into its fields, each as it stands in the name.

    Raises:
        LockError: the name is not that of a wheel.
    """
    parts = file.removesuffix(".whl").split("-")
    if not file.endswith(".whl") or "/" in file or len(parts) not in (5, 6) or not all(parts):
        raise LockError(f"'{file}' is not the file name of a wheel")
    build = parts[2] if len(parts) == 6 else ""
    if build and not build[0].isdigit():
        raise LockError(f"'{file}' has a build tag that does not start with a digit: '{build}'")
    keys = ("python", "abi", "platform")
    return {"name": parts[0], "version": parts[1], "build": build} | dict(
        zip(keys, parts[-3:], strict=True)
    )


def parse(document: dict[str, Any], source: str = "wheels.json") -> list[Wheel]:
    """Read the wheels out of a lock document and check each against its own file name.

    Raises:
        LockError: a field is missing, unknown, malformed or disagrees with the file name.
    """
    wheels = []
    for entry in document.get("wheels", []):
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()
        }
        try:
            wheel = Wheel(**values)
        except TypeError as error:
            raise LockError(f"{source}: entry {entry.get('file', entry)}: {error}") from None
        for key, value in split_name(wheel.file).items():
            if getattr(wheel, key) != value:
                raise LockError(
                    f"{source}: {wheel.file}: {key} is '{getattr(wheel, key)}', "
                    f"the file name says '{value}'"
                )
        if not re.fullmatch(r"[0-9a-f]{64}", wheel.sha256):
            raise LockError(f"{source}: {wheel.file}: '{wheel.sha256}' is not a sha256")
        wheels.append(wheel)
    if not wheels:
        raise LockError(f"{source}: no wheels in it")
    return wheels


def read(path: Path) -> list[Wheel]:
    """Read wheels.json.

    Raises:
        LockError: the file cannot be read or is malformed.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LockError(f"{path}: {error}") from None
    return parse(document, str(path))


def dump(head: dict[str, Any], wheels: Iterable[Wheel]) -> str:
    """Return the text of wheels.json: ``head``, then one wheel a line, sorted, for small diffs."""
    ordered = sorted(wheels, key=lambda w: (w.project, w.file))
    entries = [{k: v for k, v in asdict(wheel).items() if v != ""} for wheel in ordered]
    rows = ["    " + json.dumps(entry, ensure_ascii=False) for entry in entries]
    whole = head | {"content": content(head | {"wheels": entries})}
    text = json.dumps(whole, indent=2, ensure_ascii=False)
    return text.removesuffix("\n}") + ',\n  "wheels": [\n' + ",\n".join(rows) + "\n  ]\n}\n"


def content(document: dict[str, Any]) -> str:
    """Return the sha256 over a lock document, without the field that keeps it."""
    return digest({k: v for k, v in document.items() if k != "content"})


def select(wheels: Iterable[Wheel], python: str, groups: Sequence[str]) -> list[Wheel]:
    """Return the wheels of one Python (``3.12``) and any of the groups, one per project.

    Raises:
        LockError: two wheels of one project, or none for a group that the lock knows.
    """
    chosen: dict[str, Wheel] = {}
    for wheel in wheels:
        if python in wheel.pythons and set(groups) & set(wheel.groups):
            if wheel.project in chosen:
                raise LockError(
                    f"two wheels of {wheel.project} for Python {python}: "
                    f"{chosen[wheel.project].file} and {wheel.file}"
                )
            chosen[wheel.project] = wheel
    have = {group for wheel in chosen.values() for group in wheel.groups}
    if missing := sorted(set(groups) - have):
        raise LockError(f"no wheel for Python {python} in group {', '.join(missing)}")
    return [chosen[name] for name in sorted(chosen)]


def digest(*parts: object) -> str:
    """Return the sha256 of values that JSON can hold, independent of key order."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
