"""What a memory plan is computed from: the settings of one server, without the model."""

from dataclasses import dataclass

from qwen3090.errors import UserError
from qwen3090.plan.formats import KVARN, KVFormat, kv_format

STATE_BYTES = {"fp16": 2, "bf16": 2, "fp32": 4}
SPECULATIONS = ("dflash2", "mtp", "none")
GROUPINGS = ("hybrid", "stock")
DEVICES = ("cuda", "cpu")


@dataclass(frozen=True)
class PlanInput:
    """The settings that decide the KV-cache pool; the names are those of the profiles.

    Attributes:
        context: longest request, in tokens (``--max-model-len``).
        seats: concurrent requests (``--max-num-seqs``).
        kv_format: format of the target's KV cache.
        drafter_kv_format: format of the drafter's; None inherits the target's.
        kv_bytes: bytes of the pool; None leaves it to ``gpu_memory_utilization``.
        prefix_cache: whether prefix caching is on (recurrent state in ``align`` mode).
        async_scheduling: whether two steps are in flight at once.
        speculation: ``dflash2``, ``mtp`` or ``none``.
        draft_tokens: tokens drafted a step; not read with ``none``.
        state_dtype: dtype of the recurrent state: fp16, bf16 or fp32.
        max_batched_tokens: tokens of one step (``--max-num-batched-tokens``).
        kv_groups: ``hybrid`` with the patch series, ``stock`` without it.
        attention_backend: backend of the target; None takes the format's own.
        drafter_backend: backend of the drafter; None takes its format's own.
        device: ``cuda`` or ``cpu``.
        gpu_memory_utilization: share of the card that vLLM may fill, when kv_bytes is unset.
        graph_bytes: bytes for CUDA graphs; None takes the estimate (``graphs.py``).
        eager: whether there are no CUDA graphs.
        int8_activations: linear layers with int8 activations: ``none``, ``mlp`` or ``all``.
    """

    context: int = 65536
    seats: int = 8
    kv_format: str = "bf16"
    drafter_kv_format: str | None = None
    kv_bytes: int | None = 5_583_457_484
    prefix_cache: bool = True
    async_scheduling: bool = True
    speculation: str = "dflash2"
    draft_tokens: int = 7
    state_dtype: str = "fp16"
    max_batched_tokens: int = 2048
    kv_groups: str = "hybrid"
    attention_backend: str | None = None
    drafter_backend: str | None = None
    device: str = "cuda"
    gpu_memory_utilization: float = 0.93
    graph_bytes: int | None = None
    eager: bool = False
    int8_activations: str = "none"

    def __post_init__(self) -> None:
        """Check every value; raise UserError naming the first that is wrong."""
        for key in ("context", "seats", "max_batched_tokens"):
            if getattr(self, key) < 1:
                raise UserError(f"{key} is {getattr(self, key)}", f"set {key} to at least 1")
        if self.kv_bytes is not None and self.kv_bytes < 1:
            raise UserError(f"kv_bytes is {self.kv_bytes}", "set kv_bytes to a size, or unset it")
        if not 0 < self.gpu_memory_utilization <= 1:
            raise UserError(
                f"gpu_memory_utilization is {self.gpu_memory_utilization}",
                "set gpu_memory_utilization above 0 and at most 1",
            )
        self._one_of("speculation", SPECULATIONS)
        self._one_of("state_dtype", tuple(STATE_BYTES))
        self._one_of("kv_groups", GROUPINGS)
        self._one_of("device", DEVICES)
        if self.draft_tokens < 0:
            raise UserError(f"draft_tokens is {self.draft_tokens}", "set draft_tokens to 0 or more")
        if self.kv_bytes is None and self.device == "cpu":
            raise UserError(
                "kv_bytes is unset on the CPU, where the pool has no other measure",
                "set kv_bytes (the engine then gets VLLM_CPU_KVCACHE_SPACE)",
            )
        kv_format(self.kv_format)
        if self.drafter_kv_format is not None:
            kv_format(self.drafter_kv_format, "drafter_kv_format")

    def _one_of(self, key: str, allowed: tuple[str, ...]) -> None:
        value = getattr(self, key)
        if value not in allowed:
            raise UserError(f"{key} is '{value}'", f"set {key} to one of: {', '.join(allowed)}")

    @property
    def k(self) -> int:
        """Tokens drafted a step; 0 without speculation."""
        return 0 if self.speculation == "none" else self.draft_tokens

    @property
    def target_format(self) -> KVFormat:
        """The target's KV format."""
        return kv_format(self.kv_format)

    @property
    def drafter_format(self) -> KVFormat:
        """The drafter's KV format: its own setting, or the target's (bf16 beside KVarN)."""
        if self.drafter_kv_format is not None:
            return kv_format(self.drafter_kv_format, "drafter_kv_format")
        return kv_format("bf16") if self.target_format.name == KVARN else self.target_format

    @property
    def target_backend(self) -> str:
        """The attention backend of the target's layers."""
        if self.device == "cpu":
            return "CPU_ATTN"
        return self.attention_backend or self.target_format.backend

    @property
    def draft_backend(self) -> str:
        """The attention backend of the drafter's layers."""
        if self.device == "cpu":
            return "CPU_ATTN"
        return self.drafter_backend or self.drafter_format.backend

    @property
    def batches_in_flight(self) -> int:
        """Steps scheduled at once: ``VllmConfig.max_concurrent_batches`` on one card."""
        return 2 if self.async_scheduling else 1

    @property
    def in_flight_tokens(self) -> int:
        """Tokens scheduled but not settled: ``VllmConfig.max_in_flight_tokens``."""
        return self.batches_in_flight * self.max_batched_tokens

    @property
    def lookahead_tokens(self) -> int:
        """Slots that drafting writes past the scheduled tokens (``num_lookahead_tokens``)."""
        return self.k + 1 if self.speculation == "dflash2" else self.k
