"""Files that are here already are taken by hash alone, and never harm what they came from."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from qwen3090.errors import UserError
from qwen3090.models import reuse, staging


def fill(directory: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_directory_given_by_the_user(world: Any, tmp_path: Path) -> None:
    fill(tmp_path / "usb" / "deep", world.files)
    world.fetch(sources=[tmp_path / "usb"])
    world.assert_whole()
    assert world.hub.seen == []


def test_other_names_and_equal_sizes_are_told_apart(world: Any, tmp_path: Path) -> None:
    right = world.files[world.big]
    wrong = right[:-1] + bytes([right[-1] ^ 1])
    fill(tmp_path / "usb", {world.big: wrong, "blob-a": wrong, "blob-b": right})
    world.fetch(sources=[tmp_path / "usb"])
    world.assert_whole()
    assert world.hub.requests(world.big) == []


def test_hub_cache_by_snapshot_and_by_blob(world: Any, tmp_path: Path) -> None:
    cache = tmp_path / "hub"
    blobs = cache / "models--other--copy" / "blobs"
    big = world.files[world.big]
    fill(blobs, {hashlib.sha256(big).hexdigest(): big})
    small = cache / "models--owner--model"
    fill(small / "blobs", {"git-id": world.files["config.json"]})
    snapshot = small / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").symlink_to("../../blobs/git-id")
    world.fetch(cache=cache)
    world.assert_whole()
    assert [seen.path.rpartition("/")[2] for seen in world.hub.seen] == [
        "model-00001-of-00002.safetensors"
    ]
    assert (blobs / hashlib.sha256(big).hexdigest()).read_bytes() == big
    assert not (world.store.final("base") / "config.json").is_symlink()


def test_offline_with_everything_at_hand(
    world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    fill(tmp_path / "usb", world.files)
    world.fetch(sources=[tmp_path / "usb"])
    world.assert_whole()


def test_new_revision_takes_unchanged_files_over(world: Any, make_manifest: Any) -> None:
    world.fetch()
    seen = len(world.hub.seen)
    inode = (world.store.final("base") / world.big).stat().st_ino
    world.files["config.json"] = b'{"model_type": "newer"}\n'
    world.hub.put("owner/model", "config.json", world.files["config.json"])
    changed = make_manifest(world.files).model_dump()
    changed["repositories"]["base"]["revision"] = "b" * 40
    world.manifest = type(world.manifest).model_validate(changed)
    world.fetch()
    world.assert_whole()
    assert [entry.path.rpartition("/")[2] for entry in world.hub.seen[seen:]] == ["config.json"]
    assert (world.store.final("base") / world.big).stat().st_ino == inode
    assert not (world.store.root / ".base.old").exists()


@pytest.mark.parametrize("damage", ["truncate", "touch-and-change", "remove"])
def test_damaged_file_alone_is_fetched_again(world: Any, damage: str) -> None:
    world.fetch()
    seen = len(world.hub.seen)
    path = world.store.final("base") / world.big
    if damage == "truncate":
        os.truncate(path, 1000)
    elif damage == "remove":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    world.fetch()
    world.assert_whole()
    assert [entry.path.rpartition("/")[2] for entry in world.hub.seen[seen:]] == [world.big]


def test_bit_rot_without_a_new_time_needs_deep(world: Any) -> None:
    world.fetch()
    path = world.store.final("base") / world.big
    stat = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    world.fetch(deep=True)
    world.assert_whole()


def test_touched_file_is_hashed_and_kept(world: Any) -> None:
    world.fetch()
    seen = len(world.hub.seen)
    os.utime(world.store.final("base") / world.big)
    world.fetch()
    world.assert_whole()
    assert len(world.hub.seen) == seen


def test_directory_that_a_user_filled_is_adopted(world: Any) -> None:
    fill(world.store.final("base"), world.files)
    (world.store.final("base") / "notes.txt").write_text("mine")
    world.fetch()
    world.assert_whole()
    assert world.hub.seen == []
    kept = world.store.root / "base.replaced-1"
    assert (kept / "notes.txt").read_text() == "mine"
    assert any("kept in" in line for line in world.said)


def test_copy_when_neither_reflink_nor_hard_link_works(
    world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(reuse.os, "link", refuse)
    monkeypatch.setattr(reuse, "_reflink", refuse)
    fill(tmp_path / "usb", world.files)
    world.fetch(sources=[tmp_path / "usb"])
    world.assert_whole()
    assert world.hub.seen == []
    assert any("(copy)" in line for line in world.said)


def test_copy_that_fails_falls_back_to_the_hub(
    world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    for name in ("_reflink", "_copy"):
        monkeypatch.setattr(reuse, name, refuse)
    monkeypatch.setattr(reuse.os, "link", refuse)
    fill(tmp_path / "usb", world.files)
    world.fetch(sources=[tmp_path / "usb"])
    world.assert_whole()
    assert len(world.hub.seen) == 3


def test_what_a_former_run_verified_is_not_read_again(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.fault(world.hub.fault("status", 404), always=True)
    with pytest.raises(UserError):
        world.fetch(jobs=1)
    read: list[str] = []
    real = staging.many_sha256

    def watch(paths: Any, **options: Any) -> Any:
        read.extend(path.name for path in paths)
        return real(paths, **options)

    monkeypatch.setattr(staging, "many_sha256", watch)
    world.hub.always.clear()
    world.fetch()
    world.assert_whole()
    assert read == []


def test_half_written_journal_line_means_hashing(world: Any) -> None:
    world.fault(world.hub.fault("status", 404), always=True)
    with pytest.raises(UserError):
        world.fetch(jobs=1)
    journal = world.store.staging("base") / ".verified.jsonl"
    journal.write_text(journal.read_text()[:-40])
    world.hub.always.clear()
    world.fetch()
    world.assert_whole()
    assert len(world.hub.requests("config.json")) == 1


def test_source_that_does_not_exist(world: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a directory"):
        world.fetch(sources=[tmp_path / "nothing"])


def test_a_whole_directory_needs_no_lock(world: Any) -> None:
    """It may be shared read-only (another user's, a mount, a store)."""
    world.fetch()
    lock = world.store.lock("base")
    lock.unlink()
    lock.mkdir()  # cannot be opened for writing, also by root
    asked = len(world.hub.seen)
    assert world.fetch() == world.store.final("base")
    assert len(world.hub.seen) == asked
    with pytest.raises(UserError, match="cannot make the lock"):
        world.fetch(deep=True)
