"""A stand-in for the served engine: known timings, counted like vLLM, with one named fault.

Run as: stub_server.py PORT FOLDER JSON. What it streams is written to FOLDER/sent.jsonl with the
times at which it really went out, so that a test's truth is what was sent, however busy the machine
is. A token is a character. JSON may set:

    ttft, gap: seconds before the first chunk and between two
    sizes: tokens of each chunk; the first is the prefill's, each later one a step with a draft
    context: max_model_len; key: the bearer key; cache: whether prefixes are cached
    engine: what GET /qwen3090/engine tells of the worker, or None
    fault: see FAULTS; after: the number of answers that are right before the fault
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
SETTINGS: dict[str, Any] = {
    "ttft": 0.0, "gap": 0.0, "sizes": [1, 2, 4, 1, 3], "context": 4096, "key": "", "cache": True,
    "fault": "", "after": 0, "engine": None,
} | json.loads(sys.argv[3])  # fmt: skip
FAULTS = (
    "401", "500", "empty", "cut", "error", "stranger", "busy", "lost", "cached", "one-chunk",
    "garbled", "late", "nan", "tie", "residue", "mute",
)  # fmt: skip
FAULT = SETTINGS["fault"]
assert FAULT in ("", *FAULTS), FAULT
BLOCK = 64
LOCK = threading.Lock()
SEEN: list[tuple[str, str]] = []
COUNT: dict[str, float] = dict.fromkeys(
    ("seconds", "answers", "finished", "drafts", "proposed", "accepted", "hits", "queries"), 0.0
)
PLACES = [0.0, 0.0, 0.0]


def faulty(name: str) -> bool:
    return name == FAULT and COUNT["answers"] > SETTINGS["after"]


def metrics() -> str:
    running = 1 if FAULT == "busy" else 0
    label = '{engine="0",model_name="stub"}'
    lines = [
        f"vllm:num_requests_running{label} {running}",
        f"vllm:num_requests_waiting{label} 0",
        f"vllm:num_preemptions_total{label} 0",
        f"vllm:prefix_cache_hits_total{label} {COUNT['hits']}",
        f"vllm:prefix_cache_queries_total{label} {COUNT['queries']}",
        f"vllm:spec_decode_num_drafts_total{label} {COUNT['drafts']}",
        f"vllm:spec_decode_num_draft_tokens_total{label} {COUNT['proposed']}",
        f"vllm:spec_decode_num_accepted_tokens_total{label} {COUNT['accepted']}",
        f'vllm:request_success_total{{finished_reason="stop"}} {COUNT["finished"]}',
        'vllm:request_success_total{finished_reason="length"} 0',
        f"vllm:request_decode_time_seconds_sum{label} {COUNT['seconds']}",
    ]
    lines += [
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="{place}"}} {value}'
        for place, value in enumerate(PLACES)
    ]
    kinds = {line.split("{")[0] for line in lines}
    types = [f"# TYPE {name} {'counter' if 'total' in name else 'gauge'}" for name in sorted(kinds)]
    return "\n".join([*types, *sorted(lines), ""])


def cached(prompt: str, salt: str) -> int:
    """Count and remember a prompt; return the tokens that an earlier one shares, whole blocks."""
    best = 0
    for other, its_salt in SEEN if SETTINGS["cache"] else ():
        if its_salt == salt:
            same = 0
            while same < min(len(other), len(prompt)) and other[same] == prompt[same]:
                same += 1
            best = max(best, same // BLOCK * BLOCK)
    SEEN.append((prompt, salt))
    return 32 if faulty("cached") else best


def finish(prompt: str, salt: str, sizes: list[int]) -> None:
    """Count a finished request, as vLLM does when its last token goes out."""
    COUNT["queries"] += len(prompt)
    COUNT["hits"] += cached(prompt, salt)
    for size in sizes[1:]:
        COUNT["drafts"] += 1
        COUNT["proposed"] += 3
        COUNT["accepted"] += size - 1
        for place in range(size - 1):
            PLACES[place] += 1
    COUNT["finished"] += 0 if faulty("lost") else 2 if faulty("stranger") else 1


def words(message: dict[str, Any]) -> str:
    """Return a message's text, which may come in parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def prompt_of(body: dict[str, Any]) -> str:
    if "messages" in body:
        return "".join(f"<{m['role']}>{words(m)}" for m in body["messages"]) + "<assistant>"
    prompt = body["prompt"]
    return prompt if isinstance(prompt, str) else "".join(map(chr, prompt))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the first chunk waits 40 ms for an acknowledgement

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, found: Any, status: int = 200) -> None:
        body = (found if isinstance(found, str) else json.dumps(found)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refused(self) -> bool:
        key = SETTINGS["key"]
        if key and self.headers["Authorization"] != f"Bearer {key}":
            self.reply({"error": "Unauthorized"}, 401)
            return True
        return False

    def do_GET(self) -> None:
        if self.refused():
            return
        pages = {
            "/v1/models": {
                "data": [{"id": "stub", "max_model_len": SETTINGS["context"], "root": str(FOLDER)}]
            },
            "/version": {"version": "0.28.0"},
        }
        if SETTINGS["engine"]:
            pages["/qwen3090/engine"] = {"workers": [SETTINGS["engine"]]}
        if self.path == "/metrics":
            with LOCK:
                self.reply(metrics())
        elif self.path in pages:
            self.reply(pages[self.path])
        else:
            self.reply({"error": "no such page"}, 404)

    def do_POST(self) -> None:
        received = time.perf_counter()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.refused():
            return
        if self.path == "/tokenize":
            text = prompt_of(body)
            self.reply({"tokens": [ord(char) for char in text], "count": len(text)})
        elif self.path == "/detokenize":
            self.reply({"prompt": "".join(map(chr, body["tokens"]))})
        else:
            with LOCK:
                COUNT["answers"] += 1
            self.answer(body, received)

    def answer(self, body: dict[str, Any], received: float) -> None:
        prompt = prompt_of(body)
        if faulty("500"):
            self.reply({"error": {"message": "the engine is dead"}}, 500)
        elif faulty("401"):
            self.reply({"error": "Unauthorized"}, 401)
        elif len(prompt) + body.get("max_tokens", 0) > SETTINGS["context"]:
            self.reply({"error": {"message": "longer than the context"}}, 400)
        elif body.get("stream"):
            self.stream(body, prompt, received)
        elif "prompt_logprobs" in body:
            ids = body["prompt"]
            value = float("nan") if faulty("nan") else -1.5
            scores = [None, *({str(t): {"logprob": value, "rank": 1}} for t in ids[1:])]
            with LOCK:
                finish(prompt, "", [1])
            self.reply({"choices": [{"text": "x", "prompt_logprobs": scores}]})
        else:
            self.whole(body, prompt)

    def whole(self, body: dict[str, Any], prompt: str) -> None:
        """Answer with the beginning of the first message, as a faithful copy has it."""
        text = body["messages"][0]["content"][: body["max_tokens"]]
        salt = body.get("cache_salt", "")
        with LOCK:
            before = COUNT["hits"]
            finish(prompt, salt, [1])
            warm = COUNT["hits"] > before
        if faulty("garbled") and warm:
            text = text[:5] + "?" + text[6:]
        if faulty("tie") and warm:
            text = text[:5] + "~" + text[6:]
        if faulty("mute"):
            text = "~" * len(text)
        if faulty("residue") and len(prompt) % 7 == 0:
            text = text[:3] + "ab" * 30
        tops = [[{"token": c, "logprob": -0.5}, {"token": "~", "logprob": -0.6}] for c in text]
        entries = [
            {"token": c, "logprob": -0.5, "top_logprobs": top}
            for c, top in zip(text, tops, strict=True)
        ]
        message = {"role": "assistant", "content": text}
        choice = {"message": message, "logprobs": {"content": entries}, "finish_reason": "length"}
        self.reply({"choices": [choice]})

    def event(self, found: dict[str, Any] | str) -> None:
        text = found if isinstance(found, str) else json.dumps(found)
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, body: dict[str, Any], prompt: str, received: float) -> None:
        chat = "messages" in body
        sizes = [1] if body.get("max_tokens") == 1 else SETTINGS["sizes"]
        if faulty("one-chunk"):
            sizes = [sum(sizes)]
        usage = {"prompt_tokens": len(prompt), "completion_tokens": 0}
        continuous = body["stream_options"].get("continuous_usage_stats", False)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = []
        text = words(body["messages"][0]) if chat else "x" * 99
        for place, size in enumerate([] if faulty("empty") else sizes):
            wait = SETTINGS["gap"] if place else SETTINGS["ttft"]
            due = (sent[-1][0] if sent else received) + wait
            time.sleep(max(0.0, due - time.perf_counter()))
            if faulty("cut") and place == 2:
                self.close_connection = True
                return
            if faulty("error") and place == 2:
                self.event({"error": {"message": "out of memory", "code": 500}})
                break
            piece = text[usage["completion_tokens"] :][:size]
            usage["completion_tokens"] += size
            choice = {"index": 0, "finish_reason": None}
            choice |= {"delta": {"content": piece}} if chat else {"text": piece}
            if place == len(sizes) - 1:
                choice["finish_reason"] = "length"
                with LOCK:
                    finish(prompt, body.get("cache_salt", ""), sizes)
                    COUNT["seconds"] += time.perf_counter() - sent[0][0] if sent else 0.0
                    COUNT["seconds"] += 5.0 if faulty("late") else 0.0
            more = {"usage": dict(usage)} if continuous else {}
            sent.append((time.perf_counter(), size))
            self.event({"choices": [choice], **more})
        if faulty("empty"):
            with LOCK:
                finish(prompt, "", [1])
        self.event({"choices": [], "usage": usage})
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")
        record = {
            "received": received, "sent": sent, "ended": time.perf_counter(),
            "prompt": prompt[:200], "body": {k: v for k, v in body.items() if k != "messages"},
        }  # fmt: skip
        with LOCK, (FOLDER / "sent.jsonl").open("a") as log:
            log.write(json.dumps(record) + "\n")


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", PORT), Handler).serve_forever()
