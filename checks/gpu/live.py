"""Compares what a booted engine reports of itself with its profile, as `qwen3090 verify --live`.

usage: live.py MODEL PROFILE [KEY=VALUE ...] [--drafter DIR]   (exit status 1 when a fact differs)

bench.py prints the same lines for each engine that it boots.
"""

import os

os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0")
os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "1")
import argparse
import sys
from typing import Any

from qwen3090.config import resolve
from qwen3090.data import data_file
from qwen3090.patches import load_series, series_hash
from qwen3090.verify import Finding, Status, render, summary
from qwen3090.verify.live import compare
from qwen3090.verify.live.facts import promise


def findings(llm: Any, words: list[str], model: str, drafter: str | None) -> list[Finding]:
    """Return one finding for each fact of an engine in this process.

    Args:
        llm: a ``vllm.LLM`` of ``engine_args.serve_args``.
        words: profile, then KEY=VALUE.
        model, drafter: the directories that it was started with.
    """
    places = [f"model={model}", *([f"drafter={drafter}"] if drafter else [])]
    config = resolve(words[0], sets=[*words[1:], *places]).config
    expected = promise(config, series_hash(load_series(data_file("patches"))))
    return list(compare(expected, llm.collective_rpc("qwen3090_report")[0]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("words", nargs="+")
    parser.add_argument("--drafter")
    given = parser.parse_args()
    from engine_args import serve_args
    from vllm import LLM

    llm = LLM(**serve_args(given.words, given.model, given.drafter))
    found = findings(llm, given.words, given.model, given.drafter)
    print(render(found), summary(found), sep="\n", flush=True)
    return int(any(each.status is Status.FAIL for each in found))


if __name__ == "__main__":
    sys.exit(main())
