"""A small process between supervisor and engine: when either ends, nothing of the engine survives.

The supervisor may be killed with SIGKILL and can then clean up nothing. The guard notices (its
standard input ends), kills every descendant and exits. It also adopts what the engine orphans.

Run as ``python -m qwen3090.serve.guard COMMAND...``. Standard input: one line of JSON, variables to
add to the engine's environment (the API key too, so that no other process has it); then commands,
one a line: ``signal N`` (to the engine itself) and ``kill``. Exit status: the engine's; 128 + N
after a signal, as in a shell.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys

from qwen3090.serve import descend

NOT_FOUND = 127


def main(command: list[str]) -> int:
    """Run ``command`` until it or the supervisor ends; return the exit status."""
    descend.become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    extra = json.loads(_line(sys.stdin.fileno()) or "{}")
    try:
        engine = subprocess.Popen(
            command,
            env=os.environ | extra,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_before_exec,
        )
    except OSError as error:
        print(f"qwen3090: cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND
    try:
        _relay(engine, wake_read)
    finally:
        descend.kill_descendants(os.getpid())
    status = engine.returncode if engine.returncode is not None else -signal.SIGKILL
    return 128 - status if status < 0 else status


def _before_exec() -> None:
    """In the engine's process: default signals again, and die with the guard."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    descend.die_with_parent()


def _relay(engine: subprocess.Popen[bytes], wake: int) -> None:
    """Pass commands on until the engine ends, is to be killed, or the supervisor is gone."""
    control = sys.stdin.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(wake, selectors.EVENT_READ)
        while engine.poll() is None:
            for key, _ in selector.select(timeout=1.0):
                if key.fd == wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake, 4096)
                elif not _obey(engine, _line(control)):
                    return


def _obey(engine: subprocess.Popen[bytes], line: str) -> bool:
    """Carry out one command; return False when everything is to be killed."""
    word, _, argument = line.strip().partition(" ")
    if word == "signal":
        with contextlib.suppress(ProcessLookupError):
            engine.send_signal(int(argument))
        return True
    return False


def _line(fd: int) -> str:
    """Read one line byte by byte, so that nothing stays in a buffer select cannot see."""
    data = bytearray()
    while (byte := os.read(fd, 1)) and byte != b"\n":
        data += byte
    return data.decode()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
