"""``qwen3090 verify``: print what holds and what does not, with the next command for each FAIL."""

import json
import sys
from pathlib import Path

import click

from qwen3090.verify import Asked, Finding, Status, render, verify, worst

_folder = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("profile", required=False)
@click.option("--model", type=_folder, help="Check this checkpoint instead of the profile's.")
@click.option("--drafter", type=_folder, help="Check this drafter instead of the profile's.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration file (TOML), as for serve.",
)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting, as for serve.")
@click.option("--quick", is_flag=True, help="Leave out what imports torch or vLLM.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def cli(
    profile: str | None,
    model: Path | None,
    drafter: Path | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    quick: bool,
    as_json: bool,
) -> None:
    """Prove that this installation, and what PROFILE serves, are what they should be.

    Checks the interpreter, every locked package, each patch by content, the CUDA toolchain of the
    GPU engine, the settings and the API key's file, the plugin's hooks by what vLLM's registries
    return, and (with a PROFILE or a directory) checkpoint and drafter. Exit status: 0 when nothing
    fails, 1 otherwise.
    """
    findings: list[Finding] = []
    for finding in verify(Asked(profile, config_file, sets, model, drafter), quick=quick):
        findings.append(finding)
        if not as_json:
            click.echo(render([finding]))
    if as_json:
        click.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    sys.exit(1 if worst(findings) is Status.FAIL else 0)
