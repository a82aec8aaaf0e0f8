"""Counts what the engine did for each request: prompt, cached and new tokens, steps, times.

Two of vLLM's parts know: the states of running requests, which `look` reads, and the statistics of
finished ones, which its stat-logger interface hands out (stats.py). One meter is in each process.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

FORGET_SECONDS = 600.0  # for requests that nobody asks about


class Finished(Protocol):
    """What is used of vLLM's FinishedRequestStats."""

    request_id: str | None
    num_prompt_tokens: int
    num_generation_tokens: int
    num_cached_tokens: int


@dataclass
class Count:
    """One request of the engine (`n` = 3 makes three).

    Attributes:
        external: the request's id as the API server gave it.
        prompt, cached, tokens: tokens of the prompt, of it found in the cache, generated.
        steps: engine steps that brought tokens.
        first, last: when the first and the last of them came, seconds, monotonic.
        running: whether it may get more.
        final: whether these are the engine's last numbers (of an aborted request there are none).
    """

    external: str
    prompt: int = 0
    cached: int = 0
    tokens: int = 0
    steps: int = 0
    first: float = 0.0
    last: float = 0.0
    running: bool = True
    final: bool = False

    def see(self, prompt: int, cached: int, tokens: int, now: float) -> None:
        """Take the newest numbers over."""
        self.prompt, self.cached = prompt, max(self.cached, cached)
        if tokens > self.tokens:
            self.first = self.first or now
            self.last, self.tokens, self.steps = now, tokens, self.steps + 1


@dataclass(frozen=True)
class Total:
    """All that one request of the API took; `streams` is how many of its parts got tokens."""

    prompt: int
    cached: int
    tokens: int
    steps: int
    streams: int
    first: float
    last: float

    @property
    def decode_rate(self) -> float | None:
        """Return tokens a second after the first; None when there was no second moment."""
        seconds = self.last - self.first
        return (self.tokens - self.streams) / seconds if seconds > 0 else None

    @property
    def tokens_per_step(self) -> float | None:
        """Return tokens of a step after the one that ended the prompt; None without one."""
        steps = self.steps - self.streams
        return (self.tokens - self.streams) / steps if steps > 0 else None


class Meter:
    """The counts of this process.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, Count] = {}
        self._states: Mapping[str, Any] = {}

    def attach(self, engine: Any) -> None:
        """Read the states of this engine from now on (an AsyncLLM, or None before there is one)."""
        processor = getattr(engine, "output_processor", None)
        states = getattr(processor, "request_states", None)
        self._states = {} if states is None else states

    def look(self) -> None:
        """Take over how far the running requests are."""
        now = self._clock()
        for internal, state in self._states.items():
            count = self._counts.get(internal)
            if count is None:
                count = self._counts[internal] = Count(state.external_req_id)
            tokens = state.stats.num_generation_tokens if state.stats is not None else 0
            count.see(state.prompt_len, state.num_cached_tokens, tokens, now)
        for internal in [key for key in self._counts if key not in self._states]:
            count = self._counts[internal]
            if count.running:
                count.running, count.last = False, count.last or now
            elif now - count.last > FORGET_SECONDS:
                del self._counts[internal]

    def finish(self, finished: Iterable[Finished]) -> None:
        """Take over the last numbers of requests that ended, then look at the others."""
        now = self._clock()
        for number, stats in enumerate(finished):
            count = self._ended(stats.request_id or "")
            if count is None:  # it lived for one step, and nobody looked meanwhile
                count = self._counts[f"{stats.request_id}/{now}/{number}"] = Count(
                    stats.request_id or ""
                )
            tokens = stats.num_generation_tokens
            count.see(stats.num_prompt_tokens, stats.num_cached_tokens, tokens, now)
            count.running, count.final = False, True
        self.look()

    def _ended(self, external: str) -> Count | None:
        """Return a count of this id that the engine has let go and that is not final yet."""
        for internal, count in self._counts.items():
            if count.external == external and not count.final and internal not in self._states:
                return count
        return None

    def settled(self, request_id: str) -> bool:
        """Return whether nothing of a request runs any more."""
        return not any(count.running for count in self._of(request_id).values())

    def take(self, request_id: str) -> Total | None:
        """Return what a request of the API took, and forget it; None when nothing is known."""
        found = self._of(request_id)
        for internal in found:
            del self._counts[internal]
        if not found:
            return None
        counts = list(found.values())
        prompts: dict[str, Count] = {}
        for count in counts:  # parts with one id have one prompt
            prompts.setdefault(count.external, count)
        with_tokens = [count for count in counts if count.tokens]
        return Total(
            prompt=sum(count.prompt for count in prompts.values()),
            cached=sum(count.cached for count in prompts.values()),
            tokens=sum(count.tokens for count in counts),
            steps=sum(count.steps for count in counts),
            streams=len(with_tokens),
            first=min((count.first for count in with_tokens), default=0.0),
            last=max((count.last for count in with_tokens), default=0.0),
        )

    def _of(self, request_id: str) -> dict[str, Count]:
        """Return the parts of a request: its own id, or that with a number ("-0", "_0")."""
        return {
            internal: count
            for internal, count in self._counts.items()
            if count.external == request_id
            or count.external.startswith((f"{request_id}-", f"{request_id}_"))
        }


METER = Meter()
