"""Asks an engine for text whose right answer is known, and for log probabilities to compare."""

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from vllm import LLM, SamplingParams
from walks import Walks


def counters(llm: LLM) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for metric in llm.get_metrics():
        name = metric.name.removeprefix("vllm:spec_decode_num_").removeprefix("vllm:")
        if "spec_decode" in metric.name or name.startswith(("prefix_cache_hits", "num_preempt")):
            found[name] = metric.value if hasattr(metric, "value") else metric.values
    return found


def continued(
    llm: LLM, made: Path, temperature: float, lengths: Sequence[int], count: int
) -> Iterator[str]:
    """Continue walks along the cycle; say how many tokens follow it, and what was accepted.

    With DFlash2 every other one ends in the ring; what a greedy step should emit is said, too.
    """
    speculative = llm.llm_engine.vllm_config.speculative_config
    walks = Walks.load(made, ring=speculative is not None and speculative.method == "dflash")
    prompts = [walks.prompt(number, length) for number, length in enumerate(lengths)]
    before = counters(llm)
    params = SamplingParams(
        temperature=temperature,
        max_tokens=count,
        ignore_eos=True,
        detokenize=False,
        logprobs=1,
        seed=1,
    )
    asked = [{"prompt_token_ids": p} for p in prompts]
    answers = [o.outputs[0] for o in llm.generate(asked, params, use_tqdm=False)]
    right = sum(
        walks.successor[last] == token
        for prompt, a in zip(prompts, answers, strict=True)
        for last, token in itertools.pairwise([prompt[-1], *a.token_ids])
    )
    logs = [
        row[t].logprob
        for a in answers
        for t, row in zip(a.token_ids, a.logprobs or (), strict=True)
    ]
    finite = all(math.isfinite(value) for value in logs)
    yield (
        f"TEXT after {'+'.join(map(str, lengths))} tokens at temperature {temperature}: "
        f"{right} of {count * len(lengths)} are their token's successor, "
        f"log probabilities {'finite' if finite else 'NOT FINITE'}, "
        f"mean {sum(logs) / len(logs):.3f}"
    )
    after = counters(llm)
    hits, preempted = after.get("prefix_cache_hits"), after.get("num_preemptions")
    yield (f"PREFIX {hits} cached tokens so far, {preempted} preemptions")
    if steps := after.get("drafts", 0) - before.get("drafts", 0):
        taken = after["accepted_tokens"] - before["accepted_tokens"]
        known = ""
        if walks.ring and not temperature:
            drafts = speculative.num_speculative_tokens
            places = [walks.place(number) for number in range(len(lengths))]
            expected = walks.expected(places, count, drafts)
            known = f", {expected:.3f} tokens a step expected"
        yield (
            f"ACCEPTANCE {1 + taken / steps:.3f} tokens a step, {taken} accepted in {steps} steps"
            f"{known}"
        )
        yield (f"ACCEPTANCE by position since the start: {after.get('accepted_tokens_per_pos')}")


def forced(llm: LLM, vocab: int) -> list[Any]:
    """Return, for fixed random prompts, each position's best token and log probabilities."""
    generator = torch.Generator().manual_seed(3)
    prompts = torch.randint(0, vocab, (3, 300), generator=generator).tolist()
    params = SamplingParams(temperature=0, max_tokens=1, detokenize=False, prompt_logprobs=2)
    asked = [{"prompt_token_ids": p} for p in prompts]
    rows = []
    for output in llm.generate(asked, params, use_tqdm=False):
        for token, row in zip(output.prompt_token_ids, output.prompt_logprobs, strict=True):
            if row:
                best = sorted(((v.logprob, t) for t, v in row.items()), reverse=True)
                rows.append((row[token].logprob, best[:2]))
    return rows
