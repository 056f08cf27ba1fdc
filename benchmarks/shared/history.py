"""Results over time: one line of JSON for every row of every run, and what became slower.

    {"date": "2026-11-23", "commit": "78533db0", "processor": "AMD EPYC, 2 cores, Linux",
     "versions": "Python 3.11.7, NumPy 2.4.6", "row": "rnea, serial 7, by Pinocchio", "ratio": 8.72}

A ratio is the time of a peer, or of the bare compiled loops, by ours, both measured in turns in the same run:
larger is faster. Lines are added, never changed; those of a row that is not measured any more are taken out
by hand.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.shared.timing import commit, processor, versions
from trajopt.base.errors import OptionError

RESULTS = Path(__file__).resolve().parents[1] / "results.jsonl"
SLOWER = 0.1  # part of a ratio whose loss is told


@dataclass(frozen=True)
class Result:
    """One row of one run."""

    date: str
    commit: str
    processor: str
    versions: str
    row: str
    ratio: float


@dataclass(frozen=True)
class Trend:
    """A row on one processor: ratios of its runs, the oldest first."""

    row: str
    ratios: Sequence[float]

    @property
    def before(self) -> float:
        """The median of all runs but the newest; of a single run its own."""
        return statistics.median(self.ratios[:-1] or self.ratios)

    @property
    def change(self) -> float:
        """Change of the newest ratio, relative to `before`."""
        return self.ratios[-1] / self.before - 1.0

    @property
    def slower(self) -> bool:
        """True where the newest is below `before` by more than `SLOWER`."""
        return self.change < -SLOWER


def now(ratios: Mapping[str, float]) -> list[Result]:
    """The results of a run that ends now."""
    about = (time.strftime("%Y-%m-%d"), commit(), processor(), versions())
    return [Result(*about, row, round(ratio, 4)) for row, ratio in ratios.items()]


def read(path: Path) -> list[Result]:
    """All lines in their order; OptionError names one that is no result."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            each = Result(**json.loads(line))
            if not (math.isfinite(each.ratio) and each.ratio > 0.0):
                raise ValueError(f"its ratio is {each.ratio}")
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"{path.name}, line {number} is no result ({error}): expected one like {Result.__doc__}"
            ) from None
        found.append(each)
    return found


def add(results: Iterable[Result], path: Path) -> None:
    """Write results below those of the file, in one go."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write("".join(json.dumps(asdict(each)) + "\n" for each in results))


def trends(results: Iterable[Result], processor: str) -> list[Trend]:
    """Rows of one processor, in the order of their first run."""
    found: dict[str, list[float]] = {}
    for each in results:
        if each.processor == processor:
            found.setdefault(each.row, []).append(each.ratio)
    return [Trend(row, ratios) for row, ratios in found.items()]
