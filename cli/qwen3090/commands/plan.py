"""``qwen3090 plan``: what fits into the pool, before anything is started."""

from pathlib import Path

import click

from qwen3090.config import resolve
from qwen3090.errors import UserError
from qwen3090.plan import Geometry, compute
from qwen3090.plan.budget import CARD_BYTES, Item, budget, card_bytes, pool_estimate, weight_items
from qwen3090.plan.report import as_json, as_text
from qwen3090.plan.settings import Settings, plan_settings
from qwen3090.serve.exit_codes import PLAN_DOES_NOT_FIT

_folder = click.Path(file_okay=False, path_type=Path)


def _contexts(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[int, ...]:
    try:
        found = tuple(int(n.replace("_", "")) for text in value for n in text.split(",") if n)
    except ValueError:
        found = (0,)
    if any(n < 1 for n in found):
        raise click.BadParameter("expected numbers of tokens, such as 4096,32768")
    return found


def _geometry(found: Settings, model: Path | None, drafter: Path | None) -> Geometry:
    """Return the geometry of the checkpoints named, or the built-in one when none is."""
    needs_drafter = found.inputs.speculation == "dflash2"
    if model is None and drafter is None:
        if found.inputs.device == "cpu":
            raise UserError(
                f"profile {found.profile} serves a small checkpoint on the CPU, and none is named",
                f"qwen3090 plan {found.profile} --model DIR (qwen3090 demo --make makes one)",
            )
        return Geometry.builtin()
    if model is None or (needs_drafter and drafter is None):
        raise UserError(
            f"{'a model' if model else 'a drafter'} is named without "
            f"{'a drafter' if model else 'a model'}, and speculation is {found.inputs.speculation}",
            "give both --model and --drafter, or --set speculation=mtp, or --set speculation=none",
        )
    return Geometry.from_checkpoint(model, drafter if needs_drafter else None)


@click.command()
@click.argument("profile", required=False)
@click.option("--model", type=_folder, help="Checkpoint to read [default: built-in geometry].")
@click.option("--drafter", type=_folder, help="Drafter to read [default: built-in geometry].")
@click.option(
    "--config", "config_file", type=click.Path(dir_okay=False, path_type=Path), help="TOML file."
)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option(
    "--contexts", multiple=True, callback=_contexts, help="Lengths to count resident requests for."
)
@click.option("--vram", type=click.IntRange(1), help="Bytes of the card [default: nvidia-smi's].")
@click.option("--strict", is_flag=True, help="Exit 66 also for settings that cannot run.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON.")
def cli(
    profile: str | None,
    model: Path | None,
    drafter: Path | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    contexts: tuple[int, ...],
    vram: int | None,
    strict: bool,
    json_output: bool,
) -> None:
    """Print the memory plan of PROFILE (default: fast). Nothing is started.

    Every setting can be overridden with --set; beyond the settings of a server, plan takes
    kv_groups=stock (vLLM without the patch series) and kv_format=kvarn_k4v2 (for comparison).
    Exit status 0 when one request of `context` tokens fits into the pool, 66 when not.
    """
    found = plan_settings(profile, config_file, sets, resolve)
    inputs = found.inputs
    model, drafter = model or found.model, drafter or found.drafter
    geometry = _geometry(found, model, drafter)
    items: list[Item] = []
    pool = inputs.kv_bytes
    if inputs.device == "cuda":
        card = vram or card_bytes() or CARD_BYTES
        weights = weight_items(inputs, found.variant, model, drafter)
        pool = pool or pool_estimate(inputs, weights, card)
        items = budget(inputs, weights, pool, card)
    plan = compute(inputs, geometry, contexts=contexts, pool_bytes=pool)
    click.echo((as_json if json_output else as_text)(plan, found.profile, items))
    if not plan.fits or (strict and plan.problems):
        raise SystemExit(PLAN_DOES_NOT_FIT)
