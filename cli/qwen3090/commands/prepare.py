"""``qwen3090 prepare``: the click layer over qwen3090_prepare, which is imported on use."""

import sys
from pathlib import Path
from typing import Any

import click

from qwen3090.errors import UserError

STEPS = ("lm-head", "embed", "mtp", "draft-vocab", "overlay")
_BITS = click.Choice(["8", "4"])
_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("base", type=_PATH, required=False)
@click.option("--out", type=_PATH, required=True, help="The prepared checkpoint's directory.")
@click.option(
    "--step", "steps", multiple=True, type=click.Choice(STEPS), help="Only this step; repeatable."
)
@click.option("--head-bits", type=_BITS, default="8", show_default=True, help="Output head.")
@click.option("--embed-bits", type=_BITS, default="8", show_default=True, help="Input embedding.")
@click.option("--mtp-bits", type=_BITS, default="8", show_default=True, help="MTP module.")
@click.option("--draft-vocab", type=_PATH, help="Token ids of the draft head (.pt or .json).")
@click.option("--overlay", type=_PATH, help="A variant's files (the fast variant) for the base.")
@click.option("--threads", type=click.IntRange(min=1), help="Default: one per CPU.")
@click.option("--check", is_flag=True, help="Only check the directory --out, with every hash.")
@click.option("--force", is_flag=True, help="Replace a checkpoint prepared in another way.")
def cli(
    base: Path | None,
    out: Path,
    steps: tuple[str, ...],
    head_bits: str,
    embed_bits: str,
    mtp_bits: str,
    check: bool,
    **options: Any,
) -> None:
    """Quantize head, embedding and MTP module of the checkpoint BASE into --out.

    BASE is not changed; files that stay as they are become hard links. A run that was killed
    goes on where it was when the same command runs again. Disk: 3.2 GB beside the base.
    """
    from qwen3090_prepare import PrepareError, run
    from qwen3090_prepare.render import Renderer, summarize

    if check:
        _check(out)
        return
    if base is None:
        raise click.UsageError("the base checkpoint's directory is needed: prepare BASE --out DIR")
    renderer = Renderer(sys.stderr)
    try:
        result = run(
            base,
            out,
            steps=steps or None,
            head_bits=int(head_bits),
            embed_bits=int(embed_bits),
            mtp_bits=int(mtp_bits),
            progress=renderer,
            **options,
        )
    except PrepareError as error:
        renderer.close()
        raise UserError(error.problem, error.next_step, exit_code=error.exit_code) from error
    except KeyboardInterrupt:
        renderer.close()
        raise UserError(
            "stopped; finished files are kept",
            "run the same command again: it goes on from there",
            exit_code=130,
        ) from None
    renderer.close()
    for line in summarize(result):
        click.echo(line)


def _check(directory: Path) -> None:
    from qwen3090_prepare import check
    from qwen3090_prepare.render import Renderer

    renderer = Renderer(sys.stderr)
    findings = check(directory, hashes=True, progress=renderer)
    renderer.close()
    for finding in findings:
        click.echo(str(finding))
    errors = sum(finding.severity == "error" for finding in findings)
    if errors:
        raise UserError(f"{directory}: {errors} broken rules", "prepare it again with --force")
    click.echo(f"{directory}: every rule and hash is right")
