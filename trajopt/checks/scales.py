"""Scales of equations, by component, found on a motion; those of limits are `Constraint.side_scales`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.path_equations import contains_torques, part_sums, scale_of, torque_equations
from trajopt.checks.residual_forces import ResidualForces, residual_forces, static_parts
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.splines.node_sets import MotionSamples


def equation_scales(
    solution: SolutionData,
    equations: Sequence[Constraint],
    here: MotionSamples,
    forces: Sequence[ResidualForces] | None = None,
) -> dict[Constraint, Array]:
    """The scale (width,) of every equation, found at the given times.

    Of a torque equation over a part of the motion, the residual at which a force in its direction alone is as
    large as the largest real one (`residual_forces`); of others the largest sum of parts (`part_sums`), to
    which torque equations at single times add gravity and loads (`static_parts`).

    forces : `residual_forces` at these times, where they are known
    """
    if not equations:
        return {}
    distinct = {c.term.quantity: c.term for c in equations}
    sums, scales = part_sums(solution, list(distinct.values()), here.times), {}
    for constraint in equations:
        there = constraint.over.mask(here) if constraint.holds_over_time else np.zeros(0, bool)
        found = sums[constraint.term.quantity]
        given = constraint.scale
        scales[constraint] = (
            scale_of(found[there] if there.any() else found) if given is None else given.copy()
        )
    at_once = [c for c in equations if not c.holds_over_time and not c.over.is_difference]
    single = [c for c in at_once if contains_torques(solution.problem, c)]
    at_rest = static_parts(solution, single, here) if single else {}
    for (constraint, component), part in at_rest.items():
        scales[constraint][component] += part
    of_forces: dict[tuple[Constraint, int], float] = {}
    if forces is None:
        forces = residual_forces(solution, here) if torque_equations(solution.problem) else ()
    for together in forces:
        for owner, inertia in zip(together.owners, together.inertia, strict=True):
            scale = together.largest * float(inertia)
            of_forces[owner] = min(scale, of_forces.get(owner, np.inf))
    for (constraint, component), scale in of_forces.items():
        if constraint in scales:
            scales[constraint][component] = scale
    return scales


def periodicity_scales(solution: SolutionData, here: MotionSamples) -> dict[str, Array]:
    """The scale (width,) of every periodicity by its quantity: its largest sum of parts at these times."""
    distinct = {p.term.quantity: p.term for p in solution.problem.periodicities}
    sums = part_sums(solution, list(distinct.values()), here.times)
    return {quantity: scale_of(found) for quantity, found in sums.items()}
