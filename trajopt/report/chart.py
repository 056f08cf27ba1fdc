"""One chart of a page: curves, their limits and labels, as SVG, and made interactive by Plotly.

Interactive are zoom, values at the pointer, and curves hidden by a click.

The drawing library Plotly, 4.8 MB of JavaScript from its Python package, is part of the page, so that the
page needs no network and still opens in ten years. Without the package a page has its SVGs alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.display.svg_chart import (
    MARGIN,
    NO_LIMITS,
    PALETTE,
    Limits,
    finite_part,
    line_chart,
    range_with,
)

DIGITS = 7  # of a number that people read


Plot: TypeAlias = dict[str, Any]  # traces or layout, as Plotly takes them


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves (k,) by name over x (k,), and what stands at the axes.

    limits : curve -> lower and upper bound, infinite where there is none
    unit : of the curves, for what is shown at the pointer
    """

    x: Array
    curves: Mapping[str, Array]
    x_label: str
    y_label: str
    unit: str = ""
    logarithmic: bool = False
    limits: Limits = field(default_factory=dict)

    def html(self, interactive: bool) -> str:
        """An SVG, which scripts replace by a plot where there are any; without them it stays."""
        svg = line_chart(self.x, self.curves, self.x_label, self.y_label, self.logarithmic, self.limits)
        drawn = [finite_part(values, self.logarithmic) for values in self.curves.values()]
        if not (interactive and np.isfinite(drawn).any()):
            return svg  # it holds a sentence where there are no points
        return f'<div class="plot" {data_attribute(self.plot())}>{svg}</div>'

    def plot(self) -> Plot:
        """Traces and layout as Plotly takes them; the axis is fitted to the curves and limits near them."""
        traces = []
        x = rounded(self.x)
        for number, (name, values) in enumerate(self.curves.items()):
            line = {"color": PALETTE[number % len(PALETTE)], "width": 1.5}
            trace = self._trace(x, rounded(finite_part(values, self.logarithmic)), name, "%{y:.6g}", line)
            legend = bool(name) and len(self.curves) > 1
            traces.append({**trace, "mode": "lines" if len(x) > 1 else "markers", "showlegend": legend})
            for limit in self.limits.get(name, ()):
                if np.isfinite(limit):
                    ends, dashed = [float(limit)] * 2, {**line, "width": 1, "dash": "dash"}
                    title = f"limit of {name}"
                    bound = self._trace([x[0], x[-1]], ends, title, f"{limit:.6g}", dashed)
                    traces.append({**bound, "legendgroup": name})
        upright: Plot = {"zeroline": not self.logarithmic, "exponentformat": "e"}
        if self.logarithmic:
            upright |= {"type": "log", "exponentformat": "power"}
        else:
            low, high = range_with(self.curves, self.limits)
            pad = MARGIN * (high - low)
            upright["range"] = [low - pad, high + pad]
        layout = {
            **plot_layout(self.y_label),
            "xaxis": {"title": {"text": self.x_label}, "zeroline": False},
            "yaxis": upright,
            "hovermode": "x unified",
            "legend": {"orientation": "h", "x": 1.0, "xanchor": "right", "y": 1.0, "yanchor": "bottom"},
        }
        return {"data": traces, "layout": layout}

    def _trace(self, x: list[Any], y: list[Any], name: str, value: str, line: Plot) -> Plot:
        """A curve, or a bound, which goes with its curve; `value` is the text at the pointer."""
        hover = f"{value} {self.unit}".rstrip() + f"<extra>{escape(name)}</extra>"
        look = {"legendgroup": name, "mode": "lines", "line": line, "showlegend": False}
        return {"x": x, "y": y, "name": name, "hovertemplate": hover, **look}


def charts(
    t: Array,
    curves: Mapping[str, Array],
    y_label: str,
    unit: str = "",
    limits: Limits = NO_LIMITS,
) -> Iterator[Chart]:
    """Charts of curves over time t (k,) in seconds, as many in each as there are colours."""
    names = list(curves)
    groups = [names[start : start + len(PALETTE)] for start in range(0, len(names), len(PALETTE))]
    for number, group in enumerate(groups, start=1):
        label = y_label if len(groups) == 1 else f"{y_label}, {number} of {len(groups)}"
        yield Chart(t, {name: curves[name] for name in group}, "t [s]", label, unit, limits=limits)


def plot_layout(title: str, rows: int = 1) -> Plot:
    """The layout that the plots of a page share; `rows` gives its height.

    The title becomes a caption of the page. Tools stand upright in the right margin: without a pointer they
    are always shown, and would hide a legend.
    """
    return {
        "title": {"text": escape(title)},
        "height": rows * 300,  # pixels
        "margin": {"l": 62, "r": 40, "t": 24, "b": 42},
        "modebar": {"orientation": "v"},
    }


def data_attribute(plot: Plot) -> str:
    """A plot as the attribute of an element, from which the script of a page draws it."""
    return f'data-plot="{escape(json.dumps(plot, separators=(",", ":"), allow_nan=False), quote=True)}"'


def rounded(values: ArrayLike) -> list[Any]:
    """Numbers with as many digits as people read, None where there is none; lists of lists for a surface."""
    if np.ndim(values) > 1:
        return [rounded(row) for row in np.asarray(values)]
    return [
        float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
        for value in np.asarray(values, dtype=float)
    ]


PACKAGE = "plotly"

#: Every chart becomes a plot when the page is there, its title a caption, which narrow pages wrap; double
#: click shows limits that are far away, too.
START = """
document.querySelectorAll("[data-plot]").forEach(function (place) {
  var plot = JSON.parse(place.dataset.plot);
  var caption = document.createElement("figcaption"), drawing = document.createElement("div");
  caption.innerHTML = plot.layout.title.text;
  delete plot.layout.title;
  place.replaceChildren(caption, drawing);
  var tools = {responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"]};
  Plotly.newPlot(drawing, plot.data, plot.layout, tools);
});
"""


def is_wanted(interactive: bool | None) -> bool:
    """True if a page is to be interactive; None: where it can be. OptionError where it cannot."""
    installed = find_spec(PACKAGE) is not None
    if interactive and not installed:
        raise OptionError(
            "an interactive page needs plotly, which is not installed: pip install "
            "'trajopt-splines[report]', or leave interactive out"
        )
    return installed if interactive is None else bool(interactive)


def scripts() -> str:
    """The drawing library and the start of all plots, as two script elements."""
    library = import_module(f"{PACKAGE}.offline").get_plotlyjs()
    return f"<script>{library}</script><script>{START}</script>"
