"""`python -m benchmarks.papers`: measure, and write docs/papers.md and its figures.

The smallest size has no run times and no figures, and one random state for each error of the first table.
"""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.papers import maba_tables, safeea_tables
from benchmarks.papers.agreement_table import agreement_section
from benchmarks.papers.barman_table import barman_section
from benchmarks.papers.coriolis_tables import error_section, symbolic_section, time_section
from benchmarks.papers.figures import figure_section
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.timing import machine

HEADING = """# The source papers, reproduced or refuted

The numbers that the papers publish about their algorithms, ours beside them, and a reason where they
differ. Written by `python -m benchmarks.papers`, which measured everything below in {seconds:.0f} s on
{machine}. The algorithms are in `dynamics/papers/`, in plain NumPy; "production" is the version in use.
Times are the fastest of five batches on a machine shared with others; errors are those of seeded inputs.

**Not reproduced:**
Table 4.1 of the thesis with rotors present: Algorithm 6 as printed misses the torques by newton metres.
The MABA rows of tables 4.3, 4.4 and 4.5: neither the corrected algorithm nor the printed one gives them.
The MCRBA row of table 4.5 under its own definition: to every digit it is the one with C v left out.
Safeea's operation count: ours, counted exactly, is lower in the leading terms.
The symbolic run times, among them 26.8 minutes and 8 days: they belong to tools that expand expressions.
All other run times belong to other machines, and rounding errors agree in their order, as they should.
"""


def main() -> None:
    """Run every section in the order of the papers and write the page."""
    smallest, started = parser(__doc__).parse_args().smallest, time.perf_counter()
    with pages(smallest) as docs:
        parts = [agreement_section(), error_section(1)] if smallest else everything(docs / "figures")
        heading = HEADING.format(seconds=time.perf_counter() - started, machine=machine())
        text = "\n\n".join([heading.strip(), *parts]) + "\n"
        (docs / "papers.md").write_text(text, encoding="utf-8")
    print(text)


def everything(figures: Path) -> list[str]:
    """All sections; figures go to their folder."""
    return [
        agreement_section(),
        error_section(),
        time_section(),
        figure_section(figures),
        symbolic_section(),
        *maba_tables.sections(),
        *safeea_tables.sections(),
        barman_section(),
    ]


if __name__ == "__main__":
    main()
