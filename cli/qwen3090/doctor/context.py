"""What one run of doctor knows: the machine, the settings, and the card's answers, asked once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from qwen3090 import bounded, smi
from qwen3090.config import ConfigError, Resolved, ServeConfig
from qwen3090.config.problems import Problem
from qwen3090.doctor.machine import SMI_SECONDS, Machine
from qwen3090.verify.settings import Asked
from qwen3090.wsl import is_windows

# Every driver knows these; others are asked for apart, so that an unknown one costs only itself.
FIRST = ("name", "driver_version", "memory.total", "memory.free")


@dataclass
class Context:
    """Given to every check.

    Attributes:
        machine: what is looked at.
        asked: profile and settings, as for ``serve``.
        jit: whether kernels may be compiled.
    """

    machine: Machine = field(default_factory=Machine)
    asked: Asked = field(default_factory=Asked)
    jit: bool = True
    _hung: bool = False

    @cached_property
    def settings(self) -> Resolved | tuple[Problem, ...]:
        """The settings, or why they cannot be read."""
        try:
            return self.asked.resolve()
        except ConfigError as error:
            return tuple(error.problems)

    @property
    def config(self) -> ServeConfig | None:
        """The typed settings, None when they cannot be read."""
        return self.settings.config if isinstance(self.settings, Resolved) else None

    @property
    def profile(self) -> str:
        """The profile's name, empty when the settings cannot be read."""
        return self.settings.profile if isinstance(self.settings, Resolved) else ""

    @property
    def on_cpu(self) -> bool:
        """Whether the settings need no card."""
        return self.config is not None and self.config.device == "cpu"

    @cached_property
    def wsl(self) -> int:
        """1 or 2 for the Windows Subsystem for Linux of that version, 0 elsewhere."""
        kernel = (self.machine.text("/proc/version") or "").lower()
        if not is_windows(kernel):
            return 0
        return 2 if "wsl2" in kernel or self.machine.exists("/dev/dxg") else 1

    @cached_property
    def nixos(self) -> bool:
        """Whether this is NixOS."""
        return self.machine.exists("/etc/NIXOS")

    @cached_property
    def cards(self) -> list[dict[str, str | None]] | smi.SmiError:
        """A row for each visible card, the first being the engine's; or why there is none."""
        try:
            return smi.query(FIRST, self.select, self._smi, SMI_SECONDS)
        except smi.SmiError as error:
            return error

    @property
    def select(self) -> list[str]:
        """The options of nvidia-smi that pick the engine's card."""
        return smi.selected(self.machine.environ)

    @property
    def card(self) -> dict[str, str | None] | None:
        """The engine's card, None without one."""
        return self.cards[0] if isinstance(self.cards, list) and self.cards else None

    def ask(self, *fields: str) -> dict[str, str | None]:
        """Return fields of the engine's card, all None where the driver does not know one."""
        nothing: dict[str, str | None] = dict.fromkeys(fields)
        if self.card is None:
            return nothing
        try:
            rows = smi.query(fields, self.select, self._smi, SMI_SECONDS)
        except smi.SmiError:
            return nothing
        return rows[0] if rows else nothing

    def number(self, name: str) -> float | None:
        """Return one of the first fields of the engine's card as a number."""
        return smi.number(self.card[name]) if self.card else None

    def processes(self) -> list[smi.Process] | None:
        """Return who is on the card, None when the driver does not say."""
        try:
            return smi.processes(self.select, self._smi, SMI_SECONDS)
        except smi.SmiError:
            return None

    def _smi(self, argv: Sequence[str], timeout: float) -> bounded.Ran:
        """Run nvidia-smi, unless it has hung before: it would each time."""
        if self._hung:
            return bounded.Ran(None, trouble="hung")
        ran = self.machine.run(argv, timeout)
        self._hung = ran.trouble == "hung"
        return ran
