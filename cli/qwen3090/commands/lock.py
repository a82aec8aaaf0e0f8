"""``qwen3090 lock``: make nix/wheels.json from nix/pins.json, or check that it is up to date."""

import json
from pathlib import Path

import click

from qwen3090.data import data_file
from qwen3090.errors import UserError


@click.command()
@click.option("--check", is_flag=True, help="Only check; exit 1 when stale or inconsistent.")
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="An interpreter to resolve with; the others are found on PATH and in pyenv.",
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="VERSION=FILE",
    help="Use this pip report for a Python version instead of running pip ('cpu=FILE' for the "
    "CPU engine's wheel).",
)
@click.option("--show-requirements", is_flag=True, help="Print what is resolved, and stop.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write here instead of nix/wheels.json.",
)
def cli(
    check: bool,
    pythons: tuple[Path, ...],
    reports: tuple[str, ...],
    show_requirements: bool,
    output: Path | None,
) -> None:
    """Lock every wheel by file name and sha256 (nix/wheels.json)."""
    from qwen3090.lock import command

    inputs = command.load_inputs()
    if show_requirements:
        click.echo("\n".join(inputs.requirements))
        return
    if check:
        findings = command.check_file(data_file("wheels.json"), inputs)
        for finding in findings:
            click.echo(f"error: {finding}", err=True)
        if findings:
            raise click.exceptions.Exit(1)
        click.echo("wheels.json is up to date")
        return
    given = dict(command.split_report(text) for text in reports)
    document = command.make(inputs, pythons, given, lambda line: click.echo(line, err=True))
    findings = command.check_document(json.loads(document), inputs)
    if findings:
        raise UserError(
            "the new lock has faults, nothing was written:\n  " + "\n  ".join(findings),
            "mend nix/pins.json (cuda.exceptions names what may differ)",
        )
    target = output or command.default_target()
    command.write(target, document)
    click.echo(f"wrote {target}")
