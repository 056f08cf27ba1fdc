"""Pages that are notebooks: their Python blocks run while the site is built, outputs and figures below them.

A page stays plain Markdown with ```python blocks, which any viewer shows and the tests run; MyST-NB wants
them marked as cells, and a header, so both are put in as the page is read.
"""

import re

from docutils import nodes

HEADER = """\
---
file_format: mystnb
kernelspec:
  name: python3
---
"""
LINK = "\n\n*This page is a notebook: {nb-download}`%s.ipynb`, with its outputs.*\n"


def is_notebook(page):
    """True for a page with code that a reader would run: Python blocks, in a page that teaches."""
    return page.startswith(("tutorials/", "howto/", "extend/")) or page in (
        "first_term",
        "own_dynamics",
        "systems",
        "start",
    )


def mark_cells(app, page, source):
    if app.config.nb_execution_mode != "off" and is_notebook(page) and "```python\n" in source[0]:
        cells = re.sub(r"^```python$", "```{code-cell} ipython3", source[0], flags=re.MULTILINE)
        source[0] = HEADER + cells + LINK % page.rpartition("/")[2]


def mark_columns(app, doctree, page):
    """The class `columns` for outputs that are tables: these scroll where sentences are wrapped."""
    for block in doctree.findall(nodes.literal_block):
        rows = [line for line in block.astext().splitlines() if re.search(r"\S {2,}\S", line)]
        if "output" in block["classes"] and len(rows) > 2:
            block["classes"].append("columns")


def setup(app):
    app.connect("source-read", mark_cells)
    app.connect("doctree-resolved", mark_columns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
