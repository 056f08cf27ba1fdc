"""Arguments of a benchmark, and the folder of pages that it writes to."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("*.md", "*.json")


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a module's docstring, with `--smallest`."""
    found = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    told = "the smallest size, to see that all of it runs: pages of this project stay as they are"
    found.add_argument("--smallest", action="store_true", help=told)
    return found


@contextmanager
def pages(smallest: bool = False) -> Iterator[Path]:
    """The folder of the pages; for the smallest size a copy of its texts that is thrown away."""
    if not smallest:
        yield DOCS
        return
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "docs"
        (copy / "figures").mkdir(parents=True)
        for pattern in PAGES:
            for page in DOCS.glob(pattern):
                shutil.copy(page, copy)
        yield copy
