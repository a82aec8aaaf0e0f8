"""The lock file: file names are split as they stand, and every fault is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwen3090.lock.wheelfile import (
    LockError,
    Wheel,
    dump,
    glibc_of,
    parse,
    read,
    select,
    split_name,
)


def wheel(file: str = "torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl", **more: Any) -> Wheel:
    values: dict[str, Any] = {"sha256": "0" * 64, "pythons": ("3.12",), "groups": ("engine",)}
    return Wheel(file=file, **{**values, **split_name(file), **more})


def test_compressed_tags_stay_as_they_are() -> None:
    tags = "manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64"
    fields = split_name(f"Foo_Bar-1.0.post3-py2.py3-none-{tags}.whl")
    assert fields == {
        "name": "Foo_Bar",
        "version": "1.0.post3",
        "build": "",
        "python": "py2.py3",
        "abi": "none",
        "platform": tags,
    }


def test_build_tag() -> None:
    assert split_name("a-1-2b-py3-none-any.whl")["build"] == "2b"


@pytest.mark.parametrize(
    "file", ["a-1.tar.gz", "a-1-py3-none.whl", "a-1-x-py3-none-any.whl", "x/a-1-py3-none-any.whl"]
)
def test_not_a_wheel(file: str) -> None:
    with pytest.raises(LockError, match="a-1"):
        split_name(file)


def test_requirement_excludes_local_builds() -> None:
    from packaging.specifiers import SpecifierSet

    line = wheel().requirement
    assert line == f"torch===2.13.0 --hash=sha256:{'0' * 64}"
    specifier = SpecifierSet(line.split()[0].removeprefix("torch"))
    assert "2.13.0" in specifier
    assert "2.13.0+cpu" not in specifier
    assert "2.13.0+cpu" in SpecifierSet("==2.13.0")


@pytest.mark.parametrize(
    ("platform", "wanted"),
    [
        ("any", (0, 0)),
        ("manylinux2014_x86_64.manylinux_2_17_x86_64", (2, 17)),
        ("manylinux_2_34_x86_64", (2, 34)),
        ("manylinux_2_24_x86_64.manylinux_2_28_x86_64", (2, 24)),
        ("manylinux1_x86_64", (2, 5)),
    ],
)
def test_glibc(platform: str, wanted: tuple[int, int]) -> None:
    assert glibc_of(platform) == wanted


def test_round_trip_is_sorted_one_line_each() -> None:
    wheels = [wheel("b-1-py3-none-any.whl"), wheel("A-1-py3-none-any.whl")]
    text = dump({"pins": "x"}, wheels)
    assert parse(json.loads(text)) == [wheels[1], wheels[0]]
    assert [line.split('"')[3] for line in text.splitlines() if '"file"' in line] == ["A", "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"platform": "linux_x86_64"}, "platform is 'linux_x86_64', the file name says 'manyl"),
        ({"version": "2.14"}, "version is '2.14'"),
        ({"sha256": "abc"}, "'abc' is not a sha256"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_entry_that_disagrees_with_its_file(change: dict[str, str], message: str) -> None:
    document = json.loads(dump({"pins": "x"}, [wheel()]))
    document["wheels"][0] |= change
    with pytest.raises(LockError, match=message):
        parse(document)


def test_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "wheels.json"
    with pytest.raises(LockError, match=r"wheels\.json"):
        read(path)
    path.write_text("{")
    with pytest.raises(LockError, match=r"wheels\.json"):
        read(path)
    path.write_text("{}")
    with pytest.raises(LockError, match="no wheels"):
        read(path)


def test_select_names_a_missing_wheel_and_a_double_one() -> None:
    one = wheel()
    assert select([one, wheel("x-1-py3-none-any.whl", pythons=("3.11",))], "3.12", ["engine"]) == [
        one
    ]
    with pytest.raises(LockError, match=r"no wheel for Python 3\.13 in group engine"):
        select([one], "3.13", ["engine"])
    with pytest.raises(LockError, match="two wheels of torch"):
        select([one, wheel("torch-2.14-py3-none-any.whl")], "3.12", ["engine"])
