"""Fixtures of the serve tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .harness import Served

Start = Callable[..., Served]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts ``qwen3090 serve`` with the stub engine."""
    started: list[Served] = []

    def run(mode: str = "", *sets: str, **options: object) -> Served:
        served = Served(tmp_path, mode, *sets, **options)  # type: ignore[arg-type]
        started.append(served)
        return served

    yield run
    for served in started:
        served.clean_up()
