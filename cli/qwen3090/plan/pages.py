"""Gives all layers one page size: vLLM 0.28.0's rule, and before it the rule of patch 0301.

Mirrors ``unify_kv_cache_spec_page_size`` (v1/core/kv_cache_utils.py).
"""

from dataclasses import replace

from qwen3090.plan.specs import RECURRENT, WINDOW, LayerSpec, ceil_div


class PageError(Exception):
    """The pages cannot be made equal; vLLM refuses to start (NotImplementedError there)."""


def promote_windows(specs: tuple[LayerSpec, ...]) -> tuple[LayerSpec, ...]:
    """Grow the blocks of sliding-window layers until they fill the largest page.

    Returns the specs unchanged when there is no such layer, or when a layer that would have to
    pad cannot.
    """
    if len({s.page for s in specs}) <= 1 or all(s.kind != WINDOW for s in specs):
        return specs
    largest = max(s.page for s in specs)

    def promoted(spec: LayerSpec) -> LayerSpec:
        if spec.kind != WINDOW or spec.fixed_block or largest % spec.page == 0:
            return spec
        return replace(spec, block=spec.block * ceil_div(largest, spec.page))

    grown = tuple(promoted(s) for s in specs)
    top = max(s.page for s in grown)
    if any(top % s.page and s.kind != RECURRENT and not s.can_pad for s in grown):
        return specs
    return grown


def unify(specs: tuple[LayerSpec, ...]) -> tuple[LayerSpec, ...]:
    """Return the specs with one page size: scaled blocks where it divides, padding elsewhere.

    Raises:
        PageError: a layer's page does not divide the largest and its backend cannot pad.
    """
    largest = max(s.page for s in specs)

    def unified(spec: LayerSpec) -> LayerSpec:
        if spec.page == largest:
            return spec
        if spec.kind == RECURRENT:
            return replace(spec, padded=largest)
        if largest % spec.page == 0 and not spec.fixed_block:
            return replace(spec, block=spec.block * (largest // spec.page))
        if spec.can_pad:
            return replace(spec, padded=largest)
        raise PageError(
            f"a page of {spec.page:,} bytes ({spec.kind}, {spec.layout[3]}) does not divide "
            f"the largest page of {largest:,} bytes and cannot be padded"
        )

    return tuple(unified(s) for s in specs)
