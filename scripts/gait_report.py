"""Solves gaits, draws, exports and evaluates their cycles, and writes the tables and figures of docs/gait.md.

python scripts/gait_report.py              # both step lengths and the variants, docs included
python scripts/gait_report.py --figures    # the figures of the page alone
python scripts/gait_report.py 0.65         # one step length in metres, into results/ alone
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from problems import gait, gait_stride
from problems.human import plot
from problems.human.assessment.criteria import Criterion, credibility
from problems.human.assessment.identities import identities
from problems.human.assessment.outputs import FIGURES, draw
from problems.human.assessment.slip import slip
from problems.human.assessment.whole_body import inclination, whole_body
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.step_constraints import STEP_CONSTRAINTS
from trajopt.report.active_constraints import active_count

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "gait.md"
PICTURES = ROOT / "docs" / "figures"
LENGTHS = (0.6, 0.7)  # m; the thesis', and that of the measured trial at the same speed
POINTS = (6, 8, 10)  # control points of each joint's curve, for criteria
PACKS = (0.0, 15.0)  # kg
THESIS = ("330", "1726", "244", "34.10 s", "", "", "tolerance 1e-3", "", "", "", "")
SOURCED = {"cost": "sourced", "intervals": 5, "speed": 1.253, "step_length": 0.717}  # at the measured trial
SOURCED_FIGURES = ("angles", "torques", "reactions", "snapshots")
LIMP = "right ankle 40 % as strong"
STRIDES: dict[str, dict[str, Any]] = {
    "both sides equal": {},
    LIMP: {"ankle_strength": 0.4},
    "right knee stiffer by 40 N m/rad": {"knee_stiffness": 40.0, "without": "knee clearance"},
    "5 kg in the right hand": {"hand_load": 5.0},
}
CHOICES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "without springs": {"springs": False},
    "without *posture*": {"without": "posture"},
    "knee's peak at 0.5 T": {"knee_peak": 0.5},
    "without smoothness": {"smoothness": 0.0},
    "without smoothness, 8 points": {"smoothness": 0.0, "intervals": 5},
    "without smoothness, 8 points, standing": {"smoothness": 0.0, "intervals": 5, "start": "standing"},
    "split by distances": {"split": "ratio"},
    "both feet pushed at one place, without *pressure*": {"split": "one place", "without": "pressure"},
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("lengths", nargs="*", type=float, help="step lengths, m")
    arguments.add_argument("--figures", action="store_true")
    given = arguments.parse_args()
    if given.figures:
        lengths = {length: solved(step_length=length) for length in LENGTHS}
        pack = solved(step_length=0.7, backpack=PACKS[-1])
        pictures(lengths, pack, solved(gait_stride, step_length=0.7, **STRIDES[LIMP]))
        return
    if given.lengths:
        for length in given.lengths:
            report(solved(step_length=length), folder_of(length))
        return
    solutions = {length: solved(step_length=length) for length in LENGTHS}
    for length, solution in solutions.items():
        report(solution, folder_of(length))
    fill("runs", runs(solutions))
    fill("criteria", side_by_side({headed(L): credibility(solution) for L, solution in solutions.items()}))
    fill("identities", side_by_side({headed(L): identities(solution) for L, solution in solutions.items()}))
    fill("constraints", constraints())
    finer = {f"{n} points": solved(step_length=0.7, intervals=n - 3) for n in POINTS[1:]}
    finer = {f"{POINTS[0]} points": solutions[0.7], **finer}
    upright = {f"{n} points, standing": solved(step_length=0.7, intervals=n - 3, start="standing")
               for n in POINTS[:2]}  # fmt: skip
    every = finer | upright
    rows = {name: (*sizes(solution), *credibility(solution)) for name, solution in every.items()}
    fill("finer", side_by_side(rows))
    chosen = {name: solved(step_length=0.7, **changes) for name, changes in CHOICES.items()}
    fill("ablations", shortfalls(chosen))
    packed = {f"{pack:g} kg": solved(step_length=0.7, backpack=pack) for pack in PACKS}
    fill("backpack", columns({name: carried(solution) for name, solution in packed.items()}))
    strides = {name: solved(gait_stride, step_length=0.7, **changes) for name, changes in STRIDES.items()}
    fill("strides", columns({name: both_sides(solution) for name, solution in strides.items()}))
    pictures(solutions, packed[f"{PACKS[-1]:g} kg"], strides[LIMP])


def pictures(lengths: dict[float, trajopt.Solution], pack: trajopt.Solution, limp: trajopt.Solution) -> None:
    """The figures of the page: both step lengths, the cost with sources, a pack, a limp."""
    for length, solution in lengths.items():
        for name in FIGURES:
            save_figure(solution, name, f"gait_{name}_{centimetres(length)}")
    plot.animate(lengths[LENGTHS[-1]], PICTURES / f"gait_{centimetres(LENGTHS[-1])}.gif")
    sourced = solved(**SOURCED)
    for name in SOURCED_FIGURES:
        save_figure(sourced, name, f"gait_{name}_sourced")
    for whose, name, solution in (
        ("pack", "snapshots", pack), ("limp", "snapshots", limp), ("limp", "reactions", limp)
    ):  # fmt: skip
        save_figure(solution, name, f"gait_{whose}_{name}")


def save_figure(solution: trajopt.Solution, name: str, file: str) -> None:
    getattr(plot, name)(solution).savefig(PICTURES / f"{file}.png", dpi=130)


def solved(problem: Any = gait, **parameters: Any) -> trajopt.Solution:
    """A gait of the thesis's cost unless another is given, by the solver that its problem recommends."""
    solution = trajopt.solve(problem.build(**{"cost": "thesis"} | parameters), progress="auto")
    print(solution)
    return solution


