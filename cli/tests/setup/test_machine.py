"""Machines and interpreters that the lock does not serve are refused with the value found."""

from pathlib import Path

import pytest
from qwen3090.lock.wheelfile import Wheel, split_name
from qwen3090.setup.machine import Machine, SetupError

GOOD = {
    "python": "3.12",
    "implementation": "cpython",
    "system": "Linux",
    "arch": "x86_64",
    "glibc": (2, 36),
    "prefix": Path("/nowhere"),
    "in_venv": True,
}
SUPPORTED = ["3.11", "3.12", "3.13"]


def machine(**changes: object) -> Machine:
    return Machine(**(GOOD | changes))  # type: ignore[arg-type]


def test_good_machine_and_the_one_under_test() -> None:
    machine().check(SUPPORTED)
    assert Machine().glibc > (2, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"python": "3.10"}, r"cpython 3\.10; the lock has wheels for CPython 3\.11, 3\.12, 3\.13"),
        ({"python": "3.14"}, r"cpython 3\.14"),
        ({"implementation": "pypy"}, r"pypy 3\.12"),
        ({"arch": "aarch64"}, "Linux aarch64"),
        ({"system": "Darwin", "arch": "arm64"}, "Darwin arm64"),
        ({"in_venv": False}, "/nowhere is not a virtual environment"),
    ],
)
def test_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SetupError, match=message) as error:
        machine(**changes).check(SUPPORTED)
    assert error.value.next_step


@pytest.mark.parametrize(("glibc", "text"), [((2, 31), r"glibc 2\.31"), ((0, 0), "not glibc")])
def test_old_or_foreign_c_library(glibc: tuple[int, int], text: str) -> None:
    wheels = [
        Wheel(file=file, sha256="0" * 64, pythons=("3.12",), groups=("engine",), **split_name(file))
        for file in ("a-1-py3-none-any.whl", "crypto-50-cp311-abi3-manylinux_2_34_x86_64.whl")
    ]
    machine().check_glibc(wheels)
    with pytest.raises(SetupError, match=text) as error:
        machine(glibc=glibc).check_glibc(wheels)
    assert "crypto-50-cp311-abi3-manylinux_2_34_x86_64.whl needs glibc 2.34" in str(error.value)
