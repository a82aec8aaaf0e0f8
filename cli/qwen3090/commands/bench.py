"""``qwen3090 bench``: measure a server, compare two runs, test the quality of its answers."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from qwen3090.bench.problems import FAIL, PASS, InvalidRun, help_text
from qwen3090.bench.suites import SUITES
from qwen3090.commands.address import ADDRESS
from qwen3090.errors import UserError

_file = click.Path(dir_okay=False, path_type=Path)
_existing = click.Path(exists=True, path_type=Path)
_STATUS = "\b\nExit status:\n" + help_text()
_LIST = "\b\nSuites:\n" + "\n".join(f"  {name:<11}{text}" for name, (_, text) in SUITES.items())


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Return whole numbers with commas between them (``1,2,4``), rising, each once."""
    if value is None:
        return ()
    try:
        found = sorted({int(part) for part in value.split(",")})
    except ValueError:
        text = f"'{value}' is not a list of whole numbers such as 1,2,4"
        raise click.BadParameter(text, ctx, param) from None
    if found[0] < 1:
        raise click.BadParameter(f"{found[0]} is less than 1", ctx, param)
    return tuple(found)


class Group(click.Group):
    """A group in which the name of a suite stands for ``run`` with that suite."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Put ``run`` before the name of a suite."""
        return super().resolve_command(ctx, ["run", *args] if args[0] in SUITES else args)


def _server_options(command: Any) -> Any:
    """Add the options that say which server is meant."""
    for option in (
        click.option("--key-file", type=_file, help="File with the server's bearer key."),
        click.option(
            "--url", type=ADDRESS, help="The server's address. Default: as the settings say."
        ),
        click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="As for serve."),
        click.option("--config", "config_file", type=_file, help="Settings file, as for serve."),
        click.option("--profile", help="The profile that the server runs. Default: as for serve."),
    ):
        command = option(command)
    return command


@click.group(
    cls=Group,
    short_help="Measure a server, compare runs, test answers",
    epilog=_LIST + "\n\n" + _STATUS,
)
def cli() -> None:
    """Measure a server, compare two runs, test the quality of its answers.

    `qwen3090 bench chat copy` is short for `qwen3090 bench run chat copy`.
    """


@cli.command(epilog=_LIST + "\n\n" + _STATUS)
@click.argument("suites", nargs=-1, required=True, type=click.Choice(list(SUITES)))
@_server_options
@click.option(
    "--sampling",
    type=click.Choice(["server", "greedy"]),
    default="server",
    show_default=True,
    help="The server's own defaults, or temperature 0.",
)
@click.option("--seed", default=1, show_default=True, help="Of the first request; then rising.")
@click.option("--warmups", type=click.IntRange(0), help="Requests sent first and left out.")
@click.option("--repeats", type=click.IntRange(1), help="How often each request is measured.")
@click.option("--output", type=click.IntRange(2), help="Longest answer in tokens.")
@click.option("--lengths", callback=_numbers, metavar="N,N", help="For depth and prefill, tokens.")
@click.option("--streams", callback=_numbers, metavar="N,N", help="For ladder.")
@click.option("--tokenizer", type=_existing, help="Tokenizer's directory, for ladder, prefill.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for bench.json, bench.md and the pictures. Default: bench-DATE-TIME here.",
)
def run(
    suites: tuple[str, ...],
    profile: str | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    url: str | None,
    key_file: Path | None,
    sampling: str,
    seed: int,
    warmups: int | None,
    repeats: int | None,
    output: int | None,
    lengths: tuple[int, ...],
    streams: tuple[int, ...],
    tokenizer: Path | None,
    out: Path | None,
) -> None:
    """Run SUITES against the server and write the report.

    The server must be idle and used by nobody else. cold-start starts one itself, and stands
    alone.
    """
    from qwen3090.bench import markdown, report, session
    from qwen3090.bench.runner import Options
    from qwen3090.bench.settings import choose

    suites = tuple(dict.fromkeys(suites))
    alone = session.COLD_START in suites
    if alone and (len(suites) > 1 or url is not None):
        raise click.UsageError("cold-start starts a server itself: no other suite, no --url")
    options = Options(
        run=session.new_run(),
        seed=seed,
        sampling={"temperature": 0} if sampling == "greedy" else {},
        warmups=warmups,
        repeats=repeats,
        output=output,
        lengths=lengths,
        streams=streams,
        tokenizer=str(tokenizer) if tokenizer else None,
    )
    folder = out or Path(f"bench-{datetime.now():%Y%m%d-%H%M%S}")
    report.check_folder(folder)
    serve = [*([profile] if profile else []), *(["--config", str(config_file)] * bool(config_file))]
    serve += [word for item in sets for word in ("--set", item)]
    try:
        chosen = choose(profile, config_file, sets, url, key_file, running=not alone)
        found = session.measure(chosen, suites, options, serve, lambda t: click.echo(t, err=True))
    except UserError as error:
        raise InvalidRun(error.message, error.next_step) from None
    except KeyboardInterrupt:
        raise InvalidRun("stopped: no result, nothing was written") from None
    for suite in found["suites"]:
        click.echo(f"\n{suite['suite']}\n{markdown.table(suite)}")
    for path in report.write(found, folder):
        click.echo(path)


