"""``qwen3090 serve``: settings to a supervised engine, or to what would be started (--dry-run)."""

import contextlib
import os
from pathlib import Path

import click

from qwen3090.serve import exit_codes

_file = click.Path(dir_okay=False, path_type=Path)
_EPILOG = "\b\nExit status:\n" + exit_codes.help_text()


@click.command(epilog=_EPILOG)
@click.argument("profile", required=False)
@click.option("--config", "config_file", type=_file, help="Configuration file (TOML).")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--dry-run", is_flag=True, help="Print what would be started, and stop.")
@click.option("--json", "json_output", is_flag=True, help="With --dry-run: print JSON.")
@click.option(
    "--unsafe-skip-checks",
    is_flag=True,
    help="For developers: skip the checks of port, checkpoint, plan, patches and card.",
)
def cli(
    profile: str | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    dry_run: bool,
    json_output: bool,
    unsafe_skip_checks: bool,
) -> None:
    """Serve a PROFILE (default: fast) with the OpenAI API.

    Settings come from the profile, the file, the environment (QWEN3090_<KEY>) and --set, the later
    winning. List the profiles: qwen3090 config profiles. All settings: qwen3090 config reference.
    """
    from qwen3090.config import resolve
    from qwen3090.errors import UserError
    from qwen3090.serve import dryrun, gates, history
    from qwen3090.serve.render import render
    from qwen3090.serve.say import say
    from qwen3090.serve.supervise import Supervisor

    if json_output and not dry_run:
        raise click.UsageError("--json goes with --dry-run")
    resolved = resolve(profile, config_file=config_file, sets=sets)
    config = resolved.require()
    launch = render(config, os.environ, cuda_home=gates.cuda_home(config))
    if dry_run:
        click.echo(dryrun.as_json(resolved, launch) if json_output else dryrun.as_shell(launch))
        return
    key = gates.check_key(config, os.environ)
    for line in dryrun.choices(resolved, launch, key is not None):
        say(line)
    mark = history.fingerprint(launch, config.model)
    for line in history.said(mark):
        say(line)
    with contextlib.ExitStack() as held:
        if unsafe_skip_checks:
            say("checks skipped (--unsafe-skip-checks)")
        else:
            try:
                for line in gates.pass_all(config, os.environ, held):
                    say(line)
            except UserError as error:
                history.note(error.exit_code, error.message, resolved.profile, mark)
                error.next_step = (error.next_step or "").replace("PROFILE", resolved.profile)
                raise
        outcome = Supervisor(config, launch, key, os.environ).run()
    seconds = outcome.ready_seconds
    history.note(outcome.code, outcome.reason, resolved.profile, mark, ready_seconds=seconds)
    raise SystemExit(outcome.code)
