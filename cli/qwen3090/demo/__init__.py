"""The demo: a tiny checkpoint of the model's architecture, made on the spot, and its run.

It lets every prepare step, loader and patch meet the published layout without the published
18 GB, and shows a served chat on a machine without a GPU.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from qwen3090.errors import UserError


@dataclass(frozen=True)
class TinyPaths:
    """Where the parts of a made checkpoint are.

    Attributes:
        base: W4A16 checkpoint in the published layout.
        drafter: int4 DFlash2 drafter for it.
        drafter_bf16: the same drafter in bf16.
        overlay: the fast variant's files (int4 head, int4 MTP module, draft vocabulary).
        draft_vocab: id list of the draft vocabulary (``mtp_draft_vocab_ids.pt``).
    """

    base: Path
    drafter: Path
    drafter_bf16: Path
    overlay: Path
    draft_vocab: Path


def paths(directory: Path) -> TinyPaths:
    """Return the paths that a checkpoint made in ``directory`` has."""
    overlay = directory / "overlay"
    return TinyPaths(
        base=directory / "base",
        drafter=directory / "drafter",
        drafter_bf16=directory / "drafter-bf16",
        overlay=overlay,
        draft_vocab=overlay / "mtp_draft_vocab_ids.pt",
    )


def make(directory: Path) -> TinyPaths:
    """Write the tiny checkpoint below ``directory``; the same bytes every time (about 5 s).

    The parts appear when all of them are complete.

    Raises:
        UserError: one of the parts is there already, or the directory cannot be written.
    """
    wanted = paths(directory)
    parts = (wanted.base, wanted.drafter, wanted.drafter_bf16, wanted.overlay)
    for part in parts:
        if part.exists():
            raise UserError(
                f"{part} exists already; the demo checkpoint is never written over files",
                f"remove it (rm -r {part}) or name another directory",
            )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".making-", dir=directory))
    except OSError as error:
        raise UserError(
            f"cannot write to {directory}: {error.strerror}", "name a directory you can write to"
        ) from error
    try:
        from qwen3090.demo.maker import write_all

        made = paths(staging)
        for part in (made.base, made.drafter_bf16, made.drafter, made.overlay):
            part.mkdir()
        write_all(made.base, made.drafter_bf16, made.drafter, made.overlay)
        for part in parts:
            (staging / part.name).replace(part)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return wanted
