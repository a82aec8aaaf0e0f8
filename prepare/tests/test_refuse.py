"""Bad input: one clear error that names the file and the value, and nothing on the disk changes."""

import json
import struct
from pathlib import Path

import pytest
import torch
from qwen3090_prepare import PrepareError, run

EMBED = "model.language_model.embed_tokens.weight"
SHARD = "model-0000{}-of-00007.safetensors"


def refused(base: Path, match: str, **options) -> PrepareError:
    before = sorted((str(p), p.stat().st_mtime_ns) for p in base.parent.rglob("*"))
    with pytest.raises(PrepareError, match=match) as caught:
        run(base, base.parent / "out", **options)
    assert sorted((str(p), p.stat().st_mtime_ns) for p in base.parent.rglob("*")) == before
    return caught.value


def put(file: str, name: str, tensor: torch.Tensor):
    def change(files):
        files[file][name] = tensor

    return change


def drop(file: str, name: str):
    def change(files):
        del files[file][name]

    return change


def test_a_tensor_in_two_files(make_base):
    change = put(SHARD.format(2), "lm_head.weight", torch.zeros(512, 256, dtype=torch.bfloat16))
    refused(make_base(change=change), "'lm_head.weight' is in two files")


def test_a_tensor_plain_and_packed(make_base):
    change = put(SHARD.format(7), "lm_head.weight_shape", torch.tensor([512, 256]))
    refused(make_base(change=change), "'lm_head' is there twice")


@pytest.mark.parametrize("cut", [1, 1000, 70000])
def test_a_truncated_shard(make_base, cut):
    base = make_base()
    path = base / SHARD.format(3)
    path.write_bytes(path.read_bytes()[:-cut])
    error = refused(base, "truncated")
    assert str(path) in error.problem and error.next_step


def test_a_shard_with_bytes_behind_its_end(make_base):
    base = make_base()
    with (base / SHARD.format(3)).open("ab") as file:
        file.write(b"x")
    refused(base, "longer than its header says")


@pytest.mark.parametrize("content", [b"", b"\x10", struct.pack("<Q", 1 << 40) + b"{}"])
def test_a_file_that_is_no_safetensors_file(make_base, content):
    base = make_base()
    (base / SHARD.format(4)).write_bytes(content)
    refused(base, SHARD.format(4))


def test_a_damaged_header(make_base):
    base = make_base()
    path = base / SHARD.format(4)
    data = bytearray(path.read_bytes())
    data[9] = 0xFF
    path.write_bytes(data)
    refused(base, "damaged safetensors header")


def test_a_missing_shard(make_base):
    base = make_base()
    (base / SHARD.format(3)).unlink()
    refused(base, f"'{SHARD.format(3)}', which is missing")


def test_a_layer_that_neither_index_nor_files_have(make_base):
    base = make_base()
    (base / SHARD.format(3)).unlink()
    (base / "model.safetensors.index.json").unlink()
    refused(base, "layer 1 of 4 is missing")


def test_a_module_that_its_sister_layers_have(make_base):
    change = drop(SHARD.format(2), "model.language_model.layers.0.input_layernorm.weight")
    refused(make_base(change=change), "layer 0 lacks 'input_layernorm'")


def test_a_packed_module_without_its_scales(make_base):
    change = drop(SHARD.format(2), "model.language_model.layers.0.mlp.up_proj.weight_scale")
    refused(make_base(change=change), "mlp.up_proj.weight_scale' is missing")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("lm_head.weight", "no output head"),
        (EMBED, "no embedding"),
        ("mtp.layers.0.mlp.up_proj.weight", "MTP module 'mtp.layers.0.mlp.up_proj' is missing"),
    ],
)
def test_missing_weights(make_base, name, match):
    def change(files):
        for held in files.values():
            held.pop(name, None)

    refused(make_base(change=change), match)


@pytest.mark.parametrize(
    ("file", "name", "shape"),
    [
        (SHARD.format(7), "lm_head.weight", (511, 256)),
        (SHARD.format(6), EMBED, (512, 384)),
        ("model_extra_tensors.safetensors", "mtp.fc.weight", (256, 256)),
    ],
)
def test_wrong_shapes(make_base, file, name, shape):
    change = put(file, name, torch.zeros(shape, dtype=torch.bfloat16))
    error = refused(make_base(change=change), "config.json wants")
    assert name in error.problem and str(list(shape)) in error.problem


