"""The self-test tells whether prefix caching keeps to the blocks of the recurrent state."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("vllm")
from qwen3090_ops import prefix_hooks
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.core.single_type_kv_cache_manager import MambaManager
from vllm.v1.worker.gpu.model_states.mamba_hybrid import MambaHybridModelState

pytestmark = [pytest.mark.engine, pytest.mark.slow]
Ask = Callable[[], tuple[bool, str]]


@pytest.mark.parametrize("ask", [prefix_hooks.chunk_ends, prefix_hooks.resumes, prefix_hooks.tails])
def test_the_patches_are_found_active(ask: Ask) -> None:
    active, detail = ask()
    assert active, detail


def _smallest_split(scheduler: Any) -> None:
    scheduler.mamba_block_size = scheduler.cache_config.block_size


def _smallest_seed(state: Any) -> None:
    state.cache_config.mamba_block_size = state.cache_config.block_size


def _forgets(manager: Any) -> None:
    manager._registered_partial_tails = set()


@pytest.mark.parametrize(
    ("owner", "name", "undo", "ask", "says"),
    [
        (
            Scheduler, "_mamba_block_aligned_split", _smallest_split,
            prefix_hooks.chunk_ends, "ends at 48",
        ),
        (
            MambaHybridModelState, "add_request", _smallest_seed,
            prefix_hooks.resumes, "in block 5",
        ),
        (
            MambaManager, "_cache_partial_tail_block", _forgets,
            prefix_hooks.tails, "is filed 2x",
        ),
    ],
)  # fmt: skip
def test_what_vllm_does_without_them_is_found_inactive(
    owner: Any,
    name: str,
    undo: Callable[[Any], None],
    ask: Ask,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = getattr(owner, name)

    def stock(self: Any, *arguments: Any) -> Any:
        undo(self)
        return real(self, *arguments)

    monkeypatch.setattr(owner, name, stock)
    active, detail = ask()
    assert not active and says in detail
