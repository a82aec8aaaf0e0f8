"""Which checks run, and in which order: cheap ones first, each independent of the others."""

from collections.abc import Iterator
from pathlib import Path

from qwen3090.config import Resolved
from qwen3090.verify.caches import check_caches
from qwen3090.verify.checkpoint import check_checkpoint
from qwen3090.verify.cuda import check_cuda
from qwen3090.verify.drafter import check_drafter
from qwen3090.verify.environment import (
    check_contents,
    check_environment,
    engine_kind,
    installed_versions,
)
from qwen3090.verify.gate import gate, proven
from qwen3090.verify.hooks import check_hooks
from qwen3090.verify.live import check_live
from qwen3090.verify.plan import check_plan
from qwen3090.verify.report import Finding, Status
from qwen3090.verify.series import APPLY, check_series
from qwen3090.verify.settings import Asked, check_settings
from qwen3090.verify.unit import check_units

UNREADABLE = "the settings cannot be read"


def verify(
    asked: Asked | None = None,
    *,
    quick: bool = False,
    hashes: bool = False,
    live: str | None = None,
) -> Iterator[Finding]:
    """Yield findings as they are made.

    Args:
        asked: profile, settings and directories to check; None checks the installation and the
            default profile's settings.
        quick: leave out the checks that import torch or vLLM (the plugin, the checkpoint).
        hashes: also read every large file (packages, checkpoint).
        live: a running server's address, empty for the settings' own; None asks no server.
    """
    asked = asked or Asked()
    series = check_series()
    holds = proven(series)
    yield from gate(check_environment(), holds, APPLY)
    yield from gate(series, holds, APPLY)
    kind = engine_kind(installed_versions())
    if kind is not None:
        yield from check_contents(kind, hashes=hashes, quick=quick)
        yield from check_caches()
    if kind == "cuda":
        yield check_cuda()
    resolved, findings = check_settings(asked)
    yield from findings
    if resolved is not None:
        yield from check_plan(resolved.config, resolved.profile)
    yield from check_units()
    if quick:
        yield Finding("ops", Status.SKIP, "left out by --quick")
    else:
        yield from gate(check_hooks(), holds, APPLY)
    yield from _checkpoint(asked, resolved, quick, hashes)
    yield from _drafter(asked, resolved)
    if live is not None:
        yield from _live(resolved, live)


def _live(resolved: Resolved | None, url: str) -> Iterator[Finding]:
    if resolved is None:
        yield Finding("live", Status.SKIP, UNREADABLE)
    else:
        yield from check_live(resolved.config, url)


def _checkpoint(
    asked: Asked, resolved: Resolved | None, quick: bool, hashes: bool
) -> Iterator[Finding]:
    model = asked.model or (resolved.config.model if resolved and asked.served else None)
    if model is None:
        reason = UNREADABLE if asked.served and resolved is None else "no PROFILE or --model given"
        yield Finding("checkpoint", Status.SKIP, reason)
    elif asked.model is None and not model.exists():
        yield _not_there("checkpoint", model, resolved)
    elif quick:
        yield Finding("checkpoint", Status.SKIP, "left out by --quick")
    else:
        yield from check_checkpoint(model, hashes=hashes)


def _drafter(asked: Asked, resolved: Resolved | None) -> Iterator[Finding]:
    used = resolved is not None and asked.served and resolved.config.speculation == "dflash2"
    drafter = asked.drafter or (resolved.config.drafter if resolved and used else None)
    if drafter is None:
        reason = "the profile uses none" if asked.served else "no PROFILE or --drafter given"
        reason = UNREADABLE if asked.served and resolved is None else reason
        yield Finding("drafter", Status.SKIP, reason)
    elif asked.drafter is None and not drafter.exists():
        yield _not_there("drafter", drafter, resolved)
    else:
        tokens = resolved.config.draft_tokens if resolved and used else None
        yield from check_drafter(drafter, _existing(asked, resolved), tokens)


def _existing(asked: Asked, resolved: Resolved | None) -> Path | None:
    """Return the model that the drafter is for, when there is one to compare with."""
    model = asked.model or (resolved.config.model if resolved and asked.served else None)
    return model if model is not None and (model / "config.json").is_file() else None


def _not_there(check: str, directory: Path, resolved: Resolved | None) -> Finding:
    profile = resolved.profile if resolved else ""
    return Finding(
        check,
        Status.WARN,
        f"{directory} is not there yet",
        f"qwen3090 up {profile} --no-serve  # fetches and prepares",
    )
