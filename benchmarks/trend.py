"""Results over time, and what became slower: `python -m benchmarks.trend [--rows WORD]`.

For every processor in `benchmarks/results.jsonl` the ratios of each row, of a peer or of the bare compiled
loops by ours (larger is faster): the number of runs, the first, the median of all but the newest, the newest
and its change. Rows whose newest ratio is more than a tenth below that median are named at the end, and the
status is 1. `python -m benchmarks.check --write` adds a run.

--rows : only the rows whose name contains WORD
"""

from __future__ import annotations

import sys

from benchmarks.shared import history
from benchmarks.shared.arguments import parser
from benchmarks.shared.markdown import table

HEADINGS = ("row", "runs", "first", "before", "newest", "change")


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rows", default="", metavar="WORD")
    word = arguments.parse_args().rows
    results = [each for each in history.read(history.RESULTS) if word in each.row]
    slower = []
    for processor in dict.fromkeys(each.processor for each in results):
        found = history.trends(results, processor)
        dates = [each.date for each in results if each.processor == processor]
        print(f"{processor}, {min(dates)} to {max(dates)}\n\n{table(HEADINGS, map(cells, found))}\n")
        slower += [f"SLOWER {each.row}: {each.change:+.0%}, {processor}" for each in found if each.slower]
    print("\n".join(slower) or f"no row became slower by more than {history.SLOWER:.0%}")
    return int(bool(slower))


def cells(each: history.Trend) -> list[str]:
    ratios = (each.ratios[0], each.before, each.ratios[-1])
    return [each.row, f"{len(each.ratios)}", *(f"{ratio:.3g}" for ratio in ratios), f"{each.change:+.0%}"]


if __name__ == "__main__":
    sys.exit(main())
