"""``qwen3090 config``: check and show settings, list profiles, print the reference."""

from pathlib import Path

import click

from qwen3090.config import ConfigError, Problem, load_profile, profile_names, resolve, unavailable
from qwen3090.config.files import file_problems
from qwen3090.config.reference import settings_page
from qwen3090.config.schema import schema_text
from qwen3090.config.show import as_json, as_text

_file = click.Path(dir_okay=False, path_type=Path)


@click.group()
def cli() -> None:
    """Check and show the settings of a server."""


@cli.command()
@click.argument("file", type=_file)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--no-files", is_flag=True, help="Do not look at the files it names (build time).")
def check(file: Path, sets: tuple[str, ...], no_files: bool) -> None:
    """Check a configuration FILE; print every problem. Exit status 0 or 1.

    The environment is not read: the file must be right by itself.
    """
    try:
        resolved = resolve(config_file=file, sets=sets, environ={})
        problems = list(resolved.problems)
        if not no_files:
            problems += [Problem(i.text, i.next_step) for i in file_problems(resolved.config, {})]
    except ConfigError as error:
        problems = list(error.problems)
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    if problems:
        raise SystemExit(1)
    for note in resolved.notes:
        click.echo(f"note: {note}")
    click.echo(f"{file}: valid (profile {resolved.profile})")


@cli.command()
@click.argument("profile", required=False)
@click.option("--config", "config_file", type=_file, help="Configuration file (TOML).")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON.")
def show(
    profile: str | None, config_file: Path | None, sets: tuple[str, ...], json_output: bool
) -> None:
    """Print the effective settings and the source of each.

    Sources, the later winning: profile, file, QWEN3090_<KEY>, --set.
    """
    resolved = resolve(profile, config_file=config_file, sets=sets)
    click.echo(as_json(resolved) if json_output else as_text(resolved))
    for problem in resolved.problems:
        click.echo(f"error: {problem}", err=True)
    if resolved.problems:
        raise SystemExit(1)


@cli.command()
def profiles() -> None:
    """List the profiles, and the names that are not available yet with the reason."""
    names = [*profile_names(), *unavailable()]
    width = max(len(name) for name in names)
    for name in profile_names():
        click.echo(f"{name:<{width}}  {load_profile(name).summary}")
    for name, reason in unavailable().items():
        click.echo(f"{name:<{width}}  not available: {reason}")


@cli.command()
def reference() -> None:
    """Print the reference of all settings (docs/reference/settings.md)."""
    click.echo(settings_page(), nl=False)


@cli.command()
def schema() -> None:
    """Print the settings as data for the NixOS module (nix/settings.json)."""
    click.echo(schema_text(), nl=False)
