"""gc lists only what nothing refers to, and asks; list tells the state of everything."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.commands.models import cli
from qwen3090.errors import UserError
from qwen3090.models.collect import find_garbage, remove
from qwen3090.models.dirlock import directory_lock
from qwen3090.models.listing import listing


def garbage(world: Any, **changes: bool) -> list[str]:
    options = {"partial": False, "sources": False, **changes}
    prepared = world.store.root.parent / "prepared"
    found = find_garbage(world.manifest, world.store, prepared, **options)
    return [item.path.name for item in found]


def test_nothing_that_the_manifest_names(world: Any) -> None:
    world.fetch()
    assert garbage(world) == []


def test_unnamed_replaced_and_abandoned(world: Any) -> None:
    world.fetch()
    root = world.store.root
    (root / "base").rename(root / "former")
    for name in ("base", "gone"):
        world.store.lock(name).touch()
    (root / ".base.old").mkdir()
    (root / ".config.old").mkdir()  # a name like ours, but no lock of a fetch
    (root / ".vim.staging").mkdir()
    (root / ".gone.staging").mkdir()
    (root / ".base.staging").mkdir()
    (root / "users-own").mkdir()  # no marker: never ours to remove
    assert garbage(world) == [".base.old", ".gone.staging", "former"]
    assert garbage(world, partial=True) == [".base.old", ".base.staging", ".gone.staging", "former"]


def test_unfinished_prepare(world: Any) -> None:
    staging = world.store.root.parent / "prepared" / ".fast.prepare"
    staging.mkdir(parents=True)
    (staging / "files").mkdir()
    (staging / "files" / "x").write_bytes(bytes(5000))
    (staging.parent / ".user.prepare").mkdir()
    (staging.parent / ".user.prepare" / "thesis.txt").touch()
    (staging.parent / ".link.prepare").symlink_to(staging)
    assert garbage(world) == []
    options = {"partial": True, "sources": False}
    (item,) = find_garbage(world.manifest, world.store, staging.parent, **options)
    assert item.lock == staging.parent / ".fast.lock"
    with directory_lock(item.lock), pytest.raises(UserError, match="works on"):
        remove(item)
    remove(item)
    assert not staging.exists()


def test_sources_only_when_prepared(world: Any) -> None:
    world.fetch()
    assert garbage(world, sources=True) == []
    prepared = world.store.root.parent / "prepared" / "base"
    prepared.mkdir(parents=True)
    assert garbage(world, sources=True) == []
    (prepared / "prepared.json").write_text(json.dumps({"outputs": {"x": {"size": 3}}}))
    assert garbage(world, sources=True) == []  # what it names is not there
    (prepared / "x").write_bytes(b"abc")
    assert garbage(world, sources=True) == ["base"]


def test_remove_frees_it(world: Any, tmp_path: Path) -> None:
    world.fetch()
    (world.store.root / "base").rename(world.store.root / "former")
    prepared = tmp_path / "prepared"
    (item,) = find_garbage(world.manifest, world.store, prepared, partial=False, sources=False)
    assert item.frees >= sum(len(content) for content in world.files.values())
    remove(item)
    assert not list(world.store.root.glob("*former*")) or not item.path.exists()
    assert garbage(world) == []


def test_command_asks_first(world: Any) -> None:
    world.fetch()
    (world.store.root / "base").rename(world.store.root / "former")
    asked = CliRunner().invoke(cli, ["gc", "--dir", str(world.store.root)])
    assert asked.exit_code == 1
    assert "no manifest names it" in asked.output
    assert f"next: qwen3090 models gc --dir {world.store.root} --yes" in asked.output
    assert (world.store.root / "former").exists()
    done = CliRunner().invoke(cli, ["gc", "--dir", str(world.store.root), "--yes"])
    assert done.exit_code == 0, done.output
    assert not (world.store.root / "former").exists()


def test_listing(world: Any) -> None:
    prepared = world.store.root.parent / "prepared"

    def states() -> list[str]:
        return [row.state for row in listing(world.manifest, world.store, prepared)]

    assert states() == ["not fetched", "not prepared"]
    part = world.store.staging("base") / "config.json.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * (world.manifest.repositories["base"].size // 2))
    assert states()[0] == "unfinished, 50 %"
    world.fetch()
    assert states()[0] == "whole"
    (world.store.final("base") / "config.json").write_text("{}")
    assert states()[0] == "changed or damaged"


def test_list_command(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["list", "--dir", str(tmp_path), "--json"])
    rows = json.loads(result.output)
    assert [row["name"] for row in rows if row["kind"] == "published"] == [
        "base",
        "fast",
        "drafter",
        "drafter-bf16",
    ]
    assert [row["name"] for row in rows if row["kind"] == "prepared"] == ["base", "fast"]


def test_the_next_command_keeps_every_option(world: Any, tmp_path: Path) -> None:
    """Without --manifest the pasted command would remove what that manifest names."""
    world.fetch()
    (world.store.root / "base").rename(world.store.root / "former")
    manifest = tmp_path / "my manifest.json"
    manifest.write_text('{"format": 1, "repositories": {}, "variants": {}}')
    words = ["gc", "--dir", str(world.store.root), "--manifest", str(manifest), "--partial"]
    asked = CliRunner().invoke(cli, words)
    command = asked.output.split("next: ")[1].strip()
    assert shlex.split(command) == ["qwen3090", "models", *words, "--yes"]


def test_files_of_the_users_are_kept(world: Any) -> None:
    world.fetch()
    former = (world.store.root / "base").rename(world.store.root / "former")
    (former / "notes.txt").write_text("mine")
    done = CliRunner().invoke(cli, ["gc", "--dir", str(world.store.root), "--yes"])
    assert done.exit_code == 0, done.output
    assert [path.name for path in former.iterdir()] == ["notes.txt"]
    assert f"kept {former / 'notes.txt'}" in done.output
    assert garbage(world) == []
