"""Words, options and numbers that no line break tears, and cells that hold sentences, marked for `site.css`.

A browser breaks lines behind hyphens, those of foot-flat, `--as-opensim` and 1e-8 as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes

LONGEST = 40  # letters of code that fit in a line on a telephone
LONGEST_IN_CELL = 26
PLACES = nodes.paragraph | nodes.title | nodes.strong | nodes.emphasis
SENTENCE = 70  # letters from which a cell of a table is one
HYPHENED = re.compile(r"(?<!\S)\S*(?:\w-|-\w)\S*")  # a word with a hyphen


def mark(app: Any, doctree: nodes.document, page: str) -> None:
    """The classes `whole` of code and words, and `sentence` of cells of tables."""
    for code in doctree.findall(nodes.literal):
        in_cell = any(isinstance(each, nodes.entry) for each in ancestors(code))
        longest = LONGEST_IN_CELL if in_cell else LONGEST
        if all(len(word) <= longest for word in code.astext().split()):
            code["classes"].append("whole")
    for text in list(doctree.findall(nodes.Text)):
        inside = text.parent
        if isinstance(inside, PLACES) and HYPHENED.search(text):
            in_cell = any(isinstance(each, nodes.entry) for each in ancestors(inside))
            inside.replace(text, list(split(text.astext(), LONGEST_IN_CELL if in_cell else LONGEST)))
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext()) >= SENTENCE:
            cell["classes"].append("sentence")


def ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    """The nodes that a node stands in, the nearest first."""
    while node.parent is not None:
        node = node.parent
        yield node


def split(text: str, longest: int) -> Iterator[nodes.Node]:
    """The nodes of a text, its words with a hyphen of up to so many letters by themselves."""
    end = 0
    for word in HYPHENED.finditer(text):
        if word.start() > end:
            yield nodes.Text(text[end : word.start()])
        yield nodes.inline(text=word[0], classes=["whole"] * (len(word[0]) <= longest))
        end = word.end()
    if end < len(text):
        yield nodes.Text(text[end:])


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
