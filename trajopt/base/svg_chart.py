"""Line charts as SVG text, for reports that must open anywhere without any library; the colours of all
figures.

Colours stand here, apart from matplotlib: the card of a notebook does not load it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from trajopt.base.arrays import Array, Number, runs
from trajopt.base.tolerances import AGREEMENT, NOT_ZERO

WIDTH, HEIGHT, LINE = 560, 220, 12  # pixels of a chart and of a line of text
LEFT, RIGHT, TOP, BOTTOM = 5 * LINE, LINE, LINE, 3 * LINE
# Attributes and inline styles, so that a chart looks the same on a page and in the cell of a notebook.
TEXT, CURVE = f'font-size="{LINE - 1}" fill="#444" width="100%"', 'fill="none" stroke-width="1.4"'
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SWATCH = "display: inline-block; width: .7em; height: .7em; margin-right: .3em"

Limits: TypeAlias = Mapping[str, tuple[float, float]]
NO_LIMITS: Limits = MappingProxyType({})


def typeset(unit: str) -> str:
    """A unit with powers as raised digits, rad/s² for rad/s^2."""
    return re.sub(r"\^(-?\d+)", lambda power: power[1].translate(RAISED), unit)


def line_chart(
    x: Array,
    curves: Mapping[str, Array],
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
    limits: Limits = NO_LIMITS,
) -> str:
    """One polyline per curve (k,) over x (k,), with axes, ticks and a legend; gaps where not finite.

    limits : lower and upper bounds by curve; those near the curves are dashed lines
    """
    x = np.asarray(x, dtype=float)
    drawn = {name: _heights(values, logarithmic) for name, values in curves.items()}
    finite = [part[np.isfinite(part)] for part in drawn.values()]
    everything = np.concatenate(finite) if finite else np.zeros(0)
    low, high = _range(everything) if logarithmic else range_with(drawn, limits)
    first, last = _range(x)

    def across(at: Number) -> Number:
        return LEFT + (at - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def up(value: Number) -> Number:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def level(value: float, look: str) -> str:
        return f'<line {look} x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}"/>'

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {TEXT} aria-label="{escape(y_label)}">']
    if not everything.size:
        middle = f'x="{WIDTH / 2}" y="{HEIGHT / 2}" text-anchor="middle"'
        parts.append(f"<text {middle}>{'zero throughout' if logarithmic else 'no finite value'}</text>")
    for tick in ticks(low, high, whole=logarithmic) if everything.size else ():
        parts.append(level(tick, 'stroke="#ddd"'))
        place = f'x="{LEFT - LINE / 2}" y="{up(tick) + LINE / 3:.1f}" text-anchor="end"'
        parts.append(f"<text {place}>{f'1e{tick:g}' if logarithmic else f'{tick:g}'}</text>")
    for tick in ticks(first, last):
        place = f'x="{across(tick):.1f}" y="{HEIGHT - BOTTOM + LINE}" text-anchor="middle"'
        parts.append(f"<text {place}>{tick:g}</text>")
    for number, (name, values) in enumerate(drawn.items()):
        colour = PALETTE[number % len(PALETTE)]
        near = [limit for limit in limits.get(name, ()) if low <= limit <= high]
        parts += [level(limit, f'stroke="{colour}" stroke-dasharray="5 3"') for limit in near]
        for piece in runs(np.isfinite(values)):
            points = list(zip(across(x[piece]), up(values[piece]), strict=True))
            if len(points) == 1:
                parts.append(
                    f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="2.5" fill="{colour}"/>'
                )
            else:
                line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
                parts.append(f'<polyline {CURVE} stroke="{colour}" points="{line}"/>')
    middle = f'x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - LINE / 2}" text-anchor="middle"'
    parts.append(f"<text {middle}>{escape(x_label)}</text></svg>")
    legend = "".join(
        f'<span style="margin-left: .9em; display: inline-block"><i style="{SWATCH}; '
        f'background: {PALETTE[i % len(PALETTE)]}"></i>{escape(name)}</span>'
        for i, name in enumerate(curves)
        if name
    )
    caption = f"<figcaption>{escape(y_label)} {legend}</figcaption>"
    return f'<figure style="margin: 0">{caption}{"".join(parts)}</figure>'


def ticks(low: float, high: float, about: int = 5, whole: bool = False) -> Array:
    """Round numbers between low and high: 1, 2 or 5 times a power of ten apart, or `whole` ones alone."""
    rough = max((high - low) / about, 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    steps = (power * factor for factor in (1.0, 2.0, 5.0, 10.0))
    step = next(step for step in steps if step >= rough * (1.0 - AGREEMENT))
    inside = np.arange(math.ceil(low / step - AGREEMENT), math.floor(high / step + AGREEMENT) + 1)
    return inside * step


def _heights(values: Array, logarithmic: bool) -> Array:
    values = np.asarray(values, dtype=float)
    if not logarithmic:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0.0, np.log10(values), np.nan)


def _range(values: Array) -> tuple[float, float]:
    """Least and largest, with room between them even when all are equal or none is there."""
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if high - low <= AGREEMENT * max(abs(low), abs(high), NOT_ZERO):
        pad = 0.5 * abs(low) or 1.0
        return low - pad, high + pad
    return low, high


def range_with(curves: Mapping[str, Array], limits: Limits) -> tuple[float, float]:
    """Least and largest value of all curves, and of the limits that are near them."""
    finite = [np.asarray(curve)[np.isfinite(curve)] for curve in curves.values()]
    low, high = _range(np.concatenate(finite) if finite else np.zeros(0))
    # Limits farther away than half of the range of all curves would flatten them and are not drawn
    reach = 0.5 * (high - low)
    near = [
        limit for name in curves for limit in limits.get(name, ()) if low - reach <= limit <= high + reach
    ]
    return min([low, *near]), max([high, *near])


#: Okabe and Ito, Color Universal Design (2008); their yellow is left out, as it is too pale for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
