"""Counts what the engine computed, and finds the request that has waited longest for anything.

Plain arithmetic over what a scheduler knows, so that it is tested without an engine.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

SURVEY_SECONDS = 1.0  # between two looks for the slowest request


@dataclass(frozen=True)
class Seen:
    """A request as the scheduler sees it.

    Attributes:
        name: its id.
        running: it has a seat.
        decoding: it has a seat and has produced a token.
    """

    name: str
    running: bool
    decoding: bool


@dataclass
class Account:
    """Counters since the start, and when things last moved (CLOCK_MONOTONIC, seconds).

    Attributes:
        steps: engine steps that ended, with or without tokens.
        prompt_tokens: prompt tokens computed, chunk by chunk, cached ones not included.
        generated_tokens: tokens produced.
        step_time: when the last step ended.
        busy_since: when work arrived at an idle engine; None while idle.
        batch_requests: requests of the step scheduled last.
        batch_tokens: tokens of the step scheduled last.
    """

    steps: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    step_time: float = 0.0
    busy_since: float | None = None
    batch_requests: int = 0
    batch_tokens: int = 0
    _moved: dict[str, float] = field(default_factory=dict)
    _prompt_moved: float = 0.0
    _any_moved: float = 0.0
    _surveyed: float = 0.0
    _slowest: dict[str, Any] | None = None

    def arrived(self, name: str, now: float) -> None:
        """Note a new request."""
        self._moved[name] = now

    def scheduled(self, tokens: Mapping[str, int], resumed: Collection[str], now: float) -> None:
        """Note what the next step computes; ``resumed`` had lost their seats."""
        self.batch_requests, self.batch_tokens = len(tokens), sum(tokens.values())
        for name in resumed:
            self._moved[name] = now

    def stepped(
        self,
        tokens: Mapping[str, int],
        produced: Mapping[str, int],
        prompts: Collection[str],
        chunk: int,
        now: float,
    ) -> None:
        """Note the end of a step.

        Args:
            tokens: tokens computed for each request.
            produced: new tokens of each request that has some.
            prompts: requests whose prompt was computed in this step, wholly or in part.
            chunk: a request with more tokens than this computes a prompt again (it had lost its
                seat), which is progress as well.
            now: the time.
        """
        self.steps += 1
        self.step_time = now
        self.generated_tokens += sum(produced.values())
        for name, count in tokens.items():
            if name in prompts:
                self.prompt_tokens += count
            if name in prompts or count > chunk:
                self._prompt_moved = self._moved[name] = now
        for name, count in produced.items():
            if count:
                self._moved[name] = now
        if tokens:
            self._any_moved = now

    def settled(self, unfinished: int, now: float) -> None:
        """Note how many requests are unfinished after an event."""
        if not unfinished:
            self.busy_since = None
            self._slowest = None
        elif self.busy_since is None:
            self.busy_since = now

    def slowest(self, requests: Iterable[Seen], now: float) -> dict[str, Any] | None:
        """Return id, state and ``since`` of the request that has not moved for longest.

        A decoding request moves by its own tokens. One whose prompt is computed moves when any
        prompt does: prompts are computed in order, so it may rightly wait for those before it.
        One without a seat moves when anything does.
        """
        if now - self._surveyed < SURVEY_SECONDS:
            return self._slowest
        self._surveyed = now
        self._slowest = None
        known: dict[str, float] = {}
        for request in requests:
            own = known[request.name] = self._moved.get(request.name, now)
            since, state = own, "decoding"
            if not request.running:
                since, state = max(own, self._any_moved), "waiting"
            elif not request.decoding:
                since, state = max(own, self._prompt_moved), "prefilling"
            if self._slowest is None or since < self._slowest["since"]:
                self._slowest = {"id": request.name[:120], "state": state, "since": since}
        self._moved = known
        return self._slowest
