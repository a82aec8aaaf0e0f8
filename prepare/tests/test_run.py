"""Whole runs on a tiny base in the published layout: content, layout, repeating, replacing."""

import hashlib
import itertools
import json
import os
from pathlib import Path

import pytest
import torch
from qwen3090_prepare import PrepareError, check, run
from qwen3090_prepare.quantize import dequantize_rows
from safetensors.torch import load_file, save

EMBED = "model.language_model.embed_tokens"
EXTRA = "model_extra_tensors.safetensors"


def digest(directory: Path) -> dict[str, str]:
    return {
        str(p.relative_to(directory)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(directory.rglob("*"))
        if p.is_file()
    }


def tensors(directory: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for path in sorted(directory.glob("*.safetensors")):
        found |= load_file(path)
    return found


def dequantized(held: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    scale = held[f"{name}.weight_scale"]
    packed = held[f"{name}.weight_packed"]
    bits = 32 * packed.shape[1] // (scale.shape[1] * 128)
    dtype = "F16" if scale.dtype == torch.float16 else "BF16"
    bytes_ = packed.view(torch.uint8).numpy()
    words = scale.view(torch.int16).numpy().view("uint16")
    return torch.from_numpy(dequantize_rows(bytes_, words, bits, dtype))


@pytest.mark.parametrize(("head", "embed", "mtp"), [(8, 8, 8), (4, 8, 4), (8, 4, 4), (4, 4, 8)])
def test_all_steps(make_base, ids_file, tmp_path, head, embed, mtp):
    base, out = make_base(), tmp_path / "out"
    before = digest(base)
    result = run(base, out, head_bits=head, embed_bits=embed, mtp_bits=mtp, draft_vocab=ids_file)
    assert [s.action for s in result.steps] == ["run"] * 4
    assert digest(base) == before
    assert check(out, hashes=True) == []
    old, new = tensors(base), tensors(out)
    for name, bits, scale in (
        ("lm_head", head, torch.float16),
        (EMBED, embed, torch.bfloat16),
        ("mtp.fc", mtp, torch.float16),
        ("mtp.layers.0.self_attn.q_proj", mtp, torch.float16),
    ):
        assert new[f"{name}.weight_scale"].dtype == scale
        assert new[f"{name}.weight_shape"].tolist() == list(old[f"{name}.weight"].shape)
        error = dequantized(new, name) - old[f"{name}.weight"].float()
        assert error.norm() / old[f"{name}.weight"].float().norm() < (0.01 if bits == 8 else 0.15)
    ids = torch.load(out / "mtp_draft_vocab_ids.pt")
    assert ids.tolist() == torch.load(ids_file).tolist()
    for part in ("weight_packed", "weight_scale"):
        assert torch.equal(new[f"mtp.draft_lm_head.{part}"], new[f"lm_head.{part}"][ids])
    kept = [n for n in old if n in new]
    assert all(torch.equal(old[n].view(torch.uint8), new[n].view(torch.uint8)) for n in kept)
    gone = set(old) - set(new)
    assert len(gone) == 10 and all(n.endswith(".weight") for n in gone)


def test_untouched_shards_are_linked_and_the_index_is_right(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    run(base, out)
    for number in (1, 2, 3, 4, 5):
        name = f"model-0000{number}-of-00007.safetensors"
        assert (base / name).samefile(out / name)
    assert not (base / EXTRA).samefile(out / EXTRA)
    index = json.loads((out / "model.safetensors.index.json").read_text())
    held = tensors(out)
    assert list(index["weight_map"]) == sorted(held)
    assert index["metadata"]["total_size"] == sum(t.nbytes for t in held.values())


def test_written_files_have_the_bytes_of_the_library(make_base, ids_file, tmp_path):
    base, out = make_base(), tmp_path / "out"
    run(base, out, draft_vocab=ids_file)
    for number in ("model-00006-of-00007.safetensors", EXTRA):
        path = out / number
        assert path.read_bytes() == save(load_file(path), metadata={"format": "pt"})


def test_the_bytes_do_not_depend_on_threads_or_place(make_base, ids_file, tmp_path):
    base = make_base()
    one, two = tmp_path / "one", tmp_path / "else" / "two"
    run(base, one, threads=1, draft_vocab=ids_file)
    run(base, two, threads=5, draft_vocab=ids_file)
    assert digest(one) == digest(two)


def test_one_file_without_an_index(make_base, ids_file, tmp_path):
    def merge(files):
        every = {name: t for held in files.values() for name, t in held.items()}
        every["model.embed_tokens.weight"] = every.pop(f"{EMBED}.weight")
        files.clear()
        files["model.safetensors"] = every

    base, out = make_base(change=merge), tmp_path / "out"
    (base / "model.safetensors.index.json").unlink()
    run(base, out, draft_vocab=ids_file)
    assert check(out) == []
    held = tensors(out)
    ids = torch.load(ids_file)
    assert torch.equal(held["mtp.draft_lm_head.weight_packed"], held["lm_head.weight_packed"][ids])
    assert "model.embed_tokens.weight_packed" in held


def test_steps_one_at_a_time_end_at_the_same_tensors(make_base, ids_file, tmp_path):
    base, whole = make_base(), tmp_path / "whole"
    run(base, whole, draft_vocab=ids_file, head_bits=4)
    last = base
    for step in ("embed", "mtp", "lm-head", "draft-vocab"):
        vocab = ids_file if step == "draft-vocab" else None
        run(last, tmp_path / step, steps=[step], draft_vocab=vocab, head_bits=4)
        last = tmp_path / step
    names = ["config.json", "model.safetensors.index.json", EXTRA]
    assert all((last / n).read_bytes() == (whole / n).read_bytes() for n in names)


def test_a_second_run_changes_nothing_and_other_parameters_need_force(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    run(base, out)
    first, stamp = digest(out), (out / "prepared.json").stat().st_mtime_ns
    assert run(base, out).action == "unchanged"
    assert (out / "prepared.json").stat().st_mtime_ns == stamp
    with pytest.raises(PrepareError, match="other parameters"):
        run(base, out, head_bits=4)
    assert digest(out) == first
    assert run(base, out, head_bits=4, force=True).action == "prepared"
    assert digest(out) != first and check(out, hashes=True) == []
    assert run(base, out, force=True).action == "prepared"
    assert digest(out) == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base", "out"]


def test_a_damaged_result_is_made_again_by_force_only(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    run(base, out)
    first = digest(out)
    path = out / "model-00007-of-00007.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(PrepareError, match="not what prepared"):
        run(base, out)
    assert run(base, out, force=True).action == "prepared"
    assert run(base, out, force=True).action == "unchanged"
    assert digest(out) == first


def test_a_changed_input_is_noticed(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    run(base, out)
    (base / "chat_template.jinja").unlink()
    (base / "chat_template.jinja").write_text("other")
    with pytest.raises(PrepareError, match="other inputs"):
        run(base, out)


def test_a_directory_of_something_else_is_never_replaced(make_base, tmp_path):
    base, out = make_base(), tmp_path / "out"
    out.mkdir()
    (out / "precious").write_text("x")
    with pytest.raises(PrepareError, match="not a prepared checkpoint"):
        run(base, out, force=True)
    with pytest.raises(PrepareError, match="its own input"):
        run(base, base)
    assert (out / "precious").read_text() == "x"


def test_progress_reaches_the_total(make_base, ids_file, tmp_path):
    seen = []
    run(make_base(), tmp_path / "out", draft_vocab=ids_file, progress=seen.append)
    assert {p.step for p in seen} >= {"hash", "lm-head", "embed", "mtp", "draft-vocab", "verify"}
    assert all(a.done_bytes <= b.done_bytes for a, b in itertools.pairwise(seen))
    assert seen[-1].done_bytes == seen[-1].total_bytes > 0


def test_without_a_draft_vocabulary_the_step_says_so(make_base, tmp_path):
    result = run(make_base(), tmp_path / "out")
    step = result.steps[-1]
    assert (step.step, step.action) == ("draft-vocab", "skipped") and "--draft-vocab" in step.note
    assert not (tmp_path / "out" / "mtp_draft_vocab_ids.pt").exists()


def test_across_file_systems_files_are_copied(make_base, tmp_path, monkeypatch):
    base, out = make_base(), tmp_path / "out"

    def refuse(*_args, **_kwargs):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    run(base, out)
    name = "model-00001-of-00007.safetensors"
    assert not (base / name).samefile(out / name)
    assert check(out, hashes=True) == []
