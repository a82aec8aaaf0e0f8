"""``qwen3090 setup``: the locked engine and the patch series in this virtual environment."""

import click


@click.command()
@click.option(
    "--engine",
    "chosen",
    type=click.Choice(["cpu", "cuda"]),
    help="Default: the installed one; else cuda when an NVIDIA driver is there, else cpu.",
)
@click.option("--dev", is_flag=True, help="Also the tools of 'make check'.")
@click.option("--cubins", is_flag=True, help="Also FlashInfer's kernels for other GPUs (1.9 GB).")
@click.option("--repair", is_flag=True, help="Install vLLM anew, whatever state it is in.")
@click.option("--check", is_flag=True, help="Only report; exit 1 when something differs.")
def cli(chosen: str | None, dev: bool, cubins: bool, repair: bool, check: bool) -> None:
    """Install the locked, hash-checked engine here and apply the patch series.

    Safe to repeat: what is right already is left alone.
    """
    from qwen3090.setup.engine import Engine, detect
    from qwen3090.setup.run import Options, Setup, python_line
    from qwen3090.verify.environment import engine_kind, installed_versions

    kind = chosen or engine_kind(installed_versions()) or detect()
    engine: Engine = "cuda" if kind == "cuda" else "cpu"
    setup = Setup(Options(engine, dev, cubins, repair), click.echo)
    if check:
        findings = setup.findings()
        for finding in findings:
            click.echo(f"error: {finding}", err=True)
        if findings:
            cure = f"qwen3090 setup --engine {engine}{' --repair' if setup.damaged else ''}"
            click.echo(f"  next: {cure}", err=True)
            raise click.exceptions.Exit(1)
    else:
        setup.run()
    click.echo(f"{engine} engine ready: {len(setup.wheels)} locked wheels, {python_line()}")
