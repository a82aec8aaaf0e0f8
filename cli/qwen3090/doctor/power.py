"""Power limit, clocks, what slows them, temperature: the same card at 200 W is a third slower."""

from collections.abc import Iterator

from qwen3090 import smi
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed, skipped, warn
from qwen3090.verify.report import Finding

# Published for one RTX 3090: 250 W (71 % of its 350 W) is as fast as 280 W, 200 W a third slower.
LEAST_SHARE = 0.7

LOW = warn(
    "power.low",
    "the limit is below 70 % of the card's own: published figures lose a third at 200 W of 350 W",
    "sudo nvidia-smi {select}-pl {watts} (NixOS: services.qwen3090.powerLimitWatts = {watts};)",
)


def power(context: Context) -> Iterator[Finding]:
    """Compare the power limit with the card's default."""
    row = context.ask("power.limit", "power.default_limit") | context.ask("power.draw")
    limit, default, draw = (
        smi.number(row[name]) for name in ("power.limit", "power.default_limit", "power.draw")
    )
    if limit is None or not default:
        yield skipped("power", "the driver does not say")
        return
    now = "" if draw is None else f", {draw:.0f} W now"
    text = f"limit {limit:.0f} W, the card's own {default:.0f} W{now}"
    if limit < LEAST_SHARE * default:
        watts = -(-int(default * 5) // 70) * 10  # 5/7, to the next ten: 250 of 350
        select = "".join(f"{word} " for word in context.select)
        yield LOW.found(text, watts=watts, select=select)
    else:
        yield passed("power", text)


# Bits of NVML's clocks event reasons (nvml.h); idle, limits that were set, and the power cap at
# full load are as they should be.
HEAT, BRAKE, HARDWARE = 0x20 | 0x40, 0x80, 0x08

HOT_CLOCKS = warn(
    "clocks.heat",
    "the card lowers its clocks because it is hot",
    "nvidia-smi -q -d TEMPERATURE,PERFORMANCE; clean fans, more air, or a lower power limit",
)
BRAKED = warn(
    "clocks.brake",
    "the power brake is pulled: the supply or its cables cannot give the power",
    "connect each power socket of the card by a cable of its own; nvidia-smi -q -d PERFORMANCE",
)
SLOWED = warn(
    "clocks.hardware",
    "the hardware slows the card for another reason",
    "nvidia-smi -q -d PERFORMANCE,POWER",
)


def clocks(context: Context) -> Iterator[Finding]:
    """Report the clocks of the moment and whatever holds them down."""
    row = context.ask("clocks.sm", "clocks.mem", "clocks.max.sm")
    mask = smi.number(context.ask("clocks_event_reasons.active")["clocks_event_reasons.active"])
    if mask is None:  # the name before driver 535
        old = "clocks_throttle_reasons.active"
        mask = smi.number(context.ask(old)[old])
    if row["clocks.sm"] is None and mask is None:
        yield skipped("clocks", "the driver does not say")
        return
    text = f"{row['clocks.sm']} of {row['clocks.max.sm']} MHz, memory {row['clocks.mem']} MHz"
    bits = int(mask or 0)
    if bits & HEAT:
        yield HOT_CLOCKS.found(f"{text}, slowed by heat")
    if bits & BRAKE:
        yield BRAKED.found(f"{text}, slowed by the power brake")
    if bits & HARDWARE and not bits & (HEAT | BRAKE):
        yield SLOWED.found(f"{text}, slowed by the hardware")
    if not bits & (HEAT | BRAKE | HARDWARE):
        yield passed("clocks", text)


WARM_CELSIUS, LIMIT_CELSIUS = 83, 93  # where a 3090's fans are at their most; its rated maximum

WARM = warn(
    "temperature.high",
    f"the card has {WARM_CELSIUS} °C or more",
    "nvidia-smi dmon -s pct; clean fans, more air, or a lower power limit: sudo nvidia-smi -pl 250",
)
TOO_HOT = fail(
    "temperature.limit",
    f"the card has {LIMIT_CELSIUS} °C or more, its rated maximum",
    "stop the load now; then look at fans and cooler (nvidia-smi -q -d TEMPERATURE)",
)


def temperature(context: Context) -> Iterator[Finding]:
    """Check the card's temperature."""
    degrees = smi.number(context.ask("temperature.gpu")["temperature.gpu"])
    if degrees is None:
        yield skipped("temperature", "the driver does not say")
    elif degrees >= LIMIT_CELSIUS:
        yield TOO_HOT.found(f"{degrees:.0f} °C")
    elif degrees >= WARM_CELSIUS:
        yield WARM.found(f"{degrees:.0f} °C")
    else:
        yield passed("temperature", f"{degrees:.0f} °C")


CHECKS = (
    Check("power", "Card", "power limit against the card's own", power, (LOW,), card=True),
    Check(
        "clocks",
        "Card",
        "clocks of the moment and what holds them down",
        clocks,
        (HOT_CLOCKS, BRAKED, SLOWED),
        card=True,
    ),
    Check("temperature", "Card", "the card's temperature", temperature, (WARM, TOO_HOT), card=True),
)
