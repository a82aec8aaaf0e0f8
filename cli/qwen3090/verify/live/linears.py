"""Which kernels multiply, and with how many bits: against the checkpoint and the card."""

from typing import Any

from qwen3090.verify.live.facts import Bits, Promise, layers_with
from qwen3090.verify.live.requests import finding
from qwen3090.verify.report import Finding, Status

Row = dict[str, Any]
EMBEDDING, HEAD = "embed_tokens", "lm_head"
# What a packed weight is multiplied by: of a card like the 3090, and of 8 bits on a CPU.
AMPERE, CPU_INT8 = "MarlinLinearKernel", "CPUDequantizedLinearKernel"
PLAIN = "UnquantizedLinearMethod"


def body(check: str, promise: Promise, report: dict[str, Any]) -> Finding:
    """Check the target's linears; head and embedding have checks of their own."""
    rows = [r for r in report["linears"]["target"] if r["layer"] not in (EMBEDDING, HEAD)]
    wrong = _wrong(promise, report, rows, promise.bits)
    int8 = [row["layer"] for row in rows if row["activations"] == "int8"]
    asked = getattr(promise.config, "int8_activations", "none")
    if (asked != "none") != bool(int8):
        wrong.append(f"int8 activations in {int8 or 'no layer'}, int8_activations = {asked}")
    return finding(check, wrong, _shown(rows))


def drafter(check: str, promise: Promise, report: dict[str, Any]) -> Finding:
    """Check the drafter's linears, and that it keeps no embedding and head of its own."""
    if promise.config.speculation == "none":
        return Finding(check, Status.SKIP, "nothing is drafted")
    found = report["linears"]
    wrong = _wrong(promise, report, found["drafter"], promise.drafter_bits)
    copies = {EMBEDDING, HEAD} - set(found["shared"])
    if copies:
        wrong.append(f"the drafter has its own {' and '.join(sorted(copies))}")
    return finding(check, wrong, _shown(found["drafter"]))


def head(check: str, promise: Promise, report: dict[str, Any]) -> Finding:
    """Check the output head."""
    return _table(check, promise, report, HEAD)


def embedding(check: str, promise: Promise, report: dict[str, Any]) -> Finding:
    """Check the input embedding: packed in memory, looked up without unpacking the table."""
    return _table(check, promise, report, EMBEDDING)


def _table(check: str, promise: Promise, report: dict[str, Any], layer: str) -> Finding:
    rows = [row for row in report["linears"]["target"] if row["layer"] == layer]
    if not rows:
        return finding(check, f"the engine has no {layer}", "")
    wrong = _wrong(promise, report, rows, promise.bits)
    if rows[0]["bits"] is None:
        wrong.append(f"{layer} is not quantized ({rows[0]['kernel']})")
    return finding(check, wrong, _shown(rows))


def _wrong(promise: Promise, report: dict[str, Any], rows: list[Row], bits: Bits) -> list[str]:
    fused = report["linears"]["fused"]
    found = []
    for row in rows:
        expected = layers_with(bits, fused.get(row["layer"], [row["layer"]]))
        if expected is not None and row["bits"] not in expected:
            told = " or ".join(str(b) if b else "no packing" for b in sorted(expected, key=str))
            found.append(f"{row['layer']} has {row['bits']} bits, the checkpoint says {told}")
        found += _kernel(promise, report, row)
    return found


def _kernel(promise: Promise, report: dict[str, Any], row: Row) -> list[str]:
    """Say what is wrong with the kernel of a packed layer; plain ones have no choice."""
    if row["bits"] is None or row["layer"] == EMBEDDING:
        return []
    if promise.config.device == "cpu":
        wanted = CPU_INT8 if row["bits"] == 8 else row["kernel"]
    else:
        ampere = report["machine"].get("capability", "").startswith("8.")
        wanted = AMPERE if ampere else row["kernel"]
    if row["kernel"] in (wanted,) and row["kernel"] != PLAIN:
        return []
    return [f"{row['layer']} runs by {row['kernel']}, expected {wanted}"]


def _shown(rows: list[Row]) -> str:
    """Return kernels with bits and how many layers each has."""
    counts: dict[str, int] = {}
    for row in rows:
        bits = f", {row['bits']} bits" if row["bits"] else ""
        act = f", {row['activations']} activations" if row["activations"] == "int8" else ""
        name = f"{row['kernel']}{bits}{act}"
        counts[name] = counts.get(name, 0) + row["count"]
    return "; ".join(f"{count} x {name}" for name, count in counts.items())
