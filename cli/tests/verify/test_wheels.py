"""Every file against its wheel, every wheel against the lock: each kind of difference FAILs."""

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from qwen3090.lock.wheelfile import Wheel
from qwen3090.verify import Status
from qwen3090.verify.wheels import BIG, check_files, check_foreign, check_wheels


def wheel(name: str = "alpha", sha256: str = "a" * 64) -> Wheel:
    file = f"{name}-1.0-py3-none-any.whl"
    return Wheel(name, "1.0", file, sha256, "py3", "none", "any", ("3.12",), ("engine",))


def install(site: Path, name: str, files: dict[str, bytes]) -> None:
    """Lay a package out as pip does: its files, METADATA and RECORD."""
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    rows = []
    for path, data in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
        code = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={code},{len(data)}\n")
    rows.append(f"{name}/__pycache__/x.pyc,,\n{folder.name}/RECORD,,\n")
    (folder / "RECORD").write_text("".join(rows))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    where = tmp_path / "site"
    install(where, "alpha", {"alpha/a.py": b"one", "alpha/b.so": bytes(BIG)})
    monkeypatch.setattr(sys, "path", [str(where)])
    return where


def test_whole_packages_pass_and_bytecode_does_not_count(site: Path) -> None:
    found = check_files([wheel()])
    assert found.status is Status.PASS
    assert "1 files have" in found.detail and "1 larger ones" in found.detail
    assert "larger" not in check_files([wheel()], hashes=True).detail


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: p.write_bytes(b"two"), "content differs"),
        (lambda p: p.write_bytes(b"longer"), "6 bytes, the wheel's has 3"),
        (lambda p: p.unlink(), "No such file"),
    ],
)
def test_a_changed_file_fails(site: Path, change: Any, says: str) -> None:
    change(site / "alpha/a.py")
    found = check_files([wheel()])
    assert found.status is Status.FAIL
    assert str(site / "alpha/a.py") in found.detail and says in found.detail
    assert found.next.endswith("-m pip uninstall --yes alpha; qwen3090 setup")


def test_a_large_file_is_read_when_asked(site: Path) -> None:
    (site / "alpha/b.so").write_bytes(bytes(BIG - 1) + b"x")
    assert check_files([wheel()]).status is Status.PASS
    assert check_files([wheel()], hashes=True).status is Status.FAIL


def test_quick_compares_sizes(site: Path) -> None:
    (site / "alpha/a.py").write_bytes(b"two")
    assert check_files([wheel()], quick=True).status is Status.PASS
    (site / "alpha/a.py").write_bytes(b"four")
    assert check_files([wheel()], quick=True).status is Status.FAIL


def test_a_lost_record_fails(site: Path) -> None:
    (site / "alpha-1.0.dist-info/RECORD").unlink()
    found = check_files([wheel()])
    assert found.status is Status.FAIL and "RECORD: missing" in found.detail


def test_vllms_own_folder_is_the_series_matter(site: Path) -> None:
    install(site, "vllm", {"vllm/a.py": b"one", "other/b.py": b"two"})
    (site / "vllm/a.py").write_bytes(b"patched")
    assert check_files([wheel("vllm")]).status is Status.PASS
    (site / "other/b.py").write_bytes(b"damaged")
    found = check_files([wheel("vllm")])
    assert (found.status, found.next) == (Status.FAIL, "qwen3090 setup --repair")


def record(prefix: Path, sha256: str) -> None:
    entry = {"sha256": sha256, "version": "1.0"}
    (prefix / "qwen3090-setup.json").write_text(json.dumps({"wheels": {"alpha": entry}}))


def test_the_record_ties_a_package_to_the_lock(site: Path, tmp_path: Path) -> None:
    record(tmp_path, "a" * 64)
    assert check_wheels([wheel()], tmp_path).status is Status.PASS


@pytest.mark.parametrize(("sha256", "says"), [("b" * 64, "sha256 bbbbbbbbbbbb..."), ("", "no rec")])
def test_another_wheel_or_an_unknown_one_fails(
    site: Path, tmp_path: Path, sha256: str, says: str
) -> None:
    record(tmp_path, sha256)
    found = check_wheels([wheel()], tmp_path)
    assert (found.status, found.next) == (Status.FAIL, "qwen3090 setup")
    assert "alpha" in found.detail and says in found.detail


def test_a_store_is_its_own_record(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3090.verify.wheels.STORE", tmp_path.resolve())
    found = check_wheels([wheel()], tmp_path)
    assert found.status is Status.PASS and "store" in found.detail


def test_foreign_packages_are_named() -> None:
    found = check_foreign([wheel()], ["alpha", "mine", "stray"], ["mine"])
    assert (found.status, found.detail) == (Status.WARN, "not in the lock: stray")
    assert check_foreign([wheel()], ["alpha", "mine"], ["mine"]).status is Status.PASS
