"""The rules that look at files: the file of API keys must exist, hold keys and be private."""

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from qwen3090.config.keyfile import parse_keys
from qwen3090.config.model import ServeConfig
from qwen3090.config.problems import Found

# vLLM's own name for a key, as environment files have it.
VARIABLE = "VLLM_API_KEY"


def key_path(config: ServeConfig, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the file that holds the API keys: api_key_file, or systemd's credential, or None."""
    environ = os.environ if environ is None else environ
    if config.api_key_file is not None:
        return config.api_key_file.expanduser()
    directory = environ.get("CREDENTIALS_DIRECTORY")
    if directory and (Path(directory) / "api-key").is_file():
        return Path(directory) / "api-key"
    return None


def key_variable(config: ServeConfig, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the variable that holds the API keys when no file does: VLLM_API_KEY, or None."""
    environ = os.environ if environ is None else environ
    given = environ.get(VARIABLE) and key_path(config, environ) is None
    return VARIABLE if given else None


def read_key(path: Path) -> str:
    """Return the first key in a file; raises as read_keys does."""
    return parse_keys(path.read_text(encoding="utf-8", errors="replace"))[0]


def read_keys(config: ServeConfig, environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the API keys, the supervisor's own first; none when the API needs no key.

    Raises:
        ValueError: no key, or a line that is none.
        OSError: the file cannot be read.
    """
    environ = os.environ if environ is None else environ
    if path := key_path(config, environ):
        return parse_keys(path.read_text(encoding="utf-8", errors="replace"))
    variable = key_variable(config, environ)
    return parse_keys(environ[variable]) if variable else []


def file_problems(config: ServeConfig, environ: Mapping[str, str] | None = None) -> Iterator[Found]:
    """Yield what is wrong with the files a configuration names."""
    path = key_path(config, environ)
    if path is None:
        try:
            read_keys(config, environ)
        except ValueError as error:
            text, cure = f"{VARIABLE}, {error}", "export VLLM_API_KEY=$(openssl rand -hex 32)"
            yield Found(("api_key_file",), text, cure)
        return
    name = shlex.quote(str(path))
    make = f"install -m 600 /dev/null {name} && openssl rand -hex 32 > {name}"
    try:
        status = path.stat()
        mode = status.st_mode
        if not stat.S_ISREG(mode):
            # A pipe would be read once, and reading it may wait for ever.
            text = f"api_key_file = {path} is not a regular file"
            yield Found(("api_key_file",), text, "--set api_key_file=FILE")
            return
        read_keys(config, environ)
        if mode & stat.S_IROTH:
            text = f"api_key_file = {path} can be read by every user"
            yield Found(("api_key_file",), text, f"chmod 600 {name}")
        elif mode & (stat.S_IWGRP | stat.S_IWOTH):
            text = f"api_key_file = {path} can be changed by other users"
            yield Found(("api_key_file",), text, f"chmod 600 {name}")
        elif os.geteuid() and status.st_uid not in (0, os.geteuid()):
            # Root in a container reads what the host's user has mounted.
            text = f"api_key_file = {path} belongs to another user (uid {status.st_uid})"
            yield Found(("api_key_file",), text, f"sudo chown $USER {name}")
    except ValueError as error:
        # A file that holds something is the user's own: nothing that would overwrite it.
        cure = make if path.stat().st_size == 0 else f"mend it by hand: editor {name}"
        yield Found(("api_key_file",), f"api_key_file = {path} {error}", cure)
    except OSError as error:
        text = f"api_key_file = {path} cannot be read: {error.strerror}"
        yield Found(("api_key_file",), text, make)
