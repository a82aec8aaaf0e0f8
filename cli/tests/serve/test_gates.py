"""Each gate is provoked: it names the file, process or number, and has its own exit status."""

import json
import os
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner
from qwen3090.main import cli
from qwen3090.serve import exit_codes, gates
from qwen3090.serve.checkpoint import INDEX, checkpoint_problems
from qwen3090.serve.gpu import check_gpu
from qwen3090.serve.plan_gate import check_plan

from .harness import config, free_port, refused

REAL = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "text_config": {
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
        "num_hidden_layers": 64,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "hidden_size": 5120,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mtp_num_hidden_layers": 1,
        "max_position_embeddings": 262144,
        "dtype": "bfloat16",
    },
}


def shard(path: Path, *names: str) -> None:
    entries = {
        name: {"dtype": "F32", "shape": [2], "data_offsets": [8 * i, 8 * i + 8]}
        for i, name in enumerate(names)
    }
    header = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8 * len(names)))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(REAL))
    (directory / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"a": 0}}}))
    (directory / "tokenizer_config.json").write_text("{}")
    shard(directory / "one.safetensors", "a", "b")
    shard(directory / "two.safetensors", "c")
    weight_map = {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}
    (directory / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    return directory


def test_a_whole_checkpoint(model: Path) -> None:
    assert list(checkpoint_problems(model)) == []


def damage(directory: Path, name: str, content: bytes | None) -> None:
    path = directory / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("config.json", None, "config.json: No such file"),
        ("config.json", b"{", "config.json: not valid JSON"),
        ("config.json", b"[]", "config.json: not a JSON object"),
        ("tokenizer.json", None, "tokenizer.json: No such file"),
        ("tokenizer.json", b'{"model": {"vocab": {}}}', "the vocabulary is empty"),
        ("tokenizer_config.json", None, "tokenizer_config.json: No such file"),
        (INDEX, None, "neither model.safetensors.index.json nor model.safetensors"),
        (INDEX, b'{"weight_map": {}}', "weight_map is missing or empty"),
        (INDEX, b"not json", "not valid JSON"),
        ("two.safetensors", None, "two.safetensors: No such file"),
        ("two.safetensors", b"short", "too short for a safetensors header"),
        ("two.safetensors", b"\xff" * 64, "header length"),
    ],
)
def test_a_damaged_checkpoint(model: Path, name: str, content: bytes | None, says: str) -> None:
    damage(model, name, content)
    error = refused(gates.check_checkpoint, config("fast-mtp", f"model={model}"))
    assert says in error.message
    assert error.exit_code == exit_codes.BAD_CHECKPOINT


def test_a_checkpoint_that_was_never_fetched_names_the_command_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QWEN3090_STATE", str(tmp_path))
    error = refused(gates.check_checkpoint, config("fast"))
    assert error.next_step == "qwen3090 up PROFILE --no-serve  # fetches and prepares"
    elsewhere = config("fast-mtp", f"model={tmp_path / 'other'}")
    assert "models verify" in str(refused(gates.check_checkpoint, elsewhere).next_step)
    done = CliRunner().invoke(cli, ["serve", "fast-mtp", "--set", f"port={free_port()}"])
    assert done.exit_code == exit_codes.BAD_CHECKPOINT
    assert "next: qwen3090 up fast-mtp --no-serve" in done.output


def test_a_truncated_shard(model: Path) -> None:
    path = model / "one.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    (problem,) = checkpoint_problems(model)
    assert "one.safetensors" in problem
    assert "the file has" in problem


def test_an_index_that_names_what_no_shard_holds(model: Path) -> None:
    shard(model / "two.safetensors", "other")
    (problem,) = checkpoint_problems(model)
    assert "the index names c, which it does not hold" in problem


@pytest.mark.parametrize("name", ["../two.safetensors", "/etc/hostname", "x\0", "", "."])
def test_an_index_that_names_no_file_beside_it(model: Path, name: str) -> None:
    (model / INDEX).write_text(json.dumps({"weight_map": {"a": name}}))
    (found,) = checkpoint_problems(model)
    assert "is not the name of a file beside it" in found


