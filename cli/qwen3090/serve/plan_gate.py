"""Runs the memory plan before the engine: it fits, or it is refused with the numbers."""

from dataclasses import fields
from typing import Any

from qwen3090.config.model import ServeConfig
from qwen3090.errors import UserError
from qwen3090.plan import Geometry, PlanInput, compute
from qwen3090.serve import exit_codes


def plan_input(config: ServeConfig) -> PlanInput:
    """Return the plan's input for some settings."""
    values: dict[str, Any] = config.model_dump()
    values["drafter_backend"] = values["drafter_attention_backend"]
    names = {field.name for field in fields(PlanInput)} - {"kv_groups"}
    return PlanInput(**{name: values[name] for name in names})


def check_plan(config: ServeConfig) -> list[str]:
    """Return lines about the pool.

    Raises:
        UserError: a request at full context does not fit, or the combination cannot run
            (PLAN_DOES_NOT_FIT), or the checkpoint is of another architecture.
    """
    if config.model is None or config.kv_bytes is None:
        return ["kv_bytes is unset: vLLM sizes the pool, the plan is not checked"]
    drafter = config.drafter if config.speculation == "dflash2" else None
    plan = compute(plan_input(config), Geometry.from_checkpoint(config.model, drafter))
    if plan.problems or not plan.fits:
        reasons = [f"{item.key}: {item.why}" for item in plan.problems]
        cures = [item.instead for item in plan.problems if item.instead]
        figures = (
            f"{plan.blocks_needed} blocks needed at context = {config.context}, "
            f"{plan.blocks_available} available of {plan.block_bytes} bytes"
        )
        raise UserError(
            "\n- ".join([f"the memory plan refuses these settings ({figures}):", *reasons]),
            "; ".join(cures) or "qwen3090 plan",
            exit_code=exit_codes.PLAN_DOES_NOT_FIT,
        )
    seats = ", ".join(f"{count} at {length:,}" for length, count in plan.seats_by_context.items())
    return [f"pool: {plan.pool_tokens:,} tokens; requests resident: {seats}"]