def iterations_of(solution: trajopt.Solution) -> str:
    return f"{solution.iterations}" if solution.converged else f"{solution.iterations} (not converged)"


def largest_slip(solution: trajopt.Solution) -> float:
    """In mm, of all standing points."""
    return 1e3 * max(slip(solution).values())


def headed(length: float) -> str:
    return f"L = {length:g} m"


def report(solution: trajopt.Solution, folder: Path) -> None:
    """The solution, its figures, animation, exports and tables in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    solution.save(folder / "solution.npz")
    written = draw(solution, folder, "png")
    print(f"written to {folder}: " + ", ".join(["solution.npz", *written]))
    print((folder / "gait.md").read_text(encoding="utf-8"))


def folder_of(length: float) -> Path:
    return Path("results") / "gait" / f"step_{centimetres(length)}"


def centimetres(length: float) -> str:
    return f"{100.0 * length:.0f}cm"


def runs(solutions: dict[float, trajopt.Solution]) -> str:
    """Sizes, times and violations of the solves, one column per gait, beside the thesis' numbers."""
    found: dict[str, dict[str, str]] = {}
    for length, solution in solutions.items():
        checked = solution.verify()
        worst = max(checked.violations, key=lambda each: each.dense_violation)
        found[headed(length)] = {
            "unknowns": f"{solution.n_variables}",
            "constraint rows": f"{solution.n_constraints}",
            "active ones": f"{active_count(solution)}",
            "seconds": f"{solution.seconds:.2f} s",
            "iterations": iterations_of(solution),
            "effort": f"{solution.cost_terms['dynamic effort']:.5f}",
            "largest violation at nodes": f"{checked.max_violation_nodes:.1e}",
            "on a 10 times finer grid": f"{checked.max_violation_dense:.1e}",
            "where": f"{worst.name}, {worst.component}",
            "largest slip of a standing point": f"{largest_slip(solution):.1f} mm",
            "KKT error": f"{checked.kkt_error:.1e}",
        }
    lines = next(iter(found.values()))
    found["thesis"] = dict(zip(lines, THESIS, strict=True))
    return columns(found)


