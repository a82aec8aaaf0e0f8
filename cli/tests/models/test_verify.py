"""Verify finds every kind of damage: fast where sizes and headers show it, deep where bytes do."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.models.headers import read_header
from qwen3090.models.store import MARKER, whole
from qwen3090.models.verify import verify


def problems(world: Any, deep: bool = False) -> dict[str, str]:
    found = verify(world.manifest, world.store, ["base"], deep=deep)
    return {finding.path: finding.problem for finding in found if finding.problem}


def test_whole_directory_has_no_problem(world: Any) -> None:
    world.fetch()
    for deep in (False, True):
        found = verify(world.manifest, world.store, ["base"], deep=deep)
        assert len(found) == 4
        assert [finding.problem for finding in found] == [None] * 4


def test_not_fetched_and_unfinished(world: Any) -> None:
    assert problems(world) == {"": "not fetched"}
    world.store.staging("base").mkdir(parents=True)
    assert problems(world) == {"": "a fetch of it is not finished"}


def test_missing_truncated_and_broken_json(world: Any) -> None:
    directory = world.fetch()
    (directory / world.big).unlink()
    os.truncate(directory / "model-00001-of-00002.safetensors", 1000)
    content = world.files["config.json"]
    (directory / "config.json").write_bytes(b"!" * len(content))
    found = problems(world)
    assert found[world.big] == "missing"
    assert found["model-00001-of-00002.safetensors"].startswith("has 1000 bytes, expected 700")
    assert found["config.json"].startswith("is not JSON")


def test_damage_in_the_header_shows_fast(world: Any) -> None:
    directory = world.fetch()
    with (directory / world.big).open("r+b") as stream:
        stream.seek(20)
        stream.write(b"\xff\xff")
    assert "header is not valid" in problems(world)[world.big]


def test_one_wrong_byte_shows_deep_only(world: Any) -> None:
    directory = world.fetch()
    with (directory / world.big).open("r+b") as stream:
        stream.seek(500_000)
        byte = stream.read(1)
        stream.seek(500_000)
        stream.write(bytes([byte[0] ^ 1]))
    assert problems(world) == {}
    assert problems(world, deep=True)[world.big].startswith("sha256 is ")
    assert not whole(directory, world.manifest.repositories["base"])


def test_generated_file_is_compared_with_its_record(world: Any) -> None:
    directory = world.fetch()
    index = directory / "model.safetensors.index.json"
    index.write_text(json.dumps(json.loads(index.read_text())) + "\n")
    assert "bytes, expected" in problems(world)["model.safetensors.index.json"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda raw: raw[:4], "too short"),
        (lambda raw: b"\xff" * 8 + raw[8:], "does not fit"),
        (lambda raw: raw[:-1], "header describes"),
        (lambda raw: raw + b"x", "header describes"),
        (lambda raw: raw.replace(b"[400000]", b"[300000]"), "tensor b"),
        (lambda raw: raw.replace(b'"U8"', b'"U7"', 1), "unknown dtype"),
        (lambda raw: raw.replace(b"[0, 300000]", b"[1, 300001]"), "tensor a"),
    ],
)
def test_header_rules(tmp_path: Path, make_weights: Any, change: Any, word: str) -> None:
    raw = make_weights({"a": 300_000, "b": 400_000})
    path = tmp_path / "x.safetensors"
    path.write_bytes(raw)
    assert read_header(path) == {"a": (0, 300_000), "b": (300_000, 700_000)}
    changed = change(raw)
    assert changed != raw
    path.write_bytes(changed)
    problem = read_header(path)
    assert isinstance(problem, str)
    assert word in problem


def test_command_says_what_to_run_next(tmp_path: Path) -> None:
    from qwen3090.commands.models import cli

    result = CliRunner().invoke(cli, ["verify", "--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "next: qwen3090 models fetch" in result.output
    result = CliRunner().invoke(cli, ["verify", "--dir", str(tmp_path), "--variant", "drafter"])
    assert result.exit_code == 1
    assert "BAD  drafter/: not fetched" in result.output


def test_the_next_command_of_a_damaged_file_mends_it_when_pasted(
    world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository is of no variant's name; the directory needs quotes."""
    from qwen3090.commands.models import cli

    data = world.manifest.model_dump(mode="json")
    data["repositories"] = {"weights": data["repositories"]["base"]}
    data["variants"] = {"mine": {**data["variants"]["base"], "repositories": ["weights"]}}
    manifest = tmp_path / "my manifest.json"
    manifest.write_text(json.dumps(data))
    where = ["--dir", str(tmp_path / "the models"), "--manifest", str(manifest)]
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    run = CliRunner().invoke(cli, ["fetch", "--variant", "mine", *where])
    assert run.exit_code == 0, run.output
    path = tmp_path / "the models" / "weights" / world.big
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    bad = CliRunner().invoke(cli, ["verify", "--deep", *where])
    assert bad.exit_code == 1
    pasted = shlex.split(bad.output.split("next: ")[1], comments=True)
    assert pasted[:2] == ["qwen3090", "models"]
    assert CliRunner().invoke(cli, pasted[2:]).exit_code == 0
    assert CliRunner().invoke(cli, ["verify", "--deep", *where]).exit_code == 0


def test_a_generated_file_without_a_record_is_not_right(world: Any) -> None:
    final = world.fetch()
    (final / MARKER).unlink()
    assert set(problems(world)) == {"model.safetensors.index.json"}
