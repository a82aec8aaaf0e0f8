"""A CUDA graph's attention reads what each step wrote: metadata of its capture, values of now.

A replay runs the captured launches again. Here they run from the captured metadata, on vLLM's own
buffers, after vLLM's own kernels have written another step into them.
"""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from qwen3090_ops.attention import reference
from qwen3090_ops.attention.formats import INT4, INT8, Format, words
from vllm.v1.worker.gpu.block_table import BlockTables
from vllm.v1.worker.gpu.cudagraph_utils import prepare_inputs_to_capture
from vllm.v1.worker.gpu.input_batch import InputBuffers, prepare_pos_seq_lens
from vllm.v1.worker.gpu.model_states.mamba_hybrid import MambaHybridModelState
from vllm.v1.worker.gpu.spec_decode.autoregressive.speculator import (
    prepare_decode_inputs,
    update_draft_inputs,
)
from vllm.v1.worker.utils import AttentionGroup

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from quantized_batch import DIM, Made, make
from triton_layer import DRAFTS, HEADS, PAGE, Config, builder, impl, put_on_cpu, spec

FORMS = pytest.mark.parametrize("form", [INT8, INT4], ids=lambda form: form.name)
SEATS, LONGEST, VERIFY = 4, 4 * PAGE, DRAFTS + 1
CPU = torch.device("cpu")


class Runner:
    """vLLM's buffers of one card, and attention captured from them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, form: Format) -> None:
        config = Config.make(num_speculative_tokens=DRAFTS)
        self.layer = impl(monkeypatch, form.cache_dtype, config=config)
        kind = spec(form.cache_dtype)
        backend: Any = None  # only its builder is asked for
        self.group = AttentionGroup(
            backend, ["layer"], kind, 0, [builder(form.cache_dtype, config)]
        )
        self.groups = SimpleNamespace(kv_cache_groups=[self.group])
        self.tables = BlockTables([PAGE], SEATS, 64, [LONGEST // PAGE], CPU, [PAGE])
        self.target, self.drafter = InputBuffers(SEATS, 64, CPU), InputBuffers(SEATS, 64, CPU)
        self.state: Any = SimpleNamespace(max_model_len=LONGEST, vllm_config=config)
        self.state.prepare_attn = MambaHybridModelState.prepare_attn.__get__(self.state)

    def capture(self, rows: int, tokens: int, buffers: InputBuffers) -> Any:
        """Return the metadata that a graph of ``rows`` rows is captured with."""
        given: Any = self.groups
        found, _ = prepare_inputs_to_capture(
            rows,
            rows * tokens,
            self.state,
            buffers,
            self.tables,
            [[self.group]],
            given,
            full_cudagraph=True,
        )
        assert found is not None
        return found["layer"]

    def admit(self, made: Made, seats: list[int]) -> torch.Tensor:
        """Give requests their seats and blocks; return the seats in batch order."""
        self.tables.block_tables[0].gpu.zero_()
        self.tables.num_blocks.gpu.zero_()
        for seat, blocks in zip(seats, made.table, strict=True):
            self.tables.block_tables[0].gpu[seat, : len(blocks)] = blocks
            self.tables.num_blocks.gpu[0, seat] = len(blocks)
        return torch.tensor(seats)

    def attend(self, made: Made, metadata: Any, q: torch.Tensor) -> torch.Tensor:
        """Run what the graph runs; k and v are in the cache already."""
        out = torch.full_like(q, float("nan"))
        side = q[:, : made.kv_heads]
        return self.layer.forward(None, q, side, side, made.cache, metadata, out)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, uva: None, form: Format) -> Runner:
    put_on_cpu(monkeypatch)
    return Runner(monkeypatch, form)


def compare(out: torch.Tensor, q: torch.Tensor, made: Made, lengths: torch.Tensor) -> None:
    """Compare with attention over the cache, for requests with equally many new tokens."""
    count = len(lengths)
    starts = torch.arange(count + 1) * (q.shape[0] // count)
    stored = words(made.cache)
    expected = reference.attend_words(
        q, stored, made.table, lengths.int(), starts.int(), DIM**-0.5, made.form
    )
    assert (out.float() - expected).norm() / expected.norm() < 2e-3


@FORMS
def test_a_verify_graph(runner: Runner, form: Format) -> None:
    captured = runner.capture(3, VERIFY, runner.target)
    assert captured.seq_lens.tolist() == [1, 1, 1]
    for contexts, seats in ([37, 60], [3, 0]), ([20], [1]):
        made = make([(each, VERIFY) for each in contexts], form, page=PAGE, dtype=torch.float16)
        mapping, computed = runner.admit(made, seats), torch.full((SEATS,), 999)
        computed[mapping] = torch.tensor(contexts)
        tokens, places = made.q.shape[0], runner.target.query_start_loc
        places.fill_(tokens)  # as prepare_inputs pads them
        places[: len(seats) + 1] = made.starts
        prepare_pos_seq_lens(
            mapping, places[:4], computed, runner.target.positions, runner.target.seq_lens
        )
        runner.tables.gather_block_tables(mapping, num_reqs_padded=3)
        q = torch.randn(3 * VERIFY, HEADS, DIM, dtype=torch.float16)
        q[:tokens] = made.q
        out = runner.attend(made, captured, q)
        compare(out[:tokens], made.q, made, made.lengths)
        assert out[tokens:].all()  # no sums over nothing for rows of padding


@FORMS
def test_a_graph_of_all_drafts(runner: Runner, form: Format) -> None:
    """MTP captures its later drafts as one graph, whose metadata is made once."""
    captured = runner.capture(3, 1, runner.drafter)
    made = make([(37, 30), (90, 30)], form, page=PAGE, dtype=torch.float16)
    mapping = runner.admit(made, [2, 0])
    verified, rejected = torch.tensor([42, 95]), torch.tensor([3, 0])
    runner.drafter.positions[:2] = verified - rejected - 1
    drafts, draft = torch.zeros(SEATS, DRAFTS, dtype=torch.int64), torch.tensor([5, 6])
    runner.tables.gather_block_tables(mapping, num_reqs_padded=3)
    prepare_decode_inputs(drafts[:2, 0], verified, rejected, runner.drafter, LONGEST, SEATS)
    for step in range(1, DRAFTS):
        q = torch.randn(3, HEADS, DIM, dtype=torch.float16)
        out = runner.attend(made, captured, q)
        compare(out[:2], q[:2], made, verified - rejected + step)
        runner.group.update_draft_decode_metadata({"layer": captured})
        hidden = torch.zeros(3, 8)
        update_draft_inputs(
            draft,
            torch.tensor(step),
            hidden,
            drafts,
            hidden.clone(),
            runner.drafter,
            2,
            LONGEST,
            DRAFTS,
        )
