"""check(): what it finds on a prepared checkpoint that somebody damaged, and the command lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from qwen3090_prepare import check, run
from qwen3090_prepare.__main__ import main
from qwen3090_prepare.progress import Progress
from qwen3090_prepare.render import describe
from safetensors.torch import load_file, save_file

EXTRA = "model_extra_tensors.safetensors"


@pytest.fixture
def prepared(make_base, ids_file, tmp_path) -> Path:
    run(make_base(), tmp_path / "out", draft_vocab=ids_file)
    return tmp_path / "out"


def errors(directory: Path, **options) -> str:
    return "\n".join(str(f) for f in check(directory, **options) if f.severity == "error")


def test_a_flipped_bit_is_found_by_its_hash_only(prepared):
    path = prepared / "model-00007-of-00007.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert check(prepared) == []
    assert str(path) in errors(prepared, hashes=True)


def test_a_draft_head_of_other_bits(prepared, tmp_path):
    path = prepared / EXTRA
    held = load_file(path)
    words = held["mtp.draft_lm_head.weight_packed"]
    held["mtp.draft_lm_head.weight_packed"] = words[:, : words.shape[1] // 2].contiguous()
    save_file(held, path)
    found = errors(prepared)
    assert "the draft head has 4 bits" in found
    assert "'mtp.draft_lm_head' has 4 bits, but config.json says 8 bits" in found


def test_embedding_scales_in_float16(prepared):
    path = prepared / "model-00006-of-00007.safetensors"
    held = load_file(path)
    name = "model.language_model.embed_tokens.weight_scale"
    save_file({**held, name: held[name].half()}, path)
    assert "group scales are F16, must be BF16" in errors(prepared)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("config.json", "config.json: missing"),
        ("tokenizer.json", "tokenizer.json: missing"),
        ("mtp_draft_vocab_ids.pt", "no such draft vocabulary file"),
        ("model.safetensors.index.json", "index.json: missing"),
        ("model-00002-of-00007.safetensors", "which is missing"),
    ],
)
def test_missing_files(prepared, name, found):
    (prepared / name).unlink()
    assert found in errors(prepared)


def test_an_index_that_leaves_the_mtp_module_out(prepared):
    path = prepared / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    del index["weight_map"]["mtp.norm.weight"]
    path.write_text(json.dumps(index))
    assert "does not list 'mtp.norm.weight'" in errors(prepared)


def test_a_config_that_promises_what_is_not_packed(make_base, tmp_path):
    run(make_base(), tmp_path / "out", steps=["embed"])
    assert errors(tmp_path / "out") == ""
    path = tmp_path / "out" / "config.json"
    config = json.loads(path.read_text())
    config["quantization_config"]["ignore"].remove("mtp.fc")
    path.write_text(json.dumps(config))
    assert "says 4 bits for 'mtp.fc', but it is not packed" in errors(tmp_path / "out")


def test_a_plain_base_is_told_from_a_prepared_one(make_base):
    findings = check(make_base())
    assert "says 4 bits for 'mtp.fc', but it is not packed" in "".join(map(str, findings))
    warned = {f.rule for f in findings if f.severity == "warning"}
    assert warned == {"manifest", "plain"}


def test_no_directory(tmp_path):
    assert "no such directory" in errors(tmp_path / "nowhere")


def test_the_module_command(make_base, tmp_path, capsys):
    base, out = make_base(), tmp_path / "out"
    assert main([str(base), "--out", str(out), "--head-bits", "4"]) == 0
    assert "prepared:" in capsys.readouterr().out
    assert main(["--check", "--out", str(out)]) == 0
    assert main([str(base), "--out", str(out)]) == 1
    assert "--force" in capsys.readouterr().err
    torch.save(torch.tensor([2, 1]), tmp_path / "bad.pt")
    more = ["--draft-vocab", str(tmp_path / "bad.pt")]
    assert main([str(base), "--out", str(tmp_path / "other"), *more]) == 1
    assert "not sorted" in capsys.readouterr().err


def test_help_needs_no_torch():
    code = "import sys; from qwen3090_prepare.__main__ import parser; parser().format_help();"
    code += "sys.exit('torch' in sys.modules)"
    root = str(Path(sys.modules["qwen3090_prepare"].__file__).parent.parent)
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": root}).returncode == 0


def test_a_progress_line_says_bytes_rate_and_time_left():
    line = describe(Progress("lm-head", "a.safetensors", 500_000_000, 2_000_000_000, 5e8, 3.0))
    for part in ("lm-head", "25.0 %", "500.0 MB of 2.00 GB", "500.0 MB/s", "3.0 s left"):
        assert part in line
