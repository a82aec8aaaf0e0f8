"""Read speculation figures from a Prometheus page."""

import re
from dataclasses import dataclass

from qwen3090.errors import UserError

DRAFTS = "vllm:spec_decode_num_drafts_total"
ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
PROPOSED = "vllm:spec_decode_num_draft_tokens_total"


@dataclass(frozen=True)
class Speculation:
    """Totals since the server started.

    Attributes:
        drafts: steps that had a draft to verify.
        accepted: drafted tokens that were kept.
        proposed: drafted tokens.
    """

    drafts: int
    accepted: int
    proposed: int

    @property
    def tokens_per_step(self) -> float:
        """Tokens that a step with a draft emits on average: its own and the accepted ones."""
        return 1 + self.accepted / self.drafts


def speculation(page: str) -> Speculation:
    """Return the totals in ``page``, summed over its label sets.

    Raises:
        UserError: a counter is missing, or nothing was drafted.
    """
    found = Speculation(total(page, DRAFTS), total(page, ACCEPTED), total(page, PROPOSED))
    if found.drafts == 0:
        raise UserError("the server drafted no tokens", "check that speculation is on: mtp")
    return found


def total(page: str, name: str) -> int:
    """Return a counter of ``page``, summed over its label sets.

    Raises:
        UserError: there is no such counter.
    """
    line = re.compile(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)", re.MULTILINE)
    values = line.findall(page)
    if not values:
        raise UserError(f"/metrics has no counter {name}", "check that speculation is on: mtp")
    return int(sum(float(value) for value in values))
