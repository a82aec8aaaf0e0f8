"""A few threads over a list of files: the first error stops the others between two chunks."""

from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TypeVar

from qwen3090.models.hashing import Stopped

T = TypeVar("T")


def run_parallel(items: Iterable[T], work: Callable[[T], None], *, jobs: int, stop: Event) -> None:
    """Call ``work`` on every item from at most ``jobs`` threads.

    Args:
        items: done in order.
        work: looks at ``stop`` now and then and raises ``Stopped``.
        stop: set when any call fails or the user interrupts.

    Raises:
        Exception: the first one that ``work`` raised; KeyboardInterrupt likewise.
    """
    queue: SimpleQueue[T] = SimpleQueue()
    for item in items:
        queue.put(item)
    errors: list[BaseException] = []

    def loop() -> None:
        while not stop.is_set():
            try:
                work(queue.get_nowait())
            except Empty:
                return
            except Stopped:
                return
            except BaseException as error:
                errors.append(error)
                stop.set()

    # Daemons: a thread in a long wait must not keep an interrupted command alive.
    threads = [Thread(target=loop, daemon=True) for _ in range(max(1, min(jobs, queue.qsize())))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    except KeyboardInterrupt:
        stop.set()
        for thread in threads:
            thread.join(2)
        raise
    if errors:
        raise errors[0]
