"""Exit statuses of ``qwen3090 bench``, and the error that a run without a result ends with."""

from qwen3090.errors import UserError

PASS, FAIL, INVALID = 0, 1, 2

MEANING = {
    PASS: "measured; or compared, and nothing is worse; or every quality test passed",
    FAIL: "slower than the tolerance allows, or a quality test failed",
    INVALID: "no result: a request failed, another client used the server, reports do not compare",
}


class InvalidRun(UserError):
    """The run has no result: exit status 2, with the reason and what to do."""

    def __init__(self, problem: str, next_step: str | None = None) -> None:
        super().__init__(problem, next_step, exit_code=INVALID)


def help_text() -> str:
    """Return the table of exit statuses for ``--help``."""
    return "\n".join(f"{code:>3}  {text}" for code, text in MEANING.items())
