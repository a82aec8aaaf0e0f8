"""Measures what a quantized cache costs: errors of attention, and of the model's log probabilities.

usage: quality.py attention [--depths 4096,16384,65536,131072,245760] [--formats bf16,int8,int4]
                            [--kinds normal,outliers,peaked] [--device cuda] [--limit 300]
       quality.py logits NAME MODEL PROFILE [KEY=VALUE ...] --out FILE.pt [--made DIR]
                            [--text FILE] [--prompt 8192] [--count 2] [--depths 4000,16000]
                            [--tokens 96] [--rows 512] [--drafter DIR] [--llm JSON]
       quality.py compare BF16.pt OTHER.pt [OTHER.pt ...]

`attention`: keys, values and queries of kv_samples.py go through vLLM's store kernels, a paged
cache with shuffled blocks, and our kernel for a verify step of 8 tokens; every error is against
fp64 attention over the bf16 keys and values as they were. "format" is fp64 attention over what the
cache holds: what the format loses; "kernel" and "vLLM's kernel" compare ours, and vLLM's own
attention over the same cache, with that: what a kernel adds. Exit status 1: ours adds more than
2 %, ours differs from vLLM's by more than 2 % where vLLM's adds less, vLLM's is clearly nearer to
the unquantized than ours (then the cache is read wrongly), or a case failed. vLLM's int4 kernel
adds more with depth; that is printed as its own error and fails nothing.

`logits` boots one engine and saves, for the same prompts each time, what it says of every next
token (teacher-forced; the distribution itself for --rows positions of each prompt), then greedy
text of --tokens tokens after --depths tokens. Prompts: random ids; with --made, walks along the
checkpoint's cycle; with --text, pieces of a text (the model's directory needs a tokenizer.json).
Prefill reads the quantized cache only for tokens of earlier chunks (max_batched_tokens).
`compare` prints, by depth: Kullback-Leibler divergence, agreement of the best token, and the
difference of the next token's log probability. It judges nothing: run a second bf16 engine with
another max_batched_tokens to see what rounding alone does. Exit status 1: a value is not finite.
"""

import argparse
import sys
import time
import traceback
from pathlib import Path

LIMIT = 0.02
"""Of what a kernel may add: rotated queries and partial results are rounded to bf16."""
NEARER = 0.9
"""vLLM's error over ours below which our reading of the cache is doubted."""


def judged(ours: float, vllm: float, adds: float, stock: float, apart: float) -> tuple[bool, str]:
    """Return whether a case is right, and the words printed behind it.

    Args:
        ours, vllm: errors of both kernels against the unquantized keys and values.
        adds, stock: their errors against fp64 over what the cache holds.
        apart: ours against vLLM's. All are relative; nan is an error.
    """
    if not adds < LIMIT:
        return False, "  TOO LARGE: what ours adds"
    if stock < LIMIT:
        return (True, "") if apart < LIMIT else (False, "  TOO LARGE: ours from vLLM's")
    if vllm < NEARER * ours:
        return False, "  vLLM's is nearer to the unquantized: is the cache read as it is?"
    return True, "  vLLM's own error"


def attention(given: argparse.Namespace) -> int:
    import torch
    from kv_samples import TOKENS, error, exact, sample
    from kv_stored import BLOCKS, Stored

    cuda = given.device.startswith("cuda")
    parts = torch.cuda.get_device_properties(0).multi_processor_count if cuda else 4
    print(f"QUALITY attention, 24 query and 4 KV heads of 256, {TOKENS} query tokens", flush=True)
    print("against fp64 over the unquantized bf16 keys and values", flush=True)
    end, bad, done = time.time() + given.limit, 0, 0
    cases = [(n, k, f) for n in given.depths for k in given.kinds for f in given.formats]
    for length, kind, name in cases:
        if time.time() > end:
            print(f"QUALITY: {len(cases) - done} cases left out, {given.limit} s are over")
            bad += 1
            break
        done += 1
        label = f"{length:7} {kind:8} {name:4}"
        try:
            data = sample(kind, length, given.device)
            right = exact(data.q, data.key, data.value)
            stored = Stored(data, name, given.page or BLOCKS[name], parts)
            held = exact(data.q, *stored.read())
            ours, theirs = stored.ours(), stored.vllm()
        except Exception:
            print(f"{label} FAILED {traceback.format_exc()}", flush=True)
            bad += 1
            continue
        adds, stock = error(ours, held).relative, error(theirs, held).relative
        whole, other = error(ours, right), error(theirs, right).relative
        apart = error(ours, theirs).relative
        good, words = judged(whole.relative, other, adds, stock, apart)
        bad += not good
        print(f"{label} | {whole}", flush=True)
        print(
            f"{'':21} | format {error(held, right).relative:.2e}, kernel {adds:.2e}, vLLM "
            f"{other:.2e}, vLLM's kernel {stock:.2e}, ours from vLLM's {apart:.2e}{words}",
            flush=True,
        )
        del data, right, stored, held, ours, theirs
    print(f"QUALITY attention: {done} cases, {bad} wrong", flush=True)
    return int(bad > 0)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def names(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    one = what.add_parser("attention")
    one.add_argument("--depths", type=numbers, default=[4096, 16384, 65536, 131072, 245760])
    one.add_argument("--formats", type=names, default=["bf16", "int8", "int4"])
    one.add_argument("--kinds", type=names, default=["normal", "outliers", "peaked"])
    one.add_argument("--device", default="cuda")
    one.add_argument("--page", type=int, help="tokens a block, instead of the profiles'")
    one.add_argument("--limit", type=float, default=300, help="seconds")
    two = what.add_parser("logits")
    for name in ("name", "model"):
        two.add_argument(name)
    two.add_argument("words", nargs="+")
    two.add_argument("--out", type=Path, required=True)
    two.add_argument("--made", type=Path)
    two.add_argument("--text", type=Path)
    two.add_argument("--prompt", type=int, default=8192)
    two.add_argument("--count", type=int, default=2)
    two.add_argument("--depths", type=numbers, default=[4000, 16000])
    two.add_argument("--tokens", type=int, default=96)
    two.add_argument("--rows", type=int, default=512)
    two.add_argument("--drafter")
    two.add_argument("--llm", default="{}", help="JSON over the profile's arguments of LLM")
    three = what.add_parser("compare")
    three.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.what == "attention":
        return attention(given)
    if given.what == "logits":
        from forced_logits import ask

        return ask(given)
    from compare_logits import report

    return report(given.files)


if __name__ == "__main__":
    sys.exit(main())
