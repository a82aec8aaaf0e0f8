"""Settings that the network library would choke on, and what else a request may give away."""

import os
from pathlib import Path
from typing import Any

import pytest
from qwen3090.errors import UserError
from qwen3090.models.hub import Hub, hub_cache, read_token


@pytest.mark.parametrize("token", ["hf_sec\nret", "hf_sec ret", "hf_sec\u00e9", "hf_sec\u2603"])
def test_a_token_that_no_request_can_carry_is_never_printed(tmp_path: Path, token: str) -> None:
    path = tmp_path / "token"
    path.write_text(token, encoding="utf-8")
    for given in ((None, token), (path, None)):
        with pytest.raises(UserError, match="the token alone") as caught:
            read_token(*given)
        assert "hf_sec" not in caught.value.format_message()


def test_a_token_file_that_is_not_text_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"hf_secret\xff")
    with pytest.raises(UserError, match="not text") as caught:
        read_token(path, None)
    assert "hf_sec" not in caught.value.format_message()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_ENDPOINT", ""),
        ("HF_ENDPOINT", "hub.example"),
        ("HF_ENDPOINT", "http://["),
        ("HF_ENDPOINT", "http://127.0.0.1:99999"),
        ("HF_HUB_DOWNLOAD_TIMEOUT", "soon"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=name):
        hub_cache()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PROXY", "::::"),
        ("HTTP_PROXY", "other://127.0.0.1:1"),
        ("SSL_CERT_FILE", "/nonexistent/certificates.pem"),
    ],
)
def test_a_proxy_or_certificate_that_cannot_be_used_is_no_disk_error(
    world: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    from huggingface_hub.utils import close_session

    monkeypatch.setenv(name, value)
    close_session()  # made again with the variable
    try:
        with pytest.raises(UserError, match="cannot set up the connection") as caught:
            world.fetch()
    finally:
        monkeypatch.delenv(name)
        close_session()
    assert "PROXY" in str(caught.value.next_step)
    world.fetch()
    world.assert_whole()


def test_only_the_files_are_asked_for(world: Any) -> None:
    world.fetch(token="hf_test")
    assert len(world.hub.seen) == len(world.files)
    assert all("/resolve/" in seen.path for seen in world.hub.seen)
    for seen in world.hub.seen:
        headers = {name.lower(): text for name, text in seen.headers.items()}
        assert headers["user-agent"].startswith("qwen3090/") and ";" not in headers["user-agent"]


def test_a_wait_that_is_no_number_is_not_followed(world: Any) -> None:
    world.fault(world.hub.fault("status", 429, Retry_After="\u00b2"))
    world.fetch()
    world.assert_whole()


def test_a_body_without_end_is_given_up(world: Any) -> None:
    world.fault(world.hub.fault("more"), always=True)
    with pytest.raises(UserError, match="more bytes than the file has"):
        world.fetch(retries=1)
    world.assert_not_whole()


def test_offline_needs_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert Hub().offline in (True, False)
    assert "HF_ENDPOINT" not in os.environ
