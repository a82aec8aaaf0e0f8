"""How tokens are drafted and verified, read off the objects that do it."""

from typing import Any

from qwen3090_ops.draft_steps import DraftSteps
from qwen3090_ops.live.parts import drafter, is_v2, speculator


def speculation(worker: Any) -> dict[str, Any]:
    """Return method, drafted tokens, how drafts are picked and verified; method None without.

    ``sampling`` is probabilistic only when the V2 speculator keeps the logits that verifying such
    drafts needs (gpu/spec_decode/speculator.py:129); ``rejection`` is what the V2 sampler was built
    for (gpu/spec_decode/rejection_sampler.py:96). V1 has neither choice.
    """
    runner, config = worker.model_runner, worker.vllm_config.speculative_config
    if config is None:
        return {"method": None, "tokens": 0, "by_batch": None}
    drafts, model = speculator(runner), drafter(runner)
    vocabulary = getattr(model, "draft_vocab", None)
    return {
        "method": config.method,
        "tokens": config.num_speculative_tokens,
        "by_batch": by_batch(worker),
        "class": type(drafts).__name__,
        "model": type(model).__name__,
        "sampling": _sampling(runner, drafts),
        "rejection": _rejection(runner),
        "draft_vocabulary": getattr(vocabulary, "size", None),
        "selector": selector(model),
    }


def by_batch(worker: Any) -> list[int] | None:
    """Return the drafts of a step of 1, 2, ... requests; None where they are always the same.

    Of the V2 speculator itself (patch 0244), which must draft what vLLM's scheduler verifies.
    """
    if not worker.vllm_config.speculative_config.uses_dynamic_speculative_decoding():
        return None
    steps = getattr(speculator(worker.model_runner), "draft_steps", None)
    if steps is None:
        steps = DraftSteps.configured(worker.vllm_config)
    seats = worker.vllm_config.scheduler_config.max_num_seqs
    return [steps.wanted(requests) for requests in range(1, seats + 1)]


def _sampling(runner: Any, drafts: Any) -> str:
    if not is_v2(runner):
        return "greedy"
    return "greedy" if getattr(drafts, "draft_logits", None) is None else "probabilistic"


def _rejection(runner: Any) -> str:
    sampler = getattr(runner, "rejection_sampler", None)
    if getattr(sampler, "synthetic_conditional_rates", None) is not None:
        return "synthetic"
    return "block" if getattr(sampler, "use_block_verification", False) else "standard"


def selector(model: Any) -> str | None:
    """Return whose top-k picks DFlash2's candidates, None for a drafter without candidates.

    The processor that does it (qwen3_dflash2.py:276) holds what was asked for (patch 0229);
    without that, vLLM takes FlashInfer's kernel or, on a CPU, torch's.
    """
    from vllm.model_executor.layers import logits_processor

    for owner in (model, getattr(model, "model", None)):
        processor = getattr(owner, "candidate_logits_processor", None)
        if processor is not None:
            break
    else:
        return None
    asked = getattr(processor, "topk", None)
    if asked is not None:
        return str(asked.__name__).removesuffix("_topk")
    return "torch" if logits_processor._flashinfer_topk() is None else "flashinfer"
