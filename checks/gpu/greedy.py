"""Compares greedy text with and without speculation, and with and without prefix caching.

usage: greedy.py MODEL PROFILE [KEY=VALUE ...] [--drafter DIR] [--made DIR] [--count 32]
                 [--tokens 128] [--one-by-one] [--out DIR] [--llm JSON]

MODEL is a directory of make_checkpoint.py, or one that holds only a config.json (dummy weights:
text that depends on its context, with many near-ties). PROFILE speculates (fast, fast-mtp, ...).
Four engines are started as `qwen3090 serve` would: plain and speculating, each with the prefix
cache and without; side by side unless --one-by-one. Each answers the same prompts twice, so that
the second pass of a cached engine resumes from cached state. Prompts are of 20 to 2,500 tokens:
random ids and, with --made, walks along the checkpoint's cycle; with --drafter too, every other
walk ends in the ring, where DFlash2 accepts 0 to 7 drafts a step (make_checkpoint.py). Printed:
for each engine and pass, how many texts equal those of the plain engine without cache, how many
part at a near-tie, how many differ (pkgs/ops/tests/support/greedy.py says what a near-tie is),
tokens a step (for a ring also those expected: 1.234 by default), cached tokens.
Exit status 1: a text differs at more than a near-tie, an engine failed, a speculating engine
accepted nothing, or a second pass with cache hit nothing.
"""

import os

os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0")
os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "1")
import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pkgs/ops/tests/support"))
from greedy import compare, summary, table

PLAIN = ["speculation=none", "draft_tokens=0"]
LEGS = {
    "plain": [*PLAIN, "prefix_cache=false"],
    "plain, cached": [*PLAIN, "prefix_cache=true"],
    "speculating": ["prefix_cache=false"],
    "speculating, cached": ["prefix_cache=true"],
}


def prompts(walks: Any, vocab: int, count: int, longest: int) -> list[list[int]]:
    """Return ``count`` prompts of 20 to ``longest`` tokens; every other is a walk, given any."""
    import torch

    random = torch.Generator().manual_seed(11)
    steps = torch.linspace(0, 1, count)
    lengths = [int(20 * (longest / 20) ** s) for s in steps.tolist()]
    found = [torch.randint(0, vocab, (n,), generator=random).tolist() for n in lengths]
    if walks:
        for number in range(0, count, 2):
            found[number] = walks.prompt(number // 2, lengths[number])
    return found


def expected(walks: Any, config: Any, count: int, tokens: int) -> float | None:
    """Return the tokens a step that a made DFlash2 drafter should reach; None: not known."""
    if not (walks and walks.ring and config):
        return None
    places = [None if number % 2 else walks.place(number // 2) for number in range(count)]
    return float(walks.expected(places, tokens, config.num_speculative_tokens))


def leg(given: argparse.Namespace) -> None:
    """Boot one engine, answer twice, and write what it said."""
    import bench  # registers the loader of dummy weights
    from engine_args import serve_args
    from text import counters
    from vllm import LLM, SamplingParams
    from walks import Walks

    bench.NAME = given.leg
    words = [*given.words, *LEGS[given.leg]]
    args = serve_args(words, given.model, given.drafter) | json.loads(given.llm)
    llm = LLM(**{"load_format": "files-or-dummy"} | args | {"disable_log_stats": False})
    config = llm.llm_engine.vllm_config.model_config
    longest = min(2500, config.max_model_len - given.tokens - 20)
    walks = Walks.load(Path(given.made), ring=bool(given.drafter)) if given.made else None
    asked = [
        {"prompt_token_ids": ids}
        for ids in prompts(walks, config.get_vocab_size(), given.count, longest)
    ]
    speculative = llm.llm_engine.vllm_config.speculative_config
    known = expected(walks, speculative, given.count, given.tokens)
    params = SamplingParams(
        temperature=0, max_tokens=given.tokens, ignore_eos=True, detokenize=False, logprobs=5
    )
    passes = []
    for _ in range(2):
        before = counters(llm)
        answers = [o.outputs[0] for o in llm.generate(asked, params, use_tqdm=False)]
        after = counters(llm)
        gained = {
            k: after[k] - before.get(k, 0)
            for k in ("drafts", "accepted_tokens", "prefix_cache_hits")
            if k in after
        }
        texts = [{"tokens": list(a.token_ids), "rows": table(a.logprobs)} for a in answers]
        passes.append({"gained": gained, "expected": known, "texts": texts})
    Path(given.report).write_text(json.dumps(passes))
    os._exit(0)


def started(name: str, report: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, *sys.argv[1:], "--leg", name, "--report", str(report)]
    with report.with_suffix(".log").open("w") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def judged(name: str, passes: list[dict[str, Any]], plain: dict[str, Any]) -> int:
    """Print a leg's two passes; return the number of faults."""
    faults = 0
    for number, each in enumerate(passes, 1):
        pairs = zip(plain["texts"], each["texts"], strict=True)
        verdicts = [
            compare(a["tokens"], b["tokens"], _rows(a["rows"]), _rows(b["rows"])) for a, b in pairs
        ]
        gained = each["gained"]
        line = f"{name:20} pass {number}: {summary(verdicts)}"
        if steps := gained.get("drafts", 0):
            line += f"; {1 + gained['accepted_tokens'] / steps:.3f} tokens a step"
            line += f" ({known:.3f} expected)" if (known := each["expected"]) else ""
        line += f"; {gained.get('prefix_cache_hits', 0)} cached tokens"
        faults += sum(v.kind == "different" for v in verdicts)
        if name.startswith("speculating") and not gained.get("accepted_tokens"):
            faults, line = faults + 1, line + "; NOTHING ACCEPTED"
        if name.endswith("cached") and number == 2 and not gained.get("prefix_cache_hits"):
            faults, line = faults + 1, line + "; NO PREFIX HIT"
        print(line, flush=True)
    return faults


def _rows(rows: list[dict[str, float]]) -> list[dict[int, float]]:
    return [{int(token): value for token, value in row.items()} for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("words", nargs="+")
    parser.add_argument("--drafter")
    parser.add_argument("--made")
    parser.add_argument("--count", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--llm", default="{}", help="JSON over the profile's arguments of LLM")
    parser.add_argument("--leg", help=argparse.SUPPRESS)
    parser.add_argument("--report", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.leg:
        leg(given)
    reports = {name: given.out / f"greedy-{at}.json" for at, name in enumerate(LEGS)}
    running: dict[str, subprocess.Popen[bytes]] = {}
    for name, report in reports.items():
        report.unlink(missing_ok=True)
        running[name] = started(name, report)
        if given.one_by_one:
            running[name].wait()
    faults = 0
    for name, report in reports.items():
        if running[name].wait() or not report.exists():
            faults += 1
            tail = report.with_suffix(".log").read_text()[-1500:]
            print(f"{name}: the engine failed, see {report.with_suffix('.log')}:\n{tail}")
    if not reports["plain"].exists():
        return 1
    plain = json.loads(reports["plain"].read_text())[0]
    for name, report in reports.items():
        if report.exists():
            faults += judged(name, json.loads(report.read_text()), plain)
    print(f"{faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
