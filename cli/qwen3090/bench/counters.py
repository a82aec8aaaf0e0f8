"""What the server itself counted while we asked: speculation, cache hits, preemptions, strangers.

Read from /metrics before and after. The count of finished requests tells whether the server has
counted all of ours yet, and whether somebody else used it meanwhile.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.target import Target
from qwen3090.demo.metrics import ACCEPTED, DRAFTS, PROPOSED

PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
FINISHED = "vllm:request_success_total"
RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
PREEMPTIONS = "vllm:num_preemptions_total"
DECODED = "vllm:request_decode_time_seconds_sum"
HITS, QUERIES = "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"
SETTLE_SECONDS = 5.0
LATE_SECONDS, LATE_SHARE = 0.1, 0.05


@dataclass(frozen=True)
class Page:
    """A reading of /metrics: totals by counter, and accepted tokens by draft position."""

    totals: dict[str, float]
    positions: dict[int, float]

    def total(self, name: str) -> float:
        """Return a counter summed over its label sets.

        Raises:
            InvalidRun: the page has no such counter.
        """
        if name not in self.totals:
            raise InvalidRun(f"/metrics has no counter {name}: not the server that is pinned")
        return self.totals[name]


@dataclass
class Counted:
    """Differences between two readings.

    Attributes:
        drafts: steps that verified a draft.
        accepted: drafted tokens that were kept.
        proposed: drafted tokens.
        positions: kept tokens by place in the draft, the first is 0.
        preemptions: requests that had to give their memory up and start again.
        hits: prompt tokens that the prefix cache had.
        queries: prompt tokens that it was asked for.
        seconds: from the first to the last token of each request, summed, by the engine's clock.
    """

    drafts: int = 0
    accepted: int = 0
    proposed: int = 0
    positions: dict[int, int] = field(default_factory=dict)
    preemptions: int = 0
    hits: int = 0
    queries: int = 0
    seconds: float = 0.0

    @property
    def tokens_per_step(self) -> float | None:
        """1 + accepted / drafts; None when nothing was drafted."""
        return 1 + self.accepted / self.drafts if self.drafts else None

    @property
    def acceptance(self) -> list[float]:
        """Share of steps whose draft was kept up to each place."""
        if not self.drafts:
            return []
        return [self.positions[place] / self.drafts for place in sorted(self.positions)]

    def add(self, other: "Counted") -> None:
        """Add another's counts to these."""
        self.seconds += other.seconds
        for name in ("drafts", "accepted", "proposed", "preemptions", "hits", "queries"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for place, count in other.positions.items():
            self.positions[place] = self.positions.get(place, 0) + count


def parse(text: str) -> Page:
    """Return the totals of a Prometheus page.

    Raises:
        InvalidRun: it cannot be parsed.
    """
    from prometheus_client.parser import text_string_to_metric_families

    totals: dict[str, float] = {}
    positions: dict[int, float] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
                if sample.name == PER_POSITION:
                    place = int(sample.labels["position"])
                    positions[place] = positions.get(place, 0.0) + sample.value
    except (ValueError, KeyError) as error:
        raise InvalidRun(f"/metrics cannot be read: {error}") from None
    return Page(totals, positions)


def read(target: Target) -> Page:
    """Fetch and parse the server's page."""
    return parse(target.text("/metrics"))


def difference(before: Page, after: Page) -> Counted:
    """Return what was counted between two pages; counters that a server lacks count nothing."""

    def delta(name: str) -> int:
        return round(after.totals.get(name, 0.0) - before.totals.get(name, 0.0))

    places = {
        place: round(value - before.positions.get(place, 0.0))
        for place, value in after.positions.items()
    }
    return Counted(
        drafts=delta(DRAFTS),
        accepted=delta(ACCEPTED),
        proposed=delta(PROPOSED),
        positions=places,
        preemptions=delta(PREEMPTIONS),
        hits=delta(HITS),
        queries=delta(QUERIES),
        seconds=after.totals.get(DECODED, 0.0) - before.totals.get(DECODED, 0.0),
    )


def keep_up(what: str, spans: Sequence[float], counted: Counted) -> None:
    """Refuse times that the client took late: they say more about it than about the server.

    Args:
        what: the measurement, for the message.
        spans: seconds from the first to the last chunk of each answer, as they arrived.
        counted: the server's own counters over these answers.

    Raises:
        InvalidRun: the server's clock tells another time.
    """
    arrived, told = sum(spans), counted.seconds
    if told and abs(arrived - told) > max(LATE_SECONDS * len(spans), LATE_SHARE * told):
        raise InvalidRun(
            f"{what}: the engine decoded for {told:.2f} s, and its chunks arrived within "
            f"{arrived:.2f} s: the client or the server's front end was too busy to be timed",
            "measure on a machine that does nothing else",
        )


@contextmanager
def counting(target: Target, requests: int) -> Iterator[Counted]:
    """Count while the body sends exactly ``requests`` requests; filled in when it ends.

    Raises:
        InvalidRun: the server was busy before, or finished more or fewer requests than ours.
    """
    before = read(target)
    if before.total(RUNNING) + before.totals.get(WAITING, 0.0) > 0:
        raise InvalidRun(
            f"{target.url} is busy with {before.total(RUNNING):.0f} requests of somebody else",
            "wait until it is idle",
        )
    counted = Counted()
    yield counted
    after = _settled(target, before, requests)
    finished = round(after.total(FINISHED) - before.total(FINISHED))
    running = round(after.total(RUNNING))
    if finished > requests or running:
        raise InvalidRun(
            f"another client used the server: {finished} requests ended and {running} were "
            f"running, ours were {requests}",
            "measure a server that nobody else uses",
        )
    if finished < requests:
        raise InvalidRun(f"the server counted {finished} of our {requests} requests as finished")
    counted.add(difference(before, after))


def _settled(target: Target, before: Page, requests: int) -> Page:
    """Read until the server has counted our requests: it does so just after it answers."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        page = read(target)
        finished = page.total(FINISHED) - before.total(FINISHED)
        settled = finished >= requests and page.total(RUNNING) == 0
        if settled or time.monotonic() > deadline:
            return page
        time.sleep(0.02)
