"""Style of all figures: palette, line styles, text sizes, and the times at which curves are sampled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from numpy.typing import NDArray

from trajopt.base.palette import PALETTE

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

LINE_STYLES = ("-", (0, (6, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1.5, 1)))
#: From a light to a dark blue: lightness alone gives the order, in print and for colour-blind readers.
SHADES = LinearSegmentedColormap.from_list("shades", ["#B7D7EE", PALETTE[0], "#00263D"])
LIMIT_COLOUR = "#555555"
PYPLOT = "matplotlib.pyplot"
WIDTH = 6.3  # inches; the text of an A4 page
SAMPLES = 600  # times of a curve: a figure of this width shows no more
FONT, SMALL_FONT, NOTE_FONT = (
    9.0,
    8.0,
    7.0,
)  # points: titles and axes; ticks and legends; notes in a panel

_SETTINGS: dict[Any, Any] = {
    "font.size": FONT,
    "axes.labelsize": FONT,
    "axes.titlesize": FONT,
    "legend.fontsize": SMALL_FONT,
    "xtick.labelsize": SMALL_FONT,
    "ytick.labelsize": SMALL_FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.5,
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


def line_of(index: int) -> dict[str, Any]:
    """Colour and line style of the curve number `index`."""
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": LINE_STYLES[index % len(LINE_STYLES)]}


def shade(part: float) -> str:
    """The colour of a part of the duration, 0 to 1, as "#rrggbb"."""
    return to_hex(SHADES(part))


def times(solution: SolutionData) -> NDArray[np.float64]:
    """Sample times that hold both sides of every knot, so that a jump is drawn as a vertical line."""
    knots = np.asarray(solution.knot_times, dtype=float)
    per_span = max(6, SAMPLES // max(knots.size - 1, 1))
    inside = np.linspace(1e-9, 1.0 - 1e-9, per_span)
    spans = knots[:-1, None] + np.diff(knots)[:, None] * inside
    return np.concatenate([knots[:1], spans.ravel(), knots[-1:]])
