"""``models lock``: entries from the hub's metadata, small files hashed here."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.commands.models import cli
from qwen3090.errors import UserError
from qwen3090.models.hub import Hub
from qwen3090.models.manifest import read_manifest
from qwen3090.models.pin import add_to_file, entry_name, lock_repository

REPOSITORY = "other/Check_Point.W4"


@pytest.fixture
def repository(hub: Any, make_weights: Any) -> Any:
    """Put a repository of weights, small files and files that nobody loads on the hub."""
    for path, content in {
        "model.safetensors": make_weights({"a": 100_000}),
        "config.json": b'{"a": 1}',
        "README.md": b"hello",
        ".gitattributes": b"*",
        "pytorch_model.bin": b"pickle",
        "onnx/model.onnx": b"onnx",
    }.items():
        hub.put(REPOSITORY, path, content)
    hub.lfs.add(f"{REPOSITORY}/model.safetensors")
    return hub


def lock(**changes: Any) -> dict[str, Any]:
    arguments = {"name": "mine", "prepared_bytes": 7, "hub": Hub(None, 2, 0.01), "say": print}
    return lock_repository(REPOSITORY, "main", **{**arguments, **changes})


def test_entries(repository: Any) -> None:
    entry = lock()["repositories"]["mine"]
    assert entry["revision"] == "0123456789abcdef0123456789abcdef01234567"
    files = {file["path"]: file for file in entry["files"]}
    assert set(files) == {"config.json", "model.safetensors"}
    assert files["config.json"]["sha256"] == hashlib.sha256(b'{"a": 1}').hexdigest()
    left_out = {file["path"] for file in entry["left_out"]}
    assert left_out == {"README.md", ".gitattributes", "pytorch_model.bin", "onnx/model.onnx"}
    fetched = [seen.path for seen in repository.seen if "/resolve/" in seen.path]
    assert [path.rpartition("/")[2] for path in fetched] == ["config.json"]


def test_small_file_is_checked_against_its_git_id(repository: Any) -> None:
    repository.faults[f"{REPOSITORY}/config.json"].append(repository.fault("flip", 2))
    entry = lock()["repositories"]["mine"]
    assert hashlib.sha256(b'{"a": 1}').hexdigest() in str(entry)
    repository.always[f"{REPOSITORY}/config.json"] = repository.fault("flip", 2)
    with pytest.raises(UserError, match="git id"):
        lock()


def test_locked_then_fetched(repository: Any, tmp_path: Path) -> None:
    out = tmp_path / "mine.json"
    run = CliRunner().invoke(cli, ["lock", f"{REPOSITORY}@main", "--out", str(out)])
    assert run.exit_code == 0, run.output
    assert list(read_manifest(out).variants) == ["check_point.w4"]
    store = tmp_path / "models"
    arguments = [
        "fetch",
        "--manifest",
        str(out),
        "--variant",
        "check_point.w4",
        "--dir",
        str(store),
    ]
    run = CliRunner().invoke(cli, [*arguments, "--no-hub-cache", "--quiet"])
    assert run.exit_code == 0, run.output
    assert (store / "check_point.w4" / "config.json").read_bytes() == b'{"a": 1}'


def test_adding_keeps_other_entries(repository: Any, tmp_path: Path) -> None:
    out = tmp_path / "mine.json"
    add_to_file(out, lock())
    add_to_file(out, lock(name="second"))
    assert list(read_manifest(out).repositories) == ["mine", "second"]
    out.write_text(json.dumps({"format": 3}))
    with pytest.raises(UserError, match="format"):
        add_to_file(out, lock())


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        ("other/nothing@main", "404"),
        ("other/name", "is not OWNER/NAME@REVISION"),
        ("x@y", "is not"),
    ],
)
def test_refusals(repository: Any, tmp_path: Path, argument: str, word: str) -> None:
    run = CliRunner().invoke(cli, ["lock", argument, "--out", str(tmp_path / "m.json")])
    assert run.exit_code == 1
    assert word in run.output
    assert "next:" in run.output


def test_repository_without_safetensors(hub: Any) -> None:
    hub.put(REPOSITORY, "config.json", b"{}")
    with pytest.raises(UserError, match="holds no safetensors"):
        lock()


@pytest.mark.parametrize("path", ["x/../outside.safetensors", "a\nb.safetensors"])
def test_metadata_with_a_path_that_is_none(repository: Any, make_weights: Any, path: str) -> None:
    repository.put(REPOSITORY, path, make_weights({"b": 10}))
    repository.lfs.add(f"{REPOSITORY}/{path}")
    with pytest.raises(UserError, match="makes no manifest"):
        lock()


def test_names() -> None:
    assert entry_name("A/Qwen3.8 27B+x") == "qwen3.8-27b-x"
