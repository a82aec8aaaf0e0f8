"""The engine's account: what counts as a step, as progress, and which request waits for what."""

from qwen3090_ops.account import Account, Seen

CHUNK = 8  # drafts and the token after them


def prefilling(name: str) -> Seen:
    return Seen(name, running=True, decoding=False)


def decoding(name: str) -> Seen:
    return Seen(name, running=True, decoding=True)


def waiting(name: str) -> Seen:
    return Seen(name, running=False, decoding=False)


def since(account: Account, requests: list[Seen], now: float) -> tuple[str, str, float]:
    found = account.slowest(requests, now)
    assert found is not None
    return found["id"], found["state"], found["since"]


def test_a_chunked_prefill_counts_tokens_in_each_step() -> None:
    account = Account()
    account.arrived("a", 10.0)
    for step in range(1, 4):
        account.stepped({"a": 2048}, {}, {"a"}, CHUNK, 10.0 + step)
        found = (account.steps, account.prompt_tokens, account.generated_tokens)
        assert found == (step, 2048 * step, 0)
    assert account.step_time == 13.0
    assert since(account, [prefilling("a")], 20.0) == ("a", "prefilling", 13.0)


def test_a_decoding_request_moves_by_its_own_tokens_only() -> None:
    account = Account()
    account.arrived("a", 10.0)
    account.arrived("b", 10.0)
    account.stepped({"a": 8, "b": 8}, {"a": 3, "b": 1}, set(), CHUNK, 11.0)
    account.stepped({"a": 8, "b": 8}, {"a": 3}, set(), CHUNK, 12.0)
    assert account.generated_tokens == 7
    assert since(account, [decoding("a"), decoding("b")], 99.0) == ("b", "decoding", 11.0)


def test_prompts_wait_for_prompts_and_seats_for_anything() -> None:
    account = Account()
    for name in ("first", "second", "queued"):
        account.arrived(name, 10.0)
    account.stepped({"first": 2048}, {}, {"first"}, CHUNK, 50.0)
    requests = [prefilling("first"), prefilling("second"), waiting("queued")]
    assert since(account, requests, 50.0)[2] == 50.0, "all of them moved with the first"
    account.stepped({"other": 8}, {"other": 1}, set(), CHUNK, 90.0)
    assert since(account, requests, 90.0) == ("first", "prefilling", 50.0)
    assert since(account, [waiting("queued")], 92.0) == ("queued", "waiting", 90.0)


def test_steps_without_tokens_move_nobody() -> None:
    """As when a request cannot get blocks: the engine turns in circles."""
    account = Account()
    account.arrived("a", 10.0)
    for step in range(100):
        account.stepped({}, {}, set(), CHUNK, 11.0 + step)
    assert account.steps == 100
    assert since(account, [waiting("a")], 111.0) == ("a", "waiting", 10.0)


def test_a_request_that_lost_its_seat_starts_anew() -> None:
    account = Account()
    account.arrived("a", 10.0)
    account.stepped({"a": 8}, {"a": 1}, set(), CHUNK, 11.0)
    account.scheduled({"a": 2048}, {"a"}, 500.0)
    assert since(account, [decoding("a")], 500.0) == ("a", "decoding", 500.0)
    account.stepped({"a": 2048}, {}, set(), CHUNK, 502.0)
    assert since(account, [decoding("a")], 502.0) == ("a", "decoding", 502.0), "computed again"
    assert account.prompt_tokens == 0


def test_busy_since_work_arrived() -> None:
    account = Account()
    account.settled(1, 10.0)
    account.settled(2, 11.0)
    assert account.busy_since == 10.0
    account.settled(0, 12.0)
    assert account.busy_since is None
    account.settled(1, 13.0)
    assert account.busy_since == 13.0


def test_requests_that_ended_are_forgotten() -> None:
    account = Account()
    for number in range(50):
        account.arrived(str(number), float(number))
    account.slowest([waiting("49")], 100.0)
    assert set(account._moved) == {"49"}
