"""The address gate: who holds a port, who is about to, and what cannot be an address."""

import os
import socket
import subprocess
import sys

from qwen3090.serve import exit_codes, gates
from qwen3090.serve.claim import claimed

from .harness import config, refused


def test_a_taken_port_names_its_holder() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        error = refused(gates.check_port, config("fast-mtp", f"port={port}"))
    assert f"127.0.0.1:{port} is in use by pid {os.getpid()} (" in error.message
    assert error.exit_code == exit_codes.PORT_TAKEN


def test_a_start_that_does_not_listen_yet_has_its_address() -> None:
    with socket.socket() as bound:  # as vLLM while it loads the model: bound, and not listening
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        asked = config("fast-mtp", f"port={bound.getsockname()[1]}")
        gates.check_port(asked)
        with claimed(asked):
            error = refused(claimed(asked).__enter__)
        assert error.exit_code == exit_codes.PORT_TAKEN
        assert "this process" in error.message
        with claimed(asked):  # let go again
            pass


def test_a_claim_ends_with_its_process() -> None:
    code = (
        "import sys, time\nfrom qwen3090.config import resolve\n"
        "from qwen3090.serve.claim import claimed\n"
        "with claimed(resolve('fast-mtp', sets=['port=9'], environ={}).require()):\n"
        "    print('held', flush=True)\n    time.sleep(60)\n"
    )
    asked = config("fast-mtp", "port=9")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert f"pid {other.pid} (" in refused(claimed(asked).__enter__).message
        other.kill()
    with claimed(asked):
        pass


def test_an_address_of_another_machine() -> None:
    sets = ("host=192.0.2.1", "api_key_file=/run/key")
    error = refused(gates.check_port, config("fast-mtp", *sets))
    assert "192.0.2.1:18020 cannot be listened on" in error.message


def test_a_host_that_cannot_be_a_name() -> None:
    sets = (f"host={'a' * 80}.example", "api_key_file=/run/key")
    error = refused(gates.check_port, config("fast-mtp", *sets))
    assert error.exit_code == exit_codes.BAD_CONFIGURATION
    assert "is no name of a host" in error.message


def test_a_free_port_passes() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    gates.check_port(config("fast-mtp", f"port={port}"))
