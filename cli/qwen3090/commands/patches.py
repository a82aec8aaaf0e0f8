"""``qwen3090 patches``: the series from the command line; all the work is in qwen3090.patches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from qwen3090.data import data_file
from qwen3090.patches import PatchError, Series, apply, inspect, load_series, series_hash, unapply
from qwen3090.patches.apply import Outcome
from qwen3090.patches.check import check
from qwen3090.patches.export import export
from qwen3090.patches.header import FIELDS, KINDS
from qwen3090.patches.lint import lint
from qwen3090.patches.locate import default_tree
from qwen3090.patches.record import read_record
from qwen3090.patches.refresh import refresh
from qwen3090.patches.sources import Folder, Source, Wheel, open_source
from qwen3090.patches.state import Pristine
from qwen3090.patches.table import markdown, update_readme

_DIRECTORY = click.option(
    "--patches", "directory", type=click.Path(path_type=Path), help="The folder with series."
)
_TREE = click.option(
    "--tree",
    type=click.Path(path_type=Path),
    help="The folder that contains vllm/ [default: the running Python's site-packages].",
)


def _series(directory: Path | None) -> Series:
    return load_series(directory or data_file("patches"))


def _pristine(path: Path | None) -> Source:
    """Return a tree's pristine view; refuse one that is neither pristine nor ours."""
    source = open_source(path or default_tree())
    if isinstance(source, Wheel):
        return source
    view = Pristine(source)
    view.check((), read_record(source))
    return view


@click.group()
def cli() -> None:
    """List, apply, prove and maintain the patch series."""


@cli.command("list")
@_DIRECTORY
@_TREE
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@click.option("--markdown", "as_markdown", is_flag=True, help="The table of patches/README.md.")
def list_command(
    directory: Path | None, tree: Path | None, as_json: bool, as_markdown: bool
) -> None:
    """Show each patch's number, title and state in the tree."""
    series = _series(directory)
    if as_markdown:
        click.echo(markdown(series), nl=False)
        return
    states: dict[str, str] = {}
    try:
        report = inspect(tree or default_tree(), series)
        states = {state.name: state.state for state in report.states}
    except PatchError:
        if tree is not None:
            raise
    rows = [
        {
            "number": patch.number,
            "name": patch.name,
            "title": patch.title,
            "sha256": patch.sha256,
            "state": states.get(patch.name, "no tree"),
        }
        for patch in series.patches
    ]
    if as_json:
        click.echo(json.dumps({"series_hash": series_hash(series), "patches": rows}, indent=1))
        return
    for row in rows:
        click.echo(f"{row['number']}  {row['state']:<8} {row['title']}")
    click.echo(f"series {series_hash(series)[:16]}, {len(rows)} patches")


def _say(outcome: Outcome, done: str, nothing: str) -> None:
    if outcome.recovered:
        click.echo("an interrupted earlier change was undone first")
    if outcome.adopted:
        click.echo("the series was in the tree already; its marker was written")
    click.echo(f"{done}: {len(outcome.changed)} files changed" if outcome.changed else nothing)
    for path in outcome.changed:
        click.echo(f"  {path}")


@cli.command("apply")
@_DIRECTORY
@_TREE
def apply_command(directory: Path | None, tree: Path | None) -> None:
    """Put the series into the tree, all of it or none."""
    series = _series(directory)
    outcome = apply(tree or default_tree(), series)
    _say(outcome, f"applied {len(series.patches)} patches", "the series is applied already")


@cli.command("unapply")
@_TREE
def unapply_command(tree: Path | None) -> None:
    """Bring the tree back to the bytes of the wheel."""
    _say(unapply(tree or default_tree()), "taken out", "the tree has no series")


