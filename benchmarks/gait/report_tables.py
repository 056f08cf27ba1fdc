"""The tables of docs/gait.md by their names: sizes, criteria, identities, packs, strides, slopes, choices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import trajopt
from benchmarks.gait.costs import COSTS
from benchmarks.gait.report_walks import (
    LIMP,
    LONG,
    PACKS,
    STRIDES,
    WALKS,
    headed,
    predicted_limp,
    solved,
    timed,
    walks,
)
from benchmarks.gait.runs import active_count
from problems import gait_stride
from problems.human.assessment.criteria import Criterion, credibility
from problems.human.assessment.identities import identities
from problems.human.assessment.slip import slip
from problems.human.assessment.whole_body import inclination, step_lengths, whole_body
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.step_constraints import STEP_CONSTRAINTS

POINTS = (6, 8, 10)  # control points of each joint's curve, for criteria
BARMAN = ("330", "1726", "244", "", "34.10", "", "", "", "tolerance 1e-3", "", "", "", "", "")
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


def runs(cost: str) -> str:
    """Sizes, times and violations of the solves, one column per gait, Barman's beside his cost."""
    found = {headed(**where): run(*timed(cost=cost, **where)) for where in WALKS[cost]}
    if cost == "thesis":
        lines = next(iter(found.values()))
        found["thesis"] = dict(zip(lines, BARMAN, strict=True))
    return columns(found)


def run(solution: trajopt.Solution, seconds: float) -> dict[str, str]:
    """One solve, its limit nodes included."""
    checked = solution.verify()
    worst = max(checked.violations, key=lambda each: each.dense_violation)
    return {
        "unknowns": f"{solution.n_variables}",
        "constraint rows": f"{solution.n_constraints}",
        "active ones": f"{active_count(solution)}",
        "limit nodes": f"{sum(map(len, solution.limit_points))}",
        "CPU seconds": f"{seconds:.1f}",
        "iterations": iterations_of(solution),
        "objective": f"{solution.objective:.4f}",
        "effort": f"{solution.cost_terms['dynamic effort']:.4f}",
        "largest violation at nodes": f"{checked.max_violation_nodes:.1e}",
        "between nodes": f"{checked.max_violation_dense:.1e} {worst.unit}".rstrip(),
        "where": ", ".join(filter(None, (worst.name, worst.component))),
        "largest slip of a standing point": f"{largest_slip(solution):.1f} mm",
        "KKT error": f"{checked.kkt_error:.1e}",
        "joints on a limit for more than 5 % of the motion": on_limits(solution),
    }


def on_limits(solution: trajopt.Solution) -> str:
    """Joints within a thousandth of their range of a limit, and for how much of the motion."""
    q, limits = solution.q(np.linspace(0.0, solution.duration, 1001)), solution.limits
    near = 1e-3 * (limits.q_upper - limits.q_lower)
    parts = np.mean((q <= limits.q_lower + near) | (q >= limits.q_upper - near), axis=0)
    named = zip(solution.joint_names, parts, strict=True)
    return ", ".join(f"{name} {100 * part:.0f} %" for name, part in named if part > 0.05) or "none"


def iterations_of(solution: trajopt.Solution) -> str:
    """Number of iterations of all solves, those with limit nodes included."""
    count = sum(len(each.iterations) - 1 for each in solution.journal.histories)
    return f"{count}" if solution.converged else f"{count} (not converged)"


def largest_slip(solution: trajopt.Solution) -> float:
    """The largest slip of all standing points, mm."""
    return 1e3 * max(slip(solution).values())


def of_walks(cost: str, criteria: Callable[[trajopt.Solution], tuple[Criterion, ...]]) -> str:
    """Criteria or identities of the walks of a cost, side by side."""
    return side_by_side({name: criteria(solution) for name, solution in walks(cost).items()})


def finer() -> str:
    """The thesis's walk with more control points, and from standing."""
    made = {f"{n} points": {"intervals": n - 3} for n in POINTS}
    made |= {f"{n} points, standing": {"intervals": n - 3, "start": "standing"} for n in POINTS[:2]}
    found = {name: solved(cost="thesis", **LONG, **changes) for name, changes in made.items()}
    return side_by_side({name: (*sizes(each), *credibility(each)) for name, each in found.items()})


def ablations() -> str:
    """The thesis's walk without each of the choices that are our own."""
    return shortfalls({name: solved(cost="thesis", **LONG, **each) for name, each in CHOICES.items()})


def backpacks() -> str:
    """The thesis's walk with and without a pack."""
    packed = {f"{pack:g} kg": solved(cost="thesis", **LONG, backpack=pack) for pack in PACKS}
    return columns({name: carried(solution) for name, solution in packed.items()})


def strides() -> str:
    """The thesis's strides of a body whose sides are equal, and of some whose sides differ."""
    found = {name: solved(gait_stride, cost="thesis", **LONG, **changes) for name, changes in STRIDES.items()}
    return columns({name: both_sides(solution) for name, solution in found.items()})


def predicted_stride() -> str:
    """Both legs of a limp with predicted contact, whose step lengths and times are free."""
    limp = predicted_limp()
    return columns({LIMP: both_sides(limp) | unequal_steps(limp)})


def constraints() -> str:
    """Every step constraint by the name that switches it off, with the first sentence of its docstring."""
    lines = ["| constraint | requires |", "| --- | --- |"]
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
    """Changes by a pack; forces in weights of the body alone."""
    body = whole_body(gait_cycle(solution))
    peak, lean = body.cycle.reaction("r")[:, 4].max(), inclination(body, "pelvis", "neck").mean()
    found = {
        "objective": f"{solution.objective:.4f}",
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
    found = {
        "objective": f"{solution.objective:.4f}",
        "effort": f"{solution.cost_terms['dynamic effort']:.4f}",
    }
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


def unequal_steps(solution: trajopt.Solution) -> dict[str, str]:
    """Differences between the steps and stances of both legs, and the verdict on the stride."""
    cycle = gait_cycle(solution)
    right, left = step_lengths(cycle)
    times = 100.0 - cycle.other_strike, cycle.other_strike
    stances = (each.stance_end for each in (cycle, cycle.of_left_leg))
    missed = [each.name for each in credibility(solution) if not each.met]
    return {
        "step length (m), right / left": f"{right:.3f} / {left:.3f}",
        "step time (% of the stride), right / left": " / ".join(f"{each:.1f}" for each in times),
        "stance (% of the stride), right / left": " / ".join(f"{each:.1f}" for each in stances),
        "criteria not met": "; ".join(missed) or "none",
        "`verify`": solution.verify().verdict,
    }


def impulse(force: np.ndarray, cycle: Any) -> float:
    """Impulse of the forward part of a force, in body weights times seconds."""
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


BOTH: dict[str, Callable[[str], str]] = {"runs": runs, "criteria": lambda cost: of_walks(cost, credibility)}
TABLES: dict[str, dict[str, Callable[[], str]]] = {
    cost: {name: partial(written, cost) for name, written in BOTH.items()} for cost in COSTS
}
TABLES["sourced"]["predicted stride"] = predicted_stride
TABLES["thesis"] |= {
    "identities": partial(of_walks, "thesis", identities), "backpack": backpacks, "strides": strides,
    "finer": finer, "ablations": ablations, "constraints": constraints,
}  # fmt: skip
