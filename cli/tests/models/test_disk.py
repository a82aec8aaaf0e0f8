"""Disks that are too small or fill up, and two fetches of the same files at once."""

import threading
from pathlib import Path
from typing import Any

import pytest
from qwen3090.errors import UserError
from qwen3090.models import room, transfer

pytestmark = pytest.mark.filterwarnings("ignore")


def part_of(world: Any) -> Path:
    return world.store.staging("base") / (world.big + ".part")


def test_disk_too_small_is_said_before_the_first_byte(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": room.MARGIN + 1000})
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"free; needed: .* to download \+ .* to prepare"):
        world.fetch()
    assert world.hub.seen == []


def test_room_for_preparing_is_counted_when_asked(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = world.manifest.repositories["base"].size
    usage = type("Usage", (), {"free": room.MARGIN + size + 10})
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match="to prepare"):
        world.fetch(prepared_bytes=1000, need_prepared_room=True)
    world.fetch(prepared_bytes=1000)
    assert any("preparing will not" in line for line in world.said)
    world.assert_whole()


def test_disk_that_fills_up_keeps_what_arrived(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = transfer._Part.write

    def full(self: Any, chunk: bytes) -> None:
        if self.job.path == world.big and self.count:
            raise OSError(28, "No space left on device")
        real(self, chunk)

    monkeypatch.setattr(transfer._Part, "write", full)
    with pytest.raises(UserError, match=r"no room in .* what has arrived is kept") as caught:
        world.fetch()
    assert "models gc" in str(caught.value.next_step)
    world.assert_not_whole()
    arrived = part_of(world).stat().st_size
    assert arrived > 0
    monkeypatch.setattr(transfer._Part, "write", real)
    world.fetch()
    world.assert_whole()
    assert world.hub.requests(world.big)[-1].headers["range"] == f"bytes={arrived}-"


def test_journal_that_cannot_be_written(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from qwen3090.models import fetch

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "journal")

    monkeypatch.setattr(fetch, "note_verified", full)
    with pytest.raises(UserError, match="No space left on device; nothing is lost"):
        world.fetch()
    world.assert_not_whole()


def test_two_fetches_at_once_download_each_file_once(world: Any) -> None:
    world.fault(world.hub.fault("slow", 2_000_000))
    errors: list[BaseException] = []

    def run() -> None:
        try:
            world.fetch()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    world.assert_whole()
    assert len(world.hub.seen) == 3


def test_second_fetch_may_refuse_to_wait(world: Any) -> None:
    from qwen3090.models.dirlock import directory_lock

    world.store.root.mkdir(parents=True)
    held = directory_lock(world.store.lock("base"))
    with held, pytest.raises(UserError, match=r"process \d+ works on"):
        world.fetch(wait=False)
