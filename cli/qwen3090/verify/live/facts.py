"""What the profile promises about a running engine, computed once from settings and checkpoint."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwen3090.config import ServeConfig
from qwen3090.errors import UserError
from qwen3090.plan import Plan
from qwen3090.serve.plan_gate import plan_input
from qwen3090.serve.render import CACHE_TYPES, PLUGIN, STATE_TYPES, render
from qwen3090.verify.plan import planned

Bits = dict[str, set[int | None]]


@dataclass(frozen=True)
class Promise:
    """What is expected.

    Attributes:
        config: the settings.
        plan: the memory plan, None where none can be made.
        series_hash: the series of this installation.
        backend, drafter_backend: vLLM's names of the attention backends.
        cache, drafter_cache: formats of the KV caches as vLLM spells them.
        state: dtype of the recurrent state.
        knobs: what ``--additional-config`` gives to our code.
        bits, drafter_bits: bits by last part of a module's name, as the checkpoint has them (None
            for one that is not packed); empty when the directory is not here.
        draft_vocabulary: tokens of the draft vocabulary; None when none is to be used.
    """

    config: ServeConfig
    plan: Plan | None
    series_hash: str
    backend: str
    drafter_backend: str
    cache: str
    drafter_cache: str
    state: str
    knobs: dict[str, Any]
    bits: Bits = field(default_factory=dict)
    drafter_bits: Bits = field(default_factory=dict)
    draft_vocabulary: int | None = None

    @property
    def target_split(self) -> bool:
        """Whether our attention kernels compute the target: verify steps, or a quantized cache."""
        c = self.config
        if c.device != "cuda" or not c.split_attention:
            return False
        if self.backend == "TRITON_ATTN":
            return c.kv_format in ("int8", "int4")
        return self.backend == "FLASH_ATTN" and c.speculation != "none"

    @property
    def drafter_split(self) -> bool:
        """Whether they compute the drafter: MTP's layer; DFlash2's have windows."""
        return self.target_split and self.config.speculation == "mtp"

    @property
    def query(self) -> int:
        """Tokens of a request in one decode step."""
        return (self.config.draft_tokens or 0) + 1


def promise(config: ServeConfig, series_hash: str) -> Promise:
    """Return what a server with these settings must use."""
    inputs = plan_input(config)
    try:
        plan = planned(config)
    except UserError:
        plan = None  # the check of the settings says so
    drafter_format = config.drafter_kv_format or config.kv_format
    # MTP's layer takes the target's backend; only a drafter of its own has another.
    own = config.speculation == "dflash2"
    return Promise(
        config=config,
        plan=plan,
        series_hash=series_hash,
        backend=inputs.target_backend,
        drafter_backend=inputs.draft_backend if own else inputs.target_backend,
        cache=CACHE_TYPES[config.kv_format],
        drafter_cache=CACHE_TYPES[drafter_format],
        state=STATE_TYPES[config.state_dtype],
        knobs=_knobs(config),
        bits=_bits(config.model, lambda module: not module.startswith("mtp.")),
        drafter_bits=_bits(config.drafter, lambda _: True)
        if own
        else _bits(config.model, lambda module: module.startswith("mtp.")),
        draft_vocabulary=_vocabulary(config),
    )


def _knobs(config: ServeConfig) -> dict[str, Any]:
    argv = render(config, {}).argv
    if "--additional-config" not in argv:
        return {}
    given = json.loads(argv[argv.index("--additional-config") + 1])
    found: dict[str, Any] = given.get(PLUGIN, {})
    return found


def _bits(directory: Path | None, wanted: Any) -> Bits:
    from qwen3090_prepare.checkpoint import load
    from qwen3090_prepare.errors import PrepareError
    from qwen3090_prepare.names import modules

    if directory is None or not directory.is_dir():
        return {}
    try:
        held = load(directory)
    except (PrepareError, OSError):
        return {}  # the check of the checkpoint says so
    from qwen3090.verify.checkpoint import packed_bits

    found: Bits = {}
    for module, parts in modules(held.tensors).items():
        if wanted(module) and "visual" not in module and parts & {"weight", "weight_packed"}:
            bits = packed_bits(held.tensors, held.config or {}, module)
            found.setdefault(module.rpartition(".")[2], set()).add(bits)
    return found


def _vocabulary(config: ServeConfig) -> int | None:
    from qwen3090_prepare.errors import PrepareError
    from qwen3090_prepare.names import DRAFT_IDS
    from qwen3090_prepare.vocab import read_ids

    path = config.model / DRAFT_IDS if config.model is not None else None
    used = config.speculation == "mtp" and config.mtp_draft_vocab
    if path is None or not used or not path.is_file():
        return None
    try:
        return int(read_ids(path, 2**31).size)
    except PrepareError:
        return None


def layers_with(bits: Bits, parts: Iterable[str]) -> set[int | None] | None:
    """Return the bits of the checkpoint's modules that make up a layer; None when none is known."""
    found = [bits[part] for part in parts if part in bits]
    return set().union(*found) if found else None
