"""Malformed headers, configs, lists and results get one clear error, never a traceback."""

import copy
import json
import struct

import pytest
import qwen3090_prepare as prepare
import torch
from qwen3090_prepare.vocab import read_ids

DEEP = b"[" * 200_000


def rewrite(path, change):
    """Change the first entry of a safetensors header."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    name = next(name for name in header if name != "__metadata__")
    text = change(header, name)
    text = text if isinstance(text, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])


def refused(base, tmp_path, **options):
    with pytest.raises(prepare.PrepareError) as caught:
        prepare.run(base, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    found = [f for f in prepare.check(base) if f.severity == "error"]
    assert found, "check must see it too, and must not raise"
    return caught.value


@pytest.mark.parametrize(
    ("key", "value"),
    [("dtype", ["BF16"]), ("dtype", {}), ("shape", [True]), ("data_offsets", [False, 8])],
)
def test_header_entries_of_other_types(make_base, tmp_path, key, value):
    base = make_base()
    shard = sorted(base.glob("*.safetensors"))[0]
    rewrite(shard, lambda header, name: header[name].update({key: value}))
    assert shard.name in refused(base, tmp_path).problem


@pytest.mark.parametrize("name", ["header", "config.json", "tokenizer.json", "index"])
def test_nesting_without_end(make_base, tmp_path, name):
    base = make_base()
    shard = sorted(base.glob("*.safetensors"))[0]
    if name == "header":
        rewrite(shard, lambda header, first: DEEP)
    else:
        path = base / ("model.safetensors.index.json" if name == "index" else name)
        path.write_bytes(DEEP)
    refused(base, tmp_path)


def test_a_name_that_cannot_be_written_again(make_base, tmp_path):
    base = make_base()
    shard = sorted(base.glob("*.safetensors"))[0]
    rewrite(shard, lambda header, name: header.update({"\ud800": header.pop(name)}))
    assert "malformed" in refused(base, tmp_path).problem


TEXT = ("text_config",)
QUANT = ("quantization_config",)
GROUP = (*QUANT, "config_groups", "group_0")


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (TEXT, "abc"),
        ((*TEXT, "mtp_num_hidden_layers"), 10**12),
        ((*TEXT, "mtp_num_hidden_layers"), [1]),
        ((*TEXT, "num_hidden_layers"), 10**12),
        ((*TEXT, "hidden_size"), None),
        ((*TEXT, "vocab_size"), True),
        ((*TEXT, "layer_types"), [[1]]),
        (QUANT, [1]),
        ((*QUANT, "ignore"), 3),
        ((*QUANT, "ignore"), ["re:("]),
        ((*QUANT, "format"), "int-quantized"),
        ((*QUANT, "config_groups"), "abc"),
        (GROUP, {}),
        ((*GROUP, "targets"), [3]),
        ((*GROUP, "weights", "num_bits"), "8"),
        ((*GROUP, "weights", "group_size"), 64),
        ((*GROUP, "weights", "symmetric"), False),
    ],
)
def test_a_malformed_config(make_base, tmp_path, keys, value):
    base = make_base()
    config = json.loads((base / "config.json").read_text())
    place = config
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = copy.deepcopy(value)
    (base / "config.json").write_text(json.dumps(config))
    assert "config.json" in refused(base, tmp_path).problem


@pytest.mark.parametrize("value", [3, True, "abc", {}])
def test_a_tokenizer_whose_vocabulary_is_no_table(make_base, tmp_path, value):
    base = make_base()
    (base / "tokenizer.json").write_text(json.dumps({"model": {"vocab": value}}))
    assert "vocabulary" in refused(base, tmp_path).problem


def test_ids_beyond_64_bits_and_tensors_that_are_not_plain(tmp_path):
    path = tmp_path / "ids.json"
    path.write_text(json.dumps([1, 2**70]))
    with pytest.raises(prepare.PrepareError, match="64 bits"):
        read_ids(path, 100)
    path = tmp_path / "ids.pt"
    torch.save(torch.tensor([0, 1, 2]).to_sparse(), path)
    with pytest.raises(prepare.PrepareError, match="sparse"):
        read_ids(path, 100)


@pytest.mark.parametrize("outputs", [None, [], {}, {"a": 3}, {"../a": {"size": 1, "sha256": "x"}}])
def test_a_malformed_manifest(make_base, tmp_path, outputs):
    base, out = make_base(), tmp_path / "out"
    prepare.run(base, out)
    path = out / "prepared.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "outputs": outputs}))
    assert "outputs" in next(f.problem for f in prepare.check(out, hashes=True))
    with pytest.raises(prepare.PrepareError, match="not what prepared"):
        prepare.run(base, out)
    assert prepare.run(base, out, force=True).action == "prepared"
    assert not prepare.check(out, hashes=True)


def test_an_out_that_inputs_would_suffer_from(make_base, tmp_path):
    base = make_base()
    before = sorted(base.iterdir())
    with pytest.raises(prepare.PrepareError, match="inside the base"):
        prepare.run(base, base / "prepared")
    assert sorted(base.iterdir()) == before
    with pytest.raises(prepare.PrepareError, match="root directory"):
        prepare.run(base, tmp_path / "/")
    out = tmp_path / "out"
    prepare.run(base, out)
    inner = base.rename(out / "base")
    with pytest.raises(prepare.PrepareError, match="holds the base"):
        prepare.run(inner, out, head_bits=4, force=True)
    assert sorted(p.name for p in inner.iterdir()) == [p.name for p in before]


def test_files_of_the_users_outlive_a_replaced_result(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    prepare.run(base, out)
    (out / "notes.txt").write_text("mine")
    result = prepare.run(base, out, head_bits=4, force=True)
    assert result.kept == tmp_path / "out.replaced-1"
    assert (result.kept / "notes.txt").read_text() == "mine"
    assert prepare.run(base, out, force=True).kept is None


def test_a_read_only_result_is_replaced_and_nothing_is_left(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    prepare.run(base, out)
    out.chmod(0o555)
    assert prepare.run(base, out, head_bits=4, force=True).action == "prepared"
    assert sorted(p.name for p in tmp_path.iterdir() if "out" in p.name) == ["out"]
