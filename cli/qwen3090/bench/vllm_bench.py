"""Drives ``vllm bench serve`` and turns its per-request lists into our samples.

It fits where every request has the same body: many streams at once (``ladder``), random prompts of
one length (``prefill``). Three of its habits are kept out: its warm-up sends the first prompt that
is measured, which the prefix cache then has (ours are calls of their own, with other prompts); it
repeats prompts when it has too few; it reports failed requests and carries on.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.results import Sample
from qwen3090.bench.target import Target
from qwen3090.serve import descend

COMMON = ("--ready-check-timeout-sec", "0", "--disable-tqdm", "--save-detailed", "--no-oversample")
# A comment in a stream that is silent for long (a long prompt, a wait for a seat) makes vLLM
# 0.28.0's client lose the answer: qwen3090_ops/api/keepalive.py sends none to who says so.
NO_COMMENTS = ("--header", "x-keep-alive=off")


def tokenizer_of(target: Target, given: str | None) -> str:
    """Return the directory of the tokenizer, which builds and counts prompts here.

    Raises:
        InvalidRun: the server's own directory is not on this machine and none was given.
    """
    chosen = given or target.root
    if not Path(chosen).is_dir():
        raise InvalidRun(
            f"the server's model {target.root or '(unnamed)'} is no directory here, and "
            "vllm bench serve needs its tokenizer",
            "--tokenizer DIR",
        )
    return chosen


class VllmBench:
    """A running ``vllm_child``.

    Args:
        target: the server.
        tokenizer: directory of the model's tokenizer.
    """

    def __init__(self, target: Target, tokenizer: str) -> None:
        self._target, self._tokenizer = target, tokenizer

    def __enter__(self) -> "VllmBench":
        # SIM115: the log lives as long as the process.
        self._log = tempfile.TemporaryFile()
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "NO_PROXY": "*", "no_proxy": "*"}
        environment.pop("OPENAI_API_KEY", None)
        if self._target.key:
            environment["OPENAI_API_KEY"] = self._target.key
        self._process = subprocess.Popen(
            [sys.executable, "-m", "qwen3090.bench.vllm_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            text=True,
            preexec_fn=descend.die_with_parent,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            if pipe is not None:
                pipe.close()

    def run(self, requests: int, arguments: Sequence[str]) -> dict[str, Any]:
        """Run one ``vllm bench serve`` and return its detailed result.

        Raises:
            InvalidRun: it ended with an error, or a request failed or gave no token.
        """
        words = [
            *("--base-url", self._target.url, "--model", self._target.model),
            *("--served-model-name", self._target.model, "--tokenizer", self._tokenizer),
            *("--num-prompts", str(requests), *COMMON, *NO_COMMENTS, *arguments),
        ]
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(words) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise InvalidRun(
                f"vllm bench serve ended: {self._tail()}", "qwen3090 verify: is the engine whole?"
            )
        answer = json.loads(line)
        if "error" in answer:
            raise InvalidRun(f"vllm bench serve: {answer['error']}")
        return checked(answer["result"], requests)

    def _tail(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


def checked(result: dict[str, Any], requests: int) -> dict[str, Any]:
    """Return a detailed result in which every request succeeded.

    Raises:
        InvalidRun: a request failed, gave no token, or was not sent.
    """
    errors = [str(error).strip().splitlines()[-1] for error in result["errors"] if error]
    if result["failed"] or errors:
        reason = errors[0] if errors else "no reason given"
        raise InvalidRun(f"{result['failed'] or len(errors)} of {requests} requests: {reason}")
    if result["completed"] != requests:
        raise InvalidRun(f"{result['completed']} of {requests} requests were sent")
    if any(not n for n in result["output_lens"]) or any(not t for t in result["ttfts"]):
        raise InvalidRun("a request was answered without a token")
    return result


def samples(result: dict[str, Any]) -> list[Sample]:
    """Return one sample a request; a rate that a request does not have is left out."""
    found: list[Sample] = []
    columns = ("ttfts", "itls", "input_lens", "output_lens")
    for ttft, gaps, prompt, output in zip(*(result[c] for c in columns), strict=True):
        span = sum(gaps)
        sample = {
            "ttft": ttft,
            "e2e": ttft + span,
            "e2e_rate": output / (ttft + span),
            "prompt_tokens": prompt,
            "output_tokens": output,
        }
        if output > 1 and span > 0:
            sample["decode"] = (output - 1) / span
        found.append(sample)
    return found
