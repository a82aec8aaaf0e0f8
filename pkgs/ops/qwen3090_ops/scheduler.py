"""vLLM's schedulers, unchanged but for telling their progress (`--scheduler-cls`).

A statistics logger (`vllm.stat_logger_plugins`) would not do: vLLM calls it after each step, chunks
of a prefill included, but never before one, so a first step that hangs leaves "nothing to do" as
its last word; and it is not told about single requests.
"""

import itertools
import time
from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

from qwen3090_ops.account import Account, Seen
from qwen3090_ops.progress import ENGINE, Record, runtime_dir

# vLLM's calls that are passed through; without one of them steps would go untold.
EVENTS = ("add_request", "finish_requests", "schedule", "update_from_output")


class _Publishing:
    """Publishes after each event that changes what the engine has to do or has done.

    The events are vLLM's calls into a scheduler, all of one thread. Their arguments and results
    are passed on as they are.
    """

    # Of vLLM's Scheduler, which the subclasses below add.
    running: list[Any]
    waiting: Any
    skipped_waiting: Any
    kv_cache_manager: Any
    num_spec_tokens: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        folder = runtime_dir()
        self._record = Record(folder / ENGINE if folder else None)
        self._account = Account()
        super().__init__(*args, **kwargs)
        self._publish(time.monotonic())

    def add_request(self, request: Any) -> None:
        super().add_request(request)  # type: ignore[misc]
        now = time.monotonic()
        self._account.arrived(request.request_id, now)
        self._publish(now)

    def finish_requests(self, *args: Any, **kwargs: Any) -> Any:
        found = super().finish_requests(*args, **kwargs)  # type: ignore[misc]
        self._publish(time.monotonic())
        return found

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        found = super().schedule(*args, **kwargs)  # type: ignore[misc]
        now = time.monotonic()
        resumed = found.scheduled_cached_reqs.resumed_req_ids
        self._account.scheduled(found.num_scheduled_tokens, resumed, now)
        self._publish(now)
        return found

    def update_from_output(self, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        found = super().update_from_output(scheduler_output, *args, **kwargs)  # type: ignore[misc]
        now = time.monotonic()
        produced = {
            output.request_id: len(output.new_token_ids)
            for outputs in found.values()
            for output in outputs.outputs
        }
        prompts = {new.req_id for new in scheduler_output.scheduled_new_reqs}
        cached = scheduler_output.scheduled_cached_reqs
        prompts |= {name for name in cached.req_ids if cached.is_context_phase(name)}
        tokens = scheduler_output.num_scheduled_tokens
        self._account.stepped(tokens, produced, prompts, self.num_spec_tokens + 1, now)
        self._publish(now)
        return found

    def _requests(self) -> Any:
        for request in self.running:
            yield Seen(request.request_id, True, request.num_output_tokens > 0)
        for request in itertools.chain(self.waiting, self.skipped_waiting):
            yield Seen(request.request_id, False, False)

    def _publish(self, now: float) -> None:
        running = len(self.running)
        waiting = len(self.waiting) + len(self.skipped_waiting)
        account = self._account
        account.settled(running + waiting, now)
        slowest = account.slowest(self._requests(), now) if running + waiting else None
        self._record.write(
            {
                "steps": account.steps,
                "step_time": account.step_time,
                "busy_since": account.busy_since,
                "running": running,
                "waiting": waiting,
                "prompt_tokens": account.prompt_tokens,
                "generated_tokens": account.generated_tokens,
                "kv_usage": round(self.kv_cache_manager.usage, 4),
                "batch_requests": account.batch_requests,
                "batch_tokens": account.batch_tokens,
                "slowest": slowest,
            }
        )


class ProgressScheduler(_Publishing, Scheduler):  # type: ignore[misc]
    """vLLM's scheduler for `--no-async-scheduling`."""


class ProgressAsyncScheduler(_Publishing, AsyncScheduler):  # type: ignore[misc]
    """vLLM's scheduler for `--async-scheduling`."""
