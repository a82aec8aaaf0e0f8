"""Our schedulers over vLLM's own, with made-up model outputs: what they tell, step by step.

The asynchronous one schedules a step before the last one's tokens are known, as on a GPU.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from qwen3090_ops import progress

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
from blocks.layout import CONFIG

pytestmark = [pytest.mark.engine, pytest.mark.slow]

BLOCK = 16
CHUNK = 32


def make(name: str, folder: Path) -> Any:
    """Return a scheduler of ours with one attention layer and 64 blocks."""
    import torch
    from qwen3090_ops import scheduler
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.structured_output import StructuredOutputManager

    (folder / "config.json").write_text(json.dumps(CONFIG))
    config = EngineArgs(
        model=str(folder),
        skip_tokenizer_init=True,
        max_model_len=512,
        max_num_seqs=4,
        max_num_batched_tokens=CHUNK,
        enable_prefix_caching=False,
        enforce_eager=True,
    ).create_engine_config()
    config.scheduler_config.async_scheduling = "Async" in name
    config.cache_config.num_gpu_blocks = 64
    spec = FullAttentionSpec(block_size=BLOCK, num_kv_heads=4, head_size=16, dtype=torch.bfloat16)
    kv = KVCacheConfig(
        num_blocks=64, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)]
    )
    return getattr(scheduler, name)(
        vllm_config=config,
        kv_cache_config=kv,
        structured_output_manager=StructuredOutputManager(config),
        log_stats=True,
        block_size=BLOCK,
        hash_block_size=BLOCK,
    )


def request(name: str, length: int, output: int) -> Any:
    from vllm import SamplingParams
    from vllm.v1.request import Request

    params = SamplingParams(max_tokens=output, ignore_eos=True)
    return Request(name, list(range(length)), params, None, arrival_time=0.0)


def answer(step: Any, ended: bool) -> Any:
    """Return the model's output: a token where ``ended`` says that the prompt is complete."""
    from vllm.v1.outputs import ModelRunnerOutput

    names = list(step.num_scheduled_tokens)
    return ModelRunnerOutput(
        req_ids=names,
        req_id_to_index={name: place for place, name in enumerate(names)},
        sampled_token_ids=[[7] if ended else [] for _ in names],
    )


@pytest.mark.parametrize("name", ["ProgressScheduler", "ProgressAsyncScheduler"])
def test_every_step_is_told(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm")
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path))
    scheduler = make(name, tmp_path)

    def told(*keys: str) -> list[Any]:
        found = json.loads((tmp_path / progress.ENGINE).read_text())
        return [found[key] for key in keys]

    counters = ("steps", "prompt_tokens", "generated_tokens")
    assert told("busy_since", *counters) == [None, 0, 0, 0]
    scheduler.add_request(request("a", 100, 3))
    assert told("waiting", "running") == [1, 0]
    assert told("busy_since")[0] is not None, "before the first step: it might hang"

    computed, tokens, pending = 0, 0, []
    ahead = 2 if "Async" in name else 1
    while scheduler.get_num_unfinished_requests():
        while len(pending) < ahead:
            step = scheduler.schedule()
            pending.append(step)
        steps = told("steps")[0]
        step = pending.pop(0)
        size = step.total_num_scheduled_tokens
        first = computed < 100
        computed += size
        scheduler.update_from_output(step, answer(step, bool(size) and computed >= 100))
        tokens += bool(size) and computed >= 100
        assert told(*counters) == [steps + 1, min(computed, 100), min(tokens, 3)]
        if first:
            assert size == min(CHUNK, 100 - computed + size)
    assert told("busy_since", "running", "waiting") == [None, 0, 0]
    assert (tokens >= 3, told("generated_tokens")) == (True, [3])


def test_an_aborted_request_leaves_an_idle_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vllm")
    from vllm.v1.request import RequestStatus

    monkeypatch.setenv(progress.VARIABLE, str(tmp_path))
    scheduler = make("ProgressAsyncScheduler", tmp_path)
    scheduler.add_request(request("a", 100, 3))
    scheduler.schedule()
    scheduler.finish_requests("a", RequestStatus.FINISHED_ABORTED)
    found = json.loads((tmp_path / progress.ENGINE).read_text())
    assert (found["busy_since"], found["running"], found["waiting"]) == (None, 0, 0)
