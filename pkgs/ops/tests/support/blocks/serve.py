"""Serves prompts on a scheduler and the worker of fingerprints, and reads the prefix cache."""

import random
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .layout import Layout, make
from .memory import Worker, WrongRead, prefixes


class Served:
    """An engine that serves one batch after the other.

    Attributes:
        requests: every request so far.
        hits: tokens that each request took from the cache, by name.
        chunks: (request, first token, end) of each prefill step.
    """

    def __init__(self, layout: Layout, folder: Path, seed: int = 0) -> None:
        from vllm.utils.hashing import sha256
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash

        self.layout = layout
        self.scheduler = make(layout, folder)
        self.worker = Worker(layout, self.scheduler, random.Random(seed))
        init_none_hash(sha256)
        self._hasher = get_request_block_hasher(self.scheduler.hash_block_size, sha256)
        self.requests: list[Any] = []
        self.hits: dict[str, int] = {}

    @property
    def chunks(self) -> list[tuple[str, int, int]]:
        return self.worker.chunks

    def serve(self, prompts: Sequence[Sequence[int]], output: int = 1, apart: int = 0) -> list[Any]:
        """Serve prompts to the end, one more every ``apart`` steps; return their requests."""
        from vllm import SamplingParams
        from vllm.v1.request import Request

        params = SamplingParams(max_tokens=output, ignore_eos=True)
        new = [
            Request(
                f"r{len(self.requests) + place}", list(prompt), params, None,
                block_hasher=self._hasher,
            )
            for place, prompt in enumerate(prompts)
        ]  # fmt: skip
        self.requests += new
        waiting, flying, steps = deque(new), deque[Any](), 0
        ahead = 2 if self.layout.overlap else 1
        idle = 0
        busy = self.scheduler.has_unfinished_requests
        while waiting or flying or busy():
            while waiting and steps >= apart * (len(new) - len(waiting)):
                self.scheduler.add_request(waiting.popleft())
            while len(flying) < ahead and busy() and idle < 20:
                step = self.scheduler.schedule()
                steps += 1
                idle = 0 if step.total_num_scheduled_tokens else idle + 1
                for data in step.scheduled_new_reqs:
                    self.hits.setdefault(data.req_id, data.num_computed_tokens)
                flying.append((step, *self.worker.run(step)))
            assert idle < 20, "the scheduler schedules nothing any more"
            if flying:
                self._settle(*flying.popleft())
        return new

    def _settle(self, step: Any, sampled: dict[str, list[int]], drafts: dict[str, Any]) -> None:
        from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput

        names = list(step.num_scheduled_tokens)
        output = ModelRunnerOutput(
            req_ids=names,
            req_id_to_index={name: place for place, name in enumerate(names)},
            sampled_token_ids=[sampled[name] for name in names],
        )
        self.scheduler.update_from_output(step, output)
        if self.layout.drafts and not self.layout.overlap:
            self.scheduler.update_draft_token_ids(
                DraftTokenIds(list(drafts), [drafts[name] for name in drafts])
            )

    def states(self) -> dict[int, int]:
        """Return prefix length -> how many registered states have it.

        Raises:
            WrongRead: the block of a hash holds another state than that of the hash's prefix.
        """
        from vllm.v1.core.kv_cache_utils import get_block_hash, get_group_id

        unit = self.scheduler.hash_block_size
        known = {}
        for request in self.requests:
            marks = prefixes(request.all_token_ids)
            for place, code in enumerate(request.block_hashes):
                end = (place + 1) * unit
                known[bytes(code)] = (end, marks[end - 1])
        found: dict[int, int] = {}
        pool = self.scheduler.kv_cache_manager.block_pool
        for key, held in pool.cached_block_hash_to_block._cache.items():
            if not hasattr(self.worker.specs[get_group_id(key)], "mamba_cache_mode"):
                continue
            length, mark = known[bytes(get_block_hash(key))]
            for block in held.values() if isinstance(held, dict) else [held]:
                if self.worker.memory.get(block.block_id) != mark:
                    raise WrongRead(f"the state filed under {length} tokens is another one")
                found[length] = found.get(length, 0) + 1
        return found
