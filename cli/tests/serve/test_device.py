"""Device nodes are waited for while the machine boots, and an old driver is refused."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from qwen3090.bounded import Ran
from qwen3090.data import load_json
from qwen3090.errors import UserError
from qwen3090.serve import device, exit_codes

NODES = ("nvidiactl", "nvidia-uvm", "nvidia1")


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).touch()


def test_all_nodes_there(tmp_path: Path) -> None:
    make(tmp_path, *NODES)
    assert device.wait_for_nodes(tmp_path, uptime=lambda: 1e6) == 0


def test_wsl_has_one_node(tmp_path: Path) -> None:
    make(tmp_path, "dxg")
    assert device.missing_nodes(tmp_path) == []


@pytest.mark.parametrize("absent", NODES)
def test_a_missing_node_is_named_at_once_on_a_machine_that_runs(
    tmp_path: Path, absent: str
) -> None:
    make(tmp_path, *(name for name in NODES if name != absent), "nvidia-modeset")
    with pytest.raises(UserError) as caught:
        device.wait_for_nodes(tmp_path, uptime=lambda: 301.0, sleep=pytest.fail)
    assert caught.value.exit_code == exit_codes.NO_GPU_MEMORY
    assert absent.replace("nvidia1", "nvidia0") in caught.value.message


def test_nodes_that_come_during_boot_are_waited_for(tmp_path: Path) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        make(tmp_path, NODES[min(len(slept), 3) - 1])

    assert device.wait_for_nodes(tmp_path, uptime=lambda: 20.0, sleep=sleep) == 3
    assert slept == [1.0, 1.0, 1.0]


def test_the_wait_has_a_bound(tmp_path: Path) -> None:
    slept: list[float] = []
    with pytest.raises(UserError, match="120 s after the server was started"):
        device.wait_for_nodes(tmp_path, uptime=lambda: 20.0, sleep=slept.append)
    assert sum(slept) == device.WAIT_SECONDS


def driver(version: str) -> str:
    def run(_argv: Sequence[str], _timeout: float) -> Ran:
        return Ran(0, f"{version}\n")

    return device.check_driver({}, run)


def test_the_driver_must_be_new_enough() -> None:
    least = load_json("pins.json")["cuda"]["driver"]
    assert driver(f"{least}.65.06") == f"{least}.65.06"
    assert driver("[N/A]") == "unknown"
    with pytest.raises(
        UserError, match=f"575.57.08, and the engine's CUDA needs {least}"
    ) as caught:
        driver("575.57.08")
    assert caught.value.exit_code == exit_codes.DRIVER_TOO_OLD


def test_no_answer_is_left_to_the_next_gate() -> None:
    assert device.check_driver({}, lambda *_: Ran(None, trouble="missing")) == "unknown"


def test_the_folder_of_nodes_can_be_another(tmp_path: Path) -> None:
    assert device.nodes_of({}) == Path("/dev")
    assert device.nodes_of({"QWEN3090_DEVICE_ROOT": str(tmp_path)}) == tmp_path
