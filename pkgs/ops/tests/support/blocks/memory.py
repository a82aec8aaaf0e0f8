"""A worker whose memory holds fingerprints of prefixes instead of numbers, and checks each read.

A token's key and value, and a recurrent state, stand for everything before them, so each is the
fingerprint of its prefix. The rules are those of the V2 runner: block tables grow at the end,
copies run before the step, and the recurrent state moves as vLLM's align kernels move it
(v1/worker/mamba_utils.py: preprocess, precopy and postprocess; v1/attention/backends/utils.py:
mamba_get_block_table_tensor). vLLM's own code is asked where a resumed request starts and from
which of its states a row does.
"""

import random
from collections.abc import Sequence
from typing import Any

from gdn_rows import starts_at_accepted


class WrongRead(AssertionError):
    """A step read memory that does not hold what the position needs."""


def prefixes(tokens: Sequence[int], start: int = 0) -> list[int]:
    """Return the fingerprints of the prefixes that end behind each token, after ``start``'s."""
    found = []
    for token in tokens:
        start = hash((start, token))
        found.append(start)
    return found


class _Row:
    """One request on the worker."""

    def __init__(self, new: Any) -> None:
        self.tokens: list[int] = list(new.prefill_token_ids)
        self.prefill = len(self.tokens)
        self.marks = [0, *prefixes(self.tokens)]
        self.tables = [list(ids) for ids in new.block_ids]
        self.computed: int = new.num_computed_tokens
        self.accepted = 1
        self.column = -1

    def append(self, tokens: Sequence[int]) -> None:
        self.tokens += tokens
        self.marks += prefixes(tokens, self.marks[-1])


