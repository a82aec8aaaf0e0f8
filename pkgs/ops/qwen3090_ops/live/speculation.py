"""How tokens are drafted and verified, read off the objects that do it."""

from typing import Any

from qwen3090_ops.live.parts import drafter, is_v2, speculator


def speculation(worker: Any) -> dict[str, Any]:
    """Return method, drafted tokens, how drafts are picked and verified; method None without.

    ``sampling`` is probabilistic only when the V2 speculator keeps the logits that verifying such
    drafts needs (gpu/spec_decode/speculator.py:129); ``rejection`` is what the V2 sampler was built
    for (gpu/spec_decode/rejection_sampler.py:96). V1 has neither choice.
    """
    runner, config = worker.model_runner, worker.vllm_config.speculative_config
    if config is None:
        return {"method": None, "tokens": 0}
    drafts, model = speculator(runner), drafter(runner)
    vocabulary = getattr(model, "draft_vocab", None)
    return {
        "method": config.method,
        "tokens": config.num_speculative_tokens,
        "class": type(drafts).__name__,
        "model": type(model).__name__,
        "sampling": _sampling(runner, drafts),
        "rejection": _rejection(runner),
        "draft_vocabulary": getattr(vocabulary, "size", None),
        "selector": _selector() if hasattr(model, "candidate_selector") else _of_inner(model),
    }


def _sampling(runner: Any, drafts: Any) -> str:
    if not is_v2(runner):
        return "greedy"
    return "greedy" if getattr(drafts, "draft_logits", None) is None else "probabilistic"


def _rejection(runner: Any) -> str:
    sampler = getattr(runner, "rejection_sampler", None)
    if getattr(sampler, "synthetic_conditional_rates", None) is not None:
        return "synthetic"
    return "block" if getattr(sampler, "use_block_verification", False) else "standard"


def _of_inner(model: Any) -> str | None:
    inner = getattr(model, "model", None)
    return _selector() if hasattr(inner, "candidate_selector") else None


def _selector() -> str:
    """Return whose top-k picks DFlash2's candidates; torch's takes twice as long."""
    from vllm.model_executor.layers import logits_processor

    return "torch" if logits_processor._flashinfer_topk() is None else "flashinfer"
