"""``qwen3090 up`` end to end on the tiny checkpoint: fetch over HTTP, prepare, plan, serve."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.commands import up
from qwen3090.errors import UserError
from qwen3090.models import manifest as manifest_module
from qwen3090.models.manifest import load_manifest
from qwen3090.models.need import find_need, is_prepared
from qwen3090.models.store import Store


@pytest.fixture(autouse=True)
def stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no `up` that goes further than its test expects become the server in pytest's place."""

    def become(_: str, words: list[str]) -> None:
        raise AssertionError(f"it would have become {words}")

    monkeypatch.setattr(up.os, "execv", become)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Make the tiny checkpoint once."""
    from qwen3090.demo import make

    return make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def published(
    hub: Any, tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_entry: Any
) -> Path:
    """Put the tiny checkpoint on the hub under the shipped names; return the state directory."""
    repositories: dict[str, Any] = {}
    for name, directory in {
        "base": tiny.base,
        "fast": tiny.overlay,
        "drafter": tiny.drafter,
    }.items():
        files = []
        for path in sorted(directory.iterdir()):
            if name == "base" and path.name == "model.safetensors.index.json":
                continue
            hub.put(f"owner/{name}", path.name, path.read_bytes())
            files.append(make_entry(path.name, path.read_bytes()))
        repositories[name] = {
            "repository": f"owner/{name}",
            "revision": "a" * 40,
            "purpose": "test",
            "files": files,
        }
    made = {"path": "model.safetensors.index.json", "generated_by": "safetensors-index"}
    repositories["base"]["generated"] = [{**made, "reason": "test"}]
    parts = {"base": ["base"], "fast": ["base", "fast"], "drafter": ["drafter"]}
    variants = {
        name: {
            "repositories": members,
            "prepared_bytes": 0 if name == "drafter" else 10 << 20,
            "purpose": "t",
        }
        for name, members in parts.items()
    }
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"format": 1, "repositories": repositories, "variants": variants}))
    monkeypatch.setattr(manifest_module, "data_file", lambda _: path)
    state = tmp_path / "state"
    monkeypatch.setenv("QWEN3090_STATE", str(state))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no-cache"))
    return state


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Catch the command that replaces the process in the end."""
    commands: list[list[str]] = []
    monkeypatch.setattr(up.os, "execv", lambda _, words: commands.append(words))
    return commands


def run(*words: str) -> Any:
    return CliRunner().invoke(up.cli, [*words])


@pytest.mark.slow
def test_from_nothing_to_serve_and_then_at_once(
    published: Path, hub: Any, served: list[list[str]]
) -> None:
    first = run("fast", "--yes")
    assert first.exit_code == 0, first.output
    for word in ("1. fetch fast", "2. fetch drafter", "3. prepare fast", "== plan", "== serve"):
        assert word in first.output
    assert served[-1][-2:] == ["serve", "fast"]
    assert is_prepared(published / "prepared" / "fast", load_manifest(), "fast")
    seen = len(hub.seen)
    second = run("fast", "--set", "seats=4")
    assert second.exit_code == 0, second.output
    assert "everything it needs is on disk already" in second.output
    assert served[-1][-4:] == ["serve", "fast", "--set", "seats=4"]
    assert len(hub.seen) == seen

    # Published files may go once they are prepared; the profile still needs nothing.
    import shutil

    shutil.rmtree(published / "models" / "base")
    assert "everything it needs" in run("fast").output

    # A manifest with another file makes the prepared checkpoint stale.
    data = json.loads(manifest_module.data_file("models.json").read_text())
    data["repositories"]["base"]["files"][0]["sha256"] = "0" * 64
    manifest_module.data_file("models.json").write_text(json.dumps(data))
    assert "prepare fast" in run("fast", "--dry-run").output


@pytest.mark.slow
def test_base_variant_gets_a_draft_head_when_the_ids_are_there(
    published: Path, served: list[list[str]]
) -> None:
    done = run("batch", "--yes", "--no-serve")
    assert done.exit_code == 0, done.output
    prepared = published / "prepared" / "base"
    assert is_prepared(prepared, load_manifest(), "base")
    assert not (prepared / "mtp_draft_vocab_ids.pt").exists()
    assert served == []
    assert "ready: qwen3090 serve batch" in done.output


def test_dry_run_touches_nothing(published: Path, hub: Any, served: list[list[str]]) -> None:
    done = run("fast", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "at 250 Mbit/s" in done.output
    assert "needed at the peak" in done.output
    assert hub.seen == []
    assert served == []
    assert not published.exists()


def test_nobody_to_ask(published: Path, hub: Any) -> None:
    done = run("fast")
    assert done.exit_code == 1
    assert "qwen3090 up fast --yes" in done.output
    assert hub.seen == []


@pytest.mark.parametrize(
    "settings",
    [
        ["kv_bytes=1000000000"],
        # It fits, and no cached prefix would ever be found: serve refuses it too.
        ["kv_format=int4", "drafter_kv_format=bf16", "context=16384"],
    ],
)
def test_a_plan_that_refuses_stops_before_the_download(
    published: Path, hub: Any, settings: list[str]
) -> None:
    done = run("fast", "--yes", *[word for item in settings for word in ("--set", item)])
    assert done.exit_code != 0
    assert "nothing was fetched" in done.output
    assert hub.seen == []


def test_full_disk_is_said_before_the_download(
    published: Path, hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qwen3090.models import room

    size = load_manifest().select("fast")
    download = sum(repository.size for repository in size.values())
    usage = type("Usage", (), {"free": room.MARGIN + download + 100})
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: usage)
    done = run("fast", "--yes")
    assert done.exit_code == 1
    assert "to prepare" in done.output
    assert hub.seen == []


def test_own_checkpoint_is_not_fetched(published: Path, tmp_path: Path) -> None:
    from qwen3090.config import resolve

    manifest, store = load_manifest(), Store(published / "models")
    own = resolve("fast-mtp", sets=[f"model={tmp_path}"], environ={})
    need = find_need(own, manifest, store)
    assert (need.variant, need.fetch, need.prepare) == (None, (), False)
    with pytest.raises(UserError, match="names no checkpoint"):
        find_need(resolve("demo", environ={}), manifest, store)


def test_drafter_only_when_the_speculation_needs_it(published: Path) -> None:
    from qwen3090.config import resolve

    manifest, store = load_manifest(), Store(published / "models")
    assert find_need(resolve("fast", environ={}), manifest, store).fetch == ("fast", "drafter")
    assert find_need(resolve("fast-mtp", environ={}), manifest, store).fetch == ("fast",)
    assert find_need(resolve("batch", environ={}), manifest, store).fetch == ("base",)
