"""``qwen3090 demo``: make the tiny checkpoint and show the whole chain on a CPU."""

from pathlib import Path

import click

from qwen3090 import demo


@click.command()
@click.option(
    "--make",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Only write the tiny checkpoint below this directory: base, drafter, drafter-bf16, "
    "overlay.",
)
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the demo keeps its checkpoint, key and server log. "
    "Default: $XDG_CACHE_HOME/qwen3090/demo.",
)
def cli(directory: Path | None, work: Path | None) -> None:
    """Make, prepare, serve and ask a tiny checkpoint on the CPU (no GPU, no download)."""
    if directory is not None:
        if work is not None:
            raise click.UsageError("--make DIR writes to DIR; it takes no --work")
        made = demo.make(directory)
        for name in ("base", "drafter", "drafter_bf16", "overlay", "draft_vocab"):
            click.echo(f"{name:<13}{getattr(made, name)}")
        return
    from qwen3090.demo import workdir
    from qwen3090.demo.run import run

    run(work or workdir.default(), click.echo)
