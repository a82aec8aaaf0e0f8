"""Compares answers that resume from the prefix cache with cold ones, at every kind of prompt end.

usage: residues.py MODEL PROFILE [KEY=VALUE ...] [--drafter DIR] [--made DIR] [--text FILE]
                   [--blocks N,N] [--question 37] [--tokens 32] [--tolerance 0.25] [--limit 300]
                   [--no-control] [--llm JSON]

One engine is started as `qwen3090 serve` would. With B tokens in a block of recurrent state and k
drafts, prompts are n B + r tokens long, r = 0, 1, B - 1 and k + 1, and where another layer's block
u is smaller, u and u + k + 1:
  self   the same prompt twice;
  other  a document and a question, then the document and another question, n B + r in all;
  after  the same, with the document n B + r long and the question beyond.
A state is kept where a chunk of prefill ends, so n (--blocks) is two and three blocks above the
blocks of a chunk: each case must then resume. A cold answer has a cache salt of its own.
Texts: random ids, --made: walks along the checkpoint's cycle, --text: pieces of a text (MODEL
needs a tokenizer.json).
Answers are greedy, and equal, part at a near-tie, or differ (pkgs/ops/tests/support/greedy.py).
The log probabilities of the tokens up to there tell more: they are equal bit for bit where both
runs prefill in the same chunks; a quantized cache adds its error elsewhere, since a cold chunk
reads its own tokens unquantized (max_batched_tokens=B+64 cuts both runs alike, a block a chunk).
The control resumes once more, with the cached states set to zero: what the check would see.
Exit status 1: an answer differs, or a log probability by more than twice the tolerance; nothing
was cached; no control was noticed; or no case was run.
"""

import os

os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0")
os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "1")
import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pkgs/ops/tests/support"))
from cached_states import groups, state_groups, wipe
from greedy import Row, Verdict, compare, table
from quality import numbers
from walks import Walks

Piece = Callable[[int, int], list[int]]  # (number, length) -> token ids
KINDS = ("self", "other", "after")


@dataclass(frozen=True)
class Answer:
    """Greedy tokens, the likeliest tokens of each place, and how many prompt tokens were cached."""

    tokens: list[int]
    rows: list[Row]
    cached: int

    def shift(self, other: "Answer", upto: int) -> float:
        """Return the largest difference of a common token's log probability."""
        rows = zip(self.tokens[:upto], self.rows, other.rows, strict=False)
        return max((abs(a[t] - b[t]) for t, a, b in rows if t in a and t in b), default=0.0)


class Asker:
    """Asks one engine, one prompt at a time."""

    def __init__(self, llm: Any, tokens: int) -> None:
        from vllm import SamplingParams

        self.llm, self.salts = llm, itertools.count()
        self.params = SamplingParams(
            temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False, logprobs=5
        )

    def salt(self) -> str:
        """Return one that no prompt had: nothing is cached under it."""
        return f"residues-{next(self.salts)}"

    def ask(self, ids: list[int], salt: str) -> Answer:
        asked = {"prompt_token_ids": ids, "cache_salt": salt}
        output = self.llm.generate([asked], self.params, use_tqdm=False)[0]
        answer = output.outputs[0]
        return Answer(list(answer.token_ids), table(answer.logprobs), output.num_cached_tokens)

    def hits(self) -> int:
        found = [m.value for m in self.llm.get_metrics() if m.name == "vllm:prefix_cache_hits"]
        return int(sum(found))


def pieces(given: argparse.Namespace, vocab: int) -> dict[str, Piece]:
    """Return what makes texts, by name."""

    def noise(number: int, length: int) -> list[int]:
        random = torch.Generator().manual_seed(number)
        ids: list[int] = torch.randint(0, vocab, (length,), generator=random).tolist()
        return ids

    if given.text:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(Path(given.model) / "tokenizer.json"))
        ids = tokenizer.encode(given.text.read_text(encoding="utf-8")).ids

        def cut(number: int, length: int) -> list[int]:
            if length >= len(ids):
                raise SystemExit(f"{given.text}: {len(ids)} tokens, more than {length} are needed")
            return ids[997 * number % (len(ids) - length) :][:length]

        return {"text": cut}
    return {"noise": noise} | ({"cycle": Walks.load(given.made).prompt} if given.made else {})


def prompts(kind: str, length: int, question: int, number: int, piece: Piece) -> list[list[int]]:
    """Return what is asked first and what is asked then."""
    document = piece(number, length if kind != "other" else length - question)
    if kind == "self":
        return [document, document]
    return [document + piece(1000 + 2 * number + more, question) for more in (0, 1)]


