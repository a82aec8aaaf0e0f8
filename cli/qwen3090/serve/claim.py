"""Claims an address for the time that a server starts and runs, so that a second start is refused.

vLLM binds its socket at once and listens on it only when the model is loaded; until then Linux lets
others bind the same address too. Two starts would load two models, and the later supervisor would
take the other's engine for its own.
"""

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterator

from qwen3090.config.model import ServeConfig
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes
from qwen3090.serve.holders import describe_pid

_UCRED = struct.Struct("3i")  # pid, uid, gid


@contextlib.contextmanager
def claimed(config: ServeConfig) -> Iterator[None]:
    """Hold the address until the block ends; the kernel lets it go when the process dies.

    An abstract Unix socket holds it: such names belong to the network namespace, as ports do.

    Raises:
        UserError: another ``qwen3090 serve`` holds it (PORT_TAKEN).
    """
    name = f"\0qwen3090-serve/{config.host.strip('[]')}/{config.port}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as holder:
        try:
            holder.bind(name)
            holder.listen()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise UserError(
                    f"{config.host}:{config.port} is taken by another qwen3090 serve, which may "
                    f"not listen yet: {_holder(name)}",
                    "stop it, or choose another: --set port=PORT",
                    exit_code=exit_codes.PORT_TAKEN,
                ) from None
            # Without such sockets (a sandbox), only an address that is listened on is refused.
        yield


def _holder(name: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.settimeout(1.0)
            asking.connect(name)
            raw = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        except OSError:
            return "another process"
    pid = int(_UCRED.unpack(raw)[0])
    return "this process" if pid == os.getpid() else describe_pid(pid)
