"""The one error of this package: what is wrong (file and value named) and what to run next."""


class PrepareError(Exception):
    """A checkpoint, option or disk that cannot be used as it is.

    Args:
        problem: what is wrong, naming the file or tensor and the value found.
        next_step: the command or edit that mends it, or None.
        exit_code: process exit status for a command line (default 1).
    """

    def __init__(self, problem: str, next_step: str | None = None, *, exit_code: int = 1) -> None:
        super().__init__(problem)
        self.problem = problem
        self.next_step = next_step
        self.exit_code = exit_code

    def __str__(self) -> str:
        return self.problem if not self.next_step else f"{self.problem}\n  next: {self.next_step}"


FETCH_AGAIN = "fetch this file again and compare its size and sha256 with the publisher's"
