"""The work directory: reuse when nothing changed, making again when something did."""

import shutil
from pathlib import Path

import pytest
from qwen3090.demo import TinyPaths, paths, workdir
from qwen3090.errors import UserError


@pytest.fixture
def work(tmp_path: Path, tiny: TinyPaths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work directory whose checkpoint is a copy, since making takes seconds."""

    def copy(directory: Path) -> TinyPaths:
        shutil.copytree(tiny.base.parent, directory, dirs_exist_ok=True)
        return paths(directory)

    monkeypatch.setattr(workdir, "make", copy)
    return tmp_path / "work"


def test_made_once_then_reused(work: Path) -> None:
    made, reused = workdir.checkpoint(work)
    assert made == paths(work) and not reused
    assert workdir.checkpoint(work) == (made, True)


def test_a_changed_file_is_made_again(work: Path) -> None:
    made, _ = workdir.checkpoint(work)
    config = made.base / "config.json"
    before = config.read_text()
    config.write_text("{}")
    assert workdir.checkpoint(work)[1] is False
    assert config.read_text() == before


def test_a_broken_record_is_made_again(work: Path) -> None:
    workdir.checkpoint(work)
    (work / workdir.RECORD).write_text("{")
    assert workdir.checkpoint(work)[1] is False


def test_a_changed_maker_makes_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workdir.checkpoint(work)
    monkeypatch.setattr(workdir, "_WRITES", ("numpy",))
    assert workdir.checkpoint(work)[1] is False


def test_a_foreign_directory_is_left_alone(work: Path) -> None:
    (work / "base").mkdir(parents=True)
    (work / "base" / "mine").write_text("keep")
    with pytest.raises(UserError, match="was not made by the demo"):
        workdir.checkpoint(work)
    assert (work / "base" / "mine").read_text() == "keep"


def test_default_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert workdir.default() == tmp_path / "qwen3090" / "demo"
