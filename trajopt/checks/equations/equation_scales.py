"""What the residuals of equations are compared with, component by component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_times import Samples
from trajopt.checks.equations.path_equations import holds_over_time, part_sums, scale_of
from trajopt.checks.equations.residual_forces import residual_forces, static_parts
from trajopt.checks.equations.torque_equations import contains_torques
from trajopt.problem.costs_and_constraints import Constraint

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


def equation_scales(
    solution: SolutionData, equations: Sequence[Constraint], here: Samples
) -> dict[Constraint, Array]:
    """The scale (width,) of every equation, found at the given times.

    Of a torque equation over a part of the motion, the residual at which a force in its direction alone is as
    large as the largest real one (`residual_forces`); of others the largest sum of parts (`part_sums`), to
    which torque equations at single times add gravity and loads (`static_parts`).
    """
    distinct = {c.term.quantity: c.term for c in equations}
    sums, scales = part_sums(solution, list(distinct.values()), here.times), {}
    for constraint in equations:
        there = constraint.over.mask(here) if holds_over_time(constraint) else np.zeros(0, bool)
        found = sums[constraint.term.quantity]
        scales[constraint] = scale_of(found[there] if there.any() else found)
    at_once = [c for c in equations if not holds_over_time(c) and not c.over.is_difference]
    single = [c for c in at_once if contains_torques(solution.problem, c)]
    for (constraint, component), part in static_parts(solution, single, here).items():
        scales[constraint][component] += part
    of_forces: dict[tuple[Constraint, int], float] = {}
    for together in residual_forces(solution, here):
        for owner, inertia in zip(together.owners, together.inertia, strict=True):
            scale = together.largest * float(inertia)
            of_forces[owner] = min(scale, of_forces.get(owner, np.inf))
    for (constraint, component), scale in of_forces.items():
        if constraint in scales:
            scales[constraint][component] = scale
    return scales


def periodicity_scales(solution: SolutionData, here: Samples) -> dict[str, Array]:
    """The scale (width,) of every periodicity by its quantity: its largest sum of parts at these times."""
    distinct = {p.term.quantity: p.term for p in solution.problem.periodicities}
    sums = part_sums(solution, list(distinct.values()), here.times)
    return {quantity: scale_of(found) for quantity, found in sums.items()}
