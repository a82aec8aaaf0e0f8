"""``qwen3090 verify``: print what holds and what does not, with the next command for each FAIL."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import click

from qwen3090.commands.address import ADDRESS
from qwen3090.verify import Asked, Finding, Status, as_document, render, summary, verify, worst

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
@click.option("--live", is_flag=True, help="Also ask the running server what it really uses.")
@click.option("--url", type=ADDRESS, default="", help="Its address, if not the settings' own.")
@click.option("--quick", is_flag=True, help="Leave out what imports torch or vLLM, and digests.")
@click.option("--hashes", is_flag=True, help="Read every large file too: packages, checkpoint.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def cli(
    profile: str | None,
    model: Path | None,
    drafter: Path | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    live: bool,
    url: str,
    quick: bool,
    hashes: bool,
    as_json: bool,
) -> None:
    """Prove that this installation, and what PROFILE serves, are what they should be.

    Checks the interpreter, every locked package and its files, each patch by content, the CUDA
    toolchain of the GPU engine, the settings, the memory plan and the API key's file, the service's
    unit, the plugin's hooks by what vLLM's registries return, and (with a PROFILE or a directory)
    checkpoint and drafter. --live asks a running server for a token and for what its engine really
    uses. docs/reference/verify.md lists every check. Exit status: 0 when nothing fails, 1
    otherwise.
    """
    if url and not live:
        raise click.UsageError("--url is for --live")
    if quick and hashes:
        raise click.UsageError("--quick and --hashes exclude each other")
    asked = Asked(profile, config_file, sets, model, drafter)
    findings: list[Finding] = []
    for found in verify(asked, quick=quick, hashes=hashes, live=url if live else None):
        findings.append(replace(found, next=asked.named(found.next)))
        if not as_json:
            click.echo(render(findings[-1:]))
    if as_json:
        click.echo(json.dumps(as_document(findings, profile), indent=2))
    else:
        click.echo(summary(findings))
    sys.exit(1 if worst(findings) is Status.FAIL else 0)
