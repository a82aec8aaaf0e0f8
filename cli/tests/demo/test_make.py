"""The made files: the published layout, the same bytes every time, never written over."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from qwen3090.demo import TinyPaths, inventory, make
from qwen3090.demo.dims import TINY
from qwen3090.demo.drafter_inventory import drafter
from qwen3090.demo.inventory import Inventory, Spec, payload
from qwen3090.demo.tokenizer import FORCED, special_id
from qwen3090.main import cli
from safetensors import safe_open
from safetensors.torch import load_file


def _read(path: Path) -> Inventory:
    with safe_open(path, framework="pt") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {n: Spec(p.get_dtype(), tuple(p.get_shape())) for n, p in parts.items()}


def _hashes(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_files_match_the_inventory(tiny: TinyPaths) -> None:
    for name, wanted in inventory.base_files(TINY):
        assert _read(tiny.base / name) == wanted, name
    assert _read(tiny.overlay / inventory.HEAD_FILE) == inventory.overlay_head(TINY)
    assert _read(tiny.overlay / inventory.EXTRAS_FILE) == inventory.overlay_extras(TINY)
    assert _read(tiny.drafter / "model.safetensors") == drafter(TINY, int4=True)
    assert _read(tiny.drafter_bf16 / "model.safetensors") == drafter(TINY, int4=False)


def test_base_shards_have_no_metadata(tiny: TinyPaths) -> None:
    for name, _ in inventory.base_files(TINY):
        with safe_open(tiny.base / name, framework="pt") as file:
            assert not file.metadata(), name


def test_index_lists_every_tensor_and_counts_seven_shards(tiny: TinyPaths) -> None:
    index = _json(tiny.base / "model.safetensors.index.json")
    files = dict(inventory.base_files(TINY))
    assert index["weight_map"] == {name: file for file, part in files.items() for name in part}
    del files[inventory.EXTRAS_FILE]
    assert index["metadata"] == {"total_size": sum(payload(part) for part in files.values())}


def test_about_half_of_the_body_scales_are_negative(tiny: TinyPaths) -> None:
    scales = []
    for name, part in inventory.base_files(TINY):
        with safe_open(tiny.base / name, framework="pt") as file:
            scales += [file.get_tensor(n).flatten() for n in part if n.endswith("weight_scale")]
    every = torch.cat(scales)
    assert every.dtype == torch.float16 and bool((every != 0).all())
    assert 0.4 < float((every < 0).float().mean()) < 0.6


def test_draft_vocabulary(tiny: TinyPaths) -> None:
    ids = torch.load(tiny.draft_vocab)
    assert ids.dtype == torch.int64 and tuple(ids.shape) == (TINY.draft_vocab,)
    assert ids.tolist() == sorted(set(ids.tolist()))
    assert {special_id(TINY, name) for name in FORCED} <= set(ids.tolist())
    assert ids.tolist() == _json(tiny.overlay / "draft_vocab_ids.json")


def test_draft_head_is_a_slice_of_the_head(tiny: TinyPaths) -> None:
    ids = torch.load(tiny.draft_vocab)
    head = load_file(tiny.overlay / inventory.HEAD_FILE)
    extra = load_file(tiny.overlay / inventory.EXTRAS_FILE)
    for part in ("weight_packed", "weight_scale"):
        whole = head[f"lm_head.{part}"]
        assert torch.equal(whole[ids], extra[f"mtp.draft_lm_head.{part}"])


def test_parts_are_small(tiny: TinyPaths) -> None:
    sizes = [path.stat().st_size for path in tiny.base.parent.rglob("*") if path.is_file()]
    assert sum(sizes) < 60_000_000


@pytest.mark.slow
def test_same_bytes_again_with_one_thread(tiny: TinyPaths, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from qwen3090.demo import make\n"
    code += "make(Path(sys.argv[1]))"
    threads = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "PYTHONHASHSEED": "7"}
    env = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=env)
    assert _hashes(tmp_path) == _hashes(tiny.base.parent)


def test_refuses_to_write_over_a_part(tmp_path: Path) -> None:
    (tmp_path / "drafter").mkdir()
    result = CliRunner().invoke(cli, ["demo", "--make", str(tmp_path)])
    assert result.exit_code == 1
    assert f"{tmp_path / 'drafter'} exists already" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["drafter"]


def test_leaves_nothing_behind_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("qwen3090.demo.maker.write_all", fail)
    with pytest.raises(RuntimeError):
        make(tmp_path)
    assert list(tmp_path.iterdir()) == []
