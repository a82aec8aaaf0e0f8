"""Bodies that are wrong: mutations of valid ones, and schemathesis on the server's OpenAPI."""

import asyncio
import copy
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from typing import Any

import aiohttp
from asking import body, session, several
from booted import NAME, Booted, memory, until
from report import Row

SEED = 3090
CHAT_BODY: dict[str, Any] = {
    "model": NAME,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
    "max_tokens": 1,
    "tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
    "stop": ["x"],
    "logit_bias": {"5": 1},
    "stream_options": {"include_usage": True},
    "chat_template_kwargs": {"enable_thinking": False},
    "seed": 1,
}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": CHAT_BODY,
    "/v1/completions": {"model": NAME, "prompt": "Hello", "max_tokens": 1, "logprobs": 1},
    "/v1/messages": {
        "model": NAME,
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"name": "a", "input_schema": {"type": "object"}}],
    },
    "/v1/responses": {"model": NAME, "input": "Hello", "max_output_tokens": 1},
    "/tokenize": {"model": NAME, "prompt": "Hello"},
    "/detokenize": {"model": NAME, "tokens": [100, 101]},
}
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 1e308, -0.0, "", "x", "\0",
    "\ud800", "x" * 5000, [], [[]], {}, {"": ""}, [None], [1, "x"], {"type": "object"},
    float("nan"), float("inf"), "{", "[" * 40, {"a": {"b": {"c": {}}}}, [{}], ["user"],
    {"type": "nope"},
]  # fmt: skip


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) below a value."""
    if isinstance(value, dict):
        pairs = list(value.items())
    else:
        pairs = list(enumerate(value)) if isinstance(value, list) else []
    return [(value, key) for key, _ in pairs] + [
        place for _, each in pairs for place in _places(each)
    ]


def mutated(random_: random.Random, valid: dict[str, Any]) -> bytes:
    """Return a wrong body: values replaced, keys gone, or bytes damaged."""
    asked = json.loads(json.dumps(valid))
    for _ in range(random_.randint(1, 2)):
        container, key = random_.choice(_places(asked))
        if random_.random() < 0.15:
            del container[key]
        else:
            container[key] = copy.deepcopy(random_.choice(VALUES))
        if not asked:
            break
    text = json.dumps(asked).encode()
    kind = random_.random()
    if kind < 0.1:
        return text[: random_.randrange(len(text) + 1)]
    if kind < 0.2:
        damaged = bytearray(text)
        for _ in range(random_.randint(1, 6)):
            damaged[random_.randrange(len(damaged))] = random_.randrange(256)
        return bytes(damaged)
    if kind < 0.22:
        return text.decode().encode("utf-16")
    return text


# Bodies that mutations do not find: each held up or broke the server once.
KNOWN: list[dict[str, Any]] = [
    CHAT_BODY | {"response_format": None, "structured_outputs": {"json": schema}}
    for schema in (
        {"$ref": "#"},
        {"type": "string", "pattern": "(a|aa|b?c){1,7000}"},
        {"type": "string", "pattern": "(" * 100_000},
    )
]


async def _send(booted: Booted, count: int) -> tuple[Counter[int], list[str]]:
    """Send mutations, eight at a time; return how often each status came, and the first faults."""
    random_, statuses, faults = random.Random(SEED), Counter[int](), list[str]()
    asked = [
        (path, mutated(random_, BODIES[path]))
        for path in random_.choices(list(BODIES), weights=[5, 2, 3, 2, 1, 1], k=count)
    ]
    asked += [("/v1/chat/completions", json.dumps(known).encode()) for known in KNOWN]

    async def work(client: aiohttp.ClientSession) -> None:
        while asked:
            path, data = asked.pop()
            url = booted.server.url + path
            try:
                async with client.post(url, data=data, headers=booted.headers) as answer:
                    await answer.read()
                    status = answer.status
            except aiohttp.ClientError as error:
                status, faults[:] = 0, [*faults, f"{type(error).__name__} {path} {data[:300]!r}"]
            statuses[status] += 1
            if status >= 500:
                faults.append(f"{status} {path} {data[:300]!r}")

    async with session() as client:
        await asyncio.gather(*(work(client) for _ in range(8)))
    return statuses, faults


def _well(booted: Booted, row: Row) -> None:
    """Demand that the server is as before."""
    until(lambda: not booted.active(), "every wrong request is over", 300)
    (found,) = asyncio.run(several(booted, [body("Hello", 16)]))
    row.demand(not found.error, f"afterwards: {found.error}")
    row.demand(booted.server.process.poll() is None, "the server ended")


def run(booted: Booted, short: bool) -> Row:
    """Send mutations of valid bodies to six routes."""
    count = 500 if short else 5000
    row = Row("malformed", f"{count:,} wrong bodies to {len(BODIES)} routes, eight at a time")
    before = memory(booted.processes())
    began = time.monotonic()
    statuses, faults = asyncio.run(_send(booted, count))
    took = time.monotonic() - began
    _well(booted, row)
    row.figures = {
        "seconds": round(took, 1),
        "statuses": {str(key): value for key, value in sorted(statuses.items())},
        "faults": faults[:20],
        "api_memory_grown_MiB": round(memory(booted.processes())["api"] - before["api"], 1),
    }
    row.demand(not faults, f"{len(faults)} were answered 5xx or not at all: {faults[:1]}")
    refused = sum(value for key, value in statuses.items() if 400 <= key < 500)
    row.held = f"{refused:,} refused with a 4xx, {statuses[200]} were valid after all, none a 5xx"
    return row


def held(summary: list[str]) -> str:
    """Return what schemathesis' summary says: how many requests, and which phases had time."""
    text = "\n".join(summary)
    count = re.search(r"(\d+) generated", text)
    phases = " and ".join(re.findall(r"✅ (\w+)", text)).lower()
    number = f"{int(count[1]):,}" if count else "its"
    return f"{number} requests (phases: {phases}): none a 5xx, the server answers as before"


def run_schemathesis(booted: Booted, short: bool) -> Row:
    """Run schemathesis against /openapi.json; needs the command (``pip install schemathesis``)."""
    seconds = 20 if short else 120
    row = Row("openapi", f"schemathesis on the server's own OpenAPI for {seconds} s, with a key")
    if not (command := shutil.which("schemathesis")):
        row.problems.append("no schemathesis on PATH: python -m venv st; st/bin/pip install it")
        return row
    words = [command, "run", f"{booted.server.url}/openapi.json", "--no-color"]
    words += ["-H", f"Authorization: Bearer {booted.server.key}", "--seed", str(SEED)]
    words += ["--checks", "not_a_server_error", "--continue-on-failure", "--no-shrink"]
    words += ["--phases", "examples,coverage,fuzzing", "--max-time", str(seconds)]
    words += ["--workers", "2", "--request-timeout", "60"]
    with tempfile.TemporaryDirectory() as scratch:  # it leaves a folder where it runs
        options: Any = {"capture_output": True, "text": True, "cwd": scratch}
        done = subprocess.run(words, timeout=seconds + 300, **options)
    text = re.sub(r"Bearer \S+", "Bearer KEY", done.stdout.replace(booted.server.key, "KEY"))
    _well(booted, row)
    summary = [line.strip() for line in text.splitlines()[-40:] if line.strip(" =_")]
    row.figures = {"exit_status": done.returncode, "summary": summary}
    failures = sorted(set(re.findall(r"Server error.*|\[5\d\d\].*", text)))
    row.figures["server_errors"] = failures[:20]
    row.demand(done.returncode == 0, f"schemathesis: exit status {done.returncode}")
    row.held = held(summary)
    return row
