"""Arguments of vllm.LLM for a profile: GPU checks start what `qwen3090 serve` would start.

The command line comes from `qwen3090 serve --dry-run`, and vLLM's own parser reads it. Left out is
what only an API server has; changed is what a check needs: several engines on one card, no
tokenizer, and kernels of the Triton kind, which the test machine shares with an RTX 3090.
"""

import dataclasses
import json
import subprocess
import sys
from typing import Any

Json = dict[str, Any]
# Ours, and unknown to an unpatched vLLM.
OURS = ("--worker-extension-cls", "--scheduler-cls", "--additional-config")
# Needs the tokenizer.
PARSERS = ("--reasoning-parser", "--tool-call-parser")


def _cli(*words: str) -> Json:
    command = [sys.executable, "-m", "qwen3090", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 66):  # 66: does not fit; the plan is an answer all the same
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    found: Json = json.loads(done.stdout)
    return found


def settings(words: list[str]) -> list[str]:
    """Return ["fast", "seats=4"] as a profile and its ``--set`` options."""
    return [words[0], *(part for word in words[1:] for part in ("--set", word))]


def plan(words: list[str]) -> Json:
    """Return `qwen3090 plan WORDS --json`."""
    return _cli("plan", *words, "--json")


def serve_args(
    words: list[str], model: str, drafter: str | None = None, *, stock: bool = False
) -> Json:
    """Return the arguments of ``LLM`` for a profile and settings.

    Args:
        words: profile, then KEY=VALUE.
        model: the checkpoint's directory.
        drafter: the DFlash2 drafter's directory, when the profile uses one.
        stock: leave out what an unpatched vLLM does not know.
    """
    places = [f"model={model}", *([f"drafter={drafter}"] if drafter else [])]
    if stock:
        places.append("draft_tokens_by_batch=none")  # ends the start of an unpatched MTP server
    argv = _cli("serve", *settings([*words, *places]), "--dry-run", "--json")["argv"]
    # The CPU engine of the profile demo, good for a dry run, is started without `vllm serve`.
    options = argv[argv.index("serve" if "serve" in argv else "--model") + 1 :]
    options = _without(options, PARSERS + (OURS if stock else ()))
    return engine_args(options) | {
        "gpu_memory_utilization": 0.05,  # not used: the pool is pinned, and several engines share
        "kernel_config": {"enable_flashinfer_autotune": False},
        "gdn_prefill_backend": "triton",
        "skip_tokenizer_init": True,
    }


def engine_args(options: list[str]) -> Json:
    """Return what vLLM's parser makes of `vllm serve` options, without the defaults."""
    from vllm.engine.arg_utils import EngineArgs
    from vllm.entrypoints.openai.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    model, *rest = options
    parsed = make_arg_parser(FlexibleArgumentParser()).parse_args(["--model", model, *rest])
    given, default = EngineArgs.from_cli_args(parsed), EngineArgs(model=model)
    names = [field.name for field in dataclasses.fields(EngineArgs)]
    args = {name: getattr(given, name) for name in names}
    args = {name: value for name, value in args.items() if value != getattr(default, name)}
    return args | {"model": model}


def _without(options: list[str], names: tuple[str, ...]) -> list[str]:
    kept: list[str] = []
    for word in options:
        after = kept and kept[-1] in names
        if after:
            kept.pop()
        else:
            kept.append(word)
    return kept
