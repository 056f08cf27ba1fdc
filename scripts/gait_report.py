"""Solve a step, draw and export its gait cycle, judge it, and write docs/gait.md's tables and pictures.

python scripts/gait_report.py            # both step lengths, docs included
python scripts/gait_report.py 0.65       # one step length in metres, into results/ alone
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import trajopt
from problems import gait
from problems.human import plot
from problems.human.credibility import Criterion, credibility
from problems.human.identities import identities
from problems.human.outputs import FIGURES, draw

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "gait.md"
PICTURES = ROOT / "docs" / "figures"
LENGTHS = (0.6, 0.7)  # m; the thesis', and that of the measured trial at the same speed
SOLVER = trajopt.Ipopt(tol=1e-4, options={"mu_strategy": "adaptive"})


def main() -> None:
    if sys.argv[1:]:
        for length in map(float, sys.argv[1:]):
            report(solved(length), folder_of(length))
        return
    walks = {length: solved(length) for length in LENGTHS}
    for length, walk in walks.items():
        report(walk, folder_of(length))
        for name in FIGURES:
            figure = getattr(plot, name)(walk)
            figure.savefig(PICTURES / f"gait_{name}_{centimetres(length)}.png", dpi=130)
    plot.animate(walks[LENGTHS[-1]], PICTURES / f"gait_{centimetres(LENGTHS[-1])}.gif")
    fill("runs", runs(walks))
    fill("criteria", side_by_side({L: credibility(walk) for L, walk in walks.items()}))
    fill("identities", side_by_side({L: identities(walk) for L, walk in walks.items()}))


def solved(length: float) -> trajopt.Solution:
    walk = trajopt.solve(gait.build(step_length=length), SOLVER, progress="auto")
    print(walk)
    return walk


def report(walk: trajopt.Solution, folder: Path) -> None:
    """The solution, its figures, animation, exports and tables in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    walk.save(folder / "solution.npz")
    written = draw(walk, folder, "png")
    print(f"written to {folder}: " + ", ".join(["solution.npz", *written]))
    print((folder / "gait.md").read_text(encoding="utf-8"))


def folder_of(length: float) -> Path:
    return Path("results") / "gait" / f"step_{centimetres(length)}"


def centimetres(length: float) -> str:
    return f"{100.0 * length:.0f}cm"


def runs(walks: dict[float, trajopt.Solution]) -> str:
    """What the solver was asked and what it answered, one column per walk."""
    lines = {"unknowns": [], "constraint rows": [], "iterations": [], "effort": []}
    lines |= {"largest violation at nodes": [], "on a 10 times finer grid": [], "where": [], "KKT error": []}
    for walk in walks.values():
        checked = walk.verify()
        worst = max(checked.violations, key=lambda each: each.dense_violation)
        values = (
            walk.n_variables, walk.n_constraints, walk.iterations, f"{walk.objective:.5f}",
            f"{checked.max_violation_nodes:.1e}", f"{checked.max_violation_dense:.1e}",
            f"{worst.name}, {worst.component}", f"{checked.kkt_error:.1e}",
        )  # fmt: skip
        for line, value in zip(lines.values(), values, strict=True):
            line.append(f"{value}" if walk.converged else f"{value} (not converged)")
    head = " | ".join(f"L = {length:g} m" for length in walks)
    rows = [f"| {name} | " + " | ".join(line) + " |" for name, line in lines.items()]
    return "\n".join([f"| | {head} |", "| --- |" + " --- |" * len(walks), *rows])


def side_by_side(found: dict[float, tuple[Criterion, ...]]) -> str:
    """One line per criterion, one column per walk; values in bold where they are not what is wanted."""
    lengths = " | ".join(f"L = {length:g} m" for length in found)
    lines = [f"| criterion | wanted | {lengths} |", "| --- | --- |" + " --- |" * len(found)]
    for together in zip(*found.values(), strict=True):
        cells = [f"{each.value:.3g}" if each.met else f"**{each.value:.3g}**" for each in together]
        first = together[0]
        lines.append(f"| {first.name} | {first.wanted} {first.unit} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def fill(name: str, text: str) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- end -->` on the page."""
    page = PAGE.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no place for '{name}'")
    PAGE.write_text(pattern.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page), encoding="utf-8")


if __name__ == "__main__":
    main()