@cli.command("verify")
@_DIRECTORY
@_TREE
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def verify_command(directory: Path | None, tree: Path | None, as_json: bool) -> None:
    """Prove by content that every patch is in the tree; exit 1 when one is not."""
    root = tree or default_tree()
    report = inspect(root, _series(directory))
    if as_json:
        document = {
            "ok": report.ok,
            "tree": str(root),
            "series_hash": report.series_hash,
            "patches": [vars(state) for state in report.states],
            "outside": report.outside,
            "notes": report.notes,
        }
        click.echo(json.dumps(document, indent=1))
    else:
        for state in report.states:
            click.echo(
                f"{state.state:<8} {state.name}" + (f": {state.detail}" * bool(state.detail))
            )
        for line in report.outside:
            click.echo(f"outside  {line}")
        for line in report.notes:
            click.echo(f"note     {line}")
        click.echo(f"{'ok' if report.ok else 'NOT ok'}: series {report.series_hash[:16]} in {root}")
    if not report.ok:
        click.echo("  next: qwen3090 patches apply, or qwen3090 setup --repair", err=True)
        sys.exit(1)


@cli.command("refresh")
@click.argument("names", nargs=-1)
@_DIRECTORY
@click.option(
    "--from", "pristine", type=click.Path(path_type=Path), help="The pristine tree or wheel."
)
def refresh_command(names: tuple[str, ...], directory: Path | None, pristine: Path | None) -> None:
    """Rewrite patches whose lines an earlier patch moved (all, or those named)."""
    done = refresh(_pristine(pristine), _series(directory), list(names))
    for item in done:
        click.echo(f"rewritten {item.name}")
        for path, number, lines in item.moved:
            click.echo(f"  {path}: hunk {number} moved {lines:+d} lines")
    if not done:
        click.echo("every patch is as it should be")


def _field_options(command: click.decorators.FC) -> click.decorators.FC:
    for name in reversed(FIELDS):
        hint = f" ({', '.join(KINDS)})" if name == "Kind" else ""
        command = click.option(
            f"--{name.lower()}",
            f"field_{name.replace('-', '_')}",
            help=f"Header field {name}{hint}.",
        )(command)
    return command


@cli.command("export")
@click.argument("name")
@click.option(
    "--from", "pristine", type=click.Path(path_type=Path), help="The pristine tree or wheel."
)
@click.option("--to", "work", type=click.Path(path_type=Path), required=True, help="The work tree.")
@click.option("--later-applied", is_flag=True, help="The work tree holds the later patches too.")
@_field_options
@_DIRECTORY
def export_command(
    name: str,
    pristine: Path | None,
    work: Path,
    later_applied: bool,
    directory: Path | None,
    **options: str | None,
) -> None:
    """Make or update patch NAME from the changes in a work tree."""
    given = {name: options.get(f"field_{name.replace('-', '_')}") for name in FIELDS}
    fields = {name: value for name, value in given.items() if value}
    done = export(
        name,
        _pristine(pristine),
        Folder(work),
        _series(directory),
        fields=fields,
        later_applied=later_applied,
    )
    click.echo(f"{'made' if done.added else 'updated'} {done.file}")
    for path in done.paths:
        click.echo(f"  {path}")


@cli.command("check")
@click.argument("target", type=click.Path(path_type=Path))
@_DIRECTORY
def check_command(target: Path, directory: Path | None) -> None:
    """Apply the series in memory to a wheel or a pristine tree."""
    series = _series(directory)
    paths = check(_pristine(target), series)
    click.echo(f"{len(series.patches)} patches fit {target}; {len(paths)} files change")


@cli.command("lint")
@_DIRECTORY
def lint_command(directory: Path | None) -> None:
    """Check the folder: series, names, headers, hunks, whitespace, table; exit 1 on a finding."""
    findings = lint(directory or data_file("patches"))
    for finding in findings:
        click.echo(finding)
    if findings:
        sys.exit(1)
    click.echo("patches: nothing to mend")


@cli.command("table")
@_DIRECTORY
def table_command(directory: Path | None) -> None:
    """Write the table of patches/README.md from the patches' headers."""
    file = (directory or data_file("patches")) / "README.md"
    changed = update_readme(file, _series(directory))
    click.echo(f"{file}: {'written' if changed else 'up to date'}")
