"""The status of a solution: the solver's, or what problem and motion add to it, and what to change then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.problem.problem import ProblemData
from trajopt.problem.systems.system import System
from trajopt.solvers.solver import Result, Status
from trajopt.splines.trajectory import SHORTEST_DURATION

if TYPE_CHECKING:
    from trajopt.transcription.nlp import NLP

#: How a solve may end whose duration is looked at: all but time limits, interrupts and failures.
DURATION_LOOKED_AT = (
    Status.CONVERGED,
    Status.ACCEPTABLE,
    Status.STEP_TOO_SMALL,
    Status.ITERATION_LIMIT,
    Status.RESTORATION_FAILED,
)
GROWTH = 100.0  # of the duration, beyond which a cost that fell to rounding has no minimum
ROUNDING = 1e-13  # scaled costs below, which were about one at the guess, are zero
AT_BOUND = 1.001  # times the shortest duration: a motion as short as that is stopped by this bound alone


def outcome(problem: ProblemData, nlp: NLP, result: Result) -> tuple[Status, str]:
    """The status of a solution and its detail: the solver's, or what the problem adds to it."""
    if result.status is Status.NOT_ENOUGH_FREEDOM:
        return result.status, too_little_freedom(problem, nlp)
    if result.status not in DURATION_LOOKED_AT:
        return result.status, result.detail
    shortest = [arc.duration_bounds[0] for arc in problem.trajectory.arcs]
    duration = nlp.unknowns.curve(result.y).duration
    if max(shortest) == SHORTEST_DURATION and duration <= AT_BOUND * sum(shortest):
        what = "controls and rates" if isinstance(problem.dynamics, System) else "torques or velocities"
        whose = "" if isinstance(problem.dynamics, System) else " of all joints"
        return Status.UNBOUNDED, f"limit {what}{whose}, or give the trajectory a shortest duration"
    if result.status is not Status.CONVERGED:
        return result.status, result.detail
    before = nlp.unknowns.curve(nlp.start).duration
    if duration > GROWTH * before and _fell_to_rounding(problem, nlp, result):
        return Status.NO_BEST_DURATION, (
            f"it grew from {before:.3g} to {duration:.3g} s: give the trajectory a duration, or minimize "
            "trajopt.duration, too"
        )
    return (result.status if problem.costs else Status.FEASIBLE_POINT), result.detail


def _fell_to_rounding(problem: ProblemData, nlp: NLP, result: Result) -> bool:
    """Whether the objective fell to rounding while no upper limit holds the duration: slower is cheaper.

    `verify` looks at durations where more than rounding is left.
    """
    free = any(np.isinf(arc.duration_bounds[1]) for arc in problem.trajectory.arcs)
    return free and bool(problem.costs) and abs(nlp.objective(result.y)) <= ROUNDING


def too_little_freedom(problem: ProblemData, nlp: NLP) -> str:
    """Which equations need how many nodes, the mesh, and one that has coefficients for them."""
    equations = {
        group.name: int(np.sum(group.is_equation)) for group in nlp.groups if np.any(group.is_equation)
    }
    most = max(equations, key=lambda name: equations[name], default="")
    where = f", {equations[most]} of them '{most}' at the nodes" if most else ""
    count = int(np.sum(nlp.row_lower == nlp.row_upper))
    return (
        f"{count} equations{where}, for {nlp.variable_count} unknowns on "
        f"{problem.trajectory}. An equation of motion over the path needs as many coefficients as it has "
        f"nodes: {_better_mesh(problem)}, or drop what is asked twice"
    )


def _better_mesh(problem: ProblemData) -> str:
    if problem.trajectory.scheme is None:
        return "take Trajectory.collocation(intervals, order=3)"
    freedom = ", ".join(
        f"control '{name}' {each.pieces}" for name, each in problem.extras.items() if each.pieces
    )
    return f"beside the boundary values only controls are free ({freedom or 'there are none'}); add one"
