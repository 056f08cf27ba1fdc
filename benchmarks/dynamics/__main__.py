"""`python -m benchmarks.dynamics`: measure, and write docs/benchmarks.md, its JSON and its figures.

The smallest size times a round of every cell, and the start with the kernels that are stored.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pinocchio

from benchmarks.dynamics.growth import CURVES, draw, growth
from benchmarks.dynamics.measurement import as_records, measure, second_over_first
from benchmarks.dynamics.page import Cells, page
from benchmarks.dynamics.startup import run, startup
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.timing import machine


def main() -> None:
    """Startup first, in processes of their own; then growth; then every cell."""
    smallest = parser(__doc__).parse_args().smallest
    with pages(smallest) as docs:
        write(docs, smallest)


def write(docs: Path, smallest: bool) -> None:
    """Measure all parts, and write them into a folder of pages."""
    started = time.perf_counter()
    start = dict.fromkeys(("compile", "load"), run(dict(os.environ))) if smallest else startup()
    print(f"startup: {start}", flush=True)
    rounds = {"rounds": 1, "least": 0.0} if smallest else {}
    grown = {name: growth(curve, **rounds) for name, curve in CURVES.items()}
    for name, found in grown.items():
        draw(found, docs / "figures" / f"growth_{name}.png")
        print(f"{name}: {found.text}, within {found.deviation:.0%}", flush=True)
    cells, second = measure(**rounds), second_over_first(**rounds)
    record = {
        "machine": machine(),
        "pinocchio": pinocchio.__version__,
        "unit": "microseconds per node",
        "cells": as_records(cells),
        "second_over_first_derivatives": second,
        "startup_seconds": start,
        "growth": {name: found.text for name, found in grown.items()},
    }
    (docs / "benchmarks.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    seconds = time.perf_counter() - started
    text = page(Cells(cells), second, start, grown, pinocchio.__version__, seconds)
    (docs / "benchmarks.md").write_text(text, encoding="utf-8")
    print(text if smallest else f"wrote {docs / 'benchmarks.md'} in {seconds:.0f} s")


if __name__ == "__main__":
    main()
