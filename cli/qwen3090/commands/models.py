"""``qwen3090 models``: fetch, verify, list, collect and lock model files (the click layer)."""

import json
import os
import sys
from pathlib import Path

import click

from qwen3090 import state
from qwen3090.errors import UserError

_DIR = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Models directory. Default: models/ in the state directory.",
)
_MANIFEST = click.option(
    "--manifest",
    "manifests",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A manifest of your own, added to the shipped one. May be repeated.",
)
_TOKEN = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File that holds the hub's access token. Default: HF_TOKEN of the environment.",
)


def _say(message: str) -> None:
    click.echo(message)


@click.group(short_help="Fetch, verify, list and collect model files")
def cli() -> None:
    """Fetch, verify, list and collect model files, by the manifest models.json."""


@cli.command()
@click.option(
    "--variant", default="fast", show_default=True, help="base, fast, drafter, ... or all."
)
@_DIR
@_MANIFEST
@click.option(
    "--from",
    "sources",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory that may hold the files already; taken by hash. May be repeated.",
)
@click.option("--no-hub-cache", is_flag=True, help="Do not look into the hub's own cache.")
@_TOKEN
@click.option(
    "--jobs", type=click.IntRange(1, 16), default=4, show_default=True, help="Files at a time."
)
@click.option("--retries", type=click.IntRange(0, 100), default=5, show_default=True,
              help="Attempts without progress before giving up.")  # fmt: skip
@click.option("--retry-wait", type=click.FloatRange(0, 60), default=1.0, show_default=True,
              help="Seconds before the first retry; doubles up to 30.")  # fmt: skip
@click.option("--deep", is_flag=True, help="Hash also files that were verified before.")
@click.option("--no-wait", is_flag=True, help="Fail when another fetch of the same files runs.")
@click.option("--quiet", is_flag=True, help="No progress lines.")
def fetch(
    variant: str,
    directory: Path | None,
    manifests: tuple[Path, ...],
    sources: tuple[Path, ...],
    no_hub_cache: bool,
    token_file: Path | None,
    jobs: int,
    retries: int,
    retry_wait: float,
    deep: bool,
    no_wait: bool,
    quiet: bool,
) -> None:
    """Fetch the files of a variant; resume, verify each, and show a directory only when whole."""
    from qwen3090.models.fetch import FetchOptions
    from qwen3090.models.fetch import fetch as run
    from qwen3090.models.hub import Hub, hub_cache, read_token
    from qwen3090.models.manifest import load_manifest
    from qwen3090.models.store import Store

    manifest = load_manifest(manifests)
    manifest.select(variant)
    hub = Hub(read_token(token_file, os.environ.get("HF_TOKEN")), retries, retry_wait)
    options = FetchOptions(
        hub=hub,
        sources=sources,
        cache=None if no_hub_cache else hub_cache(),
        jobs=jobs,
        deep=deep,
        wait=not no_wait,
        prepared_bytes=manifest.prepared_bytes(variant),
        quiet=quiet,
    )
    try:
        run(manifest, variant, Store(directory or state.models_dir()), options, _say)
    except KeyboardInterrupt:
        raise UserError(
            "stopped; everything that arrived is kept",
            "run the same command again: it goes on from there",
            exit_code=130,
        ) from None


@cli.command()
@click.option(
    "--variant", default=None, help="base, fast, drafter, ... or all. Default: what is there."
)
@_DIR
@_MANIFEST
@click.option("--deep", is_flag=True, help="Read every byte and compare sha256, on all cores.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=None,
    help="Hashing threads. Default: one per core.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--quiet", is_flag=True, help="No progress lines.")
