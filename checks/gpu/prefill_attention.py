"""Times and checks prefill attention over quantized caches against FlashAttention-2 over bf16.

usage: prefill_attention.py [--tokens 2048] [--room 8192] [--tune]

One layer of the published model: 24 query and 4 KV heads of 256; 2,048 new tokens after 0, 16,384
and 63,488 cached ones, in blocks in random order. FlashAttention-2 reads a bf16 cache packed K|V,
as FLASH_ATTN does; ours reads the int8 or int4 cache that vLLM's own kernels have stored. Ratios
are our time over FlashAttention-2's. Errors are ‖out − ref‖ / ‖ref‖ on sampled tokens against
fp64: `of what is stored` from the values that the cache holds, `in all` from the unquantized ones.
Stock is vLLM's TRITON_ATTN over the same int8 cache. --tune tries other sizes of the scratch.
Exit status 1: an error of what is stored above 2 % (unpacked values and rotated queries are rounded
to bf16, so int4 makes about 1 %).
"""

import argparse
import itertools
import sys
from dataclasses import dataclass
from typing import Any

import torch
import triton
from qwen3090_ops.attention.batches import arrange
from qwen3090_ops.attention.flash import flash_attention
from qwen3090_ops.attention.formats import FORMATS, INT8, Format, words
from qwen3090_ops.attention.prefill import CONTEXT_TOKENS, Context, prefill
from qwen3090_ops.attention.unpack import unpack
from vllm.v1.attention.backends.triton_attn import TritonAttentionImpl, TritonAttentionMetadata
from vllm.vllm_flash_attn import flash_attn_varlen_func

HEADS, KV_HEADS, DIM = 24, 4, 256
SCALE = DIM**-0.5
PAGES = {"bf16": 448, "int8": 864, "int4": 1696}
SAMPLES = 6
LIMIT = 0.02


