"""Pictures of the gallery: the matplotlib figures that a script holds in variables, or pyplot has open."""

from textwrap import indent

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst  # pyright: ignore[reportMissingImports]

DOTS_PER_INCH = 150


def prepare(settings, script):
    """Before a script: close the figures of the one before, which pyplot still has."""
    plt.close("all")


def scrape(block, variables, settings):
    """Save the new figures of a script's block, and return the text that shows them."""
    held = variables["example_globals"]
    seen = held.setdefault("__shown__", set())
    figures = [value for value in held.values() if isinstance(value, Figure)]
    figures += [plt.figure(number) for number in plt.get_fignums()]
    paths = []
    for figure in figures:
        if id(figure) not in seen:
            seen.add(id(figure))
            paths.append(next(variables["image_path_iterator"]))
            figure.savefig(paths[-1], dpi=DOTS_PER_INCH)
    shown = figure_rst(paths, settings["src_dir"])
    return f".. container:: gallery-figure\n\n{indent(shown, '   ')}" if paths else shown  # it can scroll
