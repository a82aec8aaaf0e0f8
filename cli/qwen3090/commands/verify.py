"""``qwen3090 verify``: print what holds and what does not, with the next command for each FAIL."""

import json
import sys
from pathlib import Path

import click

from qwen3090.verify import Finding, Status, render, verify, worst


@click.command()
@click.option(
    "--model",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also check this checkpoint directory against every rule of prepare.",
)
@click.option("--quick", is_flag=True, help="Leave out what imports torch or vLLM.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def cli(model: Path | None, quick: bool, as_json: bool) -> None:
    """Prove that this installation is what it should be.

    Checks the interpreter, every locked package, each patch by content, the plugin's hooks by
    what vLLM's registries return, and a checkpoint. Exit status: 0 when nothing fails, 1 otherwise.
    """
    findings: list[Finding] = []
    for finding in verify(model, quick=quick):
        findings.append(finding)
        if not as_json:
            click.echo(render([finding]))
    if as_json:
        click.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    sys.exit(1 if worst(findings) is Status.FAIL else 0)
