"""Runs mixed concurrent requests on an engine in this process for minutes, and checks each answer.

usage: soak.py NAME MODEL PROFILE MADE [KEY=VALUE ...] [--seconds 180] [--drafter DIR] [--seed 1]
               [--longest 20000]

MADE is a directory of make_checkpoint.py: its successor.pt says which token follows which, so a
greedy answer is either right or wrong. With --drafter half of the prompts end in the ring, where
DFlash2 accepts drafts (make_checkpoint.py). Requests arrive at random: prompts of 1 to 20,000
tokens, fresh ones, and others that begin as one before; greedy and sampled, with and without
top-k/top-p, log probabilities, penalties; a tenth is aborted on the way. With a larger --longest,
one prompt in 12 has 20,000 to that many tokens. New ones arrive for --seconds, then all run to
their end; a line every 30 seconds says how far it is. Exit status 1: a wrong greedy token, a token
outside the vocabulary, a log probability that is no number, an answer of another length than
asked, more than 23.6 GiB of reserved memory, or drafts but none accepted.
"""

import os

os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0")
os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "1")
import argparse
import collections
import itertools
import math
import random
import time
from pathlib import Path
from typing import Any

import torch
from engine_args import plan, serve_args, settings
from text import counters
from vllm import LLM, SamplingParams
from vllm.inputs import TokensPrompt
from walks import Walks

LIMIT = 23.6 * 2**30
USUAL = 20_000  # tokens of a prompt, but for the few that --longest asks for


