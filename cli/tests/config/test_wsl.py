"""On WSL2 the allocator's growing segments are off unless asked for."""

from pathlib import Path

import pytest
from qwen3090.config import resolve
from qwen3090.wsl import on_wsl


@pytest.mark.parametrize(
    ("release", "windows"),
    [
        ("5.15.167.4-microsoft-standard-WSL2", True),
        ("4.4.0-19041-Microsoft", True),
        ("6.12.9", False),
    ],
)
def test_the_kernel_says_who_built_it(release: str, windows: bool, tmp_path: Path) -> None:
    file = tmp_path / "osrelease"
    file.write_text(release + "\n")
    assert on_wsl(file) is windows


def test_without_the_file_it_is_no_windows(tmp_path: Path) -> None:
    assert on_wsl(tmp_path / "missing") is False


@pytest.mark.parametrize("windows", [True, False])
def test_growing_segments(windows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwen3090.config.derive.on_wsl", lambda: windows)
    assert resolve("fast", environ={}).require().expandable_segments is not windows
    for asked in (True, False):
        sets = [f"expandable_segments={asked}"]
        assert resolve("fast", sets=sets, environ={}).require().expandable_segments is asked
