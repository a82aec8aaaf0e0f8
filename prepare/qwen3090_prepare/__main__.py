"""``python -m qwen3090_prepare``: the same command without the CLI package (used by Nix builds)."""

import argparse
import sys
from pathlib import Path

from qwen3090_prepare import STEPS, PrepareError, check, run
from qwen3090_prepare.render import Renderer, summarize


def parser() -> argparse.ArgumentParser:
    """Return the argument parser."""
    top = argparse.ArgumentParser(
        prog="qwen3090-prepare", description="Prepare a checkpoint for serving."
    )
    top.add_argument("base", type=Path, nargs="?", help="the base checkpoint's directory")
    top.add_argument("--out", type=Path, required=True, help="the prepared checkpoint")
    top.add_argument("--step", action="append", choices=STEPS, help="only this step (repeatable)")
    for part in ("head", "embed", "mtp"):
        top.add_argument(f"--{part}-bits", type=int, choices=(8, 4), default=8)
    top.add_argument("--draft-vocab", type=Path, help="token ids of the draft head (.pt, .json)")
    top.add_argument("--overlay", type=Path, help="a variant's files to put onto the base")
    top.add_argument("--threads", type=int, help="worker threads (default: one per CPU)")
    top.add_argument("--check", action="store_true", help="only check --out, with every hash")
    top.add_argument("--force", action="store_true", help="replace another preparation")
    return top


def main(argv: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    given = parser().parse_args(argv)
    renderer = Renderer(sys.stderr)
    if given.check:
        findings = check(given.out, hashes=True, progress=renderer)
        renderer.close()
        for finding in findings:
            print(finding)
        failed = any(finding.severity == "error" for finding in findings)
        print(f"{given.out}: {'failed' if failed else 'passed'}")
        return int(failed)
    if given.base is None:
        parser().error("the base checkpoint's directory is needed")
    try:
        result = run(
            given.base,
            given.out,
            steps=given.step,
            head_bits=given.head_bits,
            embed_bits=given.embed_bits,
            mtp_bits=given.mtp_bits,
            draft_vocab=given.draft_vocab,
            overlay=given.overlay,
            threads=given.threads,
            progress=renderer,
            force=given.force,
        )
    except PrepareError as error:
        renderer.close()
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    renderer.close()
    print("\n".join(summarize(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