def test_the_drafter_is_checked_without_a_tokenizer(model: Path, tmp_path: Path) -> None:
    sets = (f"model={model}", f"drafter={tmp_path / 'absent'}")
    error = refused(gates.check_checkpoint, config("fast", *sets))
    assert "absent is not a directory" in error.message
    (model / "tokenizer.json").unlink()
    assert list(checkpoint_problems(model, tokenizer=False)) == []


def test_the_plan_fits(model: Path) -> None:
    (line,) = check_plan(config("fast-mtp", f"model={model}"))
    assert "pool: 71,318 tokens" in line


def test_a_plan_that_does_not_fit(model: Path) -> None:
    sets = (f"model={model}", "context=100000")
    error = refused(check_plan, config("fast-mtp", *sets))
    assert "blocks needed at context = 100000, 185 available" in error.message
    assert error.exit_code == exit_codes.PLAN_DOES_NOT_FIT
    assert error.next_step


def test_an_unpinned_pool_says_so(model: Path) -> None:
    (line,) = check_plan(config("fast-mtp", f"model={model}", "kv_bytes=none"))
    assert "kv_bytes is unset" in line


def smi(directory: Path, gpu: str, *apps: tuple[int, int], status: int = 0) -> dict[str, str]:
    script = directory / "nvidia-smi"
    entries = "".join(
        f"<process_info><pid>{pid}</pid><type>C</type><process_name>x</process_name>"
        f"<used_memory>{used} MiB</used_memory></process_info>"
        for pid, used in apps
    )
    log = f"<nvidia_smi_log><gpu><processes>{entries}</processes></gpu></nvidia_smi_log>"
    script.write_text(
        f"#!/bin/sh\ncase \"$*\" in *-x*) printf '{log}' ;; *) printf '{gpu}' ;; esac\n"
        f"exit {status}\n"
    )
    script.chmod(0o755)
    return {"CUDA_VISIBLE_DEVICES": "0"}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return directory


def test_a_free_card(path: Path) -> None:
    environ = smi(path, "NVIDIA GeForce RTX 3090, 24576, 24100\\n")
    assert "23.54 GiB of 24.00 GiB free" in check_gpu(config(), environ)


def test_a_card_that_others_use_names_them(path: Path) -> None:
    environ = smi(path, "RTX 3090, 24576, 20000\\n", (os.getpid(), 4000))
    error = refused(check_gpu, config(), environ)
    assert f"pid {os.getpid()} (" in error.message
    assert "4000 MiB" in error.message
    assert "22.32 GiB needed" in error.message
    assert error.exit_code == exit_codes.NO_GPU_MEMORY


def test_no_driver(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(path))
    error = refused(check_gpu, config(), {})
    assert "nvidia-smi is not installed" in error.message


def test_a_broken_driver(path: Path) -> None:
    error = refused(check_gpu, config(), smi(path, "Driver/library version mismatch", status=9))
    assert "Driver/library version mismatch" in error.message


def test_no_card(path: Path) -> None:
    assert "no NVIDIA card" in refused(check_gpu, config(), smi(path, "")).message


def test_an_installation_without_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "find_spec", lambda name: None)
    error = refused(gates.check_installation)
    assert error.exit_code == exit_codes.ENGINE_NOT_AS_PINNED
    assert error.next_step == "qwen3090 setup"


def test_a_patch_that_is_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    from qwen3090.verify import series
    from qwen3090.verify.report import Finding, Status

    finding = Finding("series.0101-x.patch", Status.FAIL, "missing", "qwen3090 patches apply")
    monkeypatch.setattr(gates, "find_spec", lambda name: object())
    monkeypatch.setattr(series, "check_series", lambda: [finding])
    error = refused(gates.check_installation)
    assert "series.0101-x.patch: missing" in error.message
    assert error.exit_code == exit_codes.ENGINE_NOT_AS_PINNED


def test_a_plugin_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from qwen3090.verify import series

    monkeypatch.setattr(gates, "find_spec", lambda name: object())
    monkeypatch.setattr(series, "check_series", list)
    monkeypatch.setattr(gates, "entry_points", lambda group: ())
    assert "qwen3090-ops is not installed" in refused(gates.check_installation).message


def test_every_exit_status_is_documented() -> None:
    named = vars(exit_codes).items()
    codes = {value for name, value in named if isinstance(value, int) and name.isupper()}
    assert codes == set(exit_codes.MEANING)
    assert codes > exit_codes.PERMANENT
