"""What a running server answers: health, keys, one token, and how many tokens a step emits."""

from collections.abc import Iterator

from qwen3090.config import ServeConfig
from qwen3090.demo.metrics import ACCEPTED, DRAFTS, total
from qwen3090.errors import UserError
from qwen3090.verify.catalogue import entry
from qwen3090.verify.live.client import Client
from qwen3090.verify.report import Finding, Status

WRONG_KEY = "not-the-key"
GUARDED = ("/v1/models", "/metrics", "/qwen3090/engine")
# Copying what was said drafts well with every drafter, and a demo model answers its own way.
QUESTION = "Repeat this line five times: one two three four five six seven eight nine ten"
LENGTH = 96  # tokens of the measured answer


def check_requests(client: Client, config: ServeConfig) -> Iterator[Finding]:
    """Yield what the server does with requests; sends two generations."""
    yield _keys(client)
    yield _model(client, config)
    yield _token(client, config)
    yield _speed(client, config)


def finding(check: str, wrong: str | list[str], good: str) -> Finding:
    """Return a PASS with ``good``, or a FAIL with what is wrong and the check's next command."""
    text = "; ".join(wrong) if isinstance(wrong, list) else wrong
    if text:
        return Finding(check, Status.FAIL, text, entry(check).next)
    return Finding(check, Status.PASS, good)


def _keys(client: Client) -> Finding:
    if client.key is None:
        status = client.get("/v1/models").status
        wrong = "" if status == 200 else f"/v1/models answers {status}, and no key is configured"
        return finding("live.auth", wrong, "no key is configured, and none is asked for")
    wrongs = []
    for path in GUARDED:
        for name, key in (("no key", None), ("a wrong key", WRONG_KEY)):
            if (status := client.get(path, key=key).status) != 401:
                wrongs.append(f"{path} with {name}: {status}, expected 401")
    if (status := client.get("/v1/models").status) != 200:
        wrongs.append(f"/v1/models with the key: {status}, expected 200")
    return finding("live.auth", wrongs, f"401 without the key on {', '.join(GUARDED)}")


def _model(client: Client, config: ServeConfig) -> Finding:
    answer = client.get("/v1/models")
    listed = answer.json()
    names = []
    if isinstance(listed, dict) and isinstance(listed.get("data"), list):
        names = [item.get("id") for item in listed["data"] if isinstance(item, dict)]
    wrong = "" if config.served_name in names else f"serves {names}, not '{config.served_name}'"
    return finding("live.model", wrong, f"serves '{config.served_name}'")


def _token(client: Client, config: ServeConfig) -> Finding:
    body = {"model": config.served_name, "prompt": "Hello", "max_tokens": 1, "temperature": 0}
    answer = client.post("/v1/completions", body)
    found = answer.json()
    usage = found.get("usage") if isinstance(found, dict) else None
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    wrong = "" if answer.status == 200 and tokens == 1 else f"/v1/completions: {answer}"
    return finding("live.token", wrong, "one token was generated")


def _speed(client: Client, config: ServeConfig) -> Finding:
    """Measure tokens per step: 1 and the accepted drafts of each step, over one greedy answer."""
    check = "live.tokens-per-step"
    before = client.get("/metrics")
    body = {
        "model": config.served_name,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": LENGTH,
        "temperature": 0,
    }
    answer = client.post("/v1/chat/completions", body)
    after = client.get("/metrics")
    if answer.status != 200:
        return finding(check, f"/v1/chat/completions: {answer}", "")
    try:
        drafts, accepted = (
            (total(after.text, name) - total(before.text, name) for name in (DRAFTS, ACCEPTED))
            if config.speculation != "none" or DRAFTS in after.text
            else (0, 0)
        )
    except UserError as error:
        return finding(check, f"{error.message} (/metrics: {after.status})", "")
    if config.speculation == "none":
        wrong = f"{drafts} steps had drafts, and the profile drafts none" if drafts else ""
        return finding(check, wrong, "1.00: nothing is drafted, as the profile says")
    if drafts == 0:
        return finding(check, "no step had a draft to verify", "")
    text = f"{1 + accepted / drafts:.2f} ({accepted} drafts accepted in {drafts} steps)"
    return finding(check, "" if accepted else f"no draft was accepted: {text}", text)
