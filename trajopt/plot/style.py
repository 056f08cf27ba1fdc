"""Style of all figures: sizes, palette, line styles, and the times at which curves are sampled."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patheffects import Normal, Stroke
from numpy.typing import NDArray

from trajopt.base.palette import PALETTE
from trajopt.base.printable_text import printable_name
from trajopt.solution.solution import SolutionData

LINE_STYLES = ("-", "--", "-.", ":")
#: From a light to a dark blue: lightness alone gives the order, in print and for colour-blind readers.
SHADES = LinearSegmentedColormap.from_list("shades", ["#B7D7EE", PALETTE[0], "#00263D"])
PYPLOT = "matplotlib.pyplot"
WIDTH, PANEL = 6.3, 1.6  # inches: the text of an A4 page, and the height of a panel
SAMPLES = 600  # times of a curve: a figure of this width shows no more
NOISE = 1e-8  # of the largest value of a figure, or of its unit: smaller ones are errors of the solve
SMALL_FONT = "small"  # of all but titles and labels
LIMIT_COLOUR = "#555555"
#: Lines that are no curves: limits, borders, switches. What moves and its names are drawn over them.
MARK: dict[str, Any] = {"color": LIMIT_COLOUR, "linewidth": 0.7, "zorder": 1}
HALO = (Stroke(linewidth=2.0, foreground="white"), Normal())  # around text that may lie over curves
NOTE: dict[str, Any] = {"color": LIMIT_COLOUR, "fontsize": SMALL_FONT, "path_effects": HALO}

_SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "figure.titlesize": "medium",
    "axes.titlesize": SMALL_FONT,
    "legend.fontsize": SMALL_FONT,
    "legend.frameon": False,
    "xtick.labelsize": SMALL_FONT,
    "ytick.labelsize": SMALL_FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.markersize": 4,
    "figure.dpi": 200,
    "pdf.fonttype": 42,  # text stays text in journals' files
}


@contextmanager
def settings() -> Iterator[None]:
    """The style, for as long as a figure is drawn; the user's own settings stay as they are."""
    pyplot = sys.modules.get(PYPLOT)
    if pyplot is not None:
        # Loads the backend now: a notebook's switches pyplot to interactive, which a context would undo.
        pyplot.draw_if_interactive()
    with matplotlib.rc_context(_SETTINGS):
        yield


def as_text(name: str) -> str:
    """A name for a figure, as it is: matplotlib sets text between two dollar signs as a formula."""
    return printable_name(name).replace("$", r"\$")


def line_of(index: int) -> dict[str, Any]:
    """Colour and line style of the curve number `index`."""
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": LINE_STYLES[index % len(LINE_STYLES)]}


def mark_failures(axis: Axes, places: Sequence[float], label: str) -> None:
    """Crosses along the bottom at what has no value."""
    if places:
        bottom: dict[str, Any] = {"transform": axis.get_xaxis_transform(), "clip_on": False}
        axis.plot(places, np.zeros(len(places)), "x", color=LIMIT_COLOUR, label=label, **bottom)


def shade(part: float) -> str:
    """The colour of a part of the duration, 0 to 1, as "#rrggbb"."""
    return to_hex(SHADES(part))


def times(solution: SolutionData) -> NDArray[np.float64]:
    """Sample times that hold both sides of every knot, so that a jump is drawn as a vertical line."""
    knots = np.asarray(solution.knot_times, dtype=float)
    inside = np.linspace(NOISE, 1.0 - NOISE, SAMPLES // knots.size + 5)
    spans = knots[:-1, None] + np.diff(knots)[:, None] * inside
    return np.concatenate([knots[:1], spans.ravel(), knots[-1:]])
