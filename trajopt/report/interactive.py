"""Makes the charts of a page interactive: zoom, values at the pointer, curves hidden by a click.

The drawing library Plotly, 4.8 MB of JavaScript from its Python package, is part of the page, so that the
page needs no network and still opens in ten years. Without the package a page has its SVGs alone.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from trajopt.base.errors import OptionError

PACKAGE = "plotly"

#: Every chart becomes a plot when the page is there; double click shows limits that are far away, too.
START = """
document.querySelectorAll("[data-plot]").forEach(function (place) {
  var plot = JSON.parse(place.dataset.plot);
  place.textContent = "";
  var tools = {responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"]};
  Plotly.newPlot(place, plot.data, plot.layout, tools);
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
