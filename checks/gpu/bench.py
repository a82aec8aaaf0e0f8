"""Boots one engine in process on a GPU: what it loaded, whether its text is right, decode times.

usage: bench.py NAME MODEL PROFILE [KEY=VALUE ...] [--options JSON]

MODEL is a directory of make_checkpoint.py (prepared or not), or one that holds only a config.json
(dummy weights then). JSON: "made" (the directory with successor.pt: prompts follow the cycle and
the text is checked), "sampled" (check again, and at temperature 1), "long" (more prompt lengths to
check), "stock" (true: without what only a patched vLLM knows), "drafter", "llm" and
"speculative" (over the profile's arguments), "decode" and "profile" (loads to time and to list
kernels for: decode.load says how they are written; a load's prompts are prefilled once, then they
come from the prefix cache where the profile has one), "repeat" (of each load, 3) and "tokens" (to
decode each time, 240), "top" (kernels to list), "prefill" (lengths of fresh prompts to time up to
the first token) and "prefill_repeat" (3), "probe" (a .pt file for what single layers answer, for
compare.py).
Several may boot at once: with PEERS="A B" in the environment each waits (at most WAIT_S seconds)
until all have booted, and they time one by one. RUN names the folder they share.
"""

import os

os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0")
os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "1")
import argparse
import fcntl
import json
import time
import traceback
from pathlib import Path
from typing import Any

import torch
from decode import load, timed
from engine_args import plan, serve_args, settings
from live import findings
from looks import facts, probes
from prefill import prefills
from qwen3090.verify import render
from step_kernels import kernels
from text import continued, forced
from vllm import LLM
from vllm.config.load import LoadConfig
from vllm.model_executor.model_loader import get_model_loader, register_model_loader
from vllm.model_executor.model_loader.base_loader import BaseModelLoader

RUN = Path(os.environ.get("RUN", "."))
STARTED = time.time()
NAME = "?"


def say(*words: Any) -> None:
    print(f"[{NAME} {time.time() - STARTED:6.1f}]", *words, flush=True)


@register_model_loader("files-or-dummy")
class FilesOrDummy(BaseModelLoader):
    """Load a directory that has weights, and make dummy ones for one that has none."""

    def _of(self, model_config: Any) -> Any:
        files = any(Path(model_config.model).glob("*.safetensors"))
        return get_model_loader(LoadConfig(load_format="auto" if files else "dummy"))

    def download_model(self, model_config: Any) -> None:
        self._of(model_config).download_model(model_config)

    def load_weights(self, model: Any, model_config: Any) -> None:
        self._of(model_config).load_weights(model, model_config)
        if not any(Path(model_config.model).glob("*.safetensors")):
            for weight in model.parameters():  # vLLM leaves packed weights as the memory was
                if weight.dtype == torch.int32:
                    weight.data.random_(-(2**31), 2**31 - 1)


def wait_for_peers() -> None:
    (RUN / f"{NAME}.ready").touch()
    peers = os.environ.get("PEERS", "").split()
    end = STARTED + float(os.environ.get("WAIT_S", 400))
    while not all((RUN / f"{p}.ready").exists() or (RUN / f"{p}.fail").exists() for p in peers):
        if time.time() > end:
            say("NOT ALONE: peers were still booting")
            return
        time.sleep(0.2)


def examine(llm: LLM, runner: Any, options: dict[str, Any], vocab: int) -> None:
    """Ask what the options ask for; the timing comes after it, whatever it finds."""
    for line in facts(runner):
        say("FACT", line)
    if "made" in options:
        made, lengths = Path(options["made"]), (200, 550, 900, 3000)
        rounds = [(0.0, lengths, 120)]
        if options.get("sampled"):
            # the same prompts hit the prefix cache now, where the profile has one
            rounds += [(0.0, lengths, 120), (1.0, lengths, 400)]
        rounds += [(0.0, (length,), 120) for length in options.get("long", []) for _ in "12"]
        for temperature, prompts, count in rounds:
            for line in continued(llm, made, temperature, prompts, count):
                say(line)
    if "probe" in options:
        found: dict[str, Any] = dict(probes(runner))
        torch.save(found, options["probe"])
        torch.save(found | {"forced": forced(llm, vocab)}, options["probe"])


def fitting(llm: LLM, loads: list[str | int], tokens: int) -> list[str]:
    """Return the loads that fit into the context, as text, and say which do not."""
    most = llm.llm_engine.vllm_config.model_config.max_model_len
    fits = [str(each) for each in loads if load(str(each)).length + tokens <= most]
    for each in loads:
        if str(each) not in fits:
            say(f"LEFT OUT: {each}, with {tokens} tokens more than the context of {most}")
    return fits


def main() -> None:
    global NAME
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("model")
    parser.add_argument("words", nargs="+")
    parser.add_argument("--options", type=json.loads, default={})
    given = parser.parse_args()
    NAME, options = given.name, given.options
    words, drafter = settings(given.words), options.get("drafter")
    if any(Path(given.model).glob("*.safetensors")):
        words += ["--model", given.model, *(["--drafter", drafter] if drafter else [])]
    want = plan(words)
    args = serve_args(given.words, given.model, drafter, stock=options.get("stock", False))
    args |= options.get("llm", {})
    if "speculative" in options:
        args["speculative_config"] = args["speculative_config"] | options["speculative"]
    say("IMPORTED")
    llm = LLM(**args | {"load_format": "files-or-dummy", "disable_log_stats": False})
    say("BOOTED")
    cache = llm.llm_engine.vllm_config.cache_config
    compiled = llm.llm_engine.vllm_config.compilation_config
    runner = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
    vocab = runner.get_model().config.vocab_size
    same = cache.kv_cache_size_tokens == want["pool_tokens"]
    say(
        f"POOL {cache.kv_cache_size_tokens} tokens, the plan says {want['pool_tokens']}"
        f"{'' if same else ': DIFFERENT'}; graphs {compiled.cudagraph_mode}, "
        f"{type(runner).__module__}"
    )
    say(f"MEMORY {torch.cuda.memory_allocated() / 1e9:.3f} GB allocated, pool included")
    try:
        if not options.get("stock"):
            for line in render(findings(llm, given.words, args["model"], drafter)).splitlines():
                say("LIVE", line)
        examine(llm, runner, options, vocab)
    except Exception:
        say("EXAMINATION FAILED", traceback.format_exc())
    wait_for_peers()
    with (RUN / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tokens = options.get("tokens", 240)
        for text in fitting(llm, options.get("decode", []), max(80, tokens)):
            say("WARM", timed(llm, load(text), 80))
            for _ in range(options.get("repeat", 3)):
                say(timed(llm, load(text), tokens))
        for text in fitting(llm, options.get("profile", []), 200):
            for line in kernels(llm, load(text), top=options.get("top", 14)):
                say(line)
        if lengths := options.get("prefill"):
            for line in prefills(llm, lengths, options.get("prefill_repeat", 3)):
                say(line)
    say(f"RESERVED {torch.cuda.max_memory_reserved() / 1e9:.3f} GB at most")
    say("DONE")
    os._exit(0)


if __name__ == "__main__":
    main()
