"""Solves gaits, draws, exports and evaluates their cycles, and writes the tables and figures of docs/gait.md.

python -m benchmarks.gait.report                       # every table and figure of the default cost
python -m benchmarks.gait.report --cost thesis         # those of the thesis's cost
python -m benchmarks.gait.report runs slopes           # these tables alone
python -m benchmarks.gait.report figures               # the figures alone
python -m benchmarks.gait.report --step-length 0.65    # one walk, into results/ alone

The smallest size writes the identities of one walk.
"""

from __future__ import annotations

from pathlib import Path

import trajopt
from benchmarks.gait.costs import COSTS
from benchmarks.gait.report_tables import TABLES, side_by_side
from benchmarks.gait.report_walks import LIMP, LONG, PACKS, STRIDES, TRIAL, predicted_limp, solved
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.page_rows import put_between_marks
from problems import gait_stride
from problems.human import plot
from problems.human.assessment.identities import identities
from problems.human.assessment.outputs import FIGURES, draw

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gait.md"
PICTURES = ROOT / "docs" / "figures"


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
            table = side_by_side({"one walk": identities(solved(cost=given.cost, step_length=0.6))})
            put_between_marks(docs / "gait.md", place_of("identities", given.cost), table)
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
            put_between_marks(PAGE, place_of(name, given.cost), TABLES[given.cost][name]())


def place_of(table: str, cost: str) -> str:
    """The name of the marks around a table."""
    return table if cost == COSTS[0] else f"{cost} {table}"


def pictures(cost: str) -> None:
    """The figures of one cost; with sources the default, the trial's, predicted contact, a pack, a limp."""
    if cost == "thesis":
        for name in FIGURES:
            save_figure(solved(cost=cost, **LONG), name, f"gait_{name}_thesis")
        return
    for name in FIGURES:
        save_figure(solved(step_length=0.6), name, f"gait_{name}_60cm")
        save_figure(solved(**TRIAL), name, f"gait_{name}_trial")
    for name in ("snapshots", "torques", "reactions"):
        save_figure(solved(**TRIAL), name, f"gait_{name}_predicted")
    plot.animate(solved(**TRIAL), PICTURES / "gait_trial.gif")
    limp, predicted = solved(gait_stride, contact="imposed", **LONG, **STRIDES[LIMP]), predicted_limp()
    for whose, name, solution in (
        ("pack", "snapshots", solved(**LONG, backpack=PACKS[-1])),
        ("limp", "snapshots", limp), ("limp", "reactions", limp),
        ("limp_predicted", "snapshots", predicted), ("limp_predicted", "reactions", predicted),
    ):  # fmt: skip
        save_figure(solution, name, f"gait_{whose}_{name}")


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
