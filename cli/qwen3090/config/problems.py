"""What is wrong with a configuration: all problems at once, each with its source and its cure."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from qwen3090.errors import UserError
from qwen3090.serve.exit_codes import BAD_CONFIGURATION


@dataclass(frozen=True)
class Problem:
    """One problem.

    Attributes:
        text: what is wrong, naming the key and the value.
        next_step: the command or edit that mends it.
        where: the source of the value (``file:line``, ``QWEN3090_SEATS``, ``--set``), or "".
    """

    text: str
    next_step: str = ""
    where: str = ""

    def __str__(self) -> str:
        head = f"{self.where}: {self.text}" if self.where else self.text
        return f"{head}\n  next: {self.next_step}" if self.next_step else head


@dataclass(frozen=True)
class Found:
    """What a rule found; ``keys`` are the settings concerned."""

    keys: tuple[str, ...]
    text: str
    next_step: str = ""


class ConfigError(UserError):
    """A configuration that cannot be served; ``problems`` holds all of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        if len(self.problems) == 1:
            text = f"{first.where}: {first.text}" if first.where else first.text
            super().__init__(text, first.next_step or None, exit_code=BAD_CONFIGURATION)
            return
        lines = "\n".join(f"- {problem}" for problem in self.problems)
        super().__init__(
            f"{len(self.problems)} problems in the configuration:\n{lines}",
            exit_code=BAD_CONFIGURATION,
        )


def nearest(name: str, choices: Sequence[str]) -> str:
    """Return the choice nearest to ``name``, or "" when none is near."""
    found = get_close_matches(name, choices, n=1, cutoff=0.5)
    return found[0] if found else ""
