"""The inventory, at the published sizes, must give the published counts, bytes and configs."""

import hashlib
import json
from typing import Any

import pytest
from qwen3090.demo import configs, inventory, small_configs
from qwen3090.demo.dims import PUBLISHED, TINY
from qwen3090.demo.drafter_inventory import drafter
from qwen3090.demo.inventory import payload


def test_base_counts_and_bytes() -> None:
    files = dict(inventory.base_files(PUBLISHED))
    extras = files.pop(inventory.EXTRAS_FILE)
    assert len(files) == 7
    assert sum(payload(part) for part in files.values()) == 18_603_127_520
    assert (len(extras), payload(extras)) == (15, 849_398_784)
    tower = inventory.visual(PUBLISHED)
    assert (len(tower), payload(tower)) == (333, 921_460_192)


def test_fast_variant_counts_and_bytes() -> None:
    extras = inventory.overlay_extras(PUBLISHED)
    assert (len(extras), payload(extras)) == (34, 327_158_928)
    assert payload(inventory.overlay_head(PUBLISHED)) == 655_564_816
    body = sum(payload(part) for part in inventory.body_shards(PUBLISHED))
    tables = inventory.overlay_embedding(PUBLISHED) | inventory.overlay_head(PUBLISHED)
    assert body + payload(tables) + payload(extras) == 15_791_521_680


@pytest.mark.parametrize("dims", [PUBLISHED, TINY])
def test_drafter_counts(dims: Any) -> None:
    assert len(drafter(dims, int4=False)) == 81
    assert len(drafter(dims, int4=True)) == 153


def test_drafter_bytes() -> None:
    assert payload(drafter(PUBLISHED, int4=False)) == 2 * 1_924_404_480
    assert payload(drafter(PUBLISHED, int4=True)) == 1_280_617_536


def _sha(value: Any, end: str) -> str:
    return hashlib.sha256((json.dumps(value, indent=2) + end).encode()).hexdigest()


def test_configs_hash_to_the_published_files() -> None:
    fast = configs.model(PUBLISHED, configs.overlay_quantization(PUBLISHED))
    assert _sha(fast, "").startswith("5a3e7312dee3a6c5")
    assert _sha(configs.quantization_file(PUBLISHED), "").startswith("2f3122aa57dd2f35")
    assert _sha(small_configs.generation(PUBLISHED), "\n").startswith("1a450b75a54bf9e6")
    assert _sha(small_configs.drafter(PUBLISHED), "\n").startswith("873e3556509b0da0")
    assert _sha(small_configs.drafter_int4(PUBLISHED), "").startswith("61d6276fe8d76295")