@dataclass(frozen=True)
class Tokens:
    """A request: ``new`` tokens after ``context``; k, v of all, q of the new ones."""

    context: int
    new: int
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor

    @classmethod
    def make(cls, context: int, new: int) -> "Tokens":
        def heads(tokens: int, count: int) -> torch.Tensor:
            return torch.randn(tokens, count, DIM, device="cuda", dtype=torch.bfloat16)

        # longer queries than a model's: the softmax is not flat
        q, length = 4 * heads(new, HEADS), context + new
        return cls(context, new, q, heads(length, KV_HEADS), heads(length, KV_HEADS))

    @property
    def length(self) -> int:
        return self.context + self.new

    @property
    def starts(self) -> torch.Tensor:
        return torch.tensor([0, self.new], dtype=torch.int32, device="cuda")

    @property
    def lengths(self) -> torch.Tensor:
        return torch.tensor([self.length], dtype=torch.int32, device="cuda")

    def table(self, page: int) -> torch.Tensor:
        """Return the request's blocks in random order; block 0 is nobody's."""
        order = torch.randperm(-(-self.length // page), device="cuda") + 1
        return order[None].to(torch.int32)

    def slots(self, table: torch.Tensor, page: int) -> torch.Tensor:
        place = torch.arange(self.length, device="cuda")
        return table[0][place // page].long() * page + place % page

    def error(self, out: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> float:
        """Return the error of ``out`` against fp64 on sampled tokens, given K and V of all."""
        picked = torch.linspace(0, self.new - 1, SAMPLES, device="cuda").long()
        found = []
        for token in picked.tolist():
            seen = self.context + token + 1
            q = self.q[token].double().view(KV_HEADS, -1, DIM)
            scores = torch.einsum("hgd,shd->hgs", q, keys[:seen].double()) * SCALE
            found.append(torch.einsum("hgs,shd->hgd", scores.softmax(-1), values[:seen].double()))
        expected = torch.stack(found).view(SAMPLES, HEADS, DIM)
        return float((out[picked].double() - expected).norm() / expected.norm())


class Flash:
    """FlashAttention-2 over a bf16 cache, as vLLM's FLASH_ATTN calls it."""

    def __init__(self, tokens: Tokens) -> None:
        page = PAGES["bf16"]
        self.tokens, self.table = tokens, tokens.table(page)
        shape = (self.table.shape[1] + 1, page, KV_HEADS, 2 * DIM)
        packed = torch.zeros(shape, device="cuda", dtype=torch.bfloat16)
        both = torch.cat([tokens.k, tokens.v], -1)
        packed.flatten(0, 1)[tokens.slots(self.table, page)] = both
        self.key, self.value = packed[..., :DIM], packed[..., DIM:]
        self.out = torch.empty_like(tokens.q)
        self.starts, self.lengths = tokens.starts, tokens.lengths

    def __call__(self) -> None:
        flash_attn_varlen_func(
            q=self.tokens.q,
            k=self.key,
            v=self.value,
            out=self.out,
            cu_seqlens_q=self.starts,
            max_seqlen_q=self.tokens.new,
            seqused_k=self.lengths,
            max_seqlen_k=self.tokens.length,
            softmax_scale=SCALE,
            causal=True,
            block_table=self.table,
            fa_version=2,
        )


class Quantized:
    """Ours, and vLLM's, over one cache that vLLM's own kernels have filled."""

    def __init__(self, tokens: Tokens, form: Format) -> None:
        page = PAGES[form.name]
        self.tokens, self.form, self.table = tokens, form, tokens.table(page)
        size = 2 * (4 * DIM // form.values + 4)
        kind = torch.int8 if form is INT8 else torch.uint8
        shape = (self.table.shape[1] + 1, page, KV_HEADS, size)
        self.cache = torch.zeros(shape, device="cuda", dtype=kind).transpose(1, 2)
        self.impl = TritonAttentionImpl(HEADS, DIM, SCALE, KV_HEADS, None, None, form.cache_dtype)
        slots = tokens.slots(self.table, page)
        self.impl.do_kv_cache_update(None, tokens.k, tokens.v, self.cache, slots)
        self.out = torch.empty_like(tokens.q)
        self.new = tokens.k[tokens.context :], tokens.v[tokens.context :]
        flash = flash_attention(DIM, SCALE, version=2)
        assert flash is not None
        self.flash = flash
        self.resize(CONTEXT_TOKENS)

    def resize(self, room: int) -> None:
        """Take a scratch of ``room`` tokens."""
        device = self.out.device
        self.context = Context.make(KV_HEADS, DIM, torch.bfloat16, device, room)
        batch = arrange(
            torch.tensor([0, self.tokens.new]),
            torch.tensor([self.tokens.length]),
            self.tokens.starts,
            longest=self.tokens.new,
            widths=(1, 8),
            room=room,
        )
        assert batch is not None
        (self.prompt,) = batch.prompts

    def __call__(self) -> None:
        prefill(
            self.tokens.q,
            *self.new,
            words(self.cache),
            self.table,
            self.out,
            prompt=self.prompt,
            context=self.context,
            flash=self.flash,
            form=self.form,
        )

    def unpack(self) -> None:
        """Unpack one part of the context."""
        count = self.prompt.chunks[0].count
        room = self.context.keys, self.context.values
        unpack(words(self.cache), self.table, 0, 0, count, *room, self.form)

    def stock(self) -> Any:
        """Return what runs vLLM's kernel; its segments are for single tokens alone."""
        empty = torch.empty(0, device="cuda")
        metadata = TritonAttentionMetadata(
            num_actual_tokens=self.tokens.new,
            max_query_len=self.tokens.new,
            query_start_loc=self.tokens.starts,
            max_seq_len=self.tokens.length,
            seq_lens=self.tokens.lengths,
            block_table=self.table,
            slot_mapping=empty,
            seq_threshold_3D=0,
            num_par_softmax_segments=16,
            softmax_segm_output=empty,
            softmax_segm_max=empty,
            softmax_segm_expsum=empty,
            causal=True,
            use_cascade=False,
            common_prefix_len=0,
            cu_prefix_query_lens=None,
            prefix_kv_lens=None,
            suffix_kv_lens=None,
        )
        layer = torch.nn.Module()
        return lambda: self.impl.forward(
            layer, self.tokens.q, *self.new, self.cache, metadata, self.out
        )

    def stored(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return K and V of all tokens in the model's space: the context's from the cache."""
        slots = self.tokens.slots(self.table, self.cache.shape[2])[: self.tokens.context]
        rows = self.cache.transpose(1, 2).flatten(0, 1)[slots]
        sides = rows.split(rows.shape[-1] // 2, dim=-1)
        raw = self.tokens.k, self.tokens.v
        return tuple(
            torch.cat([decode(side, self.form), whole[self.tokens.context :].double()])
            for side, whole in zip(sides, raw, strict=True)
        )


def decode(side: torch.Tensor, form: Format) -> torch.Tensor:
    """Return fp64 values in the model's space of cached bytes: data, then an fp32 scale."""
    data, scale = side[..., :-4].contiguous(), side[..., -4:].contiguous().view(torch.int32)
    if form is INT8:
        return data.double() * scale.view(torch.float32).double()
    from vllm.v1.attention.ops.int4_per_token_head import single_rht

    nibbles = torch.stack([data & 15, data >> 4], -1).flatten(-2)
    values = (nibbles.double() - (scale & 15)) * (scale & -16).view(torch.float32).double()
    # the transform's inverse as a matrix: vLLM's CUDA path would round the values to bf16
    inverse = single_rht(torch.eye(DIM, device=side.device), inverse=True).sign().double()
    return values @ inverse / DIM


def micros(run: Any) -> float:
    return 1e3 * float(triton.testing.do_bench(run, warmup=10, rep=60, return_mode="median"))


def tune(tokens: Tokens) -> None:
    for form, room in itertools.product(FORMATS.values(), (4_096, 8_192, 16_384, 32_768)):
        ours = Quantized(tokens, form)
        ours.resize(room)
        print(f"TUNE {form.name} room {room:6}: {micros(ours):9.1f} us", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=2_048)
    parser.add_argument("--room", type=int, default=CONTEXT_TOKENS)
    parser.add_argument("--tune", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, room {given.room}, {given.tokens} new tokens")
    print("cached | kernel | us | ratio | unpack us | error of what is stored | in all", flush=True)
    good = True
    for context in (0, 16_384, 63_488):
        tokens = Tokens.make(context, given.tokens)
        flash = Flash(tokens)
        flash()
        raw = tokens.k, tokens.v
        base, error = micros(flash), tokens.error(flash.out, *raw)
        print(f"{context:6} | FA2 bf16 | {base:9.1f} | 1.000 | - | - | {error:.1e}", flush=True)
        for form in FORMATS.values():
            ours = Quantized(tokens, form)
            ours.resize(given.room)
            ours()
            errors = tokens.error(ours.out, *ours.stored()), tokens.error(ours.out, *raw)
            good = good and errors[0] < LIMIT
            time = micros(ours)
            part = f"{micros(ours.unpack):.1f}" if context else "-"
            print(
                f"{context:6} | ours {form.name} | {time:9.1f} | {time / base:.3f} | {part} | "
                f"{errors[0]:.1e} | {errors[1]:.1e}",
                flush=True,
            )
            if context == 16_384 and form is INT8:
                stock = ours.stock()
                stock()
                errors = tokens.error(ours.out, *ours.stored()), tokens.error(ours.out, *raw)
                time = micros(stock)
                print(
                    f"{context:6} | stock int8 | {time:9.1f} | {time / base:.3f} | - | "
                    f"{errors[0]:.1e} | {errors[1]:.1e}",
                    flush=True,
                )
    if given.tune:
        tune(Tokens.make(63_488, given.tokens))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
