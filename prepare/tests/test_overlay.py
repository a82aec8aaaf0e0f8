"""The fast variant's files put onto a base: what is taken from where, and what is refused."""

import json
from pathlib import Path

import pytest
import torch
from qwen3090_prepare import PrepareError, check, run
from safetensors.torch import load_file

HEAD, EXTRA = "model-00007-of-00007.safetensors", "model_extra_tensors.safetensors"
EMBED = "model.language_model.embed_tokens"
TAKEN = (HEAD, EXTRA, "mtp_draft_vocab_ids.pt", "config.json")


def refused(base: Path, overlay: Path, match: str, **options) -> None:
    with pytest.raises(PrepareError, match=match):
        run(base, base.parent / "out", overlay=overlay, **options)
    assert not list(base.parent.glob("out*")) and not list(base.parent.glob(".out*"))


def test_overlay_on_a_plain_base(make_base, make_overlay, tmp_path):
    base, overlay, out = make_base(), make_overlay(), tmp_path / "out"
    result = run(base, out, overlay=overlay)
    assert [(s.step, s.action) for s in result.steps] == [("embed", "run"), ("overlay", "run")]
    assert check(out, hashes=True) == []
    for name in TAKEN:
        assert (out / name).read_bytes() == (overlay / name).read_bytes()
    assert (out / HEAD).samefile(overlay / HEAD)
    assert (out / "tokenizer.json").samefile(base / "tokenizer.json")
    embedding = load_file(out / "model-00006-of-00007.safetensors")
    assert embedding[f"{EMBED}.weight_scale"].dtype == torch.bfloat16


def test_overlay_on_a_prepared_base_gives_the_same(make_base, make_overlay, tmp_path):
    base, overlay = make_base(), make_overlay()
    run(base, tmp_path / "plain", overlay=overlay)
    run(base, tmp_path / "prepared")
    result = run(tmp_path / "prepared", tmp_path / "fast", overlay=overlay)
    assert [s.action for s in result.steps] == ["kept", "run"]
    for path in (tmp_path / "plain").iterdir():
        if path.name != "prepared.json":
            assert path.read_bytes() == (tmp_path / "fast" / path.name).read_bytes(), path.name


def test_an_index_that_says_the_same_is_kept_as_it_is(make_base, make_overlay, tmp_path):
    base, overlay = make_base(), make_overlay()
    run(base, tmp_path / "first", overlay=overlay)
    name = "model.safetensors.index.json"
    same = json.loads((tmp_path / "first" / name).read_text())
    (overlay / name).write_text(json.dumps(same))
    run(base, tmp_path / "second", overlay=overlay)
    assert (tmp_path / "second" / name).read_bytes() == (overlay / name).read_bytes()


def test_an_index_of_another_base_is_refused(make_base, make_overlay):
    base, overlay = make_base(), make_overlay()
    path = overlay / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["model.other.weight"] = "model-00001-of-00007.safetensors"
    path.write_text(json.dumps(index))
    refused(base, overlay, "says 'model.other.weight'")


def test_a_draft_head_with_other_bits_than_the_head(make_base, make_overlay):
    refused(make_base(), make_overlay(head_bits=8), "'mtp.draft_lm_head' has 4 bits")


def test_bits_of_the_embedding_must_be_the_overlays(make_base, make_overlay):
    refused(make_base(), make_overlay(), "says 8 bits for", embed_bits=4)


def test_a_missing_module(make_base, make_overlay):
    def change(files):
        for part in ("packed", "scale", "shape"):
            del files[EXTRA][f"mtp.fc.weight_{part}"]

    refused(make_base(), make_overlay(change=change), "lacks 'mtp.fc'")


def test_wrong_shape_and_wrong_scales(make_base, make_overlay):
    def shape(files):
        files[HEAD]["lm_head.weight_shape"] = torch.tensor([512, 384])

    def scales(files):
        held = files[EXTRA]
        held["mtp.fc.weight_scale"] = held["mtp.fc.weight_scale"].bfloat16()

    base = make_base()
    refused(base, make_overlay("a", shape), r"shape \[512, 384\]")
    refused(base, make_overlay("b", scales), "group scales are BF16")


def test_a_truncated_file(make_base, make_overlay):
    overlay = make_overlay()
    (overlay / EXTRA).write_bytes((overlay / EXTRA).read_bytes()[:-1])
    refused(make_base(), overlay, "truncated")


def test_ids_missing_or_of_another_number(make_base, make_overlay):
    base, overlay = make_base(), make_overlay()
    torch.save(torch.arange(100), overlay / "mtp_draft_vocab_ids.pt")
    refused(base, overlay, "100 ids, but the draft head has 128 rows")
    (overlay / "mtp_draft_vocab_ids.pt").unlink()
    refused(base, overlay, "no such draft vocabulary")


def test_another_model_and_a_base_without_tokenizer(make_base, make_overlay):
    base, overlay = make_base(), make_overlay()
    config = json.loads((overlay / "config.json").read_text())
    config["text_config"]["vocab_size"] = 1024
    (overlay / "config.json").write_text(json.dumps(config))
    refused(base, overlay, "vocab_size is 1024, the base has 512")
    (base / "tokenizer.json").unlink()
    refused(base, overlay, "tokenizer.json: missing")


def test_a_base_file_that_holds_more_is_not_replaced(make_base, make_overlay):
    def change(files):
        files[HEAD]["model.language_model.extra.weight"] = torch.zeros(4)

    refused(make_base(change=change), make_overlay(), "also holds 'model.language_model.extra")


def test_a_base_split_in_another_way(make_base, make_overlay, tmp_path):
    def change(files):
        files["head-and-norm.safetensors"] = {
            **files.pop(HEAD),
            "model.language_model.extra.weight": torch.zeros(4),
        }

    base, overlay = make_base(change=change), make_overlay()
    run(base, tmp_path / "out", overlay=overlay)
    assert check(tmp_path / "out", hashes=True) == []
    left = load_file(tmp_path / "out" / "head-and-norm.safetensors")
    assert list(left) == ["model.language_model.extra.weight"]


def test_a_step_and_an_overlay_must_not_bring_the_same_module(make_base, tmp_path):
    base, whole = make_base(), tmp_path / "whole"
    run(base, whole)
    for other in (base, whole):
        with pytest.raises(PrepareError, match="embed_tokens', which the step 'embed'") as caught:
            run(base, tmp_path / "out", overlay=other)
        assert "--step overlay" in str(caught.value)
    assert run(base, tmp_path / "out", overlay=whole, steps=["overlay"]).action == "prepared"


def test_the_cure_for_other_bits_of_the_embedding_works(make_base, make_overlay, tmp_path):
    base, overlay = make_base(), make_overlay()
    with pytest.raises(PrepareError, match="--embed-bits 8"):
        run(base, tmp_path / "out", overlay=overlay, embed_bits=4)
    with pytest.raises(PrepareError, match="--step embed"):
        run(base, tmp_path / "out", overlay=overlay, steps=["overlay"])
    run(base, tmp_path / "four", embed_bits=4)
    with pytest.raises(PrepareError, match="bf16 weights"):
        run(tmp_path / "four", tmp_path / "out", overlay=overlay, embed_bits=4)
