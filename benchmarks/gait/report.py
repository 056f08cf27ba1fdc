"""Solves gaits, draws, exports and evaluates their cycles, and writes tables and figures of both their pages.

python -m benchmarks.gait.report                       # every table and figure of docs/gait.md
python -m benchmarks.gait.report --cost thesis         # those of the thesis's cost, docs/gait_thesis.md
python -m benchmarks.gait.report runs criteria         # these tables alone
python -m benchmarks.gait.report figures               # the figures alone
python -m benchmarks.gait.report --step-length 0.65    # one walk, into results/ alone

The smallest size writes the criteria of one walk.
"""

from __future__ import annotations

from pathlib import Path

import trajopt
from benchmarks.gait.costs import COSTS
from benchmarks.gait.report_tables import TABLES, side_by_side
from benchmarks.gait.report_walks import LONG, TRIAL, predicted_limp, solved
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.page_rows import put_between_marks
from problems.human import plot
from problems.human.assessment.criteria import credibility
from problems.human.assessment.outputs import FIGURES, draw

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"sourced": "gait.md", "thesis": "gait_thesis.md"}
DOCS = ROOT / "docs"
PICTURES = DOCS / "figures"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("tables", nargs="*", metavar="table")
    arguments.add_argument("--cost", choices=COSTS, default=COSTS[0])
    arguments.add_argument("--step-length", type=float, help="m, one walk, into results/ alone")
    given = arguments.parse_args()
    if given.step_length:
        report(solved(cost=given.cost, step_length=given.step_length), folder_of(given.step_length))
        return
    if given.smallest:
        with pages(smallest=True) as docs:
            table = side_by_side({"one walk": credibility(solved(cost=given.cost, step_length=0.6))})
            put_between_marks(docs / PAGES[given.cost], "criteria", table)
        print(table)
        return
    known = [*TABLES[given.cost], "figures"]
    unknown = [name for name in given.tables if name not in known]
    if unknown:
        arguments.error(f"no table is called {', '.join(unknown)}: there are {', '.join(known)}")
    for name in given.tables or known:
        if name == "figures":
            pictures(given.cost)
        else:
            put_between_marks(DOCS / PAGES[given.cost], name, TABLES[given.cost][name]())


def pictures(cost: str) -> None:
    """The figures of the page of a cost: a walk and its animation, and with sources a limp."""
    walk, ending = (solved(cost=cost, **LONG), "thesis") if cost == "thesis" else (solved(**TRIAL), "trial")
    for name in FIGURES:
        save_figure(walk, name, f"gait_{name}_{ending}")
    if cost == "thesis":
        return
    plot.animate(walk, PICTURES / "gait_trial.gif")
    for name in ("snapshots", "reactions"):
        save_figure(predicted_limp(), name, f"gait_limp_predicted_{name}")


def save_figure(solution: trajopt.Solution, name: str, file: str) -> None:
    getattr(plot, name)(solution).savefig(PICTURES / f"{file}.png", dpi=130)


def report(solution: trajopt.Solution, folder: Path) -> None:
    """The solution, its figures, animation, exports and tables in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    solution.save(folder / "solution.npz")
    written = draw(solution, folder, "png")
    print(f"written to {folder}: " + ", ".join(["solution.npz", *written]))
    print((folder / "gait.md").read_text(encoding="utf-8"))


def folder_of(length: float) -> Path:
    return Path("results") / "gait" / f"step_{100.0 * length:.0f}cm"


if __name__ == "__main__":
    main()
