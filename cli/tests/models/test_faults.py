"""Every fault of line, server and disk ends in whole files or one clear error."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from qwen3090.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore")


def part_of(world: Any) -> Path:
    return world.store.staging("base") / (world.big + ".part")


def test_plain_fetch(world: Any) -> None:
    assert world.fetch() == world.store.final("base")
    world.assert_whole()


def test_second_fetch_downloads_nothing(world: Any) -> None:
    world.fetch()
    before = len(world.hub.seen)
    world.fetch()
    assert len(world.hub.seen) == before
    assert "whole already" in world.said[-1]


def test_interrupted_body_goes_on_where_it_stopped(world: Any) -> None:
    world.fault(world.hub.fault("cut", 200_000), world.hub.fault("cut", 300_000))
    world.fetch()
    world.assert_whole()
    ranges = [seen.headers.get("range") for seen in world.hub.requests(world.big)]
    assert ranges == [None, "bytes=200000-", "bytes=500000-"]


def test_a_later_run_goes_on_where_a_failed_one_stopped(world: Any) -> None:
    world.fault(world.hub.fault("cut", 700_000), *[world.hub.fault("status", 503)] * 9)
    with pytest.raises(UserError, match=r"700000 of 9\d+ bytes are kept") as caught:
        world.fetch()
    assert "run the same command again" in str(caught.value.next_step)
    world.assert_not_whole()
    assert part_of(world).stat().st_size == 700_000
    world.hub.faults.clear()
    world.fetch()
    world.assert_whole()
    assert world.hub.requests(world.big)[-1].headers["range"] == "bytes=700000-"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_passing_status_is_tried_again(world: Any, status: int) -> None:
    world.fault(world.hub.fault("status", status))
    world.fetch()
    world.assert_whole()


def test_server_that_claims_less_is_refused(world: Any) -> None:
    world.fault(world.hub.fault("short", 1000), always=True)
    with pytest.raises(UserError, match=r"the server offers \d+ bytes, the manifest says \d+"):
        world.fetch()
    world.assert_not_whole()


def test_truncated_file_on_the_server(world: Any) -> None:
    content = world.files[world.big]
    world.hub.put("owner/model", world.big, content[:-5])
    with pytest.raises(UserError, match="the manifest says 9"):
        world.fetch()
    world.assert_not_whole()


def test_login_page_instead_of_the_file(world: Any) -> None:
    world.fault(world.hub.fault("html"), always=True)
    with pytest.raises(UserError) as caught:
        world.fetch()
    assert "login page" in str(caught.value.next_step)
    world.assert_not_whole()


def test_wrong_byte_once_is_fetched_again(world: Any) -> None:
    world.fault(world.hub.fault("flip", 400_000))
    world.fetch()
    world.assert_whole()
    assert len(world.hub.requests(world.big)) == 2


def test_wrong_byte_always_is_an_error_with_both_hashes(world: Any) -> None:
    world.fault(world.hub.fault("flip", 400_000), always=True)
    with pytest.raises(UserError) as caught:
        world.fetch()
    assert len(re.findall(r"[0-9a-f]{64}", str(caught.value))) == 2
    world.assert_not_whole()
    assert part_of(world).stat().st_size == 0


def test_damaged_part_of_a_former_run_is_thrown_away(world: Any) -> None:
    part = part_of(world)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"?" * 500_000)
    world.fetch()
    world.assert_whole()


def test_part_longer_than_the_file(world: Any) -> None:
    part = part_of(world)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"?" * 2_000_000)
    world.fetch()
    world.assert_whole()


def test_server_sends_more_than_the_file(world: Any) -> None:
    world.fault(world.hub.fault("more"))
    world.fetch()
    world.assert_whole()


@pytest.mark.parametrize("kind", ["ignore_range", "wrong_range"])
def test_range_not_honoured(world: Any, kind: str) -> None:
    world.fault(world.hub.fault("cut", 300_000), world.hub.fault(kind))
    world.fetch()
    world.assert_whole()


def test_401_asks_for_a_token(world: Any) -> None:
    world.hub.token = "secret-1"
    with pytest.raises(UserError) as caught:
        world.fetch()
    assert "401" in str(caught.value)
    assert "HF_TOKEN" in str(caught.value.next_step)
    world.fetch(token="secret-1")
    world.assert_whole()


def test_refused_token_is_not_printed(world: Any) -> None:
    world.hub.token = "secret-1"
    with pytest.raises(UserError, match="refuses the token") as caught:
        world.fetch(token="secret-2")
    assert "secret" not in f"{caught.value} {caught.value.next_step} {world.said}"


def test_404_names_the_file(world: Any) -> None:
    del world.hub.files[f"owner/model/{world.big}"]
    with pytest.raises(UserError, match=rf"has no file {world.big} \(404\)"):
        world.fetch()
    world.assert_not_whole()


def test_429_waits_as_long_as_the_hub_asks(world: Any) -> None:
    world.fault(world.hub.fault("status", 429, Retry_After="1"))
    begin = time.monotonic()
    world.fetch()
    assert 1.0 <= time.monotonic() - begin < 5
    world.assert_whole()


def test_429_reads_the_rate_limit_header(world: Any) -> None:
    world.fault(world.hub.fault("status", 429, RateLimit='"api";r=0;t=0'))
    begin = time.monotonic()
    world.fetch()
    assert time.monotonic() - begin >= 1.0
    world.assert_whole()


def test_429_for_an_hour_ends_at_once(world: Any) -> None:
    world.fault(world.hub.fault("status", 429, Retry_After="3600"))
    with pytest.raises(UserError, match="asks to wait 3600 s"):
        world.fetch()
    world.assert_not_whole()


def test_redirect_to_a_second_host_without_the_token(world: Any, second_hub: Any) -> None:
    content = world.files[world.big]
    second_hub.put("owner/model", world.big, content, second_hub.fault("cut", 200_000))
    world.hub.token = "secret-1"
    world.fault(world.hub.fault("redirect", second_hub.url), always=True)
    world.fetch(token="secret-1")
    world.assert_whole()
    asked = [seen.headers.get("authorization") for seen in world.hub.requests(world.big)]
    assert asked == ["Bearer secret-1"] * 2  # a fresh address for each attempt
    given = second_hub.requests(world.big)
    assert [seen.headers.get("range") for seen in given] == [None, "bytes=200000-"]
    assert all("authorization" not in seen.headers for seen in given)


def test_slow_line(world: Any) -> None:
    world.fault(world.hub.fault("slow", 1_000_000))
    world.fetch()
    world.assert_whole()


def test_silent_line_is_given_up_and_tried_again(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.3)
    world.fault(world.hub.fault("stall", 1.5))
    world.fetch()
    world.assert_whole()


def test_no_server_at_all(world: Any) -> None:
    world.hub.stop()
    with pytest.raises(UserError, match="cannot reach the hub"):
        world.fetch(retries=1)
    world.assert_not_whole()


def test_offline_names_what_is_missing(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="HF_HUB_OFFLINE is set and 3 files are missing"):
        world.fetch()
    assert world.hub.seen == []
