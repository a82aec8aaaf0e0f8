"""Where the card's bytes go: weights, drafter, pool, graphs, transients; estimates are marked.

The pool is exact; the rest is not the engine's arithmetic but sizes of files and figures
published for this model on one RTX 3090. It is shown for orientation and sizes the pool only
when ``kv_bytes`` is unset.
"""

from dataclasses import dataclass
from pathlib import Path

from qwen3090 import smi
from qwen3090.errors import UserError
from qwen3090.models.headers import read_header
from qwen3090.plan.formats import kv_format
from qwen3090.plan.graphs import graph_bytes
from qwen3090.plan.inputs import PlanInput

GIB = 2**30
CARD_BYTES = int(23.6 * GIB)  # what a 24 GB card leaves to CUDA
CONTEXT_BYTES = 220_000_000  # CUDA context and libraries
TRANSIENT_BYTES = int(1.09 * GIB)  # activation peak of 2,048-token steps
# int8 activations: the widest input of a step (17,408 values) a second time, and a scale a token.
INT8_BYTES_PER_TOKEN = 17_408 + 4
# What prefill over an int8 or int4 cache unpacks at a time: K and V of 8,192 tokens, 4 heads of 256
# in bf16 (qwen3090_ops/attention/prefill.py; a test compares).
UNPACKED_BYTES = 33_554_432
# Tensor bytes of the prepared checkpoints without vision tower and MTP module, and of MTP.
WEIGHT_BYTES = {"fast": 14_542_902_560, "base": 15_178_601_760}
MTP_BYTES = {"fast": 327_158_928, "base": 644_353_168}
DRAFTER_BYTES = 1_280_617_536
DRAFTER_EXTRA_BYTES = 104_857_600  # its dense context projection in bf16, made at load time


@dataclass(frozen=True)
class Item:
    """One share of the card.

    Attributes:
        name: what takes it.
        size: bytes; None when no figure is known.
        estimated: whether it is an estimate.
        note: where the figure comes from.
    """

    name: str
    size: int | None
    estimated: bool
    note: str


def card_bytes() -> int | None:
    """Return the first visible card's memory in bytes as nvidia-smi names it, None without one."""
    try:
        rows = smi.query(["memory.total"], timeout=10)
    except smi.SmiError:
        return None
    total = smi.number(rows[0]["memory.total"]) if rows else None
    return None if total is None else int(total) * smi.MIB


def checkpoint_bytes(directory: Path, *, mtp: bool) -> int:
    """Return the tensor bytes that serving a checkpoint loads, from the shards' headers.

    The vision tower is left out, and the MTP module unless ``mtp``.

    Raises:
        UserError: no shard, or one is damaged.
    """
    shards = sorted(directory.glob("*.safetensors"))
    if not shards:
        raise UserError(
            f"{directory} holds no *.safetensors file", "give a checkpoint: --model DIR"
        )
    total = 0
    for shard in shards:
        try:
            header = read_header(shard)
        except OSError as error:
            raise UserError(f"cannot read {shard}: {error.strerror}", f"ls -l {shard}") from error
        if isinstance(header, str):
            raise UserError(f"{shard}: {header}", "fetch it again: qwen3090 models fetch")
        total += sum(
            end - begin
            for name, (begin, end) in header.items()
            if ".visual." not in f".{name}" and (mtp or not name.startswith("mtp."))
        )
    return total


def weight_items(
    inputs: PlanInput, variant: str, model: Path | None, drafter: Path | None
) -> list[Item]:
    """Return what is loaded: the target and, when used, MTP module or drafter.

    Args:
        inputs: the settings.
        variant: ``fast`` or ``base``, for the built-in figures.
        model, drafter: checkpoints to read; None takes the built-in figures.

    Raises:
        UserError: a given checkpoint cannot be read.
    """
    builtin = "published sizes"
    mtp = inputs.speculation == "mtp"
    if model is not None:
        items = [Item("weights", checkpoint_bytes(model, mtp=mtp), True, f"headers of {model}")]
    else:
        size = WEIGHT_BYTES[variant] + (MTP_BYTES[variant] if mtp else 0)
        items = [Item("weights", size, True, f"{builtin}, {variant} variant")]
    if inputs.speculation == "dflash2":
        size = checkpoint_bytes(drafter, mtp=True) if drafter is not None else DRAFTER_BYTES
        note = f"headers of {drafter}" if drafter is not None else builtin
        extra = 0 if drafter is not None else DRAFTER_EXTRA_BYTES
        items.append(Item("drafter", size + extra, True, note))
    return items


def graph_item(inputs: PlanInput) -> Item:
    """Return the share of CUDA graphs: none, the setting, or the published figure."""
    if inputs.eager:
        return Item("graphs", 0, False, "eager")
    if inputs.graph_bytes is not None:
        return Item("graphs", inputs.graph_bytes, True, "graph_bytes")
    return Item("graphs", graph_bytes(inputs.k), True, "published for DFlash2")


def transient_item(inputs: PlanInput) -> Item:
    """Return what one step takes beside weights and pool."""
    size, notes = TRANSIENT_BYTES, ["published peak; 1.96 GiB at a first start"]
    if inputs.int8_activations != "none":
        size += inputs.max_batched_tokens * INT8_BYTES_PER_TOKEN
        notes.append("int8 inputs added")
    if inputs.device == "cuda" and kv_format(inputs.kv_format).name in ("int8", "int4"):
        size += UNPACKED_BYTES
        notes.append("unpacked context added")
    return Item("transients", size, True, "; ".join(notes))


def pool_estimate(inputs: PlanInput, weights: list[Item], card: int) -> int:
    """Return the bytes that vLLM would about leave to the pool at ``gpu_memory_utilization``.

    Its own profiling varies by about 1 GiB from start to start.
    """
    shares = [*weights, graph_item(inputs), transient_item(inputs)]
    taken = sum(item.size or 0 for item in shares) + CONTEXT_BYTES
    return max(0, int(card * inputs.gpu_memory_utilization) - taken)


def budget(inputs: PlanInput, weights: list[Item], pool: int, card: int) -> list[Item]:
    """Return every share, the remainder last (negative when the card is too small)."""
    pool_note = "kv_bytes" if inputs.kv_bytes is not None else "from gpu_memory_utilization"
    items = [
        *weights,
        Item("pool", pool, inputs.kv_bytes is None, pool_note),
        graph_item(inputs),
        transient_item(inputs),
        Item("CUDA context", CONTEXT_BYTES, True, "published"),
    ]
    left = card - sum(item.size or 0 for item in items)
    return [*items, Item("left", left, True, f"of {card / GIB:.2f} GiB")]
