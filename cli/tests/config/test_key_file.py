"""The key's file: what is no file is refused without being read, and a user's key is never lost."""

import os
from pathlib import Path

import pytest
from qwen3090.config import resolve
from qwen3090.config.files import file_problems, key_variable, read_keys
from qwen3090.config.problems import Found

KEY = "a-key-of-16-characters"


def problem(path: Path) -> Found:
    config = resolve("fast", sets=[f"api_key_file={path}"], environ={}).config
    (found,) = file_problems(config, {})
    return found


def test_a_pipe_or_directory_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", tmp_path):
        found = problem(path)
        assert "is not a regular file" in found.text
        assert found.next_step == "--set api_key_file=FILE"


def test_the_cure_for_a_wrong_key_does_not_overwrite_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("two words\n")
    path.chmod(0o600)
    assert ">" not in problem(path).next_step
    path.write_text("")
    assert f"> {path}" in problem(path).next_step


def test_a_path_with_spaces_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "my key"
    assert f"'{path}'" in problem(path).next_step
    path.write_text("a-key-of-16-characters")
    path.chmod(0o644)
    assert problem(path).next_step == f"chmod 600 '{path}'"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_key_that_others_can_change_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(mode)
    found = problem(path)
    assert "by every user" in found.text or "changed by other users" in found.text
    assert found.next_step == f"chmod 600 {path}"


def test_a_key_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(0o600)
    status = os.stat_result((0o100600, 0, 0, 1, 1001, 0, 9, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda _: status)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = problem(path)
    assert "another user (uid 1001)" in found.text
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    config = resolve("fast", sets=[f"api_key_file={path}"], environ={}).config
    assert not list(file_problems(config, {}))


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_a_group_may_read_a_key(tmp_path: Path, mode: int) -> None:
    """A secret manager writes root:GROUP, mode 0440, for a service of that group."""
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(mode)
    config = resolve("fast", sets=[f"api_key_file={path}"], environ={}).config
    assert not list(file_problems(config, {}))


def test_a_key_from_the_environment() -> None:
    config = resolve("fast", environ={}).config
    assert read_keys(config, {"VLLM_API_KEY": KEY}) == [KEY]
    assert read_keys(config, {"VLLM_API_KEY": ""}) == []
    (found,) = file_problems(config, {"VLLM_API_KEY": "tell-nobody"})
    assert "VLLM_API_KEY, line 1" in found.text
    assert "tell-nobody" not in found.text


def test_a_file_comes_before_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(f"{KEY}-of-the-file\n{KEY}-of-somebody-else\n")
    config = resolve("fast", sets=[f"api_key_file={path}"], environ={}).config
    keys = read_keys(config, {"VLLM_API_KEY": KEY})
    assert keys == [f"{KEY}-of-the-file", f"{KEY}-of-somebody-else"]
    assert key_variable(config, {"VLLM_API_KEY": KEY}) is None
