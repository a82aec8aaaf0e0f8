"""The demo from end to end: make, prepare, serve, ask, measure, stop."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from qwen3090.demo import TinyPaths, client, metrics, server, workdir
from qwen3090.errors import UserError

Say = Callable[[str], None]


def run(work: Path, say: Say) -> None:
    """Run the demo in ``work``; tell each step through ``say``.

    Raises:
        UserError: something differs from what the demo model must do; the message says what,
            and where the server's log is.
        KeyboardInterrupt: Ctrl-C or SIGTERM, after the server was stopped.
    """
    work = work.resolve()
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make {work}: {error.strerror}", "use --work DIR") from error
    try:
        _run(work, say)
    except OSError as error:
        what = f"{error.filename or work}: {error.strerror or error}"
        raise UserError(what, "qwen3090 demo --work NEW_DIRECTORY") from error


def _run(work: Path, say: Say) -> None:
    started = time.monotonic()
    made, reused = workdir.checkpoint(work)
    say(f"checkpoint  {made.base} ({'reused' if reused else 'made'})")
    model = _prepare(made, work / "prepared", say)
    log, key_file, port = work / "server.log", work / "api-key", server.free_port()
    key = server.write_key(key_file)
    argv = server.command(model, port, key_file)
    say(f"server      starting on 127.0.0.1:{port} (log: {log})")
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        start = time.monotonic()
        with server.running(argv, port, key, log) as up:
            say(f"server      ready after {time.monotonic() - start:.0f} s")
            try:
                _requests(up, say)
            except UserError as error:
                raise UserError(error.message, error.next_step or f"read {log}") from error
        say("server      stopped")
    finally:
        signal.signal(signal.SIGTERM, previous)
        key_file.unlink(missing_ok=True)
    say(f"done        {time.monotonic() - started:.0f} s")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _prepare(made: TinyPaths, out: Path, say: Say) -> Path:
    import qwen3090_prepare as prepare

    try:
        result = prepare.run(made.base, out, draft_vocab=made.draft_vocab, force=True)
    except prepare.PrepareError as error:
        raise UserError(error.problem, "qwen3090 demo --work NEW_DIRECTORY") from error
    done = ", ".join(step.step for step in result.steps if step.action != "skipped")
    say(f"prepared    {out} ({result.action}: {done}; {result.seconds:.1f} s)")
    return out


def _requests(up: server.Server, say: Say) -> None:
    import openai

    try:
        api = client.connect(up)
        reasoning, answer = client.chat(api)
        say(f"chat        thought: {reasoning}")
        say(f"            answer:  {answer}")
        pieces, _ = client.streamed(api)
        say(f"streamed    the same answer, in {pieces} pieces")
        name, arguments, _ = client.tool_call(api)
        values = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        say(f"tool call   {name}({values}), and an answer to its result")
        say(f"wrong key   refused with {client.unauthorised(up)}")
        found = metrics.speculation(up.get("/metrics"))
    except openai.APIError as error:
        raise UserError(f"a request failed: {error}") from error
    except OSError as error:
        raise UserError(f"/metrics could not be read: {error}") from error
    say(
        f"speculation {found.tokens_per_step:.2f} tokens per step "
        f"({found.accepted} of {found.proposed} drafted tokens accepted)"
    )
