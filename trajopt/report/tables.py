"""Sections and tables of a page."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from html import escape

COLUMNS = re.compile(r"\S {2,}\S")  # spaces that align a table
LONG = 40  # characters of a cell that may break anywhere
EXPONENT = re.compile(r"[-+]?\d[\d.]*e-\d+")
NUMBER = re.compile(r"[-+]?(\d[\d.]*|inf|nan)(e[-+]?\d+)?%?")


def section(title: str, content: str) -> str:
    """A heading and what stands under it."""
    return f"<h2>{escape(title)}</h2>{content}"


def text_section(title: str, content: object) -> str:
    """A section with the text of a value in lines; nothing for None."""
    return "" if content is None else section(title, preformatted(str(content)))


def preformatted(text: str) -> str:
    """Paragraphs of a text in lines: sentences are wrapped, columns of a table scroll."""
    paragraphs = (part for part in text.split("\n\n") if part.strip())
    kinds = ((part, "" if COLUMNS.search(part) else ' class="prose"') for part in paragraphs)
    return "".join(f"<pre{kind}>{with_whole_numbers(part)}</pre>" for part, kind in kinds)


def with_whole_numbers(text: str) -> str:
    """The text of a page, whose numbers no line break tears behind their minus."""
    return EXPONENT.sub(r'<span class="whole">\g<0></span>', escape(text))


def rows_section(title: str, head: tuple, rows: Iterable[tuple]) -> str:
    """A section with a table; nothing where it would be empty."""
    known = list(rows)
    return section(title, table(head, known)) if known else ""


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table; cells that are numbers stand at the right."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td{_kind(cell)}>{with_whole_numbers(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{titles}</tr>{body}</table>"


def image_tag(content: bytes, kind: str, title: str) -> str:
    """A picture that is part of the page; kind : "image/png"."""
    return f'<img alt="{title}" src="data:{kind};base64,{b64encode(content).decode("ascii")}"/>'


def _kind(cell: object) -> str:
    if NUMBER.fullmatch(str(cell)):
        return ' class="number"'
    return ' class="long"' if len(str(cell)) > LONG else ""
