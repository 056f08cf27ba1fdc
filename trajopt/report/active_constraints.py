"""Active constraints of a solution, found by their multipliers, with the names of their components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array, finite_size
from trajopt.checks.limit_labels import LimitLabels
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import FEASIBILITY
from trajopt.transcription.transcribe import transcribe

#: Of the largest multiplier of a constraint: smaller ones count as zero. Of the objective: a constraint that
#: changes it by less, where it is relaxed by the size of its limit, does not matter. Solves err by as much.
NEGLIGIBLE = FEASIBILITY


@dataclass(frozen=True)
class ActiveConstraint:
    """One component of a constraint that is active, by its multipliers.

    share : of the nodes, those with a multiplier
    largest : the largest multiplier, objective per unit of the component
    equation : whether the constraint is an equation, active at all nodes
    """

    name: str
    component: str
    share: float
    largest: float
    equation: bool = False


def active_constraints(solution: Solution) -> tuple[ActiveConstraint, ...]:
    """The components of constraints with multipliers that matter, limits before equations, largest first."""
    found = []
    problem = solution.problem
    stated = {each.name: each for each in (*problem.constraints, *problem.integrals)}
    for name, multipliers, labels in notable_multipliers(solution):
        size = np.abs(multipliers).max()
        equation = name not in stated or bool(np.any(stated[name].lower == stated[name].upper))
        for label, column in zip(labels, np.abs(multipliers).T, strict=True):
            if column.max() > NEGLIGIBLE * size:
                share = float(np.mean(column > NEGLIGIBLE * size))
                found.append(ActiveConstraint(name, label, share, float(column.max()), equation))
    found += _linear_limits(solution)
    return tuple(sorted(found, key=lambda active: (active.equation, -active.largest)))


def _linear_limits(solution: Solution) -> list[ActiveConstraint]:
    """Limits that are bounds of unknowns or linear rows: positions and velocities for all t, durations.

    Their share is that of control points.
    """
    point = solution.point
    if point is None or solution.certificate is not None:
        return []
    own, lower, upper = point.row_multipliers, point.lower_multipliers, point.upper_multipliers
    nlp = transcribe(solution.problem)
    if own is None or lower is None or upper is None or own.size != nlp.row_count:
        return []
    labels = LimitLabels(solution.problem, nlp, point.y)
    rows = np.where(np.arange(nlp.row_count) < nlp.linear.count, own, 0.0)
    scaled = np.abs(np.concatenate([rows, upper - lower]))
    sizes = scaled / (labels.units * nlp.objective_scale)
    linear = [*range(nlp.linear.count), *range(nlp.row_count, sizes.size)]
    found = []
    for (name, component), indices in labels.grouped(linear).items():
        largest = float(sizes[indices].max())
        whole = float(labels.units[indices].max() / labels.parts[indices].max())  # the limit's own size
        if largest * max(whole, 1.0) > NEGLIGIBLE * abs(solution.objective):
            share = float(np.mean(sizes[indices] > NEGLIGIBLE * largest))
            found.append(ActiveConstraint(name, component, share, largest))
    return found


def notable_multipliers(solution: Solution) -> Iterator[tuple[str, Array, list[str]]]:
    """Name, multipliers (rows, width) and components of every constraint whose relaxation pays.

    Relaxed by the size of its limit it changes the objective by more than NEGLIGIBLE. Slacks, which are no
    constraints of the user, are left out.
    """
    problem = solution.problem
    for name, multipliers in solution.multipliers.items():
        stated = [each for each in (*problem.constraints, *problem.integrals) if each.name == name]
        bounds = [bound for each in stated for side in (each.lower, each.upper) for bound in side]
        size = max(1.0, finite_size(bounds))
        least = NEGLIGIBLE * abs(solution.objective)
        if name not in problem.slacks and np.abs(multipliers).max(initial=0.0) * size > least:
            quantity = next((each.term.quantity for each in problem.stated if each.name == name), "v")
            yield name, multipliers, problem.component_names(quantity, multipliers.shape[1])


def times_of_rows(solution: Solution, constraint: str, count: int) -> Array | None:
    """The times of the rows of a constraint; None where they are not one per node it holds at."""
    times = solution.node_times
    if count == times.size:
        return times
    over = [each.over for each in solution.problem.constraints if each.name == constraint]
    trajectory = solution.problem.trajectory
    if trajectory.nodes.count == times.size and len(over) == 1 and not over[0].is_difference:
        nodes = over[0].nodes(trajectory)
        if nodes.size == count:
            return times[nodes]
    inside = ~np.isin(times, solution.curve.starts)  # the Gauss points of certified arcs
    return times[inside] if inside.sum() == count else None
