"""Every outcome that a check declares is provoked, and each has the command that mends it."""

import os
import socket
from dataclasses import replace

import pytest
from qwen3090.bounded import Ran
from qwen3090.doctor import system, table
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, Outcome
from qwen3090.doctor.run import CRASHED, diagnose, findings
from qwen3090.doctor.xid import CARD, PROGRAM
from qwen3090.doctor.xid_meaning import MEANINGS
from qwen3090.verify import Asked, Finding, Status

from .cases import CASES, card, full, listening, no_driver, well_on_wsl, wsl, xid
from .fake import Fake

OUTCOMES = table.outcomes()


def look(machine: Fake, asked: Asked | None = None, *, jit: bool = True) -> list[Finding]:
    context = Context(machine, asked or Asked(), jit=jit)
    return [finding for _, found in diagnose(context) for finding in found]


def bad(found: list[Finding]) -> dict[str, Finding]:
    return {f.check: f for f in found if f.status in (Status.WARN, Status.FAIL)}


def test_a_machine_that_is_well(machine: Fake) -> None:
    found = look(machine)
    assert bad(found) == {}
    assert len(found) == len(table.CHECKS)
    assert [f.check for f in found if f.status is Status.SKIP] == ["wsl"]


def test_a_wsl_machine_that_is_well(machine: Fake) -> None:
    assert bad(look(machine, well_on_wsl(machine))) == {}


