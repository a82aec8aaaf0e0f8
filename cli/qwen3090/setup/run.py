"""The steps of ``qwen3090 setup``, in order; each looks first and acts only when it must."""

import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qwen3090.data import data_file, load_json
from qwen3090.errors import UserError
from qwen3090.lock import wheelfile
from qwen3090.lock.wheelfile import LockError, Wheel
from qwen3090.setup import bytecode, cuda, engine, system
from qwen3090.setup.locked import Environment
from qwen3090.setup.machine import Machine, SetupError

# Engine and downloads side by side, with room for the compile caches of a first start.
_FREE_BYTES = 14 * 10**9
Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """What to set up; ``repair`` installs vLLM anew although it seems to be there."""

    engine: engine.Engine
    dev: bool = False
    cubins: bool = False
    repair: bool = False

    @property
    def groups(self) -> list[str]:
        """The groups of the lock to install."""
        groups = ["engine", f"engine-{self.engine}", "cli", "prepare"]
        return groups + ["dev"] * self.dev + ["cubins"] * self.cubins


class Setup:
    """A set-up of one environment.

    Raises:
        UserError: from every method, naming what is wrong and the next command.
    """

    def __init__(
        self, options: Options, say: Say, machine: Machine | None = None, site: Path | None = None
    ) -> None:
        self.options, self.say = options, say
        self.machine = machine or Machine()
        self.site = site or Path(sysconfig.get_paths()["purelib"])
        self.environment = Environment(self.machine.prefix, self.site)
        self.pins = load_json("pins.json")
        self.wheels = self._wheels()
        self.damaged = False  # set by findings: only --repair mends vLLM's files

    def _wheels(self) -> list[Wheel]:
        path = data_file("wheels.json")
        try:
            self.machine.check(self.pins["python"]["supported"])
            found = wheelfile.select(wheelfile.read(path), self.machine.python, self.options.groups)
            self.machine.check_glibc(found)
        except SetupError as error:
            raise UserError(str(error), error.next_step) from None
        except LockError as error:
            raise UserError(str(error), f"git diff {path}; then qwen3090 lock --check") from None
        return found

    @property
    def _engine_wheel(self) -> Wheel:
        project = engine.PROJECT[self.options.engine]
        return next(wheel for wheel in self.wheels if wheel.project == project)

    def run(self) -> None:
        """Bring the environment to what the lock says, then patch it."""
        with self.environment.alone(self.say):
            self._run()

    def _run(self) -> None:
        system.provide(self.options.engine, self.say)
        try:
            self._install()
        except SetupError as error:
            raise UserError(str(error), error.next_step) from None
        if self.options.engine == "cpu":
            if not engine.alias_ok(self.site, self._engine_wheel.version):
                engine.write_alias(self.site, self._engine_wheel.version)
        else:
            root = cuda.toolchain(self.site, self.pins["cuda"]["release"])
            cuda.check_files(root, self.pins["cuda"]["files"])
            cuda.make_home(self.machine.prefix, root)
        state = f"{self._engine_wheel.file} {self._patch()}"
        # The CUDA engine imports only where a driver is.
        if self.options.engine == "cpu" or engine.detect() == "cuda":
            prefix, python = self.machine.prefix, self.environment.python
            bytecode.import_engine(prefix, python, self.options.engine, state, self.say)

    def _install(self) -> None:
        todo = self.environment.missing(self.wheels)
        if self._engine_wheel in todo or self.options.repair:
            self._check_disk()
            # Both engines own vllm/, and a patched tree is not a wheel's: replace it whole, but
            # only when the new one is known to be available and right.
            self.environment.fetch([self._engine_wheel], self.say)
            engine.remove_alias(self.site)
            bytecode.forget(self.machine.prefix)
            self.environment.remove(list(engine.PROJECT.values()), self.say)
            shutil.rmtree(self.site / "vllm", ignore_errors=True)
        self.environment.install(self.wheels, self.say)

    def _check_disk(self) -> None:
        fresh = not (self.site / "torch").is_dir()
        free = shutil.disk_usage(self.machine.prefix).free
        if fresh and free < _FREE_BYTES:
            raise UserError(
                f"{free / 1e9:.1f} GB are free at {self.machine.prefix}; a set-up needs "
                f"{_FREE_BYTES / 1e9:.0f} GB",
                "free space, or make the environment on another disk",
            )

    def _patch(self) -> str:
        from qwen3090.patches import apply, load_series, series_hash

        series = load_series(data_file("patches"))
        outcome = apply(self.site, series)
        if outcome.changed:
            self.say(f"applied {len(series.patches)} patches ({len(outcome.changed)} files)")
        return series_hash(series)

    def findings(self) -> list[str]:
        """Return what differs from the lock, changing nothing."""
        from qwen3090.patches import inspect, load_series

        found = [f"missing: {n.what}" for n in system.needs(self.options.engine) if not n.present()]
        missing = self.environment.missing(self.wheels)
        found += [f"not installed from the lock: {wheel.file}" for wheel in missing]
        if self._engine_wheel in missing:
            return found
        if self.options.engine == "cpu":
            if not engine.alias_ok(self.site, self._engine_wheel.version):
                found.append("vLLM's command line would not find the CPU engine's metadata")
        else:
            root = cuda.toolchain(self.site, self.pins["cuda"]["release"])
            try:
                cuda.check_files(root, self.pins["cuda"]["files"])
            except UserError as error:
                found.append(error.message)
        report = inspect(self.site, load_series(data_file("patches")))
        bad = [state for state in report.states if state.state != "applied"]
        found += [f"{state.name} is {state.state}: {state.detail}" for state in bad]
        self.damaged = bool(report.outside) or any(state.state == "altered" for state in bad)
        return found + [f"changed outside the series: {name}" for name in report.outside]


def python_line() -> str:
    """Return one line that names the interpreter."""
    return f"Python {sys.version.split()[0]} in {sys.prefix}"
