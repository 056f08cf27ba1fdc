"""The facts of a problem that are known without evaluating a term: for its `repr` and its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import list_names, pluralize
from trajopt.base.facts import Facts
from trajopt.display.curves import unknown_curves
from trajopt.problem.systems.system import System

if TYPE_CHECKING:
    from trajopt.problem.problem import ProblemData
    from trajopt.splines.trajectory import Trajectory


def problem_facts(problem: ProblemData) -> Facts:
    """Coordinates, trajectory, costs, constraints and unknowns of a problem, by name."""
    names = problem.dynamics.joint_names
    kind = "state" if isinstance(problem.dynamics, System) else "coordinate"
    count = pluralize(len(names), kind)
    curves = _with_widths({name: problem.extras[name] for name in unknown_curves(problem)})
    return Facts(
        f"Problem '{problem.name}': {count} ({list_names(names)})",
        (
            ("trajectory", f"{problem.trajectory}; {durations(problem.trajectory)}"),
            (
                "minimize",
                list_names(costs(problem)) if problem.costs else "nothing: any feasible motion is an answer",
            ),
            ("subject to", list_names(dict.fromkeys(each.name for each in problem.stated))),
            ("curves", list_names(curves) if curves else ""),
            ("parameters", list_names(own) if (own := own_parameters(problem)) else ""),
            ("designs", list_names(problem.designs) if problem.designs else ""),
            ("loads on", list_names(problem.loads) if problem.loads else ""),
            ("data", list_names(problem.datasets) if problem.datasets else ""),
            ("solver", _recommended(problem)),
        ),
    )


def _recommended(problem: ProblemData) -> str:
    if problem.solver is None:
        return ""
    several = f" from {problem.starts} starts" if problem.starts > 1 else ""
    return f"recommended: {type(problem.solver).__name__}{several}"


def costs(problem: ProblemData) -> list[str]:
    """The costs as a sum would be written: "0.02 effort"."""
    return [cost.name if cost.weight == 1.0 else f"{cost.weight:g} {cost.name}" for cost in problem.costs]


def own_parameters(problem: ProblemData) -> dict[str, Any]:
    """The parameters that the user added, by their names with their widths."""
    return _with_widths(
        {name: parameter for name, parameter in problem.parameters.items() if not parameter.is_slack}
    )


def _with_widths(unknowns: Mapping[str, Any]) -> dict[str, Any]:
    """Unknowns by their names, of several components with their number: "force (3)"."""
    widths = {name: unknown.lower.size for name, unknown in unknowns.items()}
    return {f"{n} ({widths[n]})" if widths[n] > 1 else n: unknown for n, unknown in unknowns.items()}


def durations(trajectory: Trajectory) -> str:
    """The bounds of the arcs' durations, in words."""
    texts = [_duration(*arc.duration_bounds) for arc in trajectory.arcs]
    if len(set(texts)) == 1:
        return texts[0] + (" each" if len(texts) > 1 else "")
    return ", ".join(texts)


def _duration(shortest: float, longest: float) -> str:
    if shortest == longest:
        return f"{shortest:g} s"
    if np.isinf(longest):
        return f"free duration, {shortest:g} s or more"
    return f"free duration, {shortest:g} to {longest:g} s"
