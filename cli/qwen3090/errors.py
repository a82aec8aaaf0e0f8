"""One error type for what a user can mend: it names the file, the value and the next command."""

import sys
from typing import IO, Any

import click


class UserError(click.ClickException):
    """A problem the user can mend.

    Args:
        problem: what is wrong, naming the file or key and the value found.
        next_step: the command or edit that mends it; printed on its own line.
        exit_code: process exit status (default 1; 2 is kept for bad usage).
    """

    def __init__(self, problem: str, next_step: str | None = None, *, exit_code: int = 1) -> None:
        super().__init__(problem)
        self.next_step = next_step
        vars(self)["exit_code"] = exit_code  # click declares it as a class variable

    def format_message(self) -> str:
        """Return the problem and, on a second line, what to do next."""
        return self.message if not self.next_step else f"{self.message}\n  next: {self.next_step}"

    def show(self, file: IO[Any] | None = None) -> None:
        """Print to standard error."""
        click.echo(f"error: {self.format_message()}", file=file or sys.stderr)