def verify(
    variant: str | None,
    directory: Path | None,
    manifests: tuple[Path, ...],
    deep: bool,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check fetched files: fast by size and header, or --deep by sha256."""
    from qwen3090.models.again import command, places, variant_of
    from qwen3090.models.manifest import load_manifest
    from qwen3090.models.progress import Progress, human
    from qwen3090.models.store import Store
    from qwen3090.models.verify import strangers
    from qwen3090.models.verify import verify as run

    manifest = load_manifest(manifests)
    store = Store(directory or state.models_dir())
    if variant is not None:
        names = list(manifest.select(variant))
    else:
        names = [name for name in store.names() if name in manifest.repositories]
        if not names:
            raise UserError(
                f"nothing is fetched in {store.root}",
                command("models", "fetch", *places(directory, manifests)),
            )
    total = sum(manifest.repositories[name].size for name in names) if deep else 0
    progress = Progress("hash", total, quiet=quiet or not deep)
    findings = run(manifest, store, names, deep=deep, advance=progress.advance, jobs=jobs)
    progress.close()
    if as_json:
        click.echo(json.dumps([vars(finding) for finding in findings], indent=1))
    bad = [finding for finding in findings if finding.problem]
    for finding in findings:
        if finding.problem and not as_json:
            click.echo(f"BAD  {finding.repository}/{finding.path}: {finding.problem}")
    for name in names:
        if as_json:
            continue
        mine = [finding for finding in findings if finding.repository == name]
        if not any(finding.problem for finding in mine):
            how = "sha256 of every byte" if deep else "sizes and headers"
            size = human(sum(finding.size for finding in mine))
            click.echo(f"ok   {name}: {len(mine)} files, {size}, {how}")
        for path in strangers(store, name):
            click.echo(f"note {name}: {path.name} is not in the manifest")
    if bad:
        words = ["--variant", variant or variant_of(manifest, {f.repository for f in bad})]
        words += places(directory, manifests)
        again = command("models", "fetch", *words, "--deep")
        raise UserError(
            f"{len(bad)} of {len(findings)} files are not as the manifest says",
            f"{again}  # fetches these files alone",
        )


@cli.command("list")
@_DIR
@_MANIFEST
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_command(directory: Path | None, manifests: tuple[Path, ...], as_json: bool) -> None:
    """List repositories, what is on disk of each, and what is prepared."""
    from qwen3090.models.listing import listing, render
    from qwen3090.models.manifest import load_manifest
    from qwen3090.models.store import Store

    root = directory or state.models_dir()
    rows = listing(load_manifest(manifests), Store(root), root.parent / "prepared")
    click.echo(json.dumps([vars(row) for row in rows], indent=1) if as_json else render(rows, root))


@cli.command()
@_DIR
@_MANIFEST
@click.option("--partial", is_flag=True, help="Also what is not finished: fetch and prepare.")
@click.option(
    "--sources", is_flag=True, help="Also published files whose prepared checkpoints are complete."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def gc(
    directory: Path | None, manifests: tuple[Path, ...], partial: bool, sources: bool, yes: bool
) -> None:
    """Remove what nothing refers to; shows it and asks first."""
    from qwen3090.models.again import command, places
    from qwen3090.models.collect import find_garbage, remove
    from qwen3090.models.manifest import load_manifest
    from qwen3090.models.progress import human
    from qwen3090.models.store import Store

    root = directory or state.models_dir()
    store = Store(root)
    garbage = find_garbage(
        load_manifest(manifests), store, root.parent / "prepared", partial=partial, sources=sources
    )
    if not garbage:
        click.echo(f"nothing to remove in {root}")
        return
    for item in garbage:
        click.echo(f"{item.path}: {item.reason}; frees {human(item.frees)}")
    if not yes:
        if not sys.stdin.isatty():
            words = places(directory, manifests)
            words += [flag for flag, on in (("--partial", partial), ("--sources", sources)) if on]
            again = command("models", "gc", *words, "--yes")
            raise UserError("not removed: nobody to ask", again)
        click.confirm(f"Remove {len(garbage)} of them?", abort=True)
    for item in garbage:
        kept = remove(item)
        click.echo(
            f"removed {item.path}" if not kept else f"removed the model files of {item.path}"
        )
        for path in kept:
            click.echo(f"kept {path}: not from the hub")


@cli.command()
@click.argument("repository", metavar="REPO@REV")
@click.option(
    "--name", default=None, help="Name of the entry. Default: from the repository's name."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Manifest file to write or add to.",
)
@click.option("--prepared-bytes", type=click.IntRange(0), default=3_226_839_712, show_default=True,
              help="What preparing adds on disk, for the disk check.")  # fmt: skip
@_TOKEN
def lock(
    repository: str, name: str | None, out: Path, prepared_bytes: int, token_file: Path | None
) -> None:
    """Make manifest entries for another checkpoint from the hub's metadata."""
    from qwen3090.models.hub import Hub, read_token
    from qwen3090.models.pin import add_to_file, entry_name, lock_repository

    owner_name, _, revision = repository.partition("@")
    if not revision or owner_name.count("/") != 1:
        raise UserError(
            f"'{repository}' is not OWNER/NAME@REVISION", "name a commit, e.g. OWNER/NAME@main"
        )
    data = lock_repository(
        owner_name,
        revision,
        name=name or entry_name(owner_name),
        prepared_bytes=prepared_bytes,
        hub=Hub(read_token(token_file, os.environ.get("HF_TOKEN"))),
        say=_say,
    )
    add_to_file(out, data)
    (entry_key,) = data["repositories"]
    entry = data["repositories"][entry_key]
    click.echo(
        f"{entry_key}: {len(entry['files'])} files of {owner_name} at {entry['revision'][:12]}"
        f" written to {out}"
    )
    click.echo(f"  next: qwen3090 models fetch --manifest {out} --variant {entry_key}")
