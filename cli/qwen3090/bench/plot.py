"""Pictures of a suite, drawn with Pillow: it is in the locked closure, and matplotlib is not."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from qwen3090.bench.quantities import QUANTITIES

WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 960, 300, 90, 30, 50, 55
INK, FAINT, FILL, LINE = (30, 30, 30), (215, 215, 215), (90, 140, 190), (170, 60, 40)
# Counts of tokens are in the table; they make no picture.
LEFT_OUT = frozenset({"prompt_tokens", "output_tokens", "cached_tokens", "e2e_rate"})
Box = tuple[float, float, float, float]


def plot(suite: Mapping[str, Any], path: Path) -> bool:
    """Write one panel a quantity; return whether there was anything to draw.

    Rows that are kinds become bars, rows that are numbers a line over a logarithmic axis; whiskers
    go from the smallest to the largest value.
    """
    rows = suite["rows"]
    keys = [
        key
        for key in suite["shows"]
        if key not in LEFT_OUT and any(key in row["summary"] for row in rows)
    ]
    if not keys:
        return False
    image = Image.new("RGB", (WIDTH, PANEL * len(keys)), "white")
    draw = ImageDraw.Draw(image)
    for number, key in enumerate(keys):
        _panel(draw, number * PANEL, suite, key)
    image.save(path, format="PNG")
    return True


def _panel(draw: ImageDraw.ImageDraw, top: int, suite: Mapping[str, Any], key: str) -> None:
    rows = [row for row in suite["rows"] if key in row["summary"]]
    summaries = [row["summary"][key] for row in rows]
    box = (LEFT, top + TOP, WIDTH - RIGHT, top + PANEL - BOTTOM)
    ticks = nice_ticks(max(summary["max"] for summary in summaries))
    _write(draw, (LEFT, top + 16), f"{suite['suite']}: {QUANTITIES[key].title}", 16, "la")
    for tick in ticks:
        y = _height(box, tick / ticks[-1])
        draw.line((box[0], y, box[2], y), fill=FAINT)
        _write(draw, (box[0] - 8, y), f"{tick:,g}", 12, "rm")
    places = _places(box, [row["name"] for row in rows], bool(suite["axis"]))
    for row, x in zip(rows, places, strict=True):
        _write(draw, (x, box[3] + 8), row["name"], 12, "ma")
    if suite["axis"]:
        _write(draw, ((box[0] + box[2]) / 2, box[3] + 28), suite["axis"], 12, "ma")
    _values(draw, box, summaries, places, ticks[-1], bars=not suite["axis"])


def _values(
    draw: ImageDraw.ImageDraw,
    box: Box,
    summaries: Sequence[Mapping[str, Any]],
    places: Sequence[float],
    most: float,
    *,
    bars: bool,
) -> None:
    points = [
        (x, _height(box, summary["median"] / most))
        for x, summary in zip(places, summaries, strict=True)
    ]
    half = min(40.0, (box[2] - box[0]) / len(places) / 3)
    for (x, y), summary in zip(points, summaries, strict=True):
        if bars:
            draw.rectangle((x - half, min(y, box[3]), x + half, box[3]), fill=FILL)
        else:
            draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=FILL)
        low, high = (_height(box, summary[end] / most) for end in ("min", "max"))
        draw.line((x, low, x, high), fill=LINE, width=2)
    if not bars and len(points) > 1:
        draw.line(points, fill=FILL, width=2)


def _places(box: Box, names: Sequence[str], numbers: bool) -> list[float]:
    if not numbers or len(names) == 1:
        step = (box[2] - box[0]) / len(names)
        return [box[0] + step * (place + 0.5) for place in range(len(names))]
    logs = [math.log2(float(name.replace(",", ""))) for name in names]
    span = (logs[-1] - logs[0]) or 1.0
    return [box[0] + 30 + (box[2] - box[0] - 60) * (log - logs[0]) / span for log in logs]


def _height(box: Box, share: float) -> float:
    return box[3] - (box[3] - box[1]) * share


def _write(
    draw: ImageDraw.ImageDraw, place: tuple[float, float], text: str, size: int, anchor: str
) -> None:
    draw.text(place, text, fill=INK, font=ImageFont.load_default(size), anchor=anchor)


def nice_ticks(most: float) -> list[float]:
    """Return round values from 0 to at least ``most``, four to seven of them."""
    if most <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(most))
    step = next(s * power for s in (0.2, 0.25, 0.5, 1.0, 2.0) if s * power * 6 >= most)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]
