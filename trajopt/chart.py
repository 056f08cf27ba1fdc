"""Line charts as SVG text, for reports that must open anywhere without any library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 560, 220
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 12, 34
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # Okabe and Ito


def line_chart(
    x: NDArray, curves: Mapping[str, NDArray], x_label: str, y_label: str, logarithmic: bool = False
) -> str:
    """One polyline per curve (k,) over x (k,), with axes, ticks and a legend; gaps where not finite."""
    x = np.asarray(x, dtype=float)
    drawn = {name: _heights(values, logarithmic) for name, values in curves.items()}
    finite = [part[np.isfinite(part)] for part in drawn.values()]
    everything = np.concatenate(finite) if finite else np.zeros(0)
    low, high = _range(everything)
    first, last = _range(x)

    def place(at: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
        across = LEFT + (at - first) / (last - first) * (WIDTH - LEFT - RIGHT)
        up = HEIGHT - BOTTOM - (values - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
        return across, up

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y_label)}">']
    for tick in ticks(low, high):
        _, (y,) = place(np.zeros(1), np.array([tick]))
        text = f"1e{tick:g}" if logarithmic else f"{tick:g}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for tick in ticks(first, last):
        (across,), _ = place(np.array([tick]), np.zeros(1))
        parts.append(
            f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{tick:g}</text>'
        )
    for number, values in enumerate(drawn.values()):
        colour = COLOURS[number % len(COLOURS)]
        for piece in _pieces(np.isfinite(values)):
            points = " ".join(
                f"{a:.1f},{b:.1f}" for a, b in zip(*place(x[piece], values[piece]), strict=True)
            )
            parts.append(f'<polyline stroke="{colour}" points="{points}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text></svg>')
    legend = "".join(
        f'<span style="color:{COLOURS[i % len(COLOURS)]}">{escape(name)}</span>'
        for i, name in enumerate(curves)
    )
    return f"<figure><figcaption>{escape(y_label)} {legend}</figcaption>{''.join(parts)}</figure>"


def ticks(low: float, high: float, about: int = 5) -> NDArray:
    """Round numbers between low and high: 1, 2 or 5 times a power of ten apart."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * 0.999)
    inside = np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return inside * step


def _heights(values: NDArray, logarithmic: bool) -> NDArray:
    values = np.asarray(values, dtype=float)
    if not logarithmic:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log10(values)


def _range(values: NDArray) -> tuple[float, float]:
    """Least and largest, with room between them even when all are equal or none is there."""
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-30):
        pad = 0.5 * abs(low) or 1.0
        return low - pad, high + pad
    return low, high


def _pieces(finite: NDArray) -> list[slice]:
    """The runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], finite.astype(int), [0]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