class Worker:
    """Runs the steps of a scheduler; see the module.

    Attributes:
        chunks: (request, first token, end) of each prefill step.
        bare: decode steps without drafts after one that accepted some.
    """

    def __init__(self, layout: Any, scheduler: Any, rng: random.Random) -> None:
        self.layout = layout
        self.rng = rng
        self.specs = [group.kv_cache_spec for group in scheduler.kv_cache_config.kv_cache_groups]
        self.memory: dict[int, Any] = {}
        self.rows: dict[str, _Row] = {}
        self.chunks: list[tuple[str, int, int]] = []
        self.bare = 0
        self._model_state = _model_state(scheduler.cache_config)

    def run(self, step: Any) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """Return the sampled tokens and the next drafts of each request of a step."""
        for name in step.finished_req_ids | (step.preempted_req_ids or set()):
            self.rows.pop(name, None)
        for new in step.scheduled_new_reqs:
            self.rows[new.req_id] = row = _Row(new)
            self._model_state.add_request(0, new)
            row.column = int(self._model_state._mamba_state_idx_gpu[0])
        cached = step.scheduled_cached_reqs
        for name, added in zip(cached.req_ids, cached.new_block_ids, strict=True):
            for table, ids in zip(self.rows[name].tables, added or (), strict=False):
                table += ids
        for block in step.new_block_ids_to_zero or ():
            self.memory.pop(block, None)
        copies = step.kv_cache_block_copies or ()
        for target, held in [(c.dst_block_id, self.memory.get(c.src_block_id)) for c in copies]:
            self.memory[target] = list(held) if isinstance(held, list) else held
        sampled, drafts = {}, {}
        for name, count in step.num_scheduled_tokens.items():
            given = step.scheduled_spec_decode_tokens.get(name, [])
            sampled[name] = self._forward(name, count, given)
            if sampled[name]:
                most = self.layout.drafts
                kept = self.rng.randint(0, most) if self.layout.cut else most
                drafts[name] = [self._token() for _ in range(kept)]
        return sampled, drafts

    def _token(self) -> int:
        return self.rng.randrange(2)  # two tokens, so that generated texts meet again

    def _forward(self, name: str, count: int, given: Sequence[int]) -> list[int]:
        row, drafted = self.rows[name], len(given)
        first, end = row.computed, row.computed + count
        known = row.tokens[first : end - drafted]
        assert len(known) == count - drafted, f"{name} has no token for every place"
        tried = [self._token() if draft < 0 else draft for draft in given]
        marks = [row.marks[first], *prefixes([*known, *tried], row.marks[first])]
        width = self.layout.drafts + 1
        verify = starts_at_accepted(count, drafted, first < row.prefill, width)
        for spec, table in zip(self.specs, row.tables, strict=True):
            if not hasattr(spec, "mamba_cache_mode"):
                self._attend(spec, table, row, first)
                self._keep(spec, table, first, marks[1:])
        column = (end - 1) // self.layout.state
        for table in self._states(row):
            if 0 <= row.column != column:
                self._move(table, row.column + row.accepted - 1, column)
        if 0 <= row.column != column:
            row.accepted = 1
        row.column = column
        for table in self._states(row):
            start = column + (row.accepted - 1 if verify else 0)
            if first and self.memory.get(table[start]) != marks[0]:
                raise WrongRead(f"{name} resumes at {first} from another state")
            if verify:
                for place, mark in enumerate(marks[1:]):
                    self.memory[table[column + place]] = mark
            else:
                self.memory[table[column]] = marks[-1]
        self.bare += count == 1 and row.accepted > 1
        if first < row.prefill:
            self.chunks.append((name, first, min(end, row.prefill)))
        if end - drafted < len(row.tokens):
            row.computed, row.accepted, out = end, 1, []
        else:
            right = self.rng.randint(0, drafted)
            out = [*tried[:right], self._token()]
            row.append(out)
            row.computed, row.accepted = end - drafted + right, len(out)
        self._settle(row)
        return out

    def _states(self, row: _Row) -> list[list[int]]:
        pairs = zip(self.specs, row.tables, strict=True)
        return [table for spec, table in pairs if hasattr(spec, "mamba_cache_mode")]

    def _move(self, table: list[int], source: int, target: int) -> None:
        self.memory[table[target]] = self.memory.get(table[source])

    def _settle(self, row: _Row) -> None:
        """Keep the state at a block's end where that block's own is expected."""
        running = row.computed - row.accepted + 1
        end = row.computed // self.layout.state * self.layout.state
        if end < running:
            return
        target = end // self.layout.state - 1
        if row.column != target or end != running:
            for table in self._states(row):
                self._move(table, row.column + end - running, target)
        if row.column == target:
            row.accepted = 1

    def _attend(self, spec: Any, table: list[int], row: _Row, end: int) -> None:
        """Check the keys and values of every token before ``end`` that the layer sees."""
        size = spec.block_size
        window = getattr(spec, "sliding_window", None)
        start = max(0, end - window + 1) if window else 0
        for place in range(start // size, -(-end // size)):
            low, high = max(start, place * size), min(end, place * size + size)
            held = self.memory.get(table[place])
            part = held[low % size : low % size + high - low] if isinstance(held, list) else None
            if part != row.marks[low + 1 : high + 1]:
                raise WrongRead(f"tokens {low} to {high} are not those of the request")

    def _keep(self, spec: Any, table: list[int], first: int, marks: list[int]) -> None:
        size = spec.block_size
        for place in range(first // size, (first + len(marks) - 1) // size + 1):
            held = self.memory.get(table[place])
            if not isinstance(held, list) or len(held) != size:
                held = self.memory[table[place]] = [0] * size
            low = max(first, place * size)
            high = min(first + len(marks), place * size + size)
            held[low % size : low % size + high - low] = marks[low - first : high - first]


def _model_state(cache: Any) -> Any:
    """Return vLLM's own V2 model state with what its ``add_request`` reads, for one request."""
    import torch
    from vllm.v1.worker.gpu.model_states.mamba_hybrid import MambaHybridModelState

    state = object.__new__(MambaHybridModelState)
    state.rope_state = None
    state.cache_config = cache
    state.num_accepted_tokens_gpu = torch.ones(1, dtype=torch.int32)
    state._align_mode = True
    state._mamba_state_idx_gpu = torch.zeros(1, dtype=torch.int32)
    return state
