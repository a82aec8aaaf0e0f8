"""The rules that look at files: the API key must exist, hold a key and be private."""

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from qwen3090.config.model import ServeConfig
from qwen3090.config.problems import Found


def key_path(config: ServeConfig, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the file that holds the API key: api_key_file, or systemd's credential, or None."""
    environ = os.environ if environ is None else environ
    if config.api_key_file is not None:
        return config.api_key_file.expanduser()
    directory = environ.get("CREDENTIALS_DIRECTORY")
    if directory and (Path(directory) / "api-key").is_file():
        return Path(directory) / "api-key"
    return None


def read_key(path: Path) -> str:
    """Return the key in a file.

    Raises:
        ValueError: empty, or not one word of printable ASCII.
        OSError: the file cannot be read.
    """
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    if not text:
        raise ValueError("is empty")
    if not text.isascii() or not text.isprintable() or any(char.isspace() for char in text):
        raise ValueError("must hold one key: printable ASCII without spaces")
    return text


def file_problems(config: ServeConfig, environ: Mapping[str, str] | None = None) -> Iterator[Found]:
    """Yield what is wrong with the files a configuration names."""
    path = key_path(config, environ)
    if path is None:
        return
    name = shlex.quote(str(path))
    make = f"install -m 600 /dev/null {name} && openssl rand -hex 32 > {name}"
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            # A pipe would be read once, and reading it may wait for ever.
            text = f"api_key_file = {path} is not a regular file"
            yield Found(("api_key_file",), text, "--set api_key_file=FILE")
            return
        read_key(path)
        if mode & stat.S_IROTH:
            text = f"api_key_file = {path} can be read by every user"
            yield Found(("api_key_file",), text, f"chmod 600 {name}")
    except ValueError as error:
        # A file that holds something is the user's own: nothing that would overwrite it.
        cure = make if path.stat().st_size == 0 else f"mend it by hand: editor {name}"
        yield Found(("api_key_file",), f"api_key_file = {path} {error}", cure)
    except OSError as error:
        text = f"api_key_file = {path} cannot be read: {error.strerror}"
        yield Found(("api_key_file",), text, make)
