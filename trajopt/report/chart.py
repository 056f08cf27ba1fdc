"""One chart of a page: curves, their limits and labels, as SVG and as Plotly data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.palette import PALETTE
from trajopt.base.svg_chart import line_chart, range_with

DIGITS = 7  # of a number that people read
HEIGHT = 300  # pixels of a plot
MARGINS = {"l": 62, "r": 40, "t": 34, "b": 42}
#: Tools stand upright in the right margin: without a pointer they are always shown, and would hide a legend.
TOOLS = {"orientation": "v"}


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves (k,) by name over x (k,), and what stands at the axes.

    limits : curve -> lower and upper bound, infinite where there is none
    unit : of the curves, for what is shown at the pointer
    """

    x: NDArray
    curves: Mapping[str, NDArray]
    x_label: str
    y_label: str
    unit: str = ""
    logarithmic: bool = False
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def html(self, interactive: bool) -> str:
        """An SVG, which scripts replace by a plot where there are any; without them it stays."""
        svg = line_chart(self.x, self.curves, self.x_label, self.y_label, self.logarithmic, self.limits)
        if not (interactive and self._has_points):
            return svg  # it holds a sentence where there are no points
        data = escape(json.dumps(self.plot(), separators=(",", ":"), allow_nan=False), quote=True)
        return f'<div class="plot" data-plot="{data}">{svg}</div>'

    @property
    def _has_points(self) -> bool:
        """Whether any value can be drawn: on a logarithmic axis those above zero."""
        least = 0.0 if self.logarithmic else -np.inf
        return any(
            np.any(np.isfinite(each) & (each > least)) for each in map(np.asarray, self.curves.values())
        )

    def plot(self) -> dict[str, Any]:
        """Traces and layout as Plotly takes them; the axis is fitted to the curves and limits near them."""
        traces = []
        x = rounded(self.x)
        for number, (name, values) in enumerate(self.curves.items()):
            colour = PALETTE[number % len(PALETTE)]
            traces.append(
                {
                    "x": x,
                    "y": rounded(np.where(np.asarray(values) > 0.0, values, np.nan))
                    if self.logarithmic
                    else rounded(values),
                    "name": name,
                    "legendgroup": name,
                    "mode": "lines" if len(x) > 1 else "markers",
                    "line": {"color": colour, "width": 1.6},
                    "hovertemplate": f"%{{y:.6g}} {self.unit}".rstrip() + f"<extra>{escape(name)}</extra>",
                    "showlegend": bool(name) and len(self.curves) > 1,
                }
            )
            for limit in self.limits.get(name, ()):
                if np.isfinite(limit):
                    traces.append(_limit(x, float(limit), name, colour, self.unit))
        axis: dict[str, Any] = {"title": {"text": self.x_label}, "zeroline": False}
        upright: dict[str, Any] = {"zeroline": not self.logarithmic, "exponentformat": "e"}
        if self.logarithmic:
            upright |= {"type": "log", "exponentformat": "power"}
        else:
            low, high = range_with(self.curves, self.limits)
            pad = 0.04 * (high - low)
            upright["range"] = [low - pad, high + pad]
        layout = {
            "title": {"text": escape(self.y_label), "font": {"size": 14}, "x": 0.01, "y": 0.98},
            "xaxis": axis,
            "yaxis": upright,
            "height": HEIGHT,
            "margin": MARGINS,
            "modebar": TOOLS,
            "hovermode": "x unified",
            "legend": {"orientation": "h", "x": 1.0, "xanchor": "right", "y": 1.0, "yanchor": "bottom"},
        }
        return {"data": traces, "layout": layout}


def _limit(x: list[Any], limit: float, name: str, colour: str, unit: str) -> dict[str, Any]:
    """A bound as a dashed line that goes with its curve."""
    return {
        "x": [x[0], x[-1]],
        "y": [limit, limit],
        "name": f"limit of {name}",
        "legendgroup": name,
        "mode": "lines",
        "line": {"color": colour, "width": 1.0, "dash": "dash"},
        "hovertemplate": f"{limit:.6g} {unit}".rstrip() + f"<extra>limit of {escape(name)}</extra>",
        "showlegend": False,
    }


def rounded(values: Any) -> list[Any]:
    """Numbers with as many digits as people read, None where there is none; lists of lists for a surface."""
    if np.ndim(values) > 1:
        return [rounded(row) for row in values]
    return [
        float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
        for value in np.asarray(values, dtype=float)
    ]
