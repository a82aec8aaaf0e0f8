"""Nothing that names a person, a machine or a secret leaves it, wherever the report found it."""

import json
import re
import string
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qwen3090.bounded import Ran
from qwen3090.doctor.context import Context
from qwen3090.doctor.journal import LEFT_OUT, strip
from qwen3090.doctor.known import redactor
from qwen3090.doctor.redact import Redactor
from qwen3090.doctor.report import report
from qwen3090.serve import history
from qwen3090.verify import Asked, Finding, Status

from .fake import CARD, FILES, Fake

LETTERS = string.ascii_lowercase
HEX = "0123456789abcdef"


def words(alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most)


def octets(low: int) -> st.SearchStrategy[str]:
    first = st.integers(low, 223).filter(lambda n: n != 127)
    rest = [st.integers(0, 255)] * 3
    return st.tuples(first, *rest).map(lambda parts: ".".join(map(str, parts)))


# A name that no text of the program holds, so that finding it proves a leak.
NAMES = words(LETTERS, 3, 9).map(lambda text: f"q{text}7z")
KEYS = words(string.ascii_letters + string.digits, 24, 48).map(lambda text: f"Q7{text}")
UUIDS = st.uuids().map(str)
SECRETS: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    # what is secret, and how it stands in a text
    "home": NAMES.map(lambda n: (n, f"/home/{n}/models/x")),
    "windows home": NAMES.map(lambda n: (n, f"/mnt/c/Users/{n}/.wslconfig")),
    "windows path": NAMES.map(lambda n: (n, f"C:\\Users\\{n}\\x")),
    "IPv4": octets(1).map(lambda ip: (ip, f"{ip}:18020")),
    "IPv6": st.ip_addresses(v=6, network="2001:db8::/32").map(lambda ip: (str(ip), f"[{ip}]:80")),
    "MAC": st.lists(words(HEX, 2, 2), min_size=6, max_size=6).map(
        lambda parts: (":".join(parts), f"ether {':'.join(parts)}")
    ),
    "card": UUIDS.map(lambda u: (u, f"GPU-{u}")),
    "serial": words("0123456789", 9, 13).map(lambda n: (n, f"Serial Number: {n}")),
    "hub token": KEYS.map(lambda k: (k, f"hf_{k}")),
    "bearer": KEYS.map(lambda k: (k, f"Authorization: Bearer {k}")),
    "variable": KEYS.map(lambda k: (k, f"VLLM_API_KEY={k}")),
    "option": KEYS.map(lambda k: (k, f"--api-key {k}")),
    "JSON": KEYS.map(lambda k: (k, f'{{"password": "{k}"}}')),
    "URL": st.tuples(NAMES, KEYS).map(lambda p: (p[1], f"http://{p[0]}:{p[1]}@proxy.lan:3128/")),
    "proxy's host": NAMES.map(lambda n: (n, f"http://{n}.lan:3128")),
    "e-mail": NAMES.map(lambda n: (n, f"{n}@example.org")),
    "private key": KEYS.map(
        lambda k: (k, f"-----BEGIN PRIVATE KEY-----\n{k}\n-----END PRIVATE KEY-----")
    ),
}
PLACES = ["finding", "next", "journal", "failure", "set", "engine.args", "engine.env", "kernel"]
PLACES += ["system", "card"]


def reported(machine: Fake, text: str, place: str) -> str:
    """Return the report of a machine with a text in one of the places it is made from."""
    machine.answers["-u qwen3090"] = Ran(0, "INFO 11-30 12:00:00 [core.py:58] begun\n")
    machine.cards[0]["name"] = CARD["name"]  # one machine serves all examples
    for path in ("/proc/sys/kernel/osrelease", "/etc/os-release"):
        machine.write(path, FILES[path])
    finding, last = Finding("x.y", Status.FAIL, "found", "do it"), None
    sets: list[str] = []
    line = text.replace("\n", " ")
    if place == "finding":
        finding = Finding("x.y", Status.FAIL, text, "do it")
    elif place == "next":
        finding = Finding("x.y", Status.FAIL, "found", text)
    elif place == "journal":
        machine.answers["-u qwen3090"] = Ran(0, f"ERROR 11-30 12:00:00 [core.py:58] {line}\n")
    elif place == "failure":
        last = history.Failure("2026-11-30T12:00:00Z", 70, line, "fast", "f", 1)
    elif place == "set":
        sets = [f"served_name={text}"]
    elif place == "engine.args":
        sets = [f"engine.args={json.dumps([line])}"]
    elif place == "engine.env":
        sets = [f"engine.env={json.dumps({'X': line})}"]
    elif place == "kernel":
        machine.write("/proc/sys/kernel/osrelease", text)
    elif place == "system":
        machine.write("/etc/os-release", f'PRETTY_NAME="{line}"\n')
    elif place == "card":
        machine.cards[0]["name"] = line.replace(",", " ")
    with patch.object(history, "last", return_value=last):
        return report(Context(machine, Asked(sets=sets)), [finding])


