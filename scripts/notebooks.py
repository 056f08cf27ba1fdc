"""Notebooks of the tutorials, made from the pages of docs: one source.

    python scripts/notebooks.py    writes notebooks/*.ipynb, without outputs

The first cell installs the package, with the extras that the page imports, unless it is there: from the copy
of the repository that holds the notebook, from a wheel beside the notebook, or from the index. Where none of
these has it, the cell ends with one line that says so.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from trajopt import __version__

ROOT = Path(__file__).resolve().parents[1]
DOCS, TARGET = ROOT / "docs", ROOT / "notebooks"
PAGES = ("start.md", "first_term.md", "systems.md", "homework_solutions.md")
EXTRAS = ("jax", "mujoco", "opensim", "torch")  # of the package, named as what they install
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")
INSTALL = """\
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

needed = {needed}
if not all(map(find_spec, needed)):  # install from this copy of the repository, a wheel beside, or the index
    package = "..{extras}" if Path("../trajopt").is_dir() else "trajopt-splines{extras}=={version}"
    %pip install -q --no-compile --find-links . "{{package}}"
    invalidate_caches()
    if not all(map(find_spec, needed)):
        raise ImportError(f"cannot install {{package}}: put its wheel beside this notebook and run again")
"""


def pages() -> list[Path]:
    """The pages that are notebooks: all tutorials, and some others."""
    return [*(DOCS / page for page in PAGES), *sorted((DOCS / "tutorials").glob("*.md"))]


def notebook(page: Path) -> str:
    """The notebook of a page as text: its Python blocks as cells, links as seen from the target folder."""
    parts = CODE.split(page.read_text(encoding="utf-8"))  # prose and code in turn
    needed = [
        extra for extra in EXTRAS if re.search(rf"^import {extra}$", "".join(parts[1::2]), re.MULTILINE)
    ]
    extras = f"[{','.join(needed)}]" if needed else ""
    install = INSTALL.format(
        needed=json.dumps(["dynamics", "problems", "trajopt", *needed]), extras=extras, version=__version__
    )
    cells = [_cell("code", install.strip("\n"))]
    for number, part in enumerate(parts):
        if part.strip() and number % 2:
            cells.append(_cell("code", part.strip("\n")))
        elif part.strip():
            linked = LINK.sub(lambda link: f"]({_from_target(page, link[1])})", part)
            cells.append(_cell("markdown", linked.strip("\n")))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def notebooks() -> Iterator[tuple[Path, str]]:
    """Files of all notebooks with the texts that they should have."""
    for page in pages():
        yield TARGET / f"{page.stem}.ipynb", notebook(page)


def _cell(kind: str, source: str) -> dict[str, object]:
    outputs = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), **outputs}


def _from_target(page: Path, link: str) -> str:
    return Path(os.path.relpath(page.parent / link, TARGET)).as_posix()


def main() -> int:
    TARGET.mkdir(exist_ok=True)
    written = dict(notebooks())
    for old in set(TARGET.glob("*.ipynb")) - set(written):
        old.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(written)} notebooks in {TARGET.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
