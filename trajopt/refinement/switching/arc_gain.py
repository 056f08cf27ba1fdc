"""What a solution on switching arcs gains by violations between Gauss points, and what its margins cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.problem.problem import Problem
from trajopt.refinement.switching.arc_problem import AT_BORDER, BETWEEN, ArcRows
from trajopt.solution.first_order_gain import FirstOrderGain, impulses_by_component
from trajopt.solution.switching_structure import ArcSettings, Structure
from trajopt.solution.violation import LimitViolation

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def arc_gain(
    trial: Solution,
    problem: Problem,
    structure: Structure,
    violations: Sequence[LimitViolation],
    settings: ArcSettings,
) -> FirstOrderGain:
    """From the multipliers of all rows that bound a limit, those of equalities at an arc's start included.

    trial : the solution on arcs with the multipliers of its own rows, before `read_back`
    """
    limits, every = problem.path_limits(), iter(violations)
    impulses, oversteps, margins = [], [], []
    for index, limit in enumerate(limits):
        width = limit.lower.size
        names = [f"{limit.name} {BETWEEN}", f"{limit.name} {AT_BORDER}"]
        for arc in range(structure.arc_count):
            names += [ArcRows(index, arc).name, ArcRows(index, arc, "held at the start").name]
        impulses.append(impulses_by_component(trial.multipliers, names, width))
        oversteps.append(np.array([next(every).value for _ in range(width)]))
        margins.append(np.sum(settings.margins_of(index, limit), axis=0))
    return FirstOrderGain.of(impulses, oversteps, margins, trial.objective)
