"""Runs one engine from start to stop: readiness, watchdog, signals, draining, exit status."""

import queue
import signal
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
from qwen3090.serve.runtime import Runtime
from qwen3090.serve.say import describe, requests, say
from qwen3090.serve.stopping import Stopping
from qwen3090.serve.warmup import warm_up
from qwen3090.serve.watch import Watch

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
TICK = 0.5


@dataclass
class _State:
    started: float
    ready_at: float | None = None
    warming: bool = False
    stopping: Stopping | None = None
    verdict: int | None = None
    sick: bool = False
    told: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        code: one of exit_codes.
        reason: why, in words; "" after a clean stop.
        ready_seconds: how long the server had been ready; 0 when it never was.
    """

    code: int
    reason: str = ""
    ready_seconds: float = 0.0


class Supervisor:
    """One engine's life. ``run`` blocks until it has ended and says how.

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
        self._watch = Watch(config.stall_timeout, config.request_timeout, self._state.started)
        self._reason = ""

    def run(self) -> Outcome:
        """Start, serve, stop.

        Raises:
            UserError: the runtime directory cannot be made or written.
            OSError: the guard cannot be started.
        """
        previous = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        self._notify.send(STATUS="starting the engine")
        self._runtime = Runtime(self._environ)
        try:
            return self._supervise()
        finally:
            self._runtime.close()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _supervise(self) -> Outcome:
        secrets = {name: self._environ[source] for name, source in self._launch.copied.items()}
        engine = Engine(
            self._launch,
            self._environ,
            secrets | self._runtime.environment,
            on_exit=lambda status: self._events.put(("exit", str(status))),
            on_plugin_failure=lambda line: self._events.put(("plugin", line)),
        )
        interval = min(self._config.health_interval, self._notify.watchdog_seconds or 1e9)
        probe, config = Probe(self._config, self._key), self._config
        warm = (lambda: warm_up(probe, config)) if config.warmup else None
        prober = Prober(probe, interval, self._events, warm)
        threading.Thread(target=prober.run, daemon=True).start()
        try:
            code = self._loop(engine)
        finally:
            prober.stop()
            engine.destroy()
        ready = self._state.ready_at
        return Outcome(code, self._reason, 0.0 if ready is None else time.monotonic() - ready)

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
                self._became_ready(engine, detail)
            elif kind == "notready" and detail != self._state.told:
                self._state.told = detail
                say(f"the engine answers /health but generates no token: {detail}")
            elif kind == "warming":
                self._state.warming = True
                say("warming up: every shape of request once, before any user's")
                self._notify.send(STATUS="warming up")
            elif kind == "unfit" and self._state.stopping is None:
                code = exit_codes.ENGINE_DID_NOT_START
                self._give_up(engine, code, f"the warm-up failed: {detail}")
            elif kind in ("alive", "sick"):
                self._health(kind == "alive", detail)
                self._judge(engine)
            self._check_clock(engine)

    def _became_ready(self, engine: Engine, detail: str) -> None:
        if self._state.stopping is not None or self._state.verdict is not None:
            return
        progress = self._runtime.progress()
        if progress is None or not progress.steps:
            text = "the engine generated a token and told no progress"
            if not self._config.engine.command:
                # Our scheduler is not in the engine: nobody would see it hang.
                self._give_up(engine, exit_codes.ENGINE_NOT_AS_PINNED, text)
                return
            say(f"{text} (engine.command is set): only /health is watched")
        now = time.monotonic()
        self._state.ready_at = now
        self._watch.health(True, now)
        seconds = now - self._state.started
        url = f"http://{self._config.host}:{self._config.port}/v1"
        say(f"ready after {seconds:.0f} s ({detail}): {url}, model {self._config.served_name}")
        self._notify.send(READY="1", STATUS=f"ready at {url}")
        self._feed()

    def _health(self, alive: bool, detail: str) -> None:
        if self._state.ready_at is None or self._state.stopping is not None:
            return
        self._watch.health(alive, time.monotonic())
        if alive and self._state.sick:
            say("the engine answers again")
            self._notify.send(STATUS="ready")
        elif not alive and not self._state.sick:
            say(f"the engine does not answer /health: {detail}")
            self._notify.send(STATUS=f"not answering: {detail}")
        self._state.sick = not alive

    def _judge(self, engine: Engine) -> None:
        """Feed the watchdog while there is progress; give up when there is none for too long."""
        if self._state.ready_at is None:
            return
        if self._state.stopping is not None:  # which has a bound of its own
            self._feed()
            return
        verdict = self._watch.judge(self._runtime.progress(), time.monotonic())
        if verdict.code is not None:
            self._give_up(engine, verdict.code, verdict.reason)
        elif verdict.feed:
            self._feed()

    def _feed(self) -> None:
        if self._notify.watchdog_seconds is not None:
            self._notify.send(WATCHDOG="1")

    def _asked_to_stop(self, engine: Engine, number: int) -> None:
        if self._state.stopping is not None:
            say("second signal: killing the engine")
            self._state.stopping.kill()
            return
        name, seconds = signal.Signals(number).name, self._config.shutdown_timeout
        active = self._runtime.active_requests()
        running = "running requests" if active is None else f"{requests(active)} running"
        say(f"{name}: stopping; {running}, {seconds} s to finish (a second signal kills)")
        self._notify.send(STOPPING="1", STATUS="finishing running requests")
        self._state.stopping = Stopping(self._config, self._runtime, engine, time.monotonic())

    def _check_clock(self, engine: Engine) -> None:
        now, config, state = time.monotonic(), self._config, self._state
        if state.stopping is not None:
            state.stopping.tick(now)
            return
        waiting = state.ready_at is None and state.verdict is None
        if waiting and now - state.started > config.ready_timeout:
            late = "the warm-up did not end" if state.warming else "no token was generated"
            text = f"{late} within ready_timeout = {config.ready_timeout} s"
            self._give_up(engine, exit_codes.NOT_READY_IN_TIME, text)

    def _give_up(self, engine: Engine, code: int, text: str) -> None:
        if self._state.verdict is None:
            self._state.verdict, self._reason = code, text
            say(f"{text}; stopping the engine")
            self._notify.send(STOPPING="1", STATUS=text[:200])
            engine.kill()

    def _ended(self, status: int) -> int:
        state = self._state
        if state.verdict is not None:
            return state.verdict
        if state.stopping is not None:
            if state.stopping.forced:
                self._reason = exit_codes.MEANING[exit_codes.STOP_FORCED]
                return exit_codes.STOP_FORCED
            say("stopped")
            return exit_codes.OK
        ready = state.ready_at is not None
        what = "after it was ready" if ready else "before it was ready"
        self._reason = f"the engine ended {what}, with {describe(status)}"
        say(f"{self._reason}; its last lines say why")
        self._notify.send(STOPPING="1", STATUS=f"engine ended with {describe(status)}")
        return exit_codes.ENGINE_DIED if ready else exit_codes.ENGINE_DID_NOT_START
