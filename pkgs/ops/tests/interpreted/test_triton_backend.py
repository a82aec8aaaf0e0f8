"""TRITON_ATTN as we register it: what computes which row, and what stays vLLM's.

Steps are stored and attended like vLLM's: its store kernels, then forward, with metadata from our
builder; FlashAttention is a stand-in in torch.
"""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from qwen3090_ops.attention import triton_backend
from qwen3090_ops.attention.formats import FORMATS, INT4, INT8, Format
from vllm.v1.attention.backend import AttentionCGSupport, CommonAttentionMetadata
from vllm.v1.attention.backends.triton_attn import (
    TritonAttentionBackend,
    TritonAttentionImpl,
    TritonAttentionMetadataBuilder,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from quantized_batch import Made, make
from triton_layer import DRAFTS, HEADS, PAGE, Config, builder, impl, put_on_cpu, spec

FORMS = pytest.mark.parametrize("form", [INT8, INT4], ids=lambda form: form.name)


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_cpu(monkeypatch)


def common(
    made: Made, *, padding: int = 0, device: str = "cpu", drafts: int | None = DRAFTS, **more: Any
) -> Any:
    """Return a step's metadata as V2 makes it, with rows of padding as in a FULL graph."""
    rows, end = len(made.counts) + padding, int(made.starts[-1])
    starts = torch.cat([made.starts, torch.full((padding,), end, dtype=torch.int32)])
    zeros = torch.zeros(padding, dtype=torch.int32)
    lengths = torch.cat([made.lengths, zeros])
    rejected = torch.tensor([3 * bool(drafts and n <= drafts + 1) for n in made.counts])
    table = torch.cat([made.table, torch.zeros(padding, made.table.shape[1], dtype=torch.int32)])
    given = {
        "query_start_loc": starts.to(device),
        "query_start_loc_cpu": starts,
        "seq_lens": lengths.to(device),
        # decoding rows count drafts that were rejected: an upper bound
        "seq_lens_cpu_upper_bound": torch.cat([made.lengths + rejected, zeros]).int(),
        "num_reqs": rows,
        "num_actual_tokens": end,
        "max_query_len": max(made.counts),
        "max_seq_len": int(lengths.max()),
        "block_table_tensor": table.to(device),
        "slot_mapping": made.slots().to(device),
    }
    return CommonAttentionMetadata(**(given | more))


def step(
    monkeypatch: pytest.MonkeyPatch,
    made: Made,
    *,
    padding: int = 0,
    drafts: int | None = DRAFTS,
) -> torch.Tensor:
    """Store the new tokens by vLLM's kernels and attend; return the output with rows behind it."""
    config = Config.make(drafts)
    layer = impl(monkeypatch, made.form.cache_dtype, config=config)
    before = made.cache.clone()
    layer._ensure_scale_caches(made.cache)  # vLLM sets all scales to 1 when it first sees a cache
    made.cache.copy_(before)
    layer.do_kv_cache_update(None, made.k, made.v, made.cache, made.slots())
    given = common(made, padding=padding, drafts=drafts)
    metadata = builder(made.form.cache_dtype, config).build(0, given)
    assert metadata.batch is not None
    behind = [torch.cat([part, part.new_full((7, *part.shape[1:]), 9.0)]) for part in made.raw]
    out = torch.full_like(behind[0], float("nan"))
    assert layer.forward(None, *behind, made.cache, metadata, out) is out
    assert out[made.q.shape[0] :].isnan().all()
    return out[: made.q.shape[0]]


ROWS = {
    "verify": [(37, 5), (90, 2), (0, 5)],
    "prompts": [(70, 9), (0, 9), (0, 7), (31, 6)],
    "mixed": [(37, 5), (90, 1), (70, 9), (0, 7)],
    "a prompt's short end": [(37, 5), (64, 3), (0, 4), (33, 7)],
    "a prompt with drafts before": [(70, 9), (37, 5), (90, 1), (0, 7), (5, 1)],
}


@FORMS
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_steps(monkeypatch: pytest.MonkeyPatch, form: Format, rows: list[tuple[int, int]]) -> None:
    made = make(rows, form, page=PAGE, dtype=torch.float16)
    out = step(monkeypatch, made).float()
    short = [row for row, (_, new) in enumerate(rows) if new <= DRAFTS + 1]
    expected = made.expected(cached=short)
    assert (out - expected).norm() / expected.norm() < 2e-3
    torch.testing.assert_close(out, expected, atol=4e-3, rtol=2e-2)


@FORMS
def test_padded_rows_of_a_graph_are_nobodys(monkeypatch: pytest.MonkeyPatch, form: Format) -> None:
    made = make([(37, 5), (90, 5)], form, page=PAGE, dtype=torch.float16)
    out, expected = step(monkeypatch, made, padding=2).float(), made.expected(cached=[0, 1])
    assert (out - expected).norm() / expected.norm() < 2e-3


def test_without_speculation_a_row_of_two_tokens_is_a_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = make([(37, 1), (20, 2)], INT8, page=PAGE, dtype=torch.float16)
    out = step(monkeypatch, made, drafts=None).float()
    expected = made.expected(cached=[0])
    assert (out - expected).norm() / expected.norm() < 2e-3


def test_a_graph_captures_split_attention_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make([(0, 5)] * 3, INT8, page=PAGE, dtype=torch.float16)
    given = common(made, max_seq_len=1000)
    metadata = builder().build_for_cudagraph_capture(given)
    assert metadata.seq_lens.tolist() == [1, 1, 1]  # vLLM's; rows see less than they have tokens
    (run,) = metadata.batch.runs
    assert (run.first, run.end, run.begin, run.stop, run.tokens) == (0, 3, 0, 15, 5)
    assert run.starts.data_ptr() == given.query_start_loc.data_ptr()
    assert not metadata.batch.prompts
    out = torch.full_like(made.q, float("nan"))
    impl(monkeypatch).forward(None, *made.raw, made.cache, metadata, out)
    assert not out.isnan().any()


@pytest.mark.parametrize(
    ("rows", "launched"),
    [
        ([(37, 1), (50, 1)], [1]),
        ([(64, 3)], [5]),
        ([(37, 5), (90, 1)], [5]),
        ([(64, 3), (70, 9), (20, 1)], [5, 1]),
    ],
    ids=["drafts", "a prompt's end", "verify", "mixed"],
)
def test_a_step_launches_what_graphs_launch(
    rows: list[tuple[int, int]], launched: list[int]
) -> None:
    made = make(rows, INT8, page=PAGE)
    metadata = builder().build(0, common(made))
    assert [run.tokens for run in metadata.batch.runs] == launched


def test_graphs_of_fewer_drafts_are_launched_for_those() -> None:
    config = Config.make()
    assert triton_backend.widths(config) == (1, 5)
    config.speculative_config.num_speculative_tokens_per_batch_size = [(1, 3, 4), (4, 8, 2)]
    assert triton_backend.widths(config) == (1, 3, 5)
    made = make([(37, 3)] * 4, INT8, page=PAGE)
    (run,) = builder(config=config).build_for_cudagraph_capture(common(made)).batch.runs
    assert run.tokens == 3
    assert triton_backend.widths(Config.make(drafts=None)) == (1,)
    assert triton_backend.widths(Config.make(knob=False)) == ()


def test_the_host_waits_for_nothing() -> None:
    made = make([(37, 5), (70, 12), (0, 9)], INT8, page=PAGE)
    # a meta tensor has no values to wait for: reading one raises
    metadata = builder(device="meta").build(0, common(made, device="meta"))
    assert metadata.batch is not None
    assert {each.starts.device.type for each in metadata.batch.prompts} == {"meta"}
    assert [len(each.chunks) for each in metadata.batch.prompts] == [3, 0]


def test_the_metadata_of_drafts_is_updated_in_place() -> None:
    made = make([(37, 1), (50, 1)], INT8, page=PAGE)
    given = common(made)
    metadata = builder().build(0, given)
    builder().update_draft_decode_metadata(metadata)
    assert metadata.seq_lens.data_ptr() == given.seq_lens.data_ptr()
    assert [(run.first, run.end, run.tokens) for run in metadata.batch.runs] == [(0, 2, 1)]


STOCK: dict[str, dict[str, Any]] = {
    "window": {"sliding_window": 64},
    "soft cap": {"logits_soft_cap": 30.0},
    "sinks": {"sinks": torch.zeros(HEADS)},
    "alibi": {"alibi_slopes": [0.5] * HEADS},
    "shared cache": {"kv_sharing_target_layer_name": "other"},
    "chunked": {"chunk_lookback": 1},
    "bf16 cache": {"cache_dtype": "auto"},
    "fp8 cache": {"cache_dtype": "fp8_per_token_head"},
    "knob": {"config": Config.make(knob=False)},
    "small heads": {"head_size": 16},
    "more heads a KV head than rows of a tile": {"num_heads": 130},
    "too many drafts": {"config": Config.make(drafts=64)},
}


@pytest.mark.parametrize("given", STOCK.values(), ids=STOCK)
def test_what_is_left_to_vllm(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]) -> None:
    layer = impl(monkeypatch, **given)
    assert not layer.splits
    assert calls_of_vllm(monkeypatch, layer) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"causal": False},
        {"causal": torch.tensor([True])},
        {"seq_lens_cpu_upper_bound": None},
        {"mm_req_doc_ranges": {0: [(1, 3)]}},
    ],
    ids=["both ways", "causal by row", "unknown context", "prefix"],
)
def test_batches_that_are_left_to_vllm(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    layer = impl(monkeypatch)
    assert layer.splits
    assert calls_of_vllm(monkeypatch, layer) == 0
    assert calls_of_vllm(monkeypatch, layer, **changes) == 1


def test_quantized_output_is_left_to_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = impl(monkeypatch)
    assert calls_of_vllm(monkeypatch, layer, output_scale=torch.ones(1)) == 1


def calls_of_vllm(
    monkeypatch: pytest.MonkeyPatch,
    layer: triton_backend.SplitTritonImpl,
    output_scale: torch.Tensor | None = None,
    **changes: Any,
) -> int:
    """Return how often a step over one prompt reaches vLLM's forward."""
    calls: list[Any] = []

    def record(*args: Any) -> torch.Tensor:
        calls.append(args)
        return torch.empty(0)

    monkeypatch.setattr(TritonAttentionImpl, "forward", record)
    made = make([(37, 9)], INT8, page=PAGE, dtype=torch.float16)
    metadata = builder().build(0, common(made, **changes))
    out = torch.empty_like(made.q)
    layer.forward(None, *made.raw, made.cache, metadata, out, output_scale)
    return len(calls)


def test_the_memory_profile_has_no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make([(0, 9)], INT8, page=PAGE, dtype=torch.float16)
    out = torch.full_like(made.q, float("nan"))
    impl(monkeypatch).forward(None, *made.raw, torch.empty(0), None, out)
    assert not out.any()


def test_graphs_are_of_uniform_batches_where_ours_run() -> None:
    support = triton_backend.SplitTritonMetadataBuilder.get_cudagraph_support
    on, off = Config.make(), Config.make(knob=False)
    for cache_dtype in FORMATS:
        assert support(on, spec(cache_dtype)) == AttentionCGSupport.UNIFORM_BATCH
        assert support(off, spec(cache_dtype)) == AttentionCGSupport.ALWAYS
    assert support(on, spec("fp8_per_token_head")) == AttentionCGSupport.ALWAYS


def test_the_rest_is_vllms() -> None:
    backend = triton_backend.SplitTritonBackend
    assert backend.get_name() == "TRITON_ATTN"
    assert backend.get_builder_cls() is triton_backend.SplitTritonMetadataBuilder
    assert backend.get_builder_cls().supports_draft_decode_metadata_update
    own = {name for name in vars(backend) if not name.startswith("_")}
    assert own == {"get_impl_cls", "get_builder_cls"}
    for name in own:
        assert getattr(backend, name) is not getattr(TritonAttentionBackend, name)
    kept = ("do_kv_cache_update", "fused_output_quant_supported", "_ensure_scale_caches")
    for name in kept:
        assert getattr(backend.get_impl_cls(), name) is getattr(TritonAttentionImpl, name)
    update = TritonAttentionMetadataBuilder.update_draft_decode_metadata
    assert backend.get_builder_cls().update_draft_decode_metadata is update


def test_vllm_finds_it_by_its_name() -> None:
    from qwen3090_ops import plugin
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    plugin.register()
    assert AttentionBackendEnum.TRITON_ATTN.get_class() is triton_backend.SplitTritonBackend