def constraints() -> str:
    """Every step constraint by the name that switches it off, with the first sentence of its docstring."""
    lines = ["| constraint | what it says |", "| --- | --- |"]
    for name, state in STEP_CONSTRAINTS.items():
        said = (state.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        lines.append(f"| {name} | {said.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def sizes(solution: trajopt.Solution) -> tuple[Criterion, ...]:
    """Effort, iterations, violation and slip between nodes."""
    violation = solution.verify().max_violation_dense
    return (
        Criterion("effort", solution.cost_terms["dynamic effort"], -np.inf, np.inf),
        Criterion("iterations", solution.iterations, -np.inf, np.inf),
        Criterion("largest violation between nodes", violation, -np.inf, 0.1, "N m, m, rad"),
        Criterion("largest slip of a standing point", largest_slip(solution), -np.inf, 15.0, "mm"),
    )


def shortfalls(solutions: dict[str, trajopt.Solution]) -> str:
    """Effort, iterations and the criteria that are not met, one line per gait."""
    lines = ["| | effort | iterations | not met |", "| --- | --- | --- | --- |"]
    for name, solution in solutions.items():
        short = [f"{each.name} {each.value:.3g}" for each in credibility(solution) if not each.met]
        effort = f"{solution.cost_terms['dynamic effort']:.4f}"
        lines.append(f"| {name} | {effort} | {solution.iterations} | {'; '.join(short) or 'nothing'} |")
    return "\n".join(lines)


def carried(solution: trajopt.Solution) -> dict[str, str]:
    """What a pack changes; forces in weights of the body alone."""
    body = whole_body(gait_cycle(solution))
    peak, lean = body.cycle.reaction("r")[:, 4].max(), inclination(body, "pelvis", "neck").mean()
    found = {
        "effort": f"{solution.cost_terms['dynamic effort']:.4f}",
        "mean total reaction (BW)": f"{body.cycle.person.total_mass / body.cycle.mass:.3f}",
        "peak vertical reaction of a foot (BW)": f"{peak / body.cycle.weight:.3f}",
        "mean lean of the trunk (deg)": f"{lean:.1f}",
    }
    for name, joint in (("hip", "hip_r_flex"), ("knee", "knee_r_flex"), ("ankle", "ankle_r_dorsi")):
        found[f"peak {name} force (BW)"] = f"{body.force(joint).max():.3f}"
    for joint in ("spine1_flex", "spine4_flex"):
        found[f"largest torque of {joint} (N m)"] = f"{np.abs(body.torque(joint)).max():.1f}"
    return found


def both_sides(solution: trajopt.Solution) -> dict[str, str]:
    """Right and left leg of a stride."""
    body = whole_body(gait_cycle(solution))
    found = {"effort": f"{solution.cost_terms['dynamic effort']:.4f}"}
    found["iterations"] = iterations_of(solution)

    def pair(name: str, of: Any) -> None:
        found[f"{name}, right / left"] = " / ".join(f"{of(side):.2f}" for side in "rl")

    load, cycle = body.cycle.reaction, body.cycle
    pair("peak vertical reaction (BW)", lambda side: load(side)[:, 4].max() / cycle.weight)
    pair("propulsive impulse (% BW s)", lambda side: impulse(load(side)[:, 3], cycle) * 100.0)
    pair("largest plantarflexor torque (N m/kg)",
         lambda side: -body.torque(f"ankle_{side}_dorsi").min() / cycle.mass)  # fmt: skip
    pair("largest hip abductor torque (N m/kg)",
         lambda side: -body.torque(f"hip_{side}_add").min() / cycle.mass)  # fmt: skip
    pair("knee, largest flexion (deg)", lambda side: cycle.angle(f"knee_{side}_flex").max())
    return found


def impulse(force: np.ndarray, cycle: Any) -> float:
    """Of the forward part of a force, in body weights times seconds."""
    return float(np.maximum(force, 0.0).mean() * cycle.duration / cycle.weight)


def columns(found: dict[str, dict[str, str]]) -> str:
    """A Markdown table with one column per gait."""
    lines = ["| | " + " | ".join(found) + " |", "| --- |" + " --- |" * len(found)]
    for name in next(iter(found.values())):
        lines.append(f"| {name} | " + " | ".join(each[name] for each in found.values()) + " |")
    return "\n".join(lines)


def side_by_side(found: dict[str, tuple[Criterion, ...]]) -> str:
    """One line per criterion, one column per gait; values in bold where the criterion is not met."""
    lines = ["| criterion | wanted | " + " | ".join(found) + " |", "| --- | --- |" + " --- |" * len(found)]
    for together in zip(*found.values(), strict=True):
        cells = [f"{each.value:.3g}" if each.met else f"**{each.value:.3g}**" for each in together]
        first = together[0]
        bounded = np.isfinite([first.lower, first.upper]).any()
        wanted = f"{first.wanted} {first.unit}" if bounded else first.unit
        lines.append(f"| {first.name} | {wanted} | " + " | ".join(cells) + " |")
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