def test_an_index_that_points_to_the_wrong_file(make_base):
    base = make_base()
    path = base / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["lm_head.weight"] = SHARD.format(6)
    path.write_text(json.dumps(index))
    refused(base, "'lm_head.weight' is missing|is in")
    index["weight_map"]["lm_head.weight"] = "../secret.safetensors"
    path.write_text(json.dumps(index))
    refused(base, "not a plain file name")


@pytest.mark.parametrize("content", ["", "[]", '{"weight_map": {}}', "{"])
def test_a_damaged_index(make_base, content):
    base = make_base()
    (base / "model.safetensors.index.json").write_text(content)
    refused(base, "model.safetensors.index.json")


@pytest.mark.parametrize("content", [None, "", "{}", '{"model": {"vocab": {}}}', "[1]"])
def test_a_missing_or_empty_tokenizer(make_base, content):
    base = make_base()
    path = base / "tokenizer.json"
    path.unlink() if content is None else path.write_text(content)
    refused(base, "tokenizer.json")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_group_scales_of_the_wrong_dtype(make_base, dtype):
    name = "model.language_model.layers.0.mlp.up_proj.weight_scale"

    def change(files):
        files[SHARD.format(2)][name] = files[SHARD.format(2)][name].to(dtype)

    refused(make_base(change=change), "group scales")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(make_base, bad):
    def change(files):
        files[SHARD.format(7)]["lm_head.weight"][500, 3] = bad

    error = refused(make_base(change=change), "row 500 holds a NaN or an infinity")
    assert "lm_head.weight" in error.problem


def test_no_config_for_a_model_of_another_size(make_base):
    base = make_base()
    (base / "config.json").unlink()
    refused(base, "config.json: missing")


def test_a_config_of_another_quantization(make_base):
    base = make_base()
    config = json.loads((base / "config.json").read_text())
    config["quantization_config"]["quant_method"] = "gptq"
    (base / "config.json").write_text(json.dumps(config))
    refused(base, "quant_method 'gptq'")


@pytest.mark.parametrize(
    ("ids", "match"),
    [
        (torch.tensor([3, 2]), "not sorted and distinct: 3 is followed by 2"),
        (torch.tensor([2, 2]), "not sorted and distinct"),
        (torch.tensor([], dtype=torch.int64), "empty"),
        (torch.tensor([5, 512]), "id 512 is outside"),
        (torch.tensor([-1, 5]), "id -1 is outside"),
        (torch.tensor([1, 2], dtype=torch.int32), "torch.int32"),
        (torch.tensor([[1, 2]]), "expected int64"),
        ({"a": 1}, "holds dict"),
    ],
)
def test_bad_draft_vocabularies(make_base, ids, match):
    base = make_base()
    path = base.parent / "list.pt"
    torch.save(ids, path)
    refused(base, match, draft_vocab=path)


@pytest.mark.parametrize("content", ["{}", "[1, true]", "[1.5]", "["])
def test_bad_json_lists(make_base, content):
    base = make_base()
    path = base.parent / "list.json"
    path.write_text(content)
    refused(base, "list.json", draft_vocab=path)


def test_options_that_cannot_be(make_base, make_overlay, ids_file):
    base, overlay = make_base(), make_overlay()
    refused(base, "only 4 and 8", head_bits=5)
    refused(base, "unknown step 'lmhead'", steps=["lmhead"])
    refused(base, "at least 1", threads=0)
    refused(base, "go together", steps=["overlay"])
    refused(base, "go together", steps=["embed"], overlay=overlay)
    refused(base, "cannot be combined", overlay=overlay, draft_vocab=ids_file)
    refused(base, "not among the steps", steps=["embed"], draft_vocab=ids_file)
    refused(base, "head is not packed", steps=["draft-vocab"], draft_vocab=ids_file)
    refused(base, "no such directory", overlay=base / "nowhere")
    refused(base / "nowhere", "no such directory")
