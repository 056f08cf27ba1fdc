"""`python -m benchmarks.dynamics`: measure, and write docs/benchmarks.md, its JSON and its figures."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pinocchio

from benchmarks.dynamics.growth import CURVES, draw, growth
from benchmarks.dynamics.measurement import as_records, measure, second_over_first
from benchmarks.dynamics.page import Cells, page
from benchmarks.dynamics.startup import startup
from benchmarks.shared.timing import machine

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> None:
    """Startup first, in processes of their own; then growth; then every cell."""
    started = time.perf_counter()
    start = startup()
    print(f"startup: {start}", flush=True)
    grown = {name: growth(curve) for name, curve in CURVES.items()}
    (DOCS / "figures").mkdir(parents=True, exist_ok=True)
    for name, found in grown.items():
        draw(found, DOCS / "figures" / f"growth_{name}.png")
        print(f"{name}: {found.text}, within {found.deviation:.0%}", flush=True)
    cells, second = measure(), second_over_first()
    record = {
        "machine": machine(),
        "pinocchio": pinocchio.__version__,
        "unit": "microseconds per node",
        "cells": as_records(cells),
        "second_over_first_derivatives": second,
        "startup_seconds": start,
        "growth": {name: found.text for name, found in grown.items()},
    }
    (DOCS / "benchmarks.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    seconds = time.perf_counter() - started
    text = page(Cells(cells), second, start, grown, pinocchio.__version__, seconds)
    (DOCS / "benchmarks.md").write_text(text, encoding="utf-8")
    print(f"wrote {DOCS / 'benchmarks.md'} in {seconds:.0f} s")


if __name__ == "__main__":
    main()
