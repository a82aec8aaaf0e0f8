"""The one reader of nvidia-smi: fields of the cards, and the processes that hold their memory."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from qwen3090 import bounded

TIMEOUT = 30.0
MIB = 2**20
Runner = Callable[[Sequence[str], float], bounded.Ran]


class SmiError(Exception):
    """nvidia-smi gave no answer.

    Attributes:
        kind: it is not installed, hung, reported an error, or does not know a field.
    """

    def __init__(self, kind: Literal["missing", "hung", "failed", "field"], text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class Process:
    """A process on a card.

    Attributes:
        pid: its process id.
        kind: C (computes), G (draws) or C+G.
        name: as the driver names it.
        used: bytes of the card's memory; None where the driver does not say (Windows owns it).
    """

    pid: int
    kind: str
    name: str
    used: int | None


def selected(environ: Mapping[str, str]) -> list[str]:
    """Return the options that pick the first card of CUDA_VISIBLE_DEVICES; none when unset."""
    device = environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    return ["-i", device] if device else []


def query(
    fields: Sequence[str],
    select: Sequence[str] = (),
    run: Runner = bounded.run,
    timeout: float = TIMEOUT,
) -> list[dict[str, str | None]]:
    """Return a row a card: value by field, None where the card or driver has none ("[N/A]").

    Raises:
        SmiError: no answer.
    """
    option = f"--query-gpu={','.join(fields)}"
    text = _ask([option, *select, "--format=csv,noheader,nounits"], run, timeout)
    rows = [line.split(",") for line in text.splitlines() if line.strip()]
    wrong = next((row for row in rows if len(row) != len(fields)), None)
    if wrong is not None:
        raise SmiError("failed", f"an answer with {len(wrong)} fields for {len(fields)}: {wrong}")
    return [dict(zip(fields, map(_value, row), strict=True)) for row in rows]


def processes(
    select: Sequence[str] = (), run: Runner = bounded.run, timeout: float = TIMEOUT
) -> list[Process]:
    """Return every process on the cards, those that draw included.

    Raises:
        SmiError: no answer, or none that can be read.
    """
    # Only the long XML answer names what draws; the driver on this machine wrote it.
    text = _ask(["-q", "-x", *select], run, timeout)
    try:
        root = ElementTree.fromstring(text)  # noqa: S314
    except ElementTree.ParseError as error:
        raise SmiError("failed", f"its XML cannot be read: {error}") from error
    found = []
    for entry in root.iterfind(".//processes/process_info"):
        pid = entry.findtext("pid", "").strip()
        if pid.isdigit():
            used = number(_value(entry.findtext("used_memory", "").removesuffix("MiB")))
            found.append(
                Process(
                    int(pid),
                    entry.findtext("type", "").strip(),
                    entry.findtext("process_name", "").strip(),
                    None if used is None else int(used) * MIB,
                )
            )
    return found


def number(text: str | None) -> float | None:
    """Return a field as a number (hexadecimal too), None when it has none."""
    try:
        return float(int(text, 16)) if text and text.startswith("0x") else float(text or "")
    except ValueError:
        return None


def _value(text: str) -> str | None:
    text = text.strip()
    absent = not text or text.startswith("[") or text in ("N/A", "ERR!", "Not Supported")
    return None if absent else text


def _ask(options: Sequence[str], run: Runner, timeout: float) -> str:
    ran = run(["nvidia-smi", *options], timeout)
    if ran.trouble == "missing":
        raise SmiError("missing", "nvidia-smi is not installed: no NVIDIA driver")
    if ran.trouble == "hung":
        raise SmiError("hung", f"nvidia-smi did not end within {timeout:.0f} s")
    if not ran.ok:
        said = (ran.err.strip() or ran.out.strip() or f"exit status {ran.status}")[:200]
        unknown = re.search(r"is not a valid field", ran.err + ran.out)
        raise SmiError("field" if unknown else "failed", f"nvidia-smi failed: {said}")
    return ran.out
