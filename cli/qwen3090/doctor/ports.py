"""The address to listen on: free, or held by whom; and who could reach it."""

import re
from collections.abc import Iterator

from qwen3090.config import ServeConfig
from qwen3090.config.rules import is_loopback
from qwen3090.doctor.context import Context
from qwen3090.doctor.ours import is_ours
from qwen3090.doctor.outcome import Check, fail, passed, skipped, warn
from qwen3090.errors import UserError
from qwen3090.serve.exit_codes import PORT_TAKEN
from qwen3090.serve.gates import check_port
from qwen3090.serve.probe import ANY
from qwen3090.verify.report import Finding

TAKEN = fail(
    "port.taken",
    "another program listens on the port",
    "stop it, or qwen3090 up {profile} --set port=PORT",
)
ADDRESS = fail(
    "port.address",
    "the address is not this machine's, or may not be listened on",
    "qwen3090 up {profile} --set host=127.0.0.1 (this machine's addresses: ip -brief address)",
)
EXPOSED = warn(
    "port.exposed",
    "the server listens on every interface: key and prompts travel in the clear",
    "--set host=ADDRESS of one network, or leave 127.0.0.1 and put a proxy with TLS in front",
)


def port(context: Context) -> Iterator[Finding]:
    """Check that the port is free or our own, and say who can reach it."""
    config = context.config
    if config is None:
        yield skipped("port", "the settings cannot be read")
        return
    address = f"{config.host}:{config.port}"
    if config.host.strip("[]") in ANY:
        yield EXPOSED.found(f"host = {config.host}")
    try:
        check_port(config)
    except UserError as error:
        taken = error.exit_code == PORT_TAKEN and "in use" in error.message
        if taken and _held_by_us(context, error.message):
            yield passed("port", f"{address}: this project's server listens there")
        else:
            yield (TAKEN if taken else ADDRESS).found(error.message, profile=context.profile)
        return
    yield passed("port", f"{address} is free; {_reach(config)}")


def is_running(context: Context) -> bool:
    """Return whether this project's server listens on the port of the settings."""
    if context.config is None:
        return False
    try:
        check_port(context.config)
    except UserError as error:
        return "in use" in error.message and _held_by_us(context, error.message)
    return False


def _held_by_us(context: Context, message: str) -> bool:
    """Return whether the process that a message names is ours, or systemd runs our unit."""
    pid = re.search(r"\bpid (\d+)", message)
    if pid:
        return is_ours(context.machine, int(pid[1]))
    # The service's user is another one, whose processes cannot be looked at.
    return context.machine.run(["systemctl", "is-active", "--quiet", "qwen3090"], 10).ok


def _reach(config: ServeConfig) -> str:
    if is_loopback(config.host):
        return "only this machine can reach it"
    return (
        f"other machines reach it when the firewall lets them (sudo ufw allow {config.port}/tcp; "
        "NixOS: services.qwen3090.openFirewall)"
    )


CHECKS = (
    Check(
        "port",
        "Network",
        "the address of the settings: free or held by whom, who can reach it",
        port,
        (TAKEN, ADDRESS, EXPOSED),
    ),
)
