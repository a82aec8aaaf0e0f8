"""The whole of ``verify`` against a stock engine: nothing that is about the engine may pass.

The engine is the installed one with the series' files put back as the wheel had them; the plugin
stays installed beside it, which is what an engine that lost its patches looks like.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from qwen3090.patches.locate import default_tree
from qwen3090.patches.sources import Folder
from qwen3090.patches.state import ORIGINALS, read_marker
from qwen3090.verify.catalogue import APPLY, CATALOGUE, entry

from .stub_server import KEY, serve

pytest.importorskip("vllm")
pytestmark = pytest.mark.engine
CLI = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a stock ``vllm/``: links to the installed files, patched ones undone."""
    tree, site = default_tree(), tmp_path_factory.mktemp("stock")
    marker = read_marker(Folder(tree))
    assert marker is not None, "the installed engine is not patched: run make setup"
    skip = shutil.ignore_patterns("__pycache__", ".qwen3090")
    shutil.copytree(tree / "vllm", site / "vllm", copy_function=os.symlink, ignore=skip)
    for info in tree.glob("vllm*.dist-info"):
        shutil.copytree(info, site / info.name)
    for path, (before, _) in marker.files.items():
        (site / path).unlink(missing_ok=True)
        if before is not None:
            shutil.copy(tree / ORIGINALS / path, site / path)
    start = site / "vllm" / "__init__.py"  # a real file: where it is says which tree is imported
    content = start.read_bytes()
    start.unlink(missing_ok=True)
    start.write_bytes(content)
    return site


def verified(site: Path, *arguments: str) -> tuple[int, list[dict[str, str]]]:
    """Run ``verify --json`` with a tree before the installed one; return status and findings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QWEN3090_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(site), str(CLI)])
    command = [sys.executable, "-m", "qwen3090", "verify", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout.startswith("{"), done.stderr
    return done.returncode, json.loads(done.stdout)["findings"]


def test_no_check_of_the_engine_passes_on_a_stock_one(stock: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    sets = [f"api_key_file={key}", "served_name=demo", f"model={tmp_path}"]
    words = [word for item in sets for word in ("--set", item)]
    with serve("stock") as url:
        status, findings = verified(stock, "fast", *words, "--live", "--url", url)
    assert status == 1
    engine = [each for each in findings if entry(each["check"]).engine]
    assert [each for each in engine if each["status"] == "PASS"] == []
    assert all(each["next"] for each in engine if each["status"] == "FAIL")
    # All of them were made, but those that speak only of trouble of their own, and two families.
    made = {entry(each["check"]).name for each in engine}
    silent = {"series", "series.note", "ops", "ops.plugin", "live", "live.ops.*"}
    assert {check.name for check in CATALOGUE if check.engine} - silent == made - silent
    # The hooks are active, by vLLM's own registries: it is the series that is missing.
    hooks = [each for each in engine if each["check"].startswith("ops.")]
    assert any("not proved" in each["detail"] and each["next"] == APPLY for each in hooks)
    # And the installation is whole: what fails above fails for the engine alone.
    passed = {each["check"] for each in findings if each["status"] == "PASS"}
    assert {"environment.packages", "environment.wheels", "settings.key"} <= passed
