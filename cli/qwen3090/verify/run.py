"""Which checks run, and in which order: cheap ones first, each independent of the others."""

from collections.abc import Iterator
from pathlib import Path

from qwen3090.config import Resolved
from qwen3090.verify.checkpoint import check_checkpoint
from qwen3090.verify.cuda import check_cuda
from qwen3090.verify.drafter import check_drafter
from qwen3090.verify.environment import check_environment, engine_kind, installed_versions
from qwen3090.verify.hooks import check_hooks
from qwen3090.verify.report import Finding, Status
from qwen3090.verify.series import check_series
from qwen3090.verify.settings import Asked, check_settings


def verify(asked: Asked | None = None, *, quick: bool = False) -> Iterator[Finding]:
    """Yield findings as they are made.

    Args:
        asked: profile, settings and directories to check; None checks the installation and the
            default profile's settings.
        quick: leave out the checks that import torch or vLLM (the plugin, the checkpoint).
    """
    asked = asked or Asked()
    yield from check_environment()
    yield from check_series()
    if engine_kind(installed_versions()) == "cuda":
        yield check_cuda()
    resolved, findings = check_settings(asked)
    yield from findings
    if quick:
        yield Finding("ops", Status.SKIP, "left out by --quick")
    else:
        yield from check_hooks()
    yield from _checkpoint(asked, resolved, quick)
    yield from _drafter(asked, resolved)


def _checkpoint(asked: Asked, resolved: Resolved | None, quick: bool) -> Iterator[Finding]:
    model = asked.model or (resolved.config.model if resolved and asked.served else None)
    if model is None:
        yield Finding("checkpoint", Status.SKIP, "no PROFILE or --model given")
    elif asked.model is None and not model.exists():
        yield _not_there("checkpoint", model, resolved)
    elif quick:
        yield Finding("checkpoint", Status.SKIP, "left out by --quick")
    else:
        yield from check_checkpoint(model)


def _drafter(asked: Asked, resolved: Resolved | None) -> Iterator[Finding]:
    used = resolved is not None and asked.served and resolved.config.speculation == "dflash2"
    drafter = asked.drafter or (resolved.config.drafter if resolved and used else None)
    if drafter is None:
        reason = "the profile uses none" if asked.served else "no PROFILE or --drafter given"
        yield Finding("drafter", Status.SKIP, reason)
    elif asked.drafter is None and not drafter.exists():
        yield _not_there("drafter", drafter, resolved)
    else:
        yield from check_drafter(drafter, _existing(asked, resolved))


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
