"""A checkpoint's geometry is read from its config, nested or flat, or refused by file and field."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwen3090.errors import UserError
from qwen3090.plan import Drafter, Geometry, PlanInput, compute

TEXT: dict[str, Any] = {
    "num_hidden_layers": 64,
    "full_attention_interval": 4,
    "hidden_size": 5120,
    "num_attention_heads": 24,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 48,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "max_position_embeddings": 262_144,
    "mtp_num_hidden_layers": 1,
    "dtype": "bfloat16",
}
DRAFTER: dict[str, Any] = {
    "num_hidden_layers": 5,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "layer_types": ["sliding_attention"] * 5,
    "sliding_window": 2048,
    "dflash_config": {"block_size": 8},
}


def write(folder: Path, config: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder


@pytest.mark.parametrize("nested", [True, False])
def test_the_published_configs_give_the_builtin_geometry(tmp_path: Path, nested: bool) -> None:
    config = {"text_config": TEXT, "dtype": "bfloat16"} if nested else TEXT
    found = Geometry.from_checkpoint(
        write(tmp_path / "model", config), write(tmp_path / "drafter", DRAFTER)
    )
    builtin = Geometry.builtin()
    assert found == Geometry(**{**vars(builtin), "source": str(tmp_path / "model")})
    assert compute(PlanInput(), found).pool_tokens == compute(PlanInput(), builtin).pool_tokens


def test_layer_types_win_over_the_interval(tmp_path: Path) -> None:
    kinds = ["linear_attention", "full_attention"] * 4
    config = {**TEXT, "num_hidden_layers": 8, "layer_types": kinds, "dtype": "float32"}
    found = Geometry.from_checkpoint(write(tmp_path, config))
    assert (found.attention_layers, found.recurrent_layers, found.model_bytes) == (4, 4, 4)
    assert found.drafter is None


def test_a_drafter_with_full_layers(tmp_path: Path) -> None:
    config = {**DRAFTER, "layer_types": ["sliding_attention"] * 4 + ["full_attention"]}
    found = Geometry.from_checkpoint(
        write(tmp_path / "model", TEXT), write(tmp_path / "drafter", config)
    )
    assert found.drafter == Drafter((2048, 2048, 2048, 2048, None), 8, 128, 8)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ("{", "is not JSON"),
        ("[]", "no JSON object"),
        ({**TEXT, "linear_num_key_heads": None}, "'linear_num_key_heads' is None"),
        ({**TEXT, "num_key_value_heads": "4"}, "'num_key_value_heads' is '4'"),
        ({**TEXT, "layer_types": ["full_attention"]}, "1 of 64 layers"),
        ({**TEXT, "dtype": "int8"}, "dtype is 'int8'"),
        ({"num_hidden_layers": 4}, "'full_attention_interval'"),
    ],
)
def test_a_bad_config_is_refused_with_its_file(tmp_path: Path, config: Any, text: str) -> None:
    with pytest.raises(UserError) as caught:
        Geometry.from_checkpoint(write(tmp_path, config))
    assert str(tmp_path / "config.json") in caught.value.message
    assert text in caught.value.message
    assert caught.value.next_step


@pytest.mark.parametrize(
    "config",
    [
        {**DRAFTER, "sliding_window": None},
        {**DRAFTER, "dflash_config": {}},
        {**DRAFTER, "layer_types": ["sliding_attention"]},
    ],
)
def test_a_bad_drafter_is_refused(tmp_path: Path, config: Any) -> None:
    model, drafter = write(tmp_path / "model", TEXT), write(tmp_path / "drafter", config)
    with pytest.raises(UserError, match="drafter"):
        Geometry.from_checkpoint(model, drafter)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        Geometry.from_checkpoint(tmp_path / "none")


@pytest.mark.parametrize("changes", [{"speculation": "mtp"}, {}])
def test_speculation_needs_what_drafts(tmp_path: Path, changes: dict[str, Any]) -> None:
    geometry = Geometry.from_checkpoint(write(tmp_path, {**TEXT, "mtp_num_hidden_layers": 0}))
    with pytest.raises(UserError, match=r"MTP layer|no drafter"):
        compute(PlanInput(**changes), geometry)


ODD = [None, 0, -1, "x", [], {}, True, 1.5, 10**30, 2 * 10**9, ["a"], {"a": 1}]


@pytest.mark.parametrize("field", [*TEXT, "layer_types", "text_config"])
@pytest.mark.parametrize("value", ODD, ids=str)
def test_a_damaged_config_is_a_plan_or_one_error(tmp_path: Path, field: str, value: Any) -> None:
    nested = {"text_config": TEXT | {field: value}}
    config = {"text_config": value} if field == "text_config" else nested
    folder = write(tmp_path / "model", config)
    try:
        compute(PlanInput(context=2048), Geometry.from_checkpoint(folder, _drafter(tmp_path)))
    except UserError as error:
        assert error.next_step


@pytest.mark.parametrize("field", DRAFTER)
@pytest.mark.parametrize("value", ODD, ids=str)
def test_a_damaged_drafter_is_a_plan_or_one_error(tmp_path: Path, field: str, value: Any) -> None:
    folder = write(tmp_path / "model", {"text_config": TEXT})
    try:
        drafter = write(tmp_path / "drafter", DRAFTER | {field: value})
        compute(PlanInput(context=2048), Geometry.from_checkpoint(folder, drafter))
    except UserError as error:
        assert error.next_step


def _drafter(folder: Path) -> Path:
    return write(folder / "drafter", DRAFTER)