@pytest.mark.parametrize("kind", SECRETS)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), place=st.sampled_from(PLACES))
def test_no_shape_of_secret_leaves(
    kind: str, machine: Fake, data: st.DataObject, place: str
) -> None:
    secret, text = data.draw(SECRETS[kind])
    assert secret.lower() not in reported(machine, text, place).lower()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(user=NAMES, full=NAMES, host=NAMES, key=KEYS, place=st.sampled_from(PLACES))
def test_what_the_machine_knows_does_not_leave(
    machine: Fake, user: str, full: str, host: str, key: str, place: str
) -> None:
    machine.write("/etc/passwd", f"{user}:x:1000:1000:{full} Byron,,,:/home/{user}:/bin/sh\n")
    machine.write("/proc/sys/kernel/hostname", f"{host}.example.org\n")
    machine.environ = {**machine.environ, "USER": user, "OPENAI_API_KEY": key}
    text = f"({user}) on {host}: {host}.example.org said {key} to {full} Byron"
    shown = reported(machine, text, place)
    for secret in (user, host, key, full):
        assert secret not in shown


@pytest.mark.parametrize("where", ["HOME", "passwd"])
def test_a_home_elsewhere_does_not_leave(machine: Fake, where: str) -> None:
    if where == "HOME":
        machine.environ = {**machine.environ, "HOME": "/srv/people/x/h/"}
    else:
        machine.write("/etc/passwd", "ada:x:1001:1001:Ada:/srv/people/x/h:/bin/sh\n")
    found = Finding("x", Status.FAIL, "/srv/people/x/h: full, /srv/people/x/h/models, not /a/srv")
    shown = report(Context(machine), [found])
    assert "people" not in shown
    assert "~: full, ~/models, not /a/srv" in shown


def test_the_key_in_the_settings_file_does_not_leave(machine: Fake) -> None:
    path = machine.real / "key"
    path.write_text("correct-horse-battery\n")
    path.chmod(0o600)
    context = Context(machine, Asked(sets=[f"api_key_file={path}"]))
    found = Finding("x", Status.FAIL, "refused correct-horse-battery")
    assert "correct-horse-battery" not in report(context, [found])


PROMPTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "Zs")), min_size=20).map(
    lambda text: f"qz7 {text} 7zq"
)
LOGGED: dict[str, Callable[[str], str]] = {
    "request": lambda p: (
        f"INFO 11-30 12:00:00 [logger.py:39] Received request cmpl-1: prompt: {p!r}, "
        "params: SamplingParams(n=1)"
    ),
    "details": lambda p: (
        f"(APIServer pid=7) DEBUG 11-30 12:00:00 [logger.py:63] Request chatcmpl-1 "
        f"details: prompt: {p!r}, prompt_token_ids: [1, 2], prompt_embeds shape: None."
    ),
    "body": lambda p: (
        "ERROR 11-30 12:00:00 [serving.py:1] bad request "
        + json.dumps({"messages": [{"role": "user", "content": p}]})
    ),
    "pydantic": lambda p: "ERROR 11-30 12:00:00 [x.py:1] {'type': 'missing', 'input': " + repr(p),
    "exception": lambda p: f"jinja2.exceptions.TemplateError: cannot render {p!r}",
    "continued": lambda p: (
        f"INFO 11-30 12:00:00 [x.py:1] begun\n{p}\nINFO 11-30 12:00:01 [x.py:2] y"
    ),
    "answer": lambda p: f"INFO 11-30 12:00:00 [logger.py:1] Generated response: output: {p!r}",
}


