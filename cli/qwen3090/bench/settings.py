"""Which server to measure, and which settings it is said to run: profile, file, --set or --url."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.target import Target, connect, worker_of
from qwen3090.config import resolve
from qwen3090.config.files import VARIABLE, read_key, read_keys
from qwen3090.config.keyfile import parse_keys
from qwen3090.config.model import ServeConfig
from qwen3090.config.show import flat
from qwen3090.serve.probe import ANY

# What does not change what is measured, and differs between machines.
ELSEWHERE = frozenset(
    {
        *("host", "port", "api_key_file", "served_name", "model", "drafter"),
        *("ready_timeout", "shutdown_timeout", "kill_timeout", "health_interval", "warmup"),
    }
)
# What a server tells of itself; the context always, the rest with GET /qwen3090/engine.
TOLD = ("context", "seats", "prefix_cache", "max_batched_tokens", "eager", "dtype", "runner")


@dataclass(frozen=True)
class Chosen:
    """The server and what is known of its settings.

    Attributes:
        target: the server; None for a suite that starts one itself.
        profile: the profile's name, or None when only an address was given.
        settings: every setting by key, or None likewise.
        model: directory of the checkpoint when it is on this machine, else None.
        seats: requests that run at once, or None when unknown.
    """

    target: Target | None
    profile: str | None
    settings: dict[str, Any] | None
    model: Path | None
    seats: int | None


def choose(
    profile: str | None,
    config_file: Path | None,
    sets: tuple[str, ...],
    url: str | None,
    key_file: Path | None,
    *,
    running: bool = True,
) -> Chosen:
    """Resolve the settings and ask the server what it is.

    Args:
        url: address of the server; None takes host and port of the settings.
        running: whether a server is there to be asked.

    Raises:
        InvalidRun: no answer, or the server is not the one that the settings describe.
        ConfigError: the settings are wrong.
    """
    if url is not None and profile is None and config_file is None and not sets:
        target = connect(url, _key(key_file, None))
        root = Path(target.root)
        return Chosen(target, None, None, root if root.is_dir() else None, None)
    resolved = resolve(profile, config_file=config_file, sets=sets)
    config = resolved.require()
    server: Target | None = None
    if running:
        host = config.host.strip("[]")
        host = ANY.get(host, host)
        address = f"http://[{host}]" if ":" in host else f"http://{host}"
        key = _key(key_file, config)
        server = connect(url or f"{address}:{config.port}", key, config.served_name)
        _check(server, resolved.profile, config)
    model = config.model if config.model and config.model.is_dir() else None
    return Chosen(server, resolved.profile, flat(resolved), model, config.seats)


def _check(server: Target, profile: str, config: ServeConfig) -> None:
    """Refuse a server that runs with other settings, as far as it tells.

    Raises:
        InvalidRun: the first that differs.
    """
    told = {"context": server.context} | worker_of(server.engine_report()).get("settings", {})
    for key in TOLD:
        wanted = getattr(config, key)
        if key in told and told[key] != wanted:
            raise InvalidRun(
                f"{server.url} runs with {key} = {told[key]}, and the settings of profile "
                f"{profile} say {wanted}: it was started otherwise",
                "give the profile, file and --set of the running server",
            )


def _key(path: Path | None, config: ServeConfig | None) -> str | None:
    """Return the key in a file, else the server's own as the settings or VLLM_API_KEY have it.

    Raises:
        InvalidRun: the file cannot be read or holds no key.
    """
    try:
        if path is not None:
            return read_key(path)
        if config is None:
            return parse_keys(os.environ[VARIABLE])[0] if os.environ.get(VARIABLE) else None
        return next(iter(read_keys(config)), None)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidRun(f"{path or 'the API key'}: {reason}", "--key-file FILE") from None


def compared(settings: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the settings that two comparable runs share."""
    if settings is None:
        return None
    return {key: value for key, value in settings.items() if key not in ELSEWHERE}
