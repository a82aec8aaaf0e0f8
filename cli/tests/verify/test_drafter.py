"""A drafter passes as published; each thing that can be wrong with one is named."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from qwen3090.verify import Finding, Status
from qwen3090.verify.drafter import check_drafter

CONFIG: dict[str, Any] = {
    "architectures": ["DFlash2DraftModel"],
    "hidden_size": 5120,
    "vocab_size": 248320,
    "num_target_layers": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "layer_types": ["sliding_attention"] * 2,
    "sliding_window": 2048,
    "dflash_config": {"block_size": 8, "target_layer_ids": [5, 19, 33, 47, 61]},
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 4}}},
    },
}
MODEL: dict[str, Any] = {
    "text_config": {"hidden_size": 5120, "vocab_size": 248320, "num_hidden_layers": 64}
}


def write(directory: Path, config: dict[str, Any]) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    data = struct.pack("<Q", len(header)) + header + bytes(8)
    (directory / "model.safetensors").write_bytes(data)
    return directory


def by_check(found: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in found}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(MODEL))
    return directory


def test_the_published_drafter_passes(tmp_path: Path, model: Path) -> None:
    found = by_check(check_drafter(write(tmp_path / "drafter", CONFIG), model, 7))
    assert {finding.status for finding in found.values()} == {Status.PASS}
    assert {name.removeprefix("drafter.") for name in found} == {
        "files", "architecture", "block", "quantization", "fits", "layers",
    }  # fmt: skip
    assert "4 bits" in found["drafter.quantization"].detail


@pytest.mark.parametrize(
    ("change", "check", "status", "says"),
    [
        ({"architectures": ["Qwen3ForCausalLM"]}, "architecture", Status.FAIL, "Qwen3ForCausalLM"),
        ({"architectures": None}, "architecture", Status.FAIL, "DFlash2DraftModel"),
        ({"dflash_config": {}}, "architecture", Status.FAIL, "block_size"),
        ({"quantization_config": None}, "quantization", Status.WARN, "not quantized"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantization", Status.FAIL, "'awq'"),
        ({"hidden_size": 4096}, "fits", Status.FAIL, "hidden_size is 4096"),
        ({"vocab_size": 151936}, "fits", Status.FAIL, "vocab_size is 151936"),
        ({"num_target_layers": 48}, "fits", Status.FAIL, "num_target_layers is 48"),
        ({"dflash_config": {"block_size": 7}}, "block", Status.FAIL, "blocks hold 7"),
        ({"dflash_config": {"block_size": 8}}, "layers", Status.FAIL, "target_layer_ids is None"),
        (
            {"dflash_config": {"block_size": 8, "target_layer_ids": [5, 64]}},
            "layers",
            Status.FAIL,
            "layer 64",
        ),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, model: Path, change: dict[str, Any], check: str, status: Status, says: str
) -> None:
    found = by_check(check_drafter(write(tmp_path / "drafter", CONFIG | change), model, 7))
    finding = found[f"drafter.{check}"]
    assert finding.status is status
    assert says in finding.detail
    assert finding.next


@pytest.mark.parametrize("config", ["[]", '{"text_config": 3}', "{"])
def test_a_damaged_model_is_another_checks_matter(tmp_path: Path, model: Path, config: str) -> None:
    (model / "config.json").write_text(config)
    found = by_check(check_drafter(write(tmp_path / "drafter", CONFIG), model))
    assert found["drafter.architecture"].status is Status.PASS


def test_a_cut_shard_fails(tmp_path: Path) -> None:
    directory = write(tmp_path / "drafter", CONFIG)
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    (finding,) = check_drafter(directory)
    assert (finding.check, finding.status) == ("drafter.files", Status.FAIL)
    assert str(weights) in finding.detail


def test_an_absent_directory_fails(tmp_path: Path) -> None:
    (finding,) = check_drafter(tmp_path / "absent")
    assert finding.status is Status.FAIL
    assert "models fetch" in finding.next
