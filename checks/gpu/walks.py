"""Which token follows which in a made checkpoint, which drafts are right, and prompts that ask.

A made model's next token depends on the last token alone. Most tokens lie on one long cycle, whose
turns are 8 ids of the draft vocabulary, then 2 others; a small ring beside it is for DFlash2, which
can name only as many tokens as its selector has candidates (``RUNS``).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from qwen3090.demo.dims import Dims

RUN_IN, RUN_OUT = 8, 2  # ids of the draft vocabulary and others, by turns, on the cycle
RUNS = (7, 4, 3, 1, 0)  # of tokens that DFlash2 drafts, on the ring; one that it cannot ends each
PROMPT_STEP = 7919  # between the starts of two prompts, in ids of the draft vocabulary


def draftable() -> list[bool]:
    """Tell of each token of the ring, in order, whether DFlash2 can draft it."""
    return [can for run in RUNS for can in (*[True] * run, False)]


def accepted(place: int, drafts: int) -> int:
    """Return how many drafts after the ring's token number ``place`` are right."""
    can = draftable()
    found = 0
    while found < drafts and can[(place + 1 + found) % len(can)]:
        found += 1
    return found


def steps(place: int, tokens: int, drafts: int) -> list[int]:
    """Return the accepted drafts of each step of a greedy answer of ``tokens`` tokens.

    The prompt ends in the ring's token number ``place``; its prefill gives the first token.
    """
    found: list[int] = []
    emitted, place = 1, place + 1
    while emitted < tokens:
        found.append(accepted(place, drafts))
        emitted, place = emitted + 1 + found[-1], place + 1 + found[-1]
    return found


@dataclass(frozen=True)
class Walks:
    """The successor of each token, the ids of the draft vocabulary, and the ring in its order.

    ``ring`` is empty where a checkpoint has none, or where what is asked is not about it.
    """

    successor: list[int]
    ids: list[int]
    ring: list[int]

    @classmethod
    def make(cls, dims: Dims) -> "Walks":
        """Return those of the checkpoint of these sizes."""
        generator = torch.Generator().manual_seed(2)
        order = torch.randperm(dims.bpe_tokens, generator=generator)
        turns = dims.draft_vocab // RUN_IN
        walk = order[: turns * (RUN_IN + RUN_OUT)].view(turns, -1)
        ring = order[walk.numel() :][: len(draftable())]
        rest = torch.arange(dims.vocab)
        rest = rest[~torch.isin(rest, torch.cat([walk.flatten(), ring]))]
        successor = torch.empty(dims.vocab, dtype=torch.int64)
        for part in (walk.flatten(), ring, rest):
            successor[part] = part.roll(-1)
        ids = walk[:, :RUN_IN].flatten().sort().values
        return cls(successor.tolist(), ids.tolist(), ring.tolist())

    @classmethod
    def load(cls, made: Path, ring: bool = False) -> "Walks":
        """Read those of a directory of make_checkpoint.py; ``ring``: its ring too, if it has one.

        Raises:
            FileNotFoundError: the directory is none of make_checkpoint.py.
        """
        names = ["successor", "ids"]
        found = [torch.load(made / f"{name}.pt").tolist() for name in names]
        at = made / "ring.pt"
        return cls(*found, torch.load(at).tolist() if ring and at.exists() else [])

    def save(self, made: Path) -> None:
        """Write successor.pt, ids.pt and ring.pt, int64 each."""
        for name in ("successor", "ids", "ring"):
            torch.save(torch.tensor(getattr(self, name)), made / f"{name}.pt")

    def along(self, start: int, length: int) -> list[int]:
        """Return ``length`` tokens, each but the first the successor of the one before it."""
        found = [start]
        while len(found) < length:
            found.append(self.successor[found[-1]])
        return found

    def prompt(self, number: int, length: int) -> list[int]:
        """Return the prompt ``number``: along the cycle from a place of its own.

        Where there is a ring, every other prompt's last token is one of the ring's, by turns: the
        answer then stays on the ring, whatever came before.
        """
        found = self.along(self.ids[PROMPT_STEP * (number + 1) % len(self.ids)], length)
        if (place := self.place(number)) is not None:
            found[-1] = self.ring[place]
        return found

    def place(self, number: int) -> int | None:
        """Return where on the ring prompt ``number`` ends; None: it ends on the cycle."""
        return number // 2 % len(self.ring) if self.ring and number % 2 == 0 else None

    @staticmethod
    def expected(places: Iterable[int | None], tokens: int, drafts: int) -> float:
        """Return DFlash2's tokens a step, greedy, over an answer of ``tokens`` after each place.

        ``places`` are those of :meth:`place`.
        """
        taken: list[int] = []
        for place in places:
            taken += [0] * (tokens - 1) if place is None else steps(place, tokens, drafts)
        return 1 + sum(taken) / len(taken)
