"""Prepares a variant from fetched repositories: which inputs it takes is decided here alone."""

from pathlib import Path
from typing import Any

from qwen3090.errors import UserError
from qwen3090.models.progress import Progress
from qwen3090.models.store import Store

DRAFT_IDS = "mtp_draft_vocab_ids.pt"


def prepare(variant: str, out: Path, store: Store) -> None:
    """Make the prepared checkpoint of a variant; goes on where an interrupted run stopped.

    ``fast`` is the base with the overlay's files. ``base`` gets a draft head too when the id list
    of the fast variant is in the store; without it MTP drafts over the full vocabulary.

    Raises:
        UserError: an input is missing or damaged, or the disk is full.
    """
    import qwen3090_prepare
    from qwen3090_prepare.errors import PrepareError

    shown = Progress("prepare", 0)

    def progress(report: Any) -> None:
        shown.total = report.total_bytes
        shown.advance(report.done_bytes - shown.done)

    out.parent.mkdir(parents=True, exist_ok=True)
    ids = store.final("fast") / DRAFT_IDS
    try:
        qwen3090_prepare.run(
            store.final("base"),
            out,
            overlay=store.final(variant) if variant != "base" else None,
            draft_vocab=ids if variant == "base" and ids.is_file() else None,
            progress=progress,
            force=(out / "prepared.json").is_file(),  # made from other files than the manifest's
        )
    except PrepareError as error:
        raise UserError(error.problem, error.next_step, exit_code=error.exit_code) from None
    finally:
        shown.close()
