"""``qwen3090 up``: from an empty disk to a server, each step said before it starts."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click

from qwen3090 import state
from qwen3090.errors import UserError


@click.command(short_help="Fetch, prepare, plan and serve a profile")
@click.argument("profile", default="fast")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file, as for serve.",
)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting, as for serve.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory that may hold model files already; taken by hash. May be repeated.",
)
@click.option(
    "--manifest",
    "manifests",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A manifest of your own, added to the shipped one.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File that holds the hub's access token. Default: HF_TOKEN of the environment.",
)
@click.option("--jobs", type=click.IntRange(1, 16), default=4, show_default=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-serve", is_flag=True, help="Stop when everything is ready to serve.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def cli(
    profile: str,
    config_file: Path | None,
    sets: tuple[str, ...],
    sources: tuple[Path, ...],
    manifests: tuple[Path, ...],
    token_file: Path | None,
    jobs: int,
    yes: bool,
    no_serve: bool,
    dry_run: bool,
) -> None:
    """Fetch what PROFILE needs, prepare what is missing, plan the memory, and serve."""
    from qwen3090.config import resolve
    from qwen3090.models.again import command, paths
    from qwen3090.models.fetch import FetchOptions, fetch
    from qwen3090.models.hub import Hub, hub_cache, read_token
    from qwen3090.models.manifest import load_manifest
    from qwen3090.models.need import find_need
    from qwen3090.models.prepare import prepare
    from qwen3090.models.steps import describe
    from qwen3090.models.store import Store

    resolved = resolve(profile, config_file=config_file, sets=sets)
    resolved.require()
    manifest = load_manifest(manifests)
    store = Store(state.models_dir())
    need = find_need(resolved, manifest, store)
    settings = [profile, *(["--config", str(config_file)] if config_file else [])]
    settings += [word for setting in sets for word in ("--set", setting)]
    same = [*paths("--from", sources), *paths("--manifest", manifests)]
    same += paths("--token-file", [token_file])
    again = command("up", *settings, *same)
    for line in describe(need, manifest, store, resolved, serve=not no_serve):
        click.echo(line)
    # The plan needs no file and refuses what cannot run: before the download, not after it.
    click.echo(f"\n== plan: qwen3090 plan {shlex.join(settings)}")
    sys.stdout.flush()
    plan = [sys.executable, "-m", "qwen3090", "plan", *settings, "--strict"]
    code = subprocess.run(plan).returncode
    if code:
        raise UserError(
            "with these settings the server cannot run; nothing was fetched",
            "change what the plan names, e.g. --set context=32768",
            exit_code=code,
        )
    if dry_run:
        return
    if (need.fetch or need.prepare) and not yes:
        if not sys.stdin.isatty():
            raise UserError("nothing done: nobody to ask", f"{again} --yes")
        click.confirm("Go on?", abort=True)
    hub = Hub(read_token(token_file, os.environ.get("HF_TOKEN")))
    left = need.prepared_bytes
    for name in need.fetch:
        click.echo(f"\n== fetch {name}")
        options = FetchOptions(
            hub=hub,
            sources=sources,
            cache=hub_cache(),
            jobs=jobs,
            prepared_bytes=left,
            need_prepared_room=True,
        )
        try:
            fetch(manifest, name, store, options, click.echo)
        except KeyboardInterrupt:
            raise UserError(
                "stopped; everything that arrived is kept",
                again,
                exit_code=130,
            ) from None
    if need.prepare and need.variant and need.prepared:
        click.echo(f"\n== prepare {need.variant}")
        try:
            prepare(need.variant, need.prepared, store, click.echo)
        except KeyboardInterrupt:
            raise UserError("stopped; finished files are kept", again, exit_code=130) from None
    if no_serve:
        click.echo(f"\nready: qwen3090 serve {shlex.join(settings)}")
        return
    click.echo(f"\n== serve: qwen3090 serve {shlex.join(settings)}")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "qwen3090", "serve", *settings])  # noqa: S606
