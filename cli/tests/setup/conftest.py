"""A real virtual environment and a folder of tiny wheels: pip runs for real, without a network."""

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from qwen3090.lock.wheelfile import Wheel, split_name
from qwen3090.setup.locked import Environment

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def make_wheel(
    folder: Path, file: str, files: dict[str, str], groups: tuple[str, ...] = ("engine",)
) -> Wheel:
    """Write a valid small wheel and return its lock entry."""
    fields = split_name(file)
    info = f"{fields['name']}-{fields['version']}.dist-info"
    tag = f"{fields['python']}-{fields['abi']}-{fields['platform']}"
    everything = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {fields['name']}\n"
        f"Version: {fields['version']}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    everything[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in everything)
    with zipfile.ZipFile(folder / file, "w") as archive:
        for name, text in everything.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    return Wheel(file=file, sha256=digest, pythons=(PYTHON,), groups=groups, **fields)


MakeWheel = Callable[..., Wheel]


@pytest.fixture
def make(index: Path) -> MakeWheel:
    """Make a wheel in the index: file name, its files, its groups."""
    return lambda *parts: make_wheel(index, *parts)


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder


@pytest.fixture
def environment(venv: Path) -> Iterator[Environment]:
    """The environment, emptied of whatever a test installs."""
    site = venv / "lib" / f"python{PYTHON}" / "site-packages"
    made = Environment(venv, site)
    before = set(site.iterdir())
    yield made
    subprocess.run(["rm", "-rf", *map(str, set(site.iterdir()) - before)], check=True)
    made.record_path.unlink(missing_ok=True)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only source, set as a user would: in the environment."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_CONFIG_FILE", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def say(said: list[str]) -> Callable[[str], None]:
    return said.append
