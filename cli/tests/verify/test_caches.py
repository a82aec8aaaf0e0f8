"""A cache that cannot be written FAILs, a full disk WARNs; both before anything is compiled."""

import os
from pathlib import Path

import pytest
from qwen3090.verify import Status
from qwen3090.verify import caches as module
from qwen3090.verify.caches import cache_directories, check_caches


def statuses(home: Path) -> dict[str, Status]:
    return {found.check: found.status for found in check_caches({"HOME": str(home)})}


def test_directories_follow_their_owners_variables(tmp_path: Path) -> None:
    found = cache_directories({"HOME": "/h", "VLLM_CACHE_ROOT": "/v", "TRITON_CACHE_DIR": "/t"})
    assert found == {
        "vllm": Path("/v"), "triton": Path("/t"), "flashinfer": Path("/h/.cache/flashinfer"),
    }  # fmt: skip


def test_writable_caches_pass_and_nothing_is_made(tmp_path: Path) -> None:
    assert set(statuses(tmp_path).values()) == {Status.PASS}
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way_fails(tmp_path: Path) -> None:
    (tmp_path / ".triton").write_text("")
    assert statuses(tmp_path)["cache.triton"] is Status.FAIL


def test_an_unwritable_directory_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    assert set(statuses(tmp_path).values()) == {Status.FAIL}


def test_a_full_disk_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROOM", 1 << 60)
    assert set(statuses(tmp_path).values()) == {Status.WARN}
