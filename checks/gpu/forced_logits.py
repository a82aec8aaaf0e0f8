"""What an engine says of every token of fixed prompts, and greedy text at depth: for quality.py.

The distribution of a whole prompt does not fit into vLLM's prompt log probabilities, which are
Python objects; so the calls of the model's compute_logits are watched while one prompt is alone in
the engine, and vLLM's own figure for each next token tells whether the rows are where they belong.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from walks import Walks

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pkgs/ops/tests/support"))
Json = dict[str, Any]
SAME = 0.02  # nats: vLLM's log probability of a token and ours of the same logits


class Watch:
    """Keeps, per position of one prompt: the next token's log probability, the best, the gap."""

    def __init__(self, model: Any, ids: list[int], rows: int) -> None:
        self.model, self.next = model, torch.tensor(ids[1:])
        self.every = max(1, len(self.next) // rows)
        self.at = 0
        self.parts: list[tuple[torch.Tensor, ...]] = []
        self.kept: list[torch.Tensor] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch the model; a single row is that of a sampled token and no part of the prompt."""
        plain = self.model.compute_logits

        def watched(hidden: torch.Tensor, *more: Any, **others: Any) -> Any:
            logits = plain(hidden, *more, **others)
            if len(hidden) > 1 and self.at < len(self.next):
                self._take(logits)
            return logits

        self.model.compute_logits = watched
        try:
            yield
        finally:
            self.model.compute_logits = plain

    def _take(self, logits: torch.Tensor) -> None:
        count = min(len(logits), len(self.next) - self.at)
        for start in range(0, count, 256):
            some = logits[start : min(start + 256, count)].float().log_softmax(-1)
            first = self.at + start
            wanted = self.next[first : first + len(some)].to(some.device)
            top = some.topk(2)
            chosen = some.gather(1, wanted[:, None])[:, 0]
            gap = top.values[:, 0] - top.values[:, 1]
            self.parts.append((chosen.cpu(), top.indices[:, 0].cpu(), gap.cpu()))
            kept = logits[start : start + len(some)][-first % self.every :: self.every]
            self.kept.append(kept.to(torch.bfloat16).cpu())
        self.at += count

    def found(self) -> Json:
        """Return chosen, best and gap [positions] and every so manieth row of logits, bf16."""
        chosen, best, gap = (torch.cat(part) for part in zip(*self.parts, strict=True))
        found = {"chosen": chosen, "best": best, "gap": gap}
        return found | {"every": self.every, "logits": torch.cat(self.kept)}


def prompts(given: argparse.Namespace, vocab: int) -> list[list[int]]:
    """Return ``count`` prompts of the length asked for."""
    if given.text:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(Path(given.model) / "tokenizer.json"))
        ids = tokenizer.encode(given.text.read_text(encoding="utf-8")).ids
        found = [ids[n * given.prompt :][: given.prompt] for n in range(given.count)]
        if len(found[-1]) < given.prompt:
            raise SystemExit(
                f"{given.text}: {len(ids)} tokens, {given.count * given.prompt} are needed: "
                "take a longer text, or a smaller --count or --prompt"
            )
        return found
    random = torch.Generator().manual_seed(7)
    found = torch.randint(0, vocab, (given.count, given.prompt), generator=random).tolist()
    if given.made:
        walks = Walks.load(given.made)
        found[::2] = [walks.prompt(n, given.prompt) for n in range(0, given.count, 2)]
    return found


def forced(llm: Any, ids: list[int], rows: int) -> Json:
    """Ask for one prompt's log probabilities; return what the watch kept.

    Raises:
        SystemExit: the rows that were seen are not the prompt's.
    """
    from vllm import SamplingParams

    params = SamplingParams(
        temperature=0, max_tokens=1, detokenize=False, prompt_logprobs=0, ignore_eos=True
    )
    runner = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
    watch = Watch(runner.get_model(), ids, rows)
    with watch.on():
        answer = llm.generate([{"prompt_token_ids": ids}], params, use_tqdm=False)[0]
    if watch.at != len(ids) - 1:
        raise SystemExit(f"saw {watch.at} of {len(ids) - 1} rows: choose another --prompt")
    found = watch.found()
    pairs = zip(ids[1:], answer.prompt_logprobs[1:], strict=True)
    said = torch.tensor([row[token].logprob for token, row in pairs])
    apart = float((said - found["chosen"]).abs().max())
    if not apart < SAME:
        raise SystemExit(f"rows are not where they belong: log probabilities {apart:.3f} apart")
    return found


def continued(llm: Any, ids: list[int], tokens: int) -> Json:
    """Return greedy text after a prompt with the likeliest tokens of each place."""
    from greedy import table
    from vllm import SamplingParams

    params = SamplingParams(
        temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False, logprobs=5
    )
    answer = llm.generate([{"prompt_token_ids": ids}], params, use_tqdm=False)[0].outputs[0]
    return {"depth": len(ids), "tokens": list(answer.token_ids), "rows": table(answer.logprobs)}


def ask(given: argparse.Namespace) -> int:
    """Boot one engine, ask, write ``given.out``."""
    import bench  # before vLLM: sets its environment, and registers the loader of dummy weights
    from engine_args import serve_args
    from vllm import LLM

    bench.NAME = given.name
    more = {"load_format": "files-or-dummy"} | json.loads(given.llm)
    args = serve_args(given.words, given.model, given.drafter) | more
    llm = LLM(**args | {"disable_log_stats": False})
    bench.say("BOOTED")
    config = llm.llm_engine.vllm_config
    vocab, most = config.model_config.get_vocab_size(), config.model_config.max_model_len
    asked = prompts(given, vocab)
    saved: Json = {
        "name": given.name,
        "cache": config.cache_config.cache_dtype,
        "chunk": config.scheduler_config.max_num_batched_tokens,
        "prompts": asked,
        "forced": [],
        "text": [],
    }
    for ids in asked:
        started = time.time()
        saved["forced"].append(forced(llm, ids, given.rows))
        bench.say(f"FORCED {len(ids)} tokens in {time.time() - started:.1f} s")
    for depth in given.depths:
        if depth + given.tokens > most:
            bench.say(f"LEFT OUT: {depth} + {given.tokens} tokens, the context is {most}")
            continue
        at = argparse.Namespace(**vars(given) | {"prompt": depth, "count": 1})
        started = time.time()
        saved["text"].append(continued(llm, prompts(at, vocab)[0], given.tokens))
        bench.say(f"TEXT after {depth} tokens in {time.time() - started:.1f} s")
    torch.save(saved, given.out)
    bench.say(f"SAVED {given.out}, {given.out.stat().st_size:,} bytes")
    sys.stdout.flush()
    os._exit(0)
