"""What a run was asked for, checked before anything is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from qwen3090_prepare.errors import PrepareError

STEPS = ("lm-head", "embed", "mtp", "draft-vocab", "overlay")
OVERLAY_STEPS = ("embed", "overlay")


@dataclass(frozen=True)
class Options:
    """Parameters of a run; ``steps`` is in running order."""

    steps: tuple[str, ...]
    head_bits: int = 8
    embed_bits: int = 8
    mtp_bits: int = 8
    draft_vocab: Path | None = None
    overlay: Path | None = None

    def parameters(self) -> dict[str, Any]:
        """Return what decides the output besides the inputs; goes into ``prepared.json``."""
        bits = {"lm-head": self.head_bits, "embed": self.embed_bits, "mtp": self.mtp_bits}
        return {
            "bits": {step: bits[step] for step in self.steps if step in bits},
            "group_size": 128,
            "steps": list(self.steps),
        }


def make_options(
    steps: Sequence[str] | None,
    head_bits: int,
    embed_bits: int,
    mtp_bits: int,
    draft_vocab: Path | None,
    overlay: Path | None,
) -> Options:
    """Check the options and choose the steps when none are named.

    Raises:
        PrepareError: an unknown step, bits other than 4 or 8, or options that exclude each other.
    """
    for name, bits in (("head", head_bits), ("embed", embed_bits), ("mtp", mtp_bits)):
        if bits not in (4, 8):
            raise PrepareError(
                f"--{name}-bits {bits}: only 4 and 8 exist", f"use --{name}-bits 8", exit_code=2
            )
    for step in steps or ():
        if step not in STEPS:
            near = get_close_matches(step, STEPS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the steps are {', '.join(STEPS)}"
            raise PrepareError(f"unknown step '{step}'", hint, exit_code=2)
    if not steps:
        chosen: tuple[str, ...] = (
            OVERLAY_STEPS if overlay else ("lm-head", "embed", "mtp", "draft-vocab")
        )
    else:
        chosen = tuple(step for step in STEPS if step in steps)
    _check_pairs(chosen, draft_vocab, overlay)
    return Options(chosen, head_bits, embed_bits, mtp_bits, draft_vocab, overlay)


def _check_pairs(steps: tuple[str, ...], draft_vocab: Path | None, overlay: Path | None) -> None:
    if ("overlay" in steps) != (overlay is not None):
        raise PrepareError(
            "the step 'overlay' and the option --overlay DIR go together",
            "give both, or --overlay DIR alone (it chooses the steps)",
            exit_code=2,
        )
    replaced = [step for step in steps if step not in OVERLAY_STEPS]
    if overlay and (replaced or draft_vocab):
        what = f"the step '{replaced[0]}'" if replaced else "--draft-vocab"
        raise PrepareError(
            f"{what} cannot be combined with --overlay: the overlay brings head, MTP module and "
            "draft vocabulary",
            "drop one of the two",
            exit_code=2,
        )
    if draft_vocab and "draft-vocab" not in steps:
        raise PrepareError(
            "--draft-vocab FILE is given, but the step 'draft-vocab' is not among the steps",
            "add --step draft-vocab",
            exit_code=2,
        )
