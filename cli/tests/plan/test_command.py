"""``qwen3090 plan``: text, JSON, exit status, and errors that name the value."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from qwen3090.main import cli
from qwen3090.serve.exit_codes import PLAN_DOES_NOT_FIT

from .test_geometry import DRAFTER, TEXT, write


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plan", "--vram", "25340307046", *arguments])


def sets(**values: Any) -> list[str]:
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


def test_the_default_is_the_fast_profile() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert "68,605 tokens" in result.output
    assert "363 needed, 380 available" in result.output
    assert "cannot run" not in result.output


def test_json_has_the_figures() -> None:
    result = run("--json", *sets(prefix_cache="false"))
    plan = json.loads(result.output)
    wanted = {
        "pool_tokens": 69_758,
        "blocks_needed": 357,
        "blocks_available": 380,
        "block_size": 448,
        "page_bytes": 1_835_008,
        "state_bytes": 1_777_664,
        "fits": True,
        "estimated": False,
        "problems": [],
    }
    assert {key: plan[key] for key in wanted} == wanted
    assert plan["seats_by_context"]["4096"] == 5
    assert sum(group["layers"] for group in plan["groups"]) == 69
    assert plan["budget"][-1]["name"] == "left"


@pytest.mark.parametrize(
    ("values", "pool"),
    [
        ({"speculation": "mtp", "draft_tokens": 4, "prefix_cache": "false"}, 72_599),
        ({"speculation": "none"}, 81_727),
        ({"kv_groups": "stock", "context": 40_960, "prefix_cache": "false"}, 53_787),
        ({"kv_format": "kvarn_k4v2", "context": 245_760, "kv_bytes": 5_261_334_938}, 268_169),
        (
            {"kv_format": "int8", "drafter_kv_format": "int8", "context": 131_072, "seats": 4},
            136_429,
        ),
        ({"draft_tokens": 15, "async_scheduling": "false", "context": 57_344}, 57_669),
    ],
)
def test_every_setting_can_be_overridden(values: dict[str, Any], pool: int) -> None:
    assert json.loads(run("--json", *sets(**values)).output)["pool_tokens"] == pool


def test_what_does_not_fit_has_an_exit_status_of_its_own() -> None:
    result = run(*sets(context=100_000))
    assert result.exit_code == PLAN_DOES_NOT_FIT
    assert "DOES NOT FIT" in result.output
    assert "needs 517 blocks" in result.output


def test_without_kv_bytes_the_pool_is_called_an_estimate() -> None:
    result = run(*sets(kv_bytes="none"))
    assert "(estimate)" in result.output
    assert "kv_bytes is unset" in result.output
    plan = json.loads(run("--json", *sets(kv_bytes="none")).output)
    assert plan["estimated"] is True
    half = ["--vram", "20000000000", "--json", *sets(kv_bytes="none")]
    assert (
        json.loads(CliRunner().invoke(cli, ["plan", *half]).output)["kv_bytes"] < plan["kv_bytes"]
    )


def test_contexts() -> None:
    plan = json.loads(run("--json", "--contexts", "1000,3000", "--contexts", "5_000").output)
    assert list(plan["seats_by_context"]) == ["1000", "3000", "5000"]
    assert run("--contexts", "0").exit_code == 2
    assert run("--contexts", "many").exit_code == 2


def test_a_checkpoint_is_read(tmp_path: Path) -> None:
    model, drafter = write(tmp_path / "m", TEXT), write(tmp_path / "d", DRAFTER)
    without = run("--model", str(model), *sets(speculation="mtp"))
    assert without.exit_code == 1
    assert "no *.safetensors" in without.output
    for folder in (model, drafter):
        header = b'{"x":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}'
        (folder / "model.safetensors").write_bytes(
            len(header).to_bytes(8, "little") + header + b"abc"
        )
    result = run("--json", "--model", str(model), "--drafter", str(drafter))
    plan = json.loads(result.output)
    assert (plan["pool_tokens"], plan["geometry"]) == (68_605, str(model))
    assert [item["size"] for item in plan["budget"][:2]] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fsat"], "fast"),
        (sets(contxt=3), "context"),
        (sets(kv_groups="other"), "kv_groups = 'other'"),
        (sets(kv_group="stock"), "did you mean 'kv_groups'?"),
        (sets(kv_format="int3"), "int3"),
        (sets(draft_tokens=-1), "draft_tokens = '-1'"),
        (["demo"], "--model DIR"),
        (["--model", "nowhere"], "--drafter"),
        (["--drafter", "nowhere"], "--model"),
    ],
)
def test_bad_input_names_the_value(arguments: list[str], text: str) -> None:
    result = run(*arguments)
    assert result.exit_code not in (0, PLAN_DOES_NOT_FIT)
    assert text in result.output


def test_an_empty_value_of_a_plans_own_setting_is_unset() -> None:
    found = json.loads(run("--json", *sets(kv_groups="")).output)
    assert found["inputs"]["kv_groups"] == "hybrid"


def test_no_drafts_is_a_problem_and_still_has_figures() -> None:
    found = json.loads(run("--json", *sets(draft_tokens=0)).output)
    assert found["state_bytes"] == 1_634_304
    assert [item["key"] for item in found["problems"]] == ["draft_tokens"]


def test_strict_refuses_what_fits_and_cannot_run() -> None:
    cannot = sets(kv_format="int8", attention_backend="FLASH_ATTN")
    assert run(*cannot).exit_code == 0
    result = run("--strict", *cannot)
    assert result.exit_code == PLAN_DOES_NOT_FIT
    assert "cannot run" in result.output
    assert run("--strict").exit_code == 0


def test_neither_torch_nor_vllm_is_imported() -> None:
    code = (
        "import sys, click.testing, qwen3090.main as m;"
        "r = click.testing.CliRunner().invoke(m.cli, ['plan']);"
        "assert r.exit_code == 0, r.output;"
        "assert not {'torch', 'vllm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
