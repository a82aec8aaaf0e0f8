"""Runs one engine from start to stop: readiness, watchdog, signals, draining, exit status."""

import contextlib
import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType

from qwen3090.config.model import ServeConfig
from qwen3090.serve import exit_codes
from qwen3090.serve.notify import Notifier
from qwen3090.serve.probe import Probe
from qwen3090.serve.prober import Prober
from qwen3090.serve.process import Engine
from qwen3090.serve.render import Launch
from qwen3090.serve.warmup import warm_up

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
TICK = 0.5
WRITE_SECONDS = 1.0  # for a reader of our output that is slow


@dataclass
class _State:
    started: float
    ready: bool = False
    warming: bool = False
    stopping_since: float | None = None
    forced: bool = False
    verdict: int | None = None
    sick: bool = False
    told: str = ""


class Supervisor:
    """One engine's life. ``run`` blocks until it has ended and returns the exit status.

    Args:
        config: the checked settings.
        launch: how the engine is started.
        key: the API's bearer key, or None.
        environ: the environment to pass on.
    """

    def __init__(
        self, config: ServeConfig, launch: Launch, key: str | None, environ: Mapping[str, str]
    ) -> None:
        self._config, self._launch, self._key, self._environ = config, launch, key, environ
        self._notify = Notifier(environ)
        # SimpleQueue.put may be called from a signal handler; Event.set may not.
        self._events: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._state = _State(started=time.monotonic())

    def run(self) -> int:
        """Start, serve, stop; return one of exit_codes."""
        previous = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        self._notify.send(STATUS="starting the engine")
        secrets = {"VLLM_API_KEY": self._key} if self._key else {}
        engine = Engine(
            self._launch,
            self._environ,
            secrets,
            on_exit=lambda status: self._events.put(("exit", str(status))),
            on_plugin_failure=lambda line: self._events.put(("plugin", line)),
        )
        interval = min(self._config.health_interval, self._notify.watchdog_seconds or 1e9)
        probe, config = Probe(self._config, self._key), self._config
        warm = (lambda: warm_up(probe, config)) if config.warmup else None
        prober = Prober(probe, interval, self._events, warm)
        threading.Thread(target=prober.run, daemon=True).start()
        try:
            return self._loop(engine)
        finally:
            prober.stop()
            engine.destroy()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._events.put(("signal", str(number)))

    def _loop(self, engine: Engine) -> int:
        while True:
            try:
                kind, detail = self._events.get(timeout=TICK)
            except queue.Empty:
                kind, detail = "tick", ""
            if kind == "exit":
                return self._ended(int(detail))
            if kind == "signal":
                self._asked_to_stop(engine, int(detail))
            elif kind == "plugin":
                text = f"plugin not loaded: {detail}"
                self._give_up(engine, exit_codes.ENGINE_NOT_AS_PINNED, text)
            elif kind == "ready":
                self._became_ready(detail)
            elif kind == "notready" and detail != self._state.told:
                self._state.told = detail
                say(f"the engine answers /health but generates no token: {detail}")
            elif kind == "warming":
                self._state.warming = True
                say("warming up: every shape of request once, before any user's")
                self._notify.send(STATUS="warming up")
            elif kind == "unfit" and self._state.stopping_since is None:
                code = exit_codes.ENGINE_DID_NOT_START
                self._give_up(engine, code, f"the warm-up failed: {detail}")
            elif kind in ("alive", "sick"):
                self._health(kind == "alive", detail)
            self._check_clock(engine)

    def _became_ready(self, detail: str) -> None:
        if self._state.stopping_since is not None or self._state.verdict is not None:
            return
        self._state.ready = True
        seconds = time.monotonic() - self._state.started
        url = f"http://{self._config.host}:{self._config.port}/v1"
        say(f"ready after {seconds:.0f} s ({detail}): {url}, model {self._config.served_name}")
        self._notify.send(READY="1", STATUS=f"ready at {url}")
        self._feed()

    def _health(self, alive: bool, detail: str) -> None:
        if not self._state.ready or self._state.stopping_since is not None:
            return
        if alive:
            if self._state.sick:
                say("the engine answers again")
                self._notify.send(STATUS="ready")
            self._feed()
        elif not self._state.sick:
            say(f"the engine does not answer /health: {detail}")
            self._notify.send(STATUS=f"not answering: {detail}")
        self._state.sick = not alive

    def _feed(self) -> None:
        if self._notify.watchdog_seconds is not None:
            self._notify.send(WATCHDOG="1")

    def _asked_to_stop(self, engine: Engine, number: int) -> None:
        if self._state.stopping_since is not None:
            say("second signal: killing the engine")
            self._state.forced = True
            engine.kill()
            return
        self._state.stopping_since = time.monotonic()
        name = signal.Signals(number).name
        seconds = self._config.shutdown_timeout
        say(f"{name}: stopping; running requests have {seconds} s (a second signal kills)")
        self._notify.send(STOPPING="1", STATUS="finishing running requests")
        engine.signal(signal.SIGTERM)

    def _check_clock(self, engine: Engine) -> None:
        now, config = time.monotonic(), self._config
        since = self._state.stopping_since
        if since is not None and not self._state.forced:
            limit = config.shutdown_timeout + config.kill_timeout
            if now - since > limit:
                say(f"the engine did not stop within {limit} s: killing it")
                self._state.forced = True
                engine.kill()
        waiting = not self._state.ready and since is None and self._state.verdict is None
        if waiting and now - self._state.started > config.ready_timeout:
            late = "the warm-up did not end" if self._state.warming else "no token was generated"
            text = f"{late} within ready_timeout = {config.ready_timeout} s"
            self._give_up(engine, exit_codes.NOT_READY_IN_TIME, text)

    def _give_up(self, engine: Engine, code: int, text: str) -> None:
        if self._state.verdict is None:
            self._state.verdict = code
            say(f"{text}; stopping the engine")
            self._notify.send(STOPPING="1", STATUS=text[:200])
            engine.kill()

    def _ended(self, status: int) -> int:
        state = self._state
        if state.verdict is not None:
            return state.verdict
        if state.stopping_since is not None:
            if state.forced:
                return exit_codes.STOP_FORCED
            say("stopped")
            return exit_codes.OK
        what = "after it was ready" if state.ready else "before it was ready"
        say(f"the engine ended {what}, with {describe(status)}; its last lines say why")
        self._notify.send(STOPPING="1", STATUS=f"engine ended with {describe(status)}")
        return exit_codes.ENGINE_DIED if state.ready else exit_codes.ENGINE_DID_NOT_START


def describe(status: int) -> str:
    """Return an exit status in words."""
    if status > 128 and status - 128 in {int(item) for item in signal.Signals}:
        return signal.Signals(status - 128).name
    return f"status {status}"


def say(text: str) -> None:
    """Print a line of ours on standard error.

    A reader that is gone (``| head``, a closed terminal) or has stopped reading loses the line; it
    must neither end the server nor keep it from being stopped.
    """
    with contextlib.suppress(OSError, ValueError):
        error = sys.stderr.fileno()
        if select.select([], [error], [], WRITE_SECONDS)[1]:
            os.write(error, f"qwen3090: {text}\n".encode())
