"""The card itself: an RTX 3090 or what differs from one, its memory, its slot, who draws on it."""

from collections.abc import Iterator

from qwen3090 import smi
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed, skipped, warn
from qwen3090.verify.report import Finding

LEAST_BYTES = 24_000_000_000  # what is sold as 24 GB

SMALL = fail(
    "card.small",
    "the card has less than 24 GB",
    "qwen3090 plan {profile} --vram {total} (what would fit), or another card",
)
ANCIENT = fail(
    "card.capability",
    "the compute capability is below 8.0: no bf16 in its matrix units",
    "another card, or the CPU: qwen3090 demo",
)
SM80 = warn(
    "card.sm80",
    "the compute capability is 8.0 (A100, A30): faults in the repacked weights' kernels are "
    "published for it, and nothing here is compiled or tested for it",
    "compare the answers with another card's: qwen3090 verify {profile}",
)
OTHER = warn(
    "card.other",
    "the card is no RTX 3090: nothing is tuned or measured for it",
    "qwen3090 plan {profile} --vram {total}",
)
PROHIBITED = fail(
    "card.prohibited",
    "the compute mode forbids programs that compute",
    "sudo nvidia-smi {select}-c DEFAULT",
)
ECC = warn(
    "card.ecc",
    "error correction is on, which takes memory and bandwidth",
    "sudo nvidia-smi {select}-e 0, then sudo reboot",
)
SEVERAL = warn(
    "card.several",
    "several cards are there and CUDA_VISIBLE_DEVICES names none: CUDA's first need not be "
    "nvidia-smi's",
    "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={index}",
)


def card(context: Context) -> Iterator[Finding]:
    """Compare the card with the one that everything is made for."""
    row = context.ask("compute_cap") | context.ask("ecc.mode.current", "compute_mode")
    name = (context.card or {}).get("name") or "a card without a name"
    capability, total = row["compute_cap"], int(context.number("memory.total") or 0) * smi.MIB
    values = {"profile": context.profile, "total": total, "select": _select(context)}
    text = f"{name}, compute capability {capability or 'unknown'}, {total / 2**30:.1f} GiB"
    if 0 < total < LEAST_BYTES:
        yield SMALL.found(text, **values)
    number = smi.number(capability)
    if number is not None and number < 8:
        yield ANCIENT.found(text)
    elif number == 8:
        yield SM80.found(text, **values)
    elif "3090" not in name or number not in (None, 8.6):
        yield OTHER.found(text, **values)
    else:
        yield passed("card", text)
    if row["compute_mode"] == "Prohibited":
        yield PROHIBITED.found("compute mode Prohibited", **values)
    if row["ecc.mode.current"] == "Enabled":
        yield ECC.found("ECC Enabled", **values)
    cards = context.cards
    if isinstance(cards, list) and len(cards) > 1 and not context.select:
        wanted = next((i for i, r in enumerate(cards) if "3090" in (r["name"] or "")), 0)
        names = ", ".join(f"{i}: {r['name']}" for i, r in enumerate(cards))
        yield SEVERAL.found(f"{len(cards)} cards ({names})", index=wanted)


def _select(context: Context) -> str:
    return "".join(f"{word} " for word in context.select)


SHARED = warn(
    "display.shared",
    "a screen is driven by the card: the desktop takes memory, more of it later",
    "connect the screen to another card, or leave room: qwen3090 up {profile} --set "
    "kv_bytes=4.2GiB --set context=40960",
)
UNLOADED = warn(
    "display.persistence",
    "no screen is on the card and persistence mode is off: the driver unloads between programs, "
    "and the power limit with it",
    "sudo systemctl enable --now nvidia-persistenced (or: sudo nvidia-smi {select}-pm 1)",
)


def display(context: Context) -> Iterator[Finding]:
    """Check whether a desktop shares the card, or nobody keeps the driver loaded."""
    row = context.ask("display_active", "persistence_mode")
    screen, persistence = row["display_active"], row["persistence_mode"]
    if screen == "Enabled":
        yield SHARED.found("a screen is active on this card", profile=context.profile)
    elif persistence == "Disabled" and context.wsl == 0:
        yield UNLOADED.found("persistence mode Disabled", select=_select(context))
    elif screen is None and persistence is None:
        yield skipped("display", "the driver does not say")
    else:
        yield passed("display", f"no screen; persistence mode {persistence or 'unknown'}")


NARROW = warn(
    "pcie.narrow",
    "the slot gives 4 lanes or fewer: weights load slowly",
    "move the card to the slot nearest the processor; nvidia-smi -q -d PERFORMANCE",
)
SLOW = warn(
    "pcie.slow",
    "card and slot agree on generation 2 or less",
    "set the slot to automatic or generation 4 in the firmware's settings (risers ask for 3)",
)


def pcie(context: Context) -> Iterator[Finding]:
    """Check the lanes and the generation; an idle card lowers only the generation of the moment."""
    row = context.ask("pcie.link.width.current", "pcie.link.width.max")
    row |= context.ask("pcie.link.gen.current", "pcie.link.gen.max")
    width, generation = (
        smi.number(row[name]) for name in ("pcie.link.width.current", "pcie.link.gen.max")
    )
    if width is None or generation is None:
        yield skipped("pcie", "the driver does not say")
        return
    text = (
        f"x{width:.0f} of x{row['pcie.link.width.max']}, generation {row['pcie.link.gen.current']} "
        f"now, {generation:.0f} at most"
    )
    if width <= 4:
        yield NARROW.found(text)
    if generation <= 2:
        yield SLOW.found(text)
    if width > 4 and generation > 2:
        yield passed("pcie", text)


CHECKS = (
    Check(
        "card",
        "Card",
        "model, compute capability, memory, ECC, compute mode, number of cards",
        card,
        (SMALL, ANCIENT, SM80, OTHER, PROHIBITED, ECC, SEVERAL),
        card=True,
    ),
    Check(
        "display",
        "Card",
        "whether a screen is on it, persistence mode",
        display,
        (SHARED, UNLOADED),
        card=True,
    ),
    Check("pcie", "Card", "lanes and generation", pcie, (NARROW, SLOW), card=True),
)
