"""Figures and axes to draw on, new ones or the caller's, and the style of all figures.

A new figure belongs to pyplot where the program has imported pyplot, so that `plt.show()` shows it; else it
belongs to nobody and is gone with its last name, as scripts and long runs want it.

The style is sizes, palette, line styles, and the times at which curves are sampled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from math import ceil
from typing import Any, TypeAlias, cast

import matplotlib
import numpy as np
from matplotlib import rc_context, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure, FigureBase
from matplotlib.patheffects import Normal, Stroke
from numpy.typing import NDArray

from trajopt.base.arguments import list_names, short_repr
from trajopt.base.errors import OptionError, printable_name
from trajopt.base.tolerances import HALF_OF_DIGITS
from trajopt.display.svg_chart import PALETTE, STYLE
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.monitor import in_notebook

LINE_STYLES = ("-", "--", "-.", ":")
#: From a light to a dark blue: lightness alone gives the order, in print and for colour-blind readers.
SHADES = LinearSegmentedColormap.from_list("shades", ["#B7D7EE", PALETTE[0], "#00263D"])
PYPLOT = "matplotlib.pyplot"
WIDTH, PANEL = 6.3, 1.6  # inches: the text of an A4 page, and the height of a panel
SAMPLES = 600  # times of a curve: a figure of this width shows no more
NOISE = HALF_OF_DIGITS  # of the largest value of a figure, or of its unit: less is an error of the solve
SMALL_FONT = "small"  # of all but titles and labels
LIMIT_COLOUR = "#555555"
#: Lines that are no curves: limits, borders, switches. What moves and its names are drawn over them.
Style: TypeAlias = dict[str, Any]  # arguments of matplotlib
AnyAxes: TypeAlias = Any  # `Axes`, or those of three dimensions, whose methods take one more coordinate
MARK: Style = {"color": LIMIT_COLOUR, "linewidth": 0.7, "zorder": 1}
HALO = (Stroke(linewidth=2.0, foreground="white"), Normal())  # around text that may lie over curves
NOTE: Style = {"color": LIMIT_COLOUR, "fontsize": SMALL_FONT, "path_effects": HALO}

_SETTINGS: dict[Any, Any] = {
    **STYLE,
    "font.size": 9.0,
    "figure.titlesize": "medium",
    "axes.titlesize": SMALL_FONT,
    "legend.fontsize": SMALL_FONT,
    "legend.frameon": False,
    "xtick.labelsize": SMALL_FONT,
    "ytick.labelsize": SMALL_FONT,
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


def line_of(index: int) -> Style:
    """Colour and line style of the curve number `index`."""
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": LINE_STYLES[index % len(LINE_STYLES)]}


def mark_failures(axis: Axes, places: Sequence[float], label: str) -> None:
    """Crosses along the bottom at what has no value."""
    if places:
        bottom: Style = {"transform": axis.get_xaxis_transform(), "clip_on": False}
        axis.plot(places, np.zeros(len(places)), "x", color=LIMIT_COLOUR, label=label, **bottom)


def legend_above(place: Axes | Figure, *handles: Any, columns: int = 3, **style: Any) -> None:
    """The legend above axes or a figure, at the right end, where it hides no curve.

    handles : lines and their names, as those of `matplotlib.axes.Axes.legend`; those of the axes by default
    style : further arguments of that method
    """
    if isinstance(place, Axes):
        place.legend(*handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, **style)
    else:
        place.legend(*handles, loc="outside upper right", ncols=columns, **style)


def shade(part: float) -> str:
    """The colour of a part of the duration, 0 to 1, as "#rrggbb"."""
    return to_hex(SHADES(part))


def times(solution: Solution) -> NDArray[np.float64]:
    """Sample times that hold both sides of every knot, so that a jump is drawn as a vertical line."""
    knots = np.asarray(solution.knot_times, dtype=float)
    inside = np.linspace(NOISE, 1.0 - NOISE, SAMPLES // knots.size + 5)
    spans = knots[:-1, None] + np.diff(knots)[:, None] * inside
    return np.concatenate([knots[:1], spans.ravel(), knots[-1:]])


GivenFigure: TypeAlias = FigureBase | None  # a figure, or a part of one
GivenAxes: TypeAlias = Axes | Sequence[Axes] | np.ndarray | None


class NotebookFigure(Figure):
    """A figure that a notebook shows where it is the value of a cell, once, with pyplot and without."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=rcParamsDefault["figure.dpi"])
        return picture.getvalue()

    def _ipython_display_(self) -> None:
        if not in_notebook():
            raise NotImplementedError  # IPython then prints the figure as any other object
        from IPython.display import Image, display  # type: ignore[import-not-found]

        display(Image(self._repr_png_()))
        forget(self)  # else the notebook shows it again at the end of the cell


