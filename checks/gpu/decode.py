"""Times decode steps of an engine in this process, one request or several at once."""

import itertools
import time
from dataclasses import dataclass
from typing import Any

from vllm import SamplingParams
from vllm.inputs import TokensPrompt

number = itertools.count()
GREEDY = {"temperature": 0.0}
DEFAULT = {"temperature": 1.0, "top_k": 20, "top_p": 0.95}  # the model's generation_config.json


@dataclass(frozen=True)
class Load:
    """What runs at once: ``requests`` prompts of ``length`` tokens, and how they are sampled."""

    length: int
    requests: int = 1
    sampled: bool = False

    def __str__(self) -> str:
        how = "default sampling" if self.sampled else "greedy"
        return f"context {self.length} x {self.requests}, {how}"


def load(text: str) -> Load:
    """Read "16000", "4000x8" or "512x1s" (s: the model's default sampling instead of greedy)."""
    length, _, rest = text.partition("x")
    return Load(int(length), int(rest.rstrip("s") or 1), rest.endswith("s"))


def prompt(seed: int, length: int, vocab: int = 90_100) -> list[int]:
    """Return ``length`` token ids that a prompt of another seed does not begin with."""
    kinds = min(90_000, vocab - 100)
    return [(7919 * (seed + 1) + 31 * place) % kinds + 100 for place in range(length)]


def add(engine: Any, what: Load, tokens: int) -> None:
    """Add the load's requests; each prompt is the same at every call (a cached prefix helps)."""
    sampling = DEFAULT if what.sampled else GREEDY
    vocab = engine.vllm_config.model_config.get_vocab_size()
    for index in range(what.requests):
        params = SamplingParams(
            **sampling, seed=index, max_tokens=tokens, ignore_eos=True, detokenize=False
        )
        ids = prompt(1000 * what.requests + index, what.length, vocab)
        name = f"timed-{next(number)}"
        engine.add_request(name, TokensPrompt(prompt_token_ids=ids), params)


def timed(llm: Any, what: Load, tokens: int) -> str:
    """Decode ``tokens`` tokens a request; return the mean and median time of a full step.

    A step counts while every request of the load is decoding.
    """
    engine = llm.llm_engine
    add(engine, what, tokens)
    made: dict[str, int] = {}
    events: list[tuple[float, int]] = []
    began = time.perf_counter()
    first, whole = 0.0, True
    while engine.has_unfinished_requests():
        for output in engine.step():
            made[output.request_id] = len(output.outputs[0].token_ids)
            whole = whole and not output.finished
        if len(made) == what.requests and whole:
            first = first or time.perf_counter()
            events.append((time.perf_counter(), sum(made.values())))
    kept = events[2:-2]
    if len(kept) < 2:
        return f"STEP {what}: never {what.requests} decoding at once; fewer fit into the pool"
    gaps = sorted(b[0] - a[0] for a, b in itertools.pairwise(kept))
    seconds, count = kept[-1][0] - kept[0][0], kept[-1][1] - kept[0][1]
    return (
        f"STEP {what}: {1e3 * seconds / len(gaps):.3f} ms (median "
        f"{1e3 * gaps[len(gaps) // 2]:.3f}), {count / len(gaps) / what.requests:.3f} tokens a "
        f"request, {count / seconds:.1f} tokens/s, {len(gaps)} steps; all decoding after "
        f"{first - began:.3f} s"
    )
