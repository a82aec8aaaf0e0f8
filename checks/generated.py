"""Files that are made from data, and the command that makes them again when they are stale.

``python checks/generated.py`` writes them; ``--check`` only compares and says what to run.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from click.testing import CliRunner
from pages import PARTS, page
from qwen3090.doctor import reference as doctor_page
from qwen3090.main import COMMANDS, cli
from qwen3090.verify import reference

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Generated: edit its source, then run `make generate`. -->\n\n"


def run(*args: str) -> str:
    """Return what ``qwen3090 ARGS`` prints."""
    result = CliRunner().invoke(cli, list(args), prog_name="qwen3090", terminal_width=100)
    if result.exit_code:
        raise SystemExit(f"qwen3090 {' '.join(args)} failed:\n{result.output}{result.exception!r}")
    return result.output


def command_reference() -> str:
    """Return the help of every command and sub-command as one page."""
    parts = [f"# Commands\n\n{NOTE}"]

    def add(path: list[str], group: dict[str, object]) -> None:
        parts.append(f"## `qwen3090 {' '.join(path)}`\n\n```text\n{run(*path, '--help')}```\n\n")
        for name in sorted(group):
            add([*path, name], {})

    for name in sorted(COMMANDS):
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        add([name], getattr(command, "commands", {}))
    return "".join(parts).rstrip("\n") + "\n"


def settings_reference() -> str:
    """Return the table of settings, printed by the settings model itself."""
    return run("config", "reference")


def settings_schema() -> str:
    """Return the settings as data, which the NixOS module reads."""
    return run("config", "schema")


def verify_reference() -> str:
    """Return the table of checks, from the catalogue that the checks themselves use."""
    return f"# What verify checks\n\n{NOTE}{reference.page()}"


def doctor_reference() -> str:
    """Return every check of ``qwen3090 doctor`` and how it can end, from the table it runs."""
    return f"# What doctor checks\n\n{NOTE}{doctor_page.page()}"


FILES: dict[str, Callable[[], str]] = {
    "docs/reference/commands.md": command_reference,
    "docs/reference/doctor.md": doctor_reference,
    "docs/reference/settings.md": settings_reference,
    "docs/reference/verify.md": verify_reference,
    "nix/settings.json": settings_schema,
    **{name: partial(page, name) for name in PARTS},
}


def main() -> int:
    """Write or compare every generated file; return 1 when one is stale under ``--check``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when stale")
    check = parser.parse_args().check
    stale = []
    for name, make in FILES.items():
        path, text = ROOT / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    for name in stale:
        print(f"stale: {name}: run `make generate`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