def forget(figure: Figure) -> None:
    """Free a figure that pyplot holds."""
    if PYPLOT in sys.modules:
        sys.modules[PYPLOT].close(figure)


def svg_of(figure: Figure) -> tuple[bytes, tuple[float, float]]:
    """A figure as SVG that is the same at every call, and its size in inches; pyplot then forgets it."""
    picture = BytesIO()
    with rc_context({"svg.hashsalt": "trajopt"}):
        figure.savefig(picture, format="svg", metadata={"Date": None})
    forget(figure)
    width, height = figure.get_size_inches()
    return picture.getvalue(), (float(width), float(height))


def new_figure(width: float, height: float, layout: str | None = "constrained") -> Figure:
    """An empty figure, in inches."""
    settings: Style = {"figsize": (width, height), "layout": layout}
    if PYPLOT in sys.modules:
        return sys.modules[PYPLOT].figure(FigureClass=NotebookFigure, **settings)
    return NotebookFigure(**settings)


def check_solution(solution: object) -> None:
    """OptionError for what is no solution of a problem or of phases."""
    if not isinstance(solution, Answer):
        raise OptionError(
            f"{short_repr(solution)} is no solution: give what trajopt.solve(problem) returned, or "
            "trajopt.Solution.load('solution.npz')"
        )


def check_place(figure: object, ax: object) -> None:
    """Raise OptionError unless at most one of a figure and axes is given, each of its kind."""
    if figure is not None and ax is not None:
        raise OptionError("figure and ax are both given: axes have their figure, give one of them")
    if figure is not None and not isinstance(figure, FigureBase):
        raise OptionError(f"figure is {short_repr(figure)}: give a matplotlib Figure or SubFigure")
    for each in _listed(ax):
        if not isinstance(each, Axes):
            raise OptionError(f"ax is {short_repr(each)}: give matplotlib Axes, or a list of them")


def given_axes(ax: GivenAxes, names: Sequence[str]) -> list[Axes]:
    """The axes that the caller gave, one for each panel; OptionError for another count."""
    axes = _listed(ax)
    if len(axes) != len(names):
        raise OptionError(
            f"ax has {len(axes)} axes for {len(names)} panels ({list_names(names)}): give one for each, or "
            "choose fewer"
        )
    return axes


def panels(
    names: Sequence[str],
    columns: int,
    figure: GivenFigure = None,
    ax: GivenAxes = None,
    *,
    height: float = PANEL,
    x_label: str = "time (s)",
) -> tuple[Figure, list[Axes]]:
    """Axes over a common horizontal axis, one for each name, and their figure.

    height : inches of a panel of a new figure
    """
    check_place(figure, ax)
    if ax is not None:
        axes = given_axes(ax, names)
        for axis in axes:
            axis.set_xlabel(x_label)
        return cast(Figure, axes[0].figure), axes
    count = len(names)
    rows = ceil(count / columns)
    if figure is None:
        figure = new_figure(max(WIDTH, 1.5 * height * columns), (rows + 0.5) * height)
    axes = list(figure.subplots(rows, columns, sharex=True, squeeze=False).flat)
    for unused in axes[count:]:
        unused.set_visible(False)
    for position, axis in enumerate(axes[:count]):
        below_is_empty = position + columns >= count
        axis.tick_params(labelbottom=below_is_empty)
        if below_is_empty:
            axis.set_xlabel(x_label)
            axis.xaxis.set_in_layout(position + columns >= rows * columns)  # else it moves the row below away
    return cast(Figure, figure), axes[:count]  # a part of a figure draws like a figure


def title(figure: FigureBase, solution: Answer, note: str = "") -> None:
    """Title of a new figure: name, duration, "not converged" where that is so, and what is not drawn."""
    outcome = "" if solution.converged else ", not converged"
    text = f"{solution.name}, T = {solution.duration:.4g} s{outcome}" + (f"; {note}" if note else "")
    figure.suptitle(as_text(text), x=0.01, horizontalalignment="left")


def _listed(ax: object) -> list[Any]:
    return [] if ax is None else list(np.ravel(np.asarray(ax, dtype=object)))
