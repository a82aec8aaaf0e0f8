"""The click group. Commands load on use: ``--help`` and ``plan`` stay fast and torch-free."""

import importlib
import sys
from difflib import get_close_matches

import click

from qwen3090 import __version__
from qwen3090.errors import UserError

# Command name -> module below qwen3090.commands; each module defines ``cli``.
COMMANDS = {
    "bench": "bench",
    "config": "config",
    "demo": "demo",
    "doctor": "doctor",
    "draft-vocab": "draft_vocab",
    "lock": "lock",
    "models": "models",
    "patches": "patches",
    "plan": "plan",
    "prepare": "prepare",
    "serve": "serve",
    "setup": "setup",
    "up": "up",
    "verify": "verify",
}


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command name, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"qwen3090.commands.{COMMANDS[cmd_name]}")
        command: click.Command = module.cli
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; name the nearest one when it does not exist."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            near = get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qwen3090")
def cli() -> None:
    """Serve Qwen3.8-27B on one RTX 3090."""


def main() -> None:
    """Entry point of the ``qwen3090`` script."""
    try:
        cli(prog_name="qwen3090")
    except ModuleNotFoundError as error:
        # The command is there before the locked packages are, and after a set-up that was stopped.
        name = (error.name or "a module").partition(".")[0]
        if name == "qwen3090":
            raise
        problem = UserError(f"{name} is not installed in {sys.prefix}", "qwen3090 setup")
        problem.show()
        raise SystemExit(problem.exit_code) from None