@cli.command(epilog=_STATUS)
@click.argument("first", type=_existing)
@click.argument("second", type=_existing)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(["workload", "machine", "settings", "model"]),
    help="Compare although this kind of condition differs or is unknown. May be repeated.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 100),
    default=5.0,
    show_default=True,
    help="Percent by which a median may be worse.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(
    first: Path, second: Path, allowed: tuple[str, ...], tolerance: float, as_json: bool
) -> None:
    """Compare run SECOND with run FIRST (files or folders); exit 1 when a median got worse.

    Runs of another workload, machine, settings or model are refused unless --allow names what
    may differ. Revision, series and versions may always differ: they are what one compares.
    """
    from qwen3090.bench import compare as comparison
    from qwen3090.bench import report

    before, after = report.read(first), report.read(second)
    differing = comparison.check(before, after, allowed)
    found = list(comparison.changes(before, after))
    if not found:
        raise InvalidRun("the runs have no row in common", "compare runs of the same suites")
    share = tolerance / 100
    worse = [item for item in found if item.verdict(share) == "worse"]
    if as_json:
        rows = [vars(item) | {"verdict": item.verdict(share)} for item in found]
        click.echo(json.dumps({"differing": differing, "changes": rows}, indent=1))
    else:
        for kind in differing:
            click.echo(f"note: {kind} differs or is unknown (--allow {kind})")
        for line in comparison.lines(found, share):
            click.echo(line)
        click.echo(f"{len(worse)} of {len(found)} medians are worse by more than {tolerance:g} %")
    raise SystemExit(FAIL if worse else PASS)


@cli.command(epilog=_STATUS)
@_server_options
@click.option("--text", "texts", multiple=True, type=_file, help="UTF-8 text: its perplexity.")
@click.option("--window", default=1024, show_default=True, type=click.IntRange(2), help="Tokens.")
@click.option("--max-perplexity", type=click.FloatRange(1), help="Fail above it.")
@click.option(
    "--questions", type=_file, help='JSON lines {"question", "answer"}: exact match of numbers.'
)
@click.option("--thinking", is_flag=True, help="Let the model think before it answers.")
@click.option("--output", default=2048, show_default=True, type=click.IntRange(2), help="Tokens.")
@click.option("--parallel", default=8, show_default=True, type=click.IntRange(1, 64))
@click.option("--min-exact", type=click.FloatRange(0, 1), help="Fail below this share.")
@click.option("--residues", type=click.IntRange(1), help="Prompt lengths to sweep, e.g. 128.")
@click.option("--second-question", is_flag=True, help="Cached against cold answers.")
@click.option("--json", "json_file", type=_file, help="Also write the outcomes as JSON.")
def quality(
    profile: str | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    url: str | None,
    key_file: Path | None,
    texts: tuple[Path, ...],
    window: int,
    max_perplexity: float | None,
    questions: Path | None,
    thinking: bool,
    output: int,
    parallel: int,
    min_exact: float | None,
    residues: int | None,
    second_question: bool,
    json_file: Path | None,
) -> None:
    """Test the answers: perplexity, exact match, verbatim residues, prefix cache.

    Without an option that names a test: --second-question and --residues 128.
    """
    from qwen3090.bench.quality import session

    wanted = session.Wanted(
        texts, window, max_perplexity, questions, thinking, output, parallel, min_exact,
        residues, second_question,
    )  # fmt: skip
    try:
        target, outcomes = session.run(
            (profile, config_file, sets, url, key_file), wanted, lambda t: click.echo(t, err=True)
        )
    except UserError as error:
        raise InvalidRun(error.message, error.next_step) from None
    except KeyboardInterrupt:
        raise InvalidRun("stopped: no result") from None
    click.echo(session.text(target, outcomes))
    if json_file:
        session.write(json_file, target, outcomes)
    raise SystemExit(FAIL if any(item.verdict == "fail" for item in outcomes) else PASS)
