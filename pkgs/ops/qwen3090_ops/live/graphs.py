"""CUDA graphs that were captured, for the target and for what drafts.

V2: each ``CudaGraphManager`` keeps its full graphs in ``graphs`` and what it captured by mode in
``_capture_descs`` (vllm/v1/worker/gpu/cudagraph_utils.py:129, :136); a speculator has one manager
or two (dflash/speculator.py:99, autoregressive/speculator.py:43). V1: ``cudagraph_dispatcher``.
"""

from typing import Any

from qwen3090_ops.live.parts import is_v2, speculator


def graphs(worker: Any) -> dict[str, Any]:
    """Return mode, capture sizes (tokens) and, per user, the captured shapes.

    A shape is ``{"tokens": n, "query": q}``: ``query`` tokens of each request where the graph is
    for equal requests alone, else None.
    """
    runner = worker.model_runner
    config = runner.compilation_config
    drafter = _managers(speculator(runner)) if is_v2(runner) else {}
    return {
        "mode": config.cudagraph_mode.name if config.cudagraph_mode is not None else "NONE",
        "sizes": sorted(config.cudagraph_capture_sizes or []),
        "target": _v2(runner.cudagraph_manager) if is_v2(runner) else _v1(runner),
        "drafter": drafter,
    }


def _managers(thing: Any) -> dict[str, Any]:
    """Return what each graph manager of a speculator captured."""
    from vllm.v1.worker.gpu.cudagraph_utils import CudaGraphManager

    held = vars(thing).items() if thing is not None else ()
    return {name: _v2(each) for name, each in held if isinstance(each, CudaGraphManager)}


def _v2(manager: Any) -> dict[str, Any]:
    if manager is None or not manager._graphs_captured:
        return {}
    by_mode = {mode.name: list(descs) for mode, descs in manager._capture_descs.items()}
    if "FULL" in by_mode:
        by_mode["FULL"] = list(manager.graphs)
    return {mode: _shapes(descs, "uniform_token_count") for mode, descs in by_mode.items()}


def _v1(runner: Any) -> dict[str, Any]:
    keys = runner.cudagraph_dispatcher.cudagraph_keys
    query = runner.cudagraph_dispatcher.uniform_decode_query_len
    found = {}
    for mode, descs in keys.items():
        shapes = [(d.num_tokens, query if getattr(d, "uniform", False) else None) for d in descs]
        if shapes:
            found[mode.name] = _sorted(shapes)
    return found


def _shapes(descs: list[Any], query: str) -> list[dict[str, int | None]]:
    return _sorted([(desc.num_tokens, getattr(desc, query, None)) for desc in descs])


def _sorted(shapes: list[tuple[int, int | None]]) -> list[dict[str, int | None]]:
    ordered = sorted(set(shapes), key=lambda shape: (shape[0], shape[1] or 0))
    return [{"tokens": tokens, "query": query} for tokens, query in ordered]
