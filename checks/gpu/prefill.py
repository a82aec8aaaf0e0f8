"""Times the prefill of prompts that no cache knows, in an engine of this process."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import torch
from vllm import SamplingParams
from vllm.inputs import TokensPrompt

WARM_UP = 4096
number = itertools.count()


def prefilled(llm: Any, length: int, seed: int) -> tuple[float, int]:
    """Return seconds until the first token after ``length`` random ones, and how many were cached.

    A seed belongs to one prompt: asked twice, it would come from the prefix cache.
    """
    engine = llm.llm_engine
    vocab = engine.vllm_config.model_config.get_vocab_size()
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, vocab, (length,), generator=random).tolist()
    params = SamplingParams(temperature=0, max_tokens=1, ignore_eos=True, detokenize=False)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    began = time.perf_counter()
    name = f"prefill-{next(number)}"
    engine.add_request(name, TokensPrompt(prompt_token_ids=ids), params)
    seconds, cached = 0.0, 0
    while engine.has_unfinished_requests():
        for output in engine.step():
            if output.outputs and output.outputs[0].token_ids and not seconds:
                seconds = time.perf_counter() - began
                cached = output.num_cached_tokens or 0
    return seconds, cached


def prefills(llm: Any, lengths: list[int], repeat: int) -> Iterator[str]:
    """Yield a line for each prompt, and the median of each length; one prompt warms up."""
    most = llm.llm_engine.vllm_config.model_config.max_model_len - 1
    seed = itertools.count(int(time.time()))
    warm, _ = prefilled(llm, min(WARM_UP, most), next(seed))
    yield f"PREFILL warm-up, {min(WARM_UP, most)} tokens: {warm:.3f} s"
    for length in lengths:
        if length > most:
            yield f"PREFILL {length} tokens: LEFT OUT, a prompt may have {most}"
            continue
        taken = []
        for _ in range(repeat):
            seconds, cached = prefilled(llm, length, next(seed))
            taken.append(seconds)
            note = f", {cached} CACHED" if cached else ""
            yield f"PREFILL {length} tokens: {seconds:.3f} s ({length / seconds:.0f} tok/s){note}"
        middle = sorted(taken)[repeat // 2]
        yield f"PREFILL {length} tokens: median {middle:.3f} s ({length / middle:.0f} tok/s)"
