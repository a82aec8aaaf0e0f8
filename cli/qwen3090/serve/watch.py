"""Decides whether the engine makes progress: what it says of itself, and whether /health answers.

Plain arithmetic on times, so that each rule is tested without waiting.
"""

from dataclasses import dataclass

from qwen3090.serve import exit_codes
from qwen3090.serve.runtime import Progress


@dataclass(frozen=True)
class Verdict:
    """What to do now.

    Attributes:
        feed: the watchdog may be fed.
        code: the exit status to give up with, or None.
        reason: what is stuck, in words, when there is a code.
    """

    feed: bool
    code: int | None = None
    reason: str = ""


class Watch:
    """Judges a ready engine.

    Work is pending and steps end: fed, whatever /health says (a server that reads a huge prompt
    answers late). Work is pending and no step has ended for ``stall_timeout``: given up. Nothing
    is pending: fed while /health answers, given up when it has not for ``stall_timeout``.

    Args:
        stall_timeout: seconds that one step, or one /health request of an idle engine, may take.
        request_timeout: seconds that a request may stand still while steps end; 0 never ends it.
        now: the time (CLOCK_MONOTONIC).
    """

    def __init__(self, stall_timeout: float, request_timeout: float, now: float) -> None:
        self._stall, self._request = stall_timeout, request_timeout
        self._answered = now
        self.healthy = True

    def health(self, alive: bool, now: float) -> None:
        """Note the answer to a /health request."""
        self.healthy = alive
        if alive:
            self._answered = now

    def judge(self, progress: Progress | None, now: float) -> Verdict:
        """Return what to do; without progress only /health counts."""
        if progress is not None and progress.busy_since is not None:
            return self._busy(progress, progress.busy_since, now)
        silent = now - self._answered
        if not self.healthy and silent > self._stall:
            what = "the engine is idle and" if progress is not None else "the engine"
            reason = f"{what} has not answered /health for {silent:.0f} s"
            return Verdict(False, exit_codes.ENGINE_STALLED, f"{reason} ({self._bound()})")
        return Verdict(self.healthy)

    def _busy(self, progress: Progress, busy_since: float, now: float) -> Verdict:
        still = now - max(progress.step_time, busy_since)
        if still > self._stall:
            reason = (
                f"the engine is stalled: no step has ended for {still:.0f} s ({self._bound()}); "
                f"{progress.running} running, {progress.waiting} waiting; the last step scheduled "
                f"has {progress.batch_tokens} tokens of {progress.batch_requests} requests; "
                f"{progress.steps} steps before it"
            )
            return Verdict(False, exit_codes.ENGINE_STALLED, reason)
        slowest = progress.slowest
        if self._request and slowest is not None:
            # Until the last step, not until now: a long step is no fault of the request's.
            waited = progress.step_time - slowest.since
            if waited > self._request:
                reason = (
                    f"request {slowest.name} is stuck: {slowest.state} and unmoved for "
                    f"{waited:.0f} s while steps go on (request_timeout = {self._request:g} s)"
                )
                return Verdict(False, exit_codes.REQUEST_STUCK, reason)
        return Verdict(True)

    def _bound(self) -> str:
        return f"stall_timeout = {self._stall:g} s"
