"""Hash-checked installation with the real pip: what is wrong is named, nothing half done stays."""

import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.lock.wheelfile import Wheel
from qwen3090.setup.locked import Environment, explain, installed
from qwen3090.setup.machine import SetupError

Say = Callable[[str], None]
Make = Callable[..., Wheel]


@pytest.fixture
def wheels(make: Make) -> list[Wheel]:
    return [
        make("tiny_a-1.0-py3-none-any.whl", {"tiny_a.py": "value = 1\n"}),
        make("Tiny.B-2.0-py3-none-any.whl", {"tiny_b.py": "value = 2\n"}),
    ]


def test_installs_once(
    environment: Environment, wheels: list[Wheel], say: Say, said: list[str]
) -> None:
    assert environment.missing(wheels) == wheels
    environment.install(wheels, say)
    assert (environment.site / "tiny_a.py").read_text() == "value = 1\n"
    assert environment.missing(wheels) == []
    said.clear()
    environment.install(wheels, say)
    assert said == []


def test_wrong_hash_names_the_wheel_and_installs_nothing(
    environment: Environment, wheels: list[Wheel], say: Say
) -> None:
    bad = dataclasses.replace(wheels[1], sha256="0" * 64)
    before = installed(environment.site)
    with pytest.raises(SetupError, match=r"Tiny\.B-2\.0-py3-none-any\.whl.*000.*nothing was") as e:
        environment.install([wheels[0], bad], say)
    assert wheels[1].sha256 in str(e.value)
    assert "wheels.json" in e.value.next_step
    assert installed(environment.site) == before
    assert not (environment.site / "tiny_a.py").exists()
    assert environment.missing(wheels) == wheels
    assert [p.name for p in environment.prefix.glob(".*") if p.is_dir()] == []


def test_wheel_that_the_index_lacks(
    environment: Environment, wheels: list[Wheel], index: Path, say: Say
) -> None:
    (index / wheels[0].file).unlink()
    with pytest.raises(SetupError, match=r"no tiny_a-1\.0-py3-none-any\.whl"):
        environment.install(wheels, say)
    assert not (environment.site / "tiny_b.py").exists()


def test_local_build_of_the_same_version_is_not_taken(
    environment: Environment, wheels: list[Wheel], make: Make, say: Say
) -> None:
    make("tiny_a-1.0+cpu-py3-none-any.whl", {"tiny_a.py": "value = 'decoy'\n"})
    environment.install(wheels, say)
    assert (environment.site / "tiny_a.py").read_text() == "value = 1\n"


def test_same_version_from_elsewhere_is_replaced(
    environment: Environment, wheels: list[Wheel], say: Say
) -> None:
    environment.install(wheels, say)
    environment.record_path.unlink()
    (environment.site / "tiny_a.py").write_text("value = 'other build'\n")
    environment.install(wheels, say)
    assert (environment.site / "tiny_a.py").read_text() == "value = 1\n"


def test_damaged_record_means_install_again(
    environment: Environment, wheels: list[Wheel], say: Say
) -> None:
    environment.install(wheels, say)
    environment.record_path.write_text('{"wheels": [1')
    assert environment.missing(wheels) == wheels


def test_users_pip_settings_cannot_misplace_it(
    environment: Environment,
    wheels: list[Wheel],
    say: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("tiny_a<1\n")
    config = tmp_path / "pip.conf"
    config.write_text(f"[global]\nconstraint = {constraints}\nuser = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    environment.install(wheels, say)
    assert (environment.site / "tiny_a.py").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_remove_forgets(environment: Environment, wheels: list[Wheel], say: Say) -> None:
    environment.install(wheels, say)
    environment.remove(["tiny-a", "not-there"], say)
    assert not (environment.site / "tiny_a.py").exists()
    assert environment.missing(wheels) == [wheels[0]]


def test_second_set_up_waits_and_sweeps(
    environment: Environment, say: Say, said: list[str]
) -> None:
    (environment.prefix / ".pip-left").mkdir()
    finished = []

    def second() -> None:
        with environment.alone(say):
            finished.append("second")

    thread = threading.Thread(target=second)
    with environment.alone(say):
        assert not (environment.prefix / ".pip-left").exists()
        thread.start()
        while not said:
            time.sleep(0.01)
        finished.append("first")
    thread.join(timeout=60)
    assert finished == ["first", "second"]
    assert said == ["waiting for another set-up of this environment"]


def test_fetch_installs_nothing(environment: Environment, wheels: list[Wheel], say: Say) -> None:
    environment.fetch(wheels, say)
    assert environment.missing(wheels) == wheels
    with pytest.raises(SetupError, match="tiny_a"):
        environment.fetch([dataclasses.replace(wheels[0], sha256="1" * 64)], say)


def test_unreachable_index_is_not_taken_for_a_missing_wheel(
    environment: Environment, wheels: list[Wheel], say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(SetupError, match="cannot be reached: Connection refused") as error:
        environment.install(wheels, say)
    assert "PIP_CERT" in error.value.next_step


def test_other_failures_keep_pips_last_words() -> None:
    assert "the disk is full" in str(explain("OSError: [Errno 28] No space left on device", {}))
    assert "ERROR: odd" in str(explain("a\nERROR: odd\n", {}))