def case(asker: Asker, kind: str, asked: list[list[int]], control: bool) -> dict[str, Any]:
    """Ask cold, then from the cache; return the verdict and figures."""
    first, then = asked
    salt, before = asker.salt(), asker.hits()
    cold = asker.ask(first, salt)
    if kind != "self":
        cold = asker.ask(then, asker.salt())
    assert asker.hits() == before, "a cold prompt was cached"
    hit = asker.ask(then, salt)
    counted = asker.hits() - before
    verdict = compare(cold.tokens, hit.tokens, cold.rows, hit.rows)
    found = {"cached": hit.cached, "counted": counted, "verdict": verdict}
    found["shift"] = cold.shift(hit, verdict.at)
    if control:
        salt = asker.salt()
        asker.ask(first, salt)
        found["wiped"] = wipe(asker.llm)
        blank = asker.ask(then, salt)
        other = compare(cold.tokens, blank.tokens, cold.rows, blank.rows)
        found["control"], found["control shift"] = other, cold.shift(blank, other.at)
    return found


def judged(found: dict[str, Any], tolerance: float) -> tuple[str, bool, bool]:
    """Return a line, whether the case is right, and whether its control was noticed."""
    verdict: Verdict = found["verdict"]
    faults = []
    if not found["cached"] or found["counted"] != found["cached"]:
        faults.append(f"HIT NOT COUNTED: {found['counted']}")
    if verdict.kind != "equal" and verdict.gap > tolerance:
        faults.append(f"DIFFERENT at {verdict.at}, gap {verdict.gap:.3f}")
    if found["shift"] > 2 * tolerance:
        faults.append("SHIFTED")
    line = f"{found['cached']:6} cached | {verdict.kind:9}, shift {found['shift']:.5f}"
    noticed = False
    if "control" in found:
        control, shift = found["control"], found["control shift"]
        noticed = shift > 2 * found["shift"] + 1e-4 or control.at < verdict.at
        line += f" | control: {control.kind} at {control.at}, shift {shift:.5f}"
        line += "" if noticed else ", not noticed"
    return " | ".join([line, *faults]), not faults, noticed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("words", nargs="+")
    parser.add_argument("--drafter")
    parser.add_argument("--made", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--blocks", type=numbers)
    parser.add_argument("--question", type=int, default=37)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--tolerance", type=float, default=0.25, help="nats")
    parser.add_argument("--limit", type=float, default=300, help="seconds after the boot")
    parser.add_argument("--no-control", action="store_true")
    parser.add_argument("--llm", default="{}", help="JSON over the profile's arguments of LLM")
    given = parser.parse_args()
    import bench  # registers the loader of dummy weights
    from engine_args import serve_args
    from vllm import LLM

    bench.NAME = " ".join(given.words)
    more = {"load_format": "files-or-dummy"} | json.loads(given.llm)
    args = serve_args(given.words, given.model, given.drafter) | more
    llm = LLM(**args | {"disable_log_stats": False})
    config = llm.llm_engine.vllm_config
    block = max(group.kv_cache_spec.block_size for group in state_groups(llm).values())
    drafts = getattr(config.speculative_config, "num_speculative_tokens", 0)
    smallest = min(group.kv_cache_spec.block_size for group in groups(llm))
    between = {smallest, smallest + drafts + 1} if smallest < block else set()
    residues = sorted({0, 1, block - 1, drafts + 1} | between)
    scheduler = config.scheduler_config
    chunk = scheduler.max_num_scheduled_tokens or scheduler.max_num_batched_tokens
    least = max(1, chunk // block) + 2
    sizes = given.blocks or [least, least + 1]
    bench.say(
        f"RESIDUES state blocks of {block}, chunks of up to {chunk}, {drafts} drafts, "
        f"r = {residues}, n = {sizes}"
    )
    asker, most = Asker(llm, given.tokens), config.model_config.max_model_len
    sources = pieces(given, config.model_config.get_vocab_size()).items()
    cases = itertools.product(sizes, residues, KINDS, sources)
    ran, wrong, controls, noticed, end = 0, 0, 0, 0, time.time() + given.limit
    for number, (blocks, residue, kind, (name, piece)) in enumerate(cases):
        length = blocks * block + residue
        label = f"{kind:5} {blocks} x {block} + {residue:4} {name:5}"
        if length + given.question + given.tokens > most:
            bench.say(f"{label} LEFT OUT: the context is {most}")
            continue
        if time.time() > end:
            bench.say(f"LEFT OUT from {label} on: {given.limit:.0f} s are over")
            break
        control = not given.no_control and blocks == sizes[0]
        asked = prompts(kind, length, given.question, number, piece)
        found = case(asker, kind, asked, control)
        line, right, seen = judged(found, given.tolerance)
        ran, wrong = ran + 1, wrong + (not right)
        controls, noticed = controls + control, noticed + seen
        bench.say(f"{label} | {line}")
    blind = controls > 0 and not noticed
    bench.say(
        f"RESIDUES {ran} cases, {wrong} wrong; control noticed in {noticed} of {controls}"
        f"{': THIS CHECKPOINT CANNOT TELL' if blind else ''}"
    )
    return int(bool(wrong) or blind or not ran)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