class Traffic:
    """Makes requests, remembers them, and counts what is wrong with the answers."""

    def __init__(self, engine: Any, walks: Walks, context: int, longest: int, seed: int) -> None:
        self.engine, self.random = engine, random.Random(seed)
        self.context, self.longest, self.walks = context, longest, walks
        self.open: dict[str, tuple[list[int], Any]] = {}
        self.old: list[list[int]] = []
        self.count: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.number = itertools.count()

    def walk(self, length: int) -> list[int]:
        """Return a prompt of ``length`` tokens along the cycle; a third begins like an old one.

        Half end in the ring, where there is one.
        """
        start = self.random.choice(self.walks.ids)
        if self.old and self.random.random() < 0.33:
            start = self.random.choice(self.old)[0]
            self.count["prompts that begin like another"] += 1
        found = self.walks.along(start, length)
        if self.walks.ring and self.random.random() < 0.5:
            found[-1] = self.random.choice(self.walks.ring)
            self.count["prompts that end in the ring"] += 1
        self.old = [*self.old[-31:], found]
        return found

    def params(self, tokens: int) -> Any:
        kind = self.random.random()
        base: dict[str, Any] = {"max_tokens": tokens, "ignore_eos": True, "detokenize": False}
        if self.random.random() < 0.3:
            base["logprobs"] = self.random.choice([0, 1, 5])
        if kind < 0.5:
            return SamplingParams(temperature=0, **base)
        if kind < 0.8:
            return SamplingParams(temperature=1, top_k=20, top_p=0.95, **base)
        if kind < 0.9:
            return SamplingParams(temperature=0.7, seed=self.random.randrange(99), **base)
        return SamplingParams(temperature=1.3, top_p=0.8, presence_penalty=0.5, **base)

    def arrive(self) -> None:
        usual = min(self.longest, USUAL)
        length = int(math.exp(self.random.uniform(0, math.log(usual))))
        if self.longest > usual and self.random.random() < 1 / 12:
            length = self.random.randint(usual, self.longest)
            self.count[f"prompts above {usual}"] += 1
        length = min(length, self.context - 600)
        tokens = int(math.exp(self.random.uniform(0, math.log(500))))
        prompt, params, name = self.walk(length), self.params(tokens), f"s{next(self.number)}"
        self.open[name] = (prompt, params)
        self.engine.add_request(name, TokensPrompt(prompt_token_ids=prompt), params)
        self.count["requests"] += 1

    def maybe_abort(self) -> None:
        if self.open and self.random.random() < 0.002:
            name = self.random.choice(list(self.open))
            self.engine.abort_request([name])
            del self.open[name]
            self.count["aborted"] += 1

    def ended(self, output: Any) -> None:
        found = self.open.pop(output.request_id, None)
        if found is None:
            return
        prompt, params = found
        answer = output.outputs[0]
        tokens = list(answer.token_ids)
        self.count["answers"] += 1
        self.count["tokens"] += len(tokens)
        if len(tokens) != params.max_tokens:
            self.wrong.append(f"{output.request_id}: {len(tokens)} of {params.max_tokens} tokens")
        if not all(0 <= token < len(self.walks.successor) for token in tokens):
            self.wrong.append(f"{output.request_id}: a token outside the vocabulary")
        rows = answer.logprobs or []
        if any(math.isnan(value.logprob) for row in rows for value in row.values()):
            self.wrong.append(f"{output.request_id}: a log probability is no number")
        if params.temperature == 0:
            pairs = list(itertools.pairwise([prompt[-1], *tokens]))
            bad = [place for place, (a, b) in enumerate(pairs) if self.walks.successor[a] != b]
            self.count["greedy tokens checked"] += len(pairs)
            if bad:
                self.wrong.append(
                    f"{output.request_id}: prompt {len(prompt)}, greedy token {bad[0]} of "
                    f"{len(pairs)} is wrong, {len(bad)} in all"
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("name", "model", "profile", "made"):
        parser.add_argument(name)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--drafter")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=int, default=USUAL, help="tokens of a prompt")
    given = parser.parse_args()
    words = [given.profile, *given.words]
    places = ["--model", given.model, *(["--drafter", given.drafter] if given.drafter else [])]
    want = plan([*settings(words), *places])
    args = serve_args(words, given.model, given.drafter)
    llm = LLM(**args | {"disable_log_stats": False})
    engine, seats = llm.llm_engine, want["inputs"]["seats"]
    walks = Walks.load(Path(given.made), ring=bool(given.drafter))
    traffic = Traffic(engine, walks, want["inputs"]["context"], given.longest, given.seed)
    said = time.time()
    end = said + given.seconds
    while time.time() < end or engine.has_unfinished_requests():
        if time.time() < end and len(traffic.open) < 1.5 * seats and traffic.random.random() < 0.05:
            traffic.arrive()
        if engine.has_unfinished_requests():
            for output in engine.step():
                if output.finished:
                    traffic.ended(output)
            traffic.maybe_abort()
        if time.time() > said + 30:
            said = time.time()
            print(
                f"SOAK {given.name}: {end - said:.0f} s left, {traffic.count['answers']} answers, "
                f"{len(traffic.open)} open, {len(traffic.wrong)} wrong",
                flush=True,
            )
    reserved = torch.cuda.max_memory_reserved()
    if reserved > LIMIT:
        traffic.wrong.append(f"{reserved / 2**30:.2f} GiB reserved, {LIMIT / 2**30:.1f} allowed")
    counts = ", ".join(f"{value} {key}" for key, value in sorted(traffic.count.items()))
    print(f"SOAK {given.name}: {given.seconds:.0f} s, {counts}", flush=True)
    totals = counters(llm)
    for name, value in totals.items():
        print(f"SOAK {given.name}: {name} {value}", flush=True)
    if totals.get("drafts") and not totals["accepted_tokens"]:
        traffic.wrong.append(f"none of the drafts of {totals['drafts']} steps was accepted")
    print(f"SOAK {given.name}: {reserved / 2**30:.2f} GiB reserved at most", flush=True)
    for line in traffic.wrong[:20]:
        print(f"SOAK {given.name} WRONG {line}", flush=True)
    print(f"SOAK {given.name} {'FAILED' if traffic.wrong else 'passed'}", flush=True)
    return int(bool(traffic.wrong))


if __name__ == "__main__":
    status = main()
    os._exit(status)
