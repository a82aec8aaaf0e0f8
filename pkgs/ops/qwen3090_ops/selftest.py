"""Says which of our hooks are active, by asking vLLM's registries: `qwen3090 verify` prints it.

Run as `python -m qwen3090_ops.selftest` it prints the list as JSON and exits 1 when one is missing.
Nothing here trusts a flag of ours: each answer comes from what vLLM would do.
"""

import json
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TypedDict

from qwen3090_ops import prefix_hooks as prefix
from qwen3090_ops.sampling import hooks as sampling


class Hook(TypedDict):
    """One hook: its name, whether it is active, and what was found."""

    name: str
    active: bool
    detail: str


def _entry_point() -> tuple[bool, str]:
    found = [e for e in entry_points(group="vllm.general_plugins") if e.name == "qwen3090"]
    if not found:
        return False, "no entry point 'qwen3090' in vllm.general_plugins; run `make setup`"
    if len({e.value for e in found}) > 1:
        return False, f"several entry points: {sorted(e.value for e in found)}"
    from qwen3090_ops import plugin

    return found[0].load() is plugin.register, f"vllm.general_plugins: {found[0].value}"


def _vllm_version() -> tuple[bool, str]:
    import vllm

    from qwen3090_ops.version import require_vllm

    require_vllm()
    return True, f"vLLM {vllm.__version__}"


def _plugin_runs() -> tuple[bool, str]:
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    return True, "vLLM's plugin loader ran without an error"


def _cpu_linear() -> tuple[bool, str]:
    import torch
    from vllm.model_executor.kernels.linear import MPLinearLayerConfig, choose_mp_linear_kernel
    from vllm.platforms import current_platform
    from vllm.scalar_type import scalar_types

    if not current_platform.is_cpu():
        return True, "not needed: the platform is no CPU"
    kernel = choose_mp_linear_kernel(
        MPLinearLayerConfig(
            full_weight_shape=(256, 64),
            partition_weight_shape=(256, 64),
            weight_type=scalar_types.uint8b128,
            act_type=torch.bfloat16,
            group_size=128,
            zero_points=False,
            has_g_idx=False,
        )
    )
    ours = kernel.__module__.startswith("qwen3090_ops.")
    return ours, f"8-bit group-128 linears: {kernel.__module__}.{kernel.__name__}"


def _int8_activations() -> tuple[bool, str]:
    from types import SimpleNamespace

    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor.layers.quantization.utils.marlin_utils import get_marlin_input_dtype

    config = VllmConfig(additional_config={"qwen3090": {"int8_activations": "mlp"}})
    text = SimpleNamespace(num_hidden_layers=64)
    config.model_config = SimpleNamespace(hf_text_config=text)
    names = ("model.layers.3.mlp.gate_up_proj", "model.layers.3.self_attn.qkv_proj", "lm_head")
    with set_current_vllm_config(config, check_compile=False):
        found = [get_marlin_input_dtype(name) for name in names]
    detail = ", ".join(f"{name} {dtype}" for name, dtype in zip(names, found, strict=True))
    return [str(dtype) for dtype in found] == ["torch.int8", "None", "None"], detail


def _progress() -> tuple[bool, str]:
    """Whether vLLM takes our schedulers; that they tell, the supervisor checks at each start."""
    from vllm.config import SchedulerConfig
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler

    from qwen3090_ops import scheduler

    found = []
    for name, base in (
        ("ProgressScheduler", Scheduler),
        ("ProgressAsyncScheduler", AsyncScheduler),
    ):
        config = SchedulerConfig.default_factory(scheduler_cls=f"{scheduler.__name__}.{name}")
        chosen = config.get_scheduler_cls()
        absent = [event for event in scheduler.EVENTS if not callable(getattr(base, event, None))]
        if not issubclass(chosen, base) or absent:
            return False, f"{name}: not a {base.__name__} with {', '.join(absent) or 'its base'}"
        found.append(name)
    return True, f"--scheduler-cls: {', '.join(found)}"


def _api_guard() -> tuple[bool, str]:
    from qwen3090_ops.api.selfcheck import denies

    return denies()


def _request_counts() -> tuple[bool, str]:
    from vllm.v1.metrics.loggers import load_stat_logger_plugin_factories

    from qwen3090_ops.api.stats import RequestStats

    found = RequestStats in load_stat_logger_plugin_factories()
    return found, f"vllm.stat_logger_plugins: {'' if found else 'no '}{RequestStats.__name__}"


def _parsers() -> tuple[bool, str]:
    from vllm.parser import ParserManager

    from qwen3090_ops.plugin import PARSER
    from qwen3090_ops.tool_calls import DemandingParser

    found = ParserManager.get_parser(PARSER, PARSER, enable_auto_tools=True)
    name = f"{found.__module__}.{found.__name__}" if found else "none"
    return found is DemandingParser, f"tool and reasoning parser {PARSER}: {name}"


def _split_attention() -> tuple[bool, str]:
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    from qwen3090_ops import plugin

    plugin.register()
    path = AttentionBackendEnum.FLASH_ATTN.get_path()
    return path == plugin.FLASH_ATTENTION, f"FLASH_ATTN: {path}"


def _quantized_attention() -> tuple[bool, str]:
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    from qwen3090_ops import plugin

    plugin.register()
    found = AttentionBackendEnum.TRITON_ATTN.get_class()  # vLLM imports it when a layer is made
    path = f"{found.__module__}.{found.__qualname__}"
    return path == plugin.TRITON_ATTENTION, f"TRITON_ATTN: {path}"


_HOOKS: dict[str, Callable[[], tuple[bool, str]]] = {
    "vllm-version": _vllm_version,
    "entry-point": _entry_point,
    "plugin-loads": _plugin_runs,
    "cpu-linear-kernel": _cpu_linear,
    "api-guard": _api_guard,
    "request-counts": _request_counts,
    "parsers": _parsers,
    "progress": _progress,
    "int8-activations": _int8_activations,
    "split-attention": _split_attention,
    "quantized-attention": _quantized_attention,
    "prefix-chunks": prefix.chunk_ends,
    "prefix-resume": prefix.resumes,
    "prefix-tails": prefix.tails,
    "small-top-k": sampling.small_top_k,
    "draft-truncation": sampling.draft_truncation,
    "selector-truncation": sampling.selector_truncation,
    "candidate-top-k": sampling.candidate_top_k,
}


def selftest() -> list[Hook]:
    """Return every hook; an error while asking makes it inactive, with the error as the detail."""
    hooks: list[Hook] = []
    for name, ask in _HOOKS.items():
        try:
            active, detail = ask()
        except Exception as error:
            active, detail = False, f"{type(error).__name__}: {error}"
        hooks.append(Hook(name=name, active=active, detail=detail))
    return hooks


def main() -> int:
    """Print the hooks as JSON; 0 when all are active, else 1."""
    hooks = selftest()
    print(json.dumps(hooks, indent=2))
    return 0 if all(hook["active"] for hook in hooks) else 1


if __name__ == "__main__":
    sys.exit(main())
