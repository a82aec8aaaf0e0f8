"""SIGKILL to each of the server's processes: its clients, its exit status, the way back."""

import asyncio
import contextlib
import json
import os
import signal
import threading
import time
from pathlib import Path

from asking import Stream, body, several
from booted import SEATS, Booted, Place, booted, until
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes
from qwen3090.serve.descend import descendants
from report import Row

IN_FLIGHT = 2 * SEATS
# The unit waits so long before it starts again (RestartSec in modules/).
SYSTEMD_WAITS = 10


class InFlight:
    """Streams that run while something happens to the server."""

    def __init__(self, at: Booted) -> None:
        self.streams: list[Stream] = []
        self.ended = 0.0
        self._thread = threading.Thread(target=self._run, args=(at,))
        self._thread.start()
        until(lambda: at.progress()["running"] == SEATS, "every seat is taken")
        until(lambda: at.progress()["waiting"] == IN_FLIGHT - SEATS, "the others wait")

    def _run(self, at: Booted) -> None:
        self.streams = asyncio.run(several(at, [body("Hello", 1900)] * IN_FLIGHT))
        self.ended = time.monotonic()

    def after(self, moment: float) -> float:
        """Wait for all to end; return seconds from a moment until the last did."""
        self._thread.join(120)
        if self._thread.is_alive():
            raise TimeoutError("a client hangs two minutes after the server was killed")
        return self.ended - moment


def _last_failure(place: Place) -> dict[str, object]:
    path = place.folder / "state" / "last-failure.json"
    found: dict[str, object] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _kill(at: Booted, victim: str) -> dict[str, object]:
    """Kill one process under load; return what came of the clients and of the others."""
    process, pids = at.server.process, [at.server.process.pid, *descendants(at.server.process.pid)]
    load = InFlight(at)
    moment = time.monotonic()
    os.kill(at.processes()[victim], signal.SIGKILL)
    status = process.wait(60)
    exited = time.monotonic() - moment
    clients = load.after(moment)
    gone = until(lambda: not any(_alive(pid) for pid in pids), "no process is left")
    errors = sorted({each.error.split(":")[0] for each in load.streams})
    return {
        "exit_status": status,
        "exit_after_s": round(exited, 2),
        "clients_told_after_s": round(clients, 2),
        "clients_that_took_it_for_an_answer": sum(not each.error for each in load.streams),
        "client_errors": errors,
        "no_process_left_after_s": round(exited + gone, 2),
    }


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def run(place: Place, short: bool) -> Row:
    """Kill engine, worker, API and supervisor, each time start again; the short run has one."""
    victims = ["engine"] if short else ["engine", "worker", "api", "supervisor"]
    row = Row("killed", f"SIGKILL of {', '.join(victims)}, {IN_FLIGHT} streams running or waiting")
    ready = []
    for victim in victims:
        # The server ends with an error in here, as it should.
        with contextlib.suppress(UserError), booted(place) as at:
            ready.append(at.seconds)
            row.figures[victim] = found = _kill(at, victim)
        wanted = -signal.SIGKILL if victim == "supervisor" else exit_codes.ENGINE_DIED
        row.demand(found["exit_status"] == wanted, f"{victim}: status {found['exit_status']}")
        row.demand(
            not found["clients_that_took_it_for_an_answer"], f"{victim}: cut streams look whole"
        )
        if victim != "supervisor":
            row.demand(_last_failure(place).get("code") == wanted, f"{victim}: not remembered")
    with booted(place) as at:
        ready.append(at.seconds)
        (answer,) = asyncio.run(several(at, [body("Hello", 16)]))
        row.demand(not answer.error, f"after the last start: {answer.error}")
    row.figures["ready_after_s"] = [round(each, 1) for each in ready]
    kills = [row.figures[victim] for victim in victims]
    slowest = {
        key: max(float(each[key]) for each in kills)
        for key in ("exit_after_s", "clients_told_after_s")
    }  # type: ignore[index]
    row.held = (
        f"no process is left; status {exit_codes.ENGINE_DIED} after at most "
        f"{slowest['exit_after_s']} s; every client has an error after at most "
        f"{slowest['clients_told_after_s']} s, none hangs or takes it for an end"
    )
    row.lost = f"the {IN_FLIGHT} answers in work, each time"
    again = max(ready[1:])
    whole = slowest["exit_after_s"] + SYSTEMD_WAITS + again
    row.recovery = f"{whole:.0f} s, {SYSTEMD_WAITS} of them systemd's"
    return row
