"""The shipped manifest is complete, and no manifest with a hole in it is accepted."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from qwen3090.data import data_file
from qwen3090.errors import UserError
from qwen3090.models.generate import generate
from qwen3090.models.manifest import load_manifest, read_manifest

SIZES = {"base": 19_472_791_973, "fast": 983_274_245, "drafter": 1_280_636_224,
         "drafter-bf16": 3_848_819_135}  # fmt: skip


def test_shipped_manifest_names_every_file() -> None:
    manifest = load_manifest()
    assert {name: entry.size for name, entry in manifest.repositories.items()} == SIZES
    base = manifest.repositories["base"]
    shards = [file for file in base.files if file.path.endswith(".safetensors")]
    assert sum(file.size for file in shards) == 19_452_780_008
    assert [made.path for made in base.generated] == ["config.json", "model.safetensors.index.json"]
    hashes = [file.sha256 for entry in manifest.repositories.values() for file in entry.files]
    assert len(hashes) == len(set(hashes)) == 23
    for entry in manifest.repositories.values():
        left_out = {file.path for file in entry.left_out}
        assert {"README.md", ".gitattributes"} <= left_out


def test_variants() -> None:
    manifest = load_manifest()
    assert set(manifest.variants) == set(SIZES)
    assert list(manifest.select("fast")) == ["base", "fast"]
    assert list(manifest.select("all")) == list(SIZES)
    with pytest.raises(UserError, match="variant 'fats'"):
        manifest.select("fats")


def test_prepared_bytes_follow_from_the_layout() -> None:
    """Bytes of an int8 or int4 layer: packed words, one 2-byte scale per 128 weights, the shape."""

    def packed(rows: int, columns: int) -> int:
        return rows * columns + rows * (columns // 128) * 2 + 16

    mtp = [(5120, 10240), (12288, 5120), (1024, 5120), (1024, 5120), (5120, 6144)]
    mtp += [(17408, 5120), (17408, 5120), (5120, 17408)]
    embedding_shard = 1_291_274_752  # published: packed embedding, final norm and header
    manifest = load_manifest()
    assert manifest.prepared_bytes("fast") == embedding_shard
    whole = embedding_shard + packed(248_320, 5120) + packed(40_960, 5120)
    assert manifest.prepared_bytes("base") == whole + sum(packed(*shape) for shape in mtp)


def test_generated_config_is_the_one_deduced_from_published_bytes(tmp_path: Path) -> None:
    """Not enforced when a user has another config: this pins what the generator writes."""
    content = generate("base-config", tmp_path, load_manifest().repositories["base"])
    assert len(content) == 15_310
    assert hashlib.sha256(content).hexdigest().startswith("c9b3d50248a87808")
    part = json.dumps(json.loads(content)["quantization_config"]["ignore"])
    assert part.count("linear_attn") == 96


def broken(change: Any) -> dict[str, Any]:
    data = json.loads(data_file("models.json").read_text())
    change(data)
    return data


def set_file(**values: Any) -> Any:
    return lambda data: data["repositories"]["base"]["files"][0].update(values)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (set_file(sha256="abc"), "repositories.base.files.0.sha256"),
        (set_file(size=-1), "repositories.base.files.0.size"),
        (set_file(path="../x"), "not a plain relative path"),
        (set_file(path="/etc/passwd"), "not a plain relative path"),
        (set_file(path=".qwen3090.json"), "hidden"),
        (set_file(path="x.part"), "unfinished"),
        (set_file(path="config.json"), "stands twice"),
        (set_file(path="config.json/x"), "is a file and the folder of"),
        (set_file(path="a\0b"), "a character that no file name should have"),
        (set_file(sha512="x"), "Extra inputs"),
        (lambda d: d["repositories"]["base"].update(revision="main"), "repositories.base.revision"),
        (lambda d: d["repositories"]["base"].update(files=[]), "repositories.base.files"),
        (lambda d: d["variants"]["fast"].update(repositories=["x"]), "unknown repository 'x'"),
        (lambda d: d["variants"].update({"All Of It": d["variants"]["fast"]}), "usable name"),
        (
            lambda d: d["repositories"]["base"]["generated"][0].update(generated_by="hope"),
            "generated",
        ),
        (lambda d: d.update(format=2), "format"),
    ],
)
def test_bad_manifest_is_refused(tmp_path: Path, change: Any, where: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(broken(change)))
    with pytest.raises(UserError) as caught:
        read_manifest(path)
    assert str(path) in str(caught.value)
    assert where in str(caught.value)


def test_not_json_and_not_there(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with pytest.raises(UserError, match="cannot read manifest"):
        read_manifest(path)
    path.write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        read_manifest(path)


def test_users_manifest_is_merged_and_cannot_change_a_shipped_name(tmp_path: Path) -> None:
    path = tmp_path / "m.json"

    def mine(data: dict[str, Any]) -> None:
        data["repositories"] = {"mine": data["repositories"]["drafter"]}
        data["variants"] = {"mine": {**data["variants"]["drafter"], "repositories": ["mine"]}}

    path.write_text(json.dumps(broken(mine)))
    merged = load_manifest([path])
    assert list(merged.repositories)[-1] == "mine"
    assert "base" in merged.variants
    path.write_text(json.dumps(broken(set_file(size=5))))
    with pytest.raises(UserError, match="gives 'base'"):
        load_manifest([path])
