"""A process killed at any step leaves a tree that the next call makes whole; two at once queue."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import qwen3090
from qwen3090.patches import PatchError, apply, inspect, unapply
from qwen3090.patches.transaction import interrupted, locked

_STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "shutil.rmtree"}


def killed_at(step: int, tree: Path, act: Callable[[], Any]) -> bool:
    """Run ``act`` in a child that kills itself before its step-th file operation in the tree."""
    child = os.fork()
    if child == 0:
        count = 0

        def hook(event: str, args: tuple[Any, ...]) -> None:
            nonlocal count
            if event in _STEPS and str(tree) in str(args[0]):
                count += 1
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            act()
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


@pytest.mark.slow
def test_apply_killed_at_every_step(standard: Any, snapshot: Any) -> None:
    series = standard.series()
    pristine = snapshot(standard.tree("reference"))
    apply(standard.root / "reference", series)
    patched = snapshot(standard.root / "reference")
    torn = 0
    for step in range(1, 2000, 2):
        tree = standard.tree(f"tree-{step}")
        if not killed_at(step, tree, partial(apply, tree, series)):
            break
        torn += interrupted(tree)
        other = step % 4 == 1
        if other:
            unapply(tree)
            assert snapshot(tree) == pristine, step
        else:
            apply(tree, series)
            assert snapshot(tree) == patched and inspect(tree, series).ok, step
        assert sorted(p.name for p in (tree / "vllm/.qwen3090").iterdir()) == (
            ["lock"] if other else ["applied.json", "lock", "originals"]
        )
    assert step > 30 and torn > 5, "the test must have reached the middle of the renames"


@pytest.mark.slow
def test_switch_and_recovery_killed_at_every_step(standard: Any, snapshot: Any) -> None:
    whole = standard.series()
    (standard.patches / "series").write_text("0101-first.patch\n")
    part = standard.series()
    reference = standard.tree("reference")
    apply(reference, part)
    wanted = snapshot(reference)
    for step in range(1, 2000, 5):
        tree = standard.tree(f"tree-{step}")
        apply(tree, whole)
        if not killed_at(step, tree, partial(apply, tree, part)):
            break
        for again in (2 + step % 7, 9 + step % 23):
            killed_at(again, tree, partial(apply, tree, whole))
        apply(tree, part)
        assert snapshot(tree) == wanted and inspect(tree, part).ok, step
    assert step > 30


def test_two_applies_at_once(standard: Any) -> None:
    series = standard.series()
    for round_ in range(5):
        tree = standard.tree(f"tree-{round_}")
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                try:
                    apply(tree, series)
                except BaseException:
                    os._exit(3)
                os._exit(0)
            children.append(child)
        assert [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
        assert inspect(tree, series).ok


def test_apply_waits_for_the_lock(standard: Any) -> None:
    tree, series = standard.tree(), standard.series()
    command = [sys.executable, "-m", "qwen3090", "patches", "apply", "--tree", str(tree)]
    package = str(Path(qwen3090.__file__).parent.parent)
    with locked(tree):
        child = subprocess.Popen(
            [*command, "--patches", str(standard.patches)],
            env={**os.environ, "PYTHONPATH": package},
            stdout=subprocess.DEVNULL,
        )
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(2)
        assert not (tree / "vllm/.qwen3090/applied.json").exists()
    assert child.wait(60) == 0
    assert inspect(tree, series).ok


@pytest.mark.parametrize("text", ["", "{", '{"files": [{}]}'])
def test_damaged_journal_is_one_clear_error(standard: Any, text: str) -> None:
    tree = standard.tree()
    (tree / "vllm/.qwen3090").mkdir()
    (tree / "vllm/.qwen3090/journal.json").write_text(text)
    with pytest.raises(PatchError, match=r"journal\.json is damaged"):
        apply(tree, standard.series())
