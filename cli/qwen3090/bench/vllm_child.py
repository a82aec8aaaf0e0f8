"""``vllm bench serve`` in a process that stays: one import of vLLM for all rungs of a ladder.

Run as ``python -m qwen3090.bench.vllm_child``: reads a JSON list of arguments a line, answers each
with one JSON line, ``{"result": ...}`` or ``{"error": ...}``. What vLLM prints goes to stderr.
"""

import json
import os
import sys


def main() -> None:
    """Answer every line of standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from vllm.benchmarks.serve import add_cli_args
    from vllm.benchmarks.serve import main as serve
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = FlexibleArgumentParser()
    add_cli_args(parser)
    for line in sys.stdin:
        try:
            answer = {"result": serve(parser.parse_args(json.loads(line)))}
        except (Exception, SystemExit) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer, default=float), file=answers, flush=True)


if __name__ == "__main__":
    main()
