"""``qwen3090 doctor``: what is wrong with this machine, and a report to paste into a bug report."""

import json
import sys
from pathlib import Path

import click

from qwen3090.doctor.context import Context
from qwen3090.doctor.report import report
from qwen3090.doctor.run import diagnose
from qwen3090.errors import UserError
from qwen3090.verify import Asked, Finding, Status, render, worst

_file = click.Path(dir_okay=False, path_type=Path, allow_dash=True)


@click.command()
@click.argument("profile", required=False)
@click.option("--config", "config_file", type=_file, help="Configuration file, as for serve.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting, as for serve.")
@click.option("--no-jit", is_flag=True, help="Compile no kernels (minutes on a slow machine).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@click.option(
    "--report",
    "target",
    type=_file,
    help="Also write a redacted Markdown report; '-' prints it, and nothing else.",
)
def cli(
    profile: str | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    no_jit: bool,
    as_json: bool,
    target: Path | None,
) -> None:
    """Look for what is wrong with this machine, for PROFILE (default: fast).

    Looks at driver, card, its memory and who holds it, power, clocks, heat, slot, Xid errors, WSL2,
    disk, memory, limits, port, and compiles two kernels as the engine would. Every WARN and FAIL
    comes with the command that mends it. Nothing is changed. Exit status: 0 when nothing fails, 1
    otherwise.
    """
    if as_json and target == Path("-"):
        raise click.UsageError("--json and --report - both print: give one of them")
    context = Context(asked=Asked(profile, config_file, sets), jit=not no_jit)
    found: list[Finding] = []
    quiet, heading = as_json or target == Path("-"), ""
    for check, findings in diagnose(context):
        found += findings
        if quiet:
            continue
        if check.group != heading:
            heading = check.group
            click.echo(f"{heading}:")
        click.echo(render(findings))
    if as_json:
        click.echo(json.dumps([finding.as_dict() for finding in found], indent=2))
    if target is not None:
        _write(target, report(context, found), quiet)
    sys.exit(1 if worst(found) is Status.FAIL else 0)


def _write(target: Path, text: str, quiet: bool) -> None:
    if target == Path("-"):
        click.echo(text, nl=False)
        return
    try:
        target.touch(mode=0o600)
        target.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(
            f"{target} cannot be written: {error.strerror}", "--report FILE, or --report -"
        ) from error
    if not quiet:
        click.echo(f"report: {target} (read it through before you paste it)")
