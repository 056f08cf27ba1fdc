"""All statements of a problem on a motion: none is without a line.

Statements are limits and equations over the path, windows and arcs, differences of neighbouring nodes, values
at single times, bounds of additional curves and of parameters, periodicity, continuity between arcs,
durations, bounded integrals, and the integrals of costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.checks.lines.constraint_lines import ConstraintLines
from trajopt.checks.lines.cost_lines import cost_lines
from trajopt.checks.lines.end_lines import continuity_lines, duration_lines, periodicity_lines
from trajopt.checks.lines.integral_lines import integral_lines
from trajopt.checks.lines.statement_line import StatementLine

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


def statement_lines(solution: SolutionData, tol: float, equation_tol: float) -> tuple[StatementLine, ...]:
    """One line per bounded component of every statement.

    tol : tolerance of limits in their unit, but at most a hundredth of their range
    equation_tol : tolerance of equations over an interval of time, relative to their scale; that of equations
        at single times is 1e-6
    """
    with np.errstate(all="ignore"):  # what is not finite has its own line
        return (
            *ConstraintLines(solution, tol, equation_tol).lines(),
            *periodicity_lines(solution),
            *continuity_lines(solution),
            *duration_lines(solution),
            *integral_lines(solution),
            *cost_lines(solution),
        )
