"""What a server does wrong FAILs by name; a stock one, whatever it answers, passes nothing."""

import socket
from pathlib import Path

import pytest
from qwen3090.config import ServeConfig, resolve
from qwen3090.verify import Finding, Status
from qwen3090.verify.catalogue import LIVE
from qwen3090.verify.live import check_live
from qwen3090.verify.live.client import Client, url_of

from .live_report import SERIES, fast
from .stub_server import KEY, serve


@pytest.fixture(autouse=True)
def series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwen3090.verify.live.run.series_hash", lambda _: SERIES)
    monkeypatch.setattr("qwen3090.verify.live.facts._knobs", lambda _: {})


@pytest.fixture
def config(tmp_path: Path) -> ServeConfig:
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    sets = [f"api_key_file={key}", "served_name=demo", "model=/models/target"]
    return resolve("fast", sets=[*sets, "drafter=/models/drafter"], environ={}).require()


def found(config: ServeConfig, mode: str = "") -> dict[str, Finding]:
    with serve(mode, fast()) as url:
        return {each.check: each for each in check_live(config, url)}


def test_a_server_as_promised_passes(config: ServeConfig) -> None:
    seen = found(config)
    assert {each.status for each in seen.values()} == {Status.PASS}
    assert seen["live.tokens-per-step"].detail == "4.00 (60 drafts accepted in 20 steps)"
    assert KEY not in "".join(each.detail for each in seen.values())


@pytest.mark.parametrize(
    ("mode", "check", "says"),
    [
        ("ill", "health", "503"),
        ("no-guard", "auth", "/metrics with no key: 200, expected 401"),
        ("refuses", "auth", "refuses the key of these settings"),
        ("other-name", "model", "serves ['other'], not 'demo'"),
        ("no-token", "token", "/v1/completions"),
        ("no-drafts", "tokens-per-step", "no step had a draft"),
        ("none-accepted", "tokens-per-step", "no draft was accepted: 1.00"),
        ("no-metrics", "tokens-per-step", "no counter"),
    ],
)
def test_what_a_server_does_wrong_is_named(
    config: ServeConfig, mode: str, check: str, says: str
) -> None:
    finding = found(config, mode)[f"live.{check}"]
    assert finding.status is Status.FAIL
    assert says in finding.detail
    assert finding.next


def test_a_stock_server_passes_nothing(config: ServeConfig) -> None:
    seen = found(config, "stock")
    assert {each.status for each in seen.values()} == {Status.FAIL}
    names = {check.name.removesuffix(".*") for check in LIVE.checks} - {"live"}
    assert names == set(seen)
    assert "404" in seen["live.report"].detail
    assert all(each.next for each in seen.values())


def test_a_report_of_another_series_passes_nothing(
    config: ServeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3090.verify.live.run.series_hash", lambda _: "0" * 64)
    assert Status.PASS not in {each.status for each in found(config).values()}


def test_no_server_is_one_failure(config: ServeConfig) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    first, second = check_live(config, url)
    assert (first.check, first.status) == ("live.health", Status.FAIL)
    assert second.status is Status.SKIP


def test_without_a_key_none_may_be_asked_for() -> None:
    places = ["served_name=demo", "model=/models/target", "drafter=/models/drafter"]
    config = resolve("fast", sets=places, environ={}).require()
    with serve(report=fast(), key=None) as url:
        seen = {each.check: each for each in check_live(config, url)}
    assert seen["live.auth"].status is Status.PASS
    with serve(report=fast()) as url:
        auth, rest = check_live(config, url)
    assert (auth.check, auth.status) == ("live.auth", Status.FAIL)
    assert "wants a key, and none is set" in auth.detail
    assert "api_key_file" in auth.next
    assert rest.status is Status.SKIP


def test_a_key_that_cannot_be_read_is_named(config: ServeConfig) -> None:
    assert config.api_key_file is not None
    config.api_key_file.write_text("short")
    (only,) = check_live(config, "http://127.0.0.1:9")
    assert only.status is Status.FAIL
    assert "short" not in only.detail


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:7"), ("::", "http://[::1]:7"), ("gpu", "http://gpu:7")],
)
def test_the_settings_own_address(config: ServeConfig, host: str, url: str) -> None:
    assert url_of(config.model_copy(update={"host": host, "port": 7})) == url


def test_a_prefix_of_the_address_is_kept() -> None:
    with serve() as url:
        assert Client(f"{url}/qwen", KEY).get("/health").status == 404