def test_every_outcome_has_a_case_and_no_case_is_left_over() -> None:
    assert {outcome.code for _, outcome in OUTCOMES} == set(CASES)
    codes = [(check.name, outcome.code) for check, outcome in OUTCOMES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(("check", "outcome"), OUTCOMES, ids=[f"{o.code}" for _, o in OUTCOMES])
def test_provoked(
    check: Check, outcome: Outcome, machine: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = CASES[outcome.code](machine)
    if supported := getattr(machine, "supported", None):
        pins = {"python": {"supported": supported}}
        monkeypatch.setattr(system, "load_json", lambda _: pins)
    with socket.socket() as listener:
        if port := getattr(machine, "held", None):
            listener.bind(("127.0.0.1", port))
            listener.listen()
        all_found = list(diagnose(Context(machine, asked or Asked())))
    for other, found in all_found:
        declared = {other.name, *(item.code for item in other.outcomes)}
        assert found, other.name
        assert {finding.check for finding in found} <= declared
    seen = {finding.check: finding for _, found in all_found for finding in found}
    assert outcome.code in seen, seen
    assert seen[outcome.code].status is outcome.status
    assert seen[outcome.code].detail
    assert seen[outcome.code].next.strip()
    assert "{" not in seen[outcome.code].next
    assert check.name.partition(".")[0] == outcome.code.partition(".")[0]


def test_a_check_that_fails_does_not_stop_the_others(machine: Fake) -> None:
    def broken(_: Context) -> list[Finding]:
        raise ZeroDivisionError("oh")

    (found,) = findings(replace(table.CHECKS[0], run=broken), Context(machine))  # type: ignore[arg-type]
    assert (found.check, found.status) == (CRASHED.code, Status.WARN)
    assert "driver: ZeroDivisionError: oh" in found.detail
    assert found.next


def test_a_card_that_supports_few_fields_is_not_ill(machine: Fake) -> None:
    for name in set(machine.cards[0]) - {"name", "driver_version", "memory.total", "memory.free"}:
        machine.cards[0][name] = "[Not Supported]" if "clocks" in name else "[N/A]"
    found = look(machine)
    assert bad(found) == {}
    skipped = {f.check for f in found if f.status is Status.SKIP}
    assert skipped >= {"power", "clocks", "temperature", "pcie", "display"}


def test_a_driver_that_does_not_know_a_field_is_not_ill(machine: Fake) -> None:
    del machine.cards[0]["clocks_event_reasons.active"]
    machine.cards[0]["clocks_throttle_reasons.active"] = "0x40"
    assert set(bad(look(machine))) == {"clocks.heat"}


def test_memory_that_the_driver_does_not_tell(machine: Fake) -> None:
    card(memory__free="[N/A]")(machine)
    assert "vram" in {f.check for f in look(machine) if f.status is Status.SKIP}


def test_a_hung_driver_is_asked_once(machine: Fake) -> None:
    CASES["driver.hung"](machine)
    found = look(machine)
    assert set(bad(found)) == {"driver.hung"}
    assert sum(call[0] == "nvidia-smi" for call in machine.calls) == 1


def test_without_a_driver_there_is_one_failure(machine: Fake) -> None:
    no_driver(machine)
    assert set(bad(look(machine))) == {"driver.missing"}


def test_who_holds_the_memory_is_named(machine: Fake) -> None:
    full(machine)
    detail = bad(look(machine))["vram.taken"].detail
    assert "11.59 GiB of 24.00 GiB free" in detail
    assert detail.index("(ollama): 11900 MiB") < detail.index("(/usr/lib/xorg/Xorg): 412 MiB")


def test_our_own_server_may_hold_memory_and_port(machine: Fake) -> None:
    full(machine)
    machine.processes = [(77, "C", "VLLM::EngineCore", "21000 MiB")]
    machine.write("/proc/77/cmdline", "VLLM::EngineCore\0")
    machine.write("/proc/77/status", "Name:\tpython\nPPid:\t70\n")
    machine.write("/proc/70/cmdline", "/usr/bin/python3\0/v/bin/qwen3090\0up\0fast\0")
    assert bad(look(machine)) == {}


def test_a_port_of_our_service_is_no_failure(machine: Fake) -> None:
    with listening() as port:
        asked = Asked(sets=[f"port={port}"])
        assert set(bad(look(machine, asked))) == {"port.taken"}
        machine.write(f"/proc/{os.getpid()}/cmdline", "python3\0-m\0qwen3090\0serve\0fast\0")
        assert bad(look(machine, asked)) == {}


@pytest.mark.parametrize("number", MEANINGS)
def test_every_xid_is_explained(number: int, machine: Fake) -> None:
    xid(number)(machine)
    (check,) = (check for check in table.CHECKS if check.name == "xid")
    ((code, found),) = bad(findings(check, Context(machine))).items()
    meaning = MEANINGS[number]
    assert code == (CARD if meaning.blame == "card" else PROGRAM).code
    assert f"Xid {number}, 1 time, last at 2026-11-29T22:04:11+0100: {meaning.text}" in found.detail
    assert found.next == meaning.todo


def test_a_card_that_needs_nothing_any_more_is_well(machine: Fake) -> None:
    line = (
        "kernel: NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
    )
    machine.answers["_TRANSPORT=kernel"] = Ran(0, f"{line}Required) to 0x0 (None)\n")
    assert bad(look(machine)) == {}
    machine.answers["_TRANSPORT=kernel"] = Ran(
        0, f"{line}Required) to 0x2 (Node Reboot Required)\n"
    )
    assert set(bad(look(machine))) == {"xid.card"}


def test_a_log_that_may_not_be_read_is_left_out_with_the_command(machine: Fake) -> None:
    del machine.answers["_TRANSPORT=kernel"]
    (found,) = [f for f in look(machine) if f.check == "xid"]
    assert found.status is Status.SKIP
    assert "sudo journalctl -k" in found.detail


def test_a_cpu_profile_needs_no_card(machine: Fake) -> None:
    no_driver(machine)
    found = look(machine, Asked("demo", sets=["model=/m"]))
    assert bad(found) == {}
    assert all(f.status is Status.SKIP for f in found if f.check in ("driver", "vram", "jit"))


def test_wslconfig_is_read_for_the_cure(machine: Fake) -> None:
    wsl(machine)
    CASES["ram.small"](machine)
    machine.write("/mnt/c/Users/ada/.wslconfig", "\ufeff[wsl2]\r\nMemory=14GB\r\n")
    found = bad(look(machine))["ram.small"]
    assert ".wslconfig gives 14GB" in found.detail
    assert ".wslconfig" in found.next


def test_no_jit_compiles_nothing(machine: Fake) -> None:
    found = {f.check: f for f in look(machine, jit=False)}
    assert found["jit.triton.compiled"].status is Status.SKIP
    assert not any("probe" in " ".join(call) for call in machine.calls)


def test_pass_needs_the_word_of_the_probe(machine: Fake) -> None:
    machine.answers["probe_triton"] = Ran(0, "nothing was done\n")
    assert "jit.triton" in bad(look(machine))
