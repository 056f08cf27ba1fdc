"""Figures and tables that a problem adds to its page: pictures, and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path

from trajopt.base.errors import OptionError
from trajopt.report.tables import image_tag, section, table

IMAGES = {".png": "image/png", ".gif": "image/gif", ".svg": "image/svg+xml"}
TABLES = ".md"
KINDS = (*IMAGES, TABLES)


def own_figures(figures: Mapping[str, bytes]) -> str:
    """The section, name of a file -> its content; nothing without figures. OptionError for another kind."""
    if not figures:
        return ""
    shown = "".join(_shown(name, content) for name, content in figures.items())
    return section("Figures of the problem", f'<div class="figures">{shown}</div>')


def _shown(name: str, content: bytes) -> str:
    ending, title = Path(name).suffix, escape(Path(name).stem.replace("_", " "))
    if ending not in KINDS:
        raise OptionError(f"the figure {name} is no picture or table of a page: give {', '.join(KINDS)}")
    if ending == TABLES:
        shown = "".join(_tables(content.decode("utf-8")))
    else:
        shown = image_tag(content, IMAGES[ending], title)
    return f"<figure>{shown}<figcaption>{title}</figcaption></figure>"


def _tables(text: str) -> Iterator[str]:
    """The tables of a Markdown text; what stands around them is left out."""
    lines = [line.strip() for line in text.splitlines()]
    for is_table, part in groupby(lines, lambda line: line.startswith("|")):
        rows = [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in part]
        if is_table and len(rows) > 2:
            yield table(rows[0], rows[2:])
