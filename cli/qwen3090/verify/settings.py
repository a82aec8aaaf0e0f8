"""Are the settings servable, and is the API key's file as private as ``serve`` demands?"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from qwen3090.config import ConfigError, Resolved, resolve
from qwen3090.config.files import file_problems, key_path, key_variable, read_keys
from qwen3090.verify.report import Finding, Status

SHOW = "qwen3090 config show"


@dataclass(frozen=True)
class Asked:
    """What a user named on the command line of ``verify``.

    Attributes:
        profile: whose settings to check; None takes the default's.
        config_file: TOML file with settings, or None.
        sets: ``key=value`` texts.
        model, drafter: directories that must be checked; None leaves it to the profile.
    """

    profile: str | None = None
    config_file: Path | None = None
    sets: Sequence[str] = ()
    model: Path | None = None
    drafter: Path | None = None

    @property
    def served(self) -> bool:
        """Whether a server was named, so that its own model and drafter count too."""
        return self.profile is not None or self.config_file is not None or bool(self.sets)

    def named(self, command: str) -> str:
        """Return a next command with what the user named in the place of ``PROFILE``."""
        words = [self.profile] if self.profile else []
        words += ["--config", str(self.config_file)] if self.config_file else []
        words += [word for pair in self.sets for word in ("--set", pair)]
        return command.replace(" PROFILE", "".join(f" {shlex.quote(word)}" for word in words))

    def resolve(self) -> Resolved:
        """Return the settings.

        Raises:
            ConfigError: they cannot be read.
        """
        sets = list(self.sets)
        sets += [f"model={self.model}"] if self.model is not None else []
        sets += [f"drafter={self.drafter}"] if self.drafter is not None else []
        return resolve(self.profile, config_file=self.config_file, sets=sets)


def check_settings(asked: Asked) -> tuple[Resolved | None, list[Finding]]:
    """Return the settings (None when they cannot be read) and what was found about them."""
    try:
        resolved = asked.resolve()
    except ConfigError as error:
        return None, [
            Finding("settings", Status.FAIL, _text(item.where, item.text), item.next_step or SHOW)
            for item in error.problems
        ]
    wrong = [
        Finding("settings", Status.FAIL, _text(item.where, item.text), item.next_step or SHOW)
        for item in resolved.problems
    ]
    good = [Finding("settings", Status.PASS, f"profile {resolved.profile} can be served")]
    return resolved, [*(wrong or good), *_key(resolved)]


def _key(resolved: Resolved) -> Iterator[Finding]:
    where = key_path(resolved.config) or key_variable(resolved.config)
    problems = list(file_problems(resolved.config))
    for item in problems:
        yield Finding("settings.key", Status.FAIL, item.text, item.next_step)
    if not problems:
        count = len(read_keys(resolved.config))
        keys = f"{where}: {count} key{'s' if count > 1 else ''}, not readable by others"
        found = keys if where else "none: loopback only"
        yield Finding("settings.key", Status.PASS, found)


def _text(where: str, text: str) -> str:
    return f"{where}: {text}" if where else text
