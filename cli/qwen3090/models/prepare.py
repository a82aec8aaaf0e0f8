"""Prepares a variant from fetched repositories: which inputs it takes is decided here alone."""

import sys
from collections.abc import Callable
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.models.store import Store

DRAFT_IDS = "mtp_draft_vocab_ids.pt"


def prepare(variant: str, out: Path, store: Store, say: Callable[[str], None]) -> None:
    """Make the prepared checkpoint of a variant; goes on where an interrupted run stopped.

    ``fast`` is the base with the overlay's files. ``base`` gets a draft head too when the id list
    of the fast variant is in the store; without it MTP drafts over the full vocabulary.

    Raises:
        UserError: an input is missing or damaged, or the disk is full.
    """
    from qwen3090_prepare import PrepareError, run
    from qwen3090_prepare.render import Renderer, summarize

    ids = store.final("fast") / DRAFT_IDS
    shown = Renderer(sys.stderr)
    try:
        result = run(
            store.final("base"),
            out,
            overlay=store.final(variant) if variant != "base" else None,
            draft_vocab=ids if variant == "base" and ids.is_file() else None,
            progress=shown,
            force=(out / "prepared.json").is_file(),  # made from other files than the manifest's
        )
    except PrepareError as error:
        raise UserError(error.problem, error.next_step, exit_code=error.exit_code) from None
    finally:
        shown.close()
    for line in summarize(result):
        say(line)
