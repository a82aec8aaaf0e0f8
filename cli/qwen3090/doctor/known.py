"""What this machine knows that must not leave it: its users, its name, and every key in reach."""

import contextlib
import re
from pathlib import Path

from qwen3090.config.files import key_path, read_key
from qwen3090.doctor.context import Context
from qwen3090.doctor.redact import Redactor

# Names that tell nothing of anybody, and stand in ordinary text.
COMMON = {"root", "nobody", "user", "admin", "qwen3090", "ubuntu", "debian", "nixos", "fedora"}
COMMON |= {"localhost", "public", "default", "all users", "default user", "home", "linux"}
_SECRET = re.compile(r"key|token|secret|passw|credential|auth", re.I)
_LEAST_SECRET, _FIRST_UID = 6, 1000
# Homes that tell nothing of anybody.
_NO_HOMES = {"/", "/root", "/var/empty", "/nonexistent", "/proc", "/dev/null"}


def redactor(context: Context) -> Redactor:
    """Return a redactor that knows this machine and these settings."""
    names = dict.fromkeys(_hosts(context), "host") | dict.fromkeys(_users(context), "user")
    known = {name: label for name, label in names.items() if name.lower() not in COMMON}
    return Redactor(_secrets(context), known, _homes(context))


def _accounts(context: Context) -> list[list[str]]:
    """Return the seven fields of each person's line in /etc/passwd."""
    lines = (context.machine.text("/etc/passwd") or "").splitlines()
    rows = [fields for line in lines if len(fields := line.split(":")) == 7]
    return [row for row in rows if row[2].isdigit() and int(row[2]) >= _FIRST_UID]


def _homes(context: Context) -> set[str]:
    """Return every home directory, also one that is not below /home (what is, has a shape)."""
    found = {context.machine.environ.get("HOME") or "/"}
    found |= {row[5] for row in _accounts(context)}
    return {str(Path(home)) for home in found if home.startswith("/")} - _NO_HOMES


def _users(context: Context) -> set[str]:
    machine, environ = context.machine, context.machine.environ
    found = {environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER", "USERNAME")}
    found.add(Path(environ.get("HOME") or "/").name)
    for row in _accounts(context):
        found |= {row[0], row[4].partition(",")[0]}
    found |= set(machine.names("/mnt/c/Users")) if context.wsl else set()
    return {name for name in found if len(name) > 1}


def _hosts(context: Context) -> set[str]:
    texts = [context.machine.text(p) for p in ("/proc/sys/kernel/hostname", "/etc/hostname")]
    whole = {(text or "").strip() for text in (*texts, context.machine.environ.get("HOSTNAME"))}
    return {part for name in whole for part in (name, name.partition(".")[0]) if len(part) > 1}


def _secrets(context: Context) -> set[str]:
    config, environ = context.config, context.machine.environ
    variables = [environ, config.engine.env if config else {}]
    found = {
        value
        for table in variables
        for name, value in table.items()
        if _SECRET.search(name) and len(value) >= _LEAST_SECRET and not value.startswith("/")
    }
    path = key_path(config, environ) if config else None
    # A key that this user cannot read, no text of this program holds.
    with contextlib.suppress(OSError, ValueError):
        found |= {read_key(path)} if path else set()
    return found