@pytest.mark.parametrize("kind", LOGGED)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(prompt=PROMPTS)
def test_no_prompt_leaves(kind: str, machine: Fake, prompt: str) -> None:
    machine.answers["-u qwen3090"] = Ran(0, LOGGED[kind](prompt) + "\n")
    shown = report(Context(machine), [])
    assert prompt not in shown
    assert "qz7" not in shown
    assert "7zq" not in shown


@pytest.mark.parametrize(
    "detail",
    [
        "held by pid 5 (llama-cli -p a (secret) plan): 300 MiB; pid 6 (x secret): 1 MiB",
        "held by pid 5 (ollama run m secret): an unknown share",
        "127.0.0.1:18020 is in use by pid 5 (python -c print('secret'))",
    ],
)
def test_arguments_of_other_programs_do_not_leave(machine: Fake, detail: str) -> None:
    shown = report(Context(machine), [Finding("x", Status.FAIL, detail)])
    assert "secret" not in shown
    assert "pid 5 (" in shown
    assert ("llama-cli ...): 300 MiB; pid 6 (x ...): 1 MiB" in shown) is ("llama-cli" in detail)


def test_the_lines_that_help_are_kept() -> None:
    kept = [
        "qwen3090: profile fast: 65,536 tokens, 8 seats on cuda",
        "(EngineCore pid=812) INFO 11-30 12:00:00 [gpu_worker.py:1] Model loading took 14.1 GiB",
        "(APIServer pid=7) INFO 11-30 12:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: "
        "12.0 tokens/s, Running: 1 reqs, GPU KV cache usage: 3.1%",
        "INFO 11-30 12:00:00 [requestlog.py:70] request r1 POST /v1/completions status=200 "
        "prompt=812 cached=448 output=96 total=1.912",
        'INFO:     127.0.0.1:40112 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "Traceback (most recent call last):",
        '  File "/opt/x/core.py", line 12, in run',
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "qwen3090.service: Main process exited, code=exited, status=70/n/a",
    ]
    assert strip(kept) == kept
    assert [Redactor()(line) for line in kept] == kept
    assert strip(["what a user wrote", "and more", kept[0]]) == [LEFT_OUT, kept[0]]


@pytest.mark.parametrize(
    "text",
    [
        "Xid (PCI:0000:01:00): 79, pid=1, 2 times, last at 2026-11-29T22:04:11+0100",
        "127.0.0.1:18020 is free; ::1 too; 0.0.0.0 and [::]",
        "nvcc 13.0.88, driver 580.95.05, clock 2026-11-30 12:00 UTC",
        "/var/lib/qwen3090/prepared/fast: 36.72 GB free",
        "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-qwen3090-flashinfer-kernels/lib",
        "max_batched_tokens = 2048; pool: 68,605 tokens; api_key_file = /run/secrets/key",
        "http://127.0.0.1:18020/v1 and http://localhost:18020",
        "gpu_memory_utilization = 0.93; vllm/model_executor/layers/quantization/x.py",
    ],
)
def test_what_is_nobodys_stays(text: str, machine: Fake) -> None:
    assert redactor(Context(machine))(text) == text


def test_the_report_has_what_a_bug_report_needs(machine: Fake) -> None:
    from qwen3090.data import load_json

    shown = reported(machine, "", "finding")
    assert re.search(r"\| series \| `[0-9a-f]{64}` \|", shown)
    assert f"| lock | `{load_json('wheels.json')['content']}` |" in shown
    for part in (
        "| driver | `580.95.05` |",
        "## Findings",
        "## Settings: fast",
        "kv_bytes = 55",
        "begun",
    ):
        assert part in shown


def test_the_last_failure_is_told_without_its_texts(machine: Fake) -> None:
    shown = reported(machine, "the engine ended: prompt: 'my secret plan'", "failure")
    assert "12:00:00Z: status 70, once: the engine ended: prompt: <text left out>" in shown


def test_a_fence_in_a_text_does_not_end_the_block(machine: Fake) -> None:
    shown = reported(machine, "a ``` b", "finding")
    assert shown.count("```") == 6
