"""Damping of Newton's steps: a multiple of the identity, changed by how well a step keeps its promise.

As Levenberg and Marquardt do: Nocedal and Wright, Numerical Optimization (2006), section 10.3.
"""

from __future__ import annotations

from trajopt.solvers.solver_constants import (
    FEASIBILITY,
    FLAT,
    GROWTH,
    LITTLE_GROWTH,
    REGULARIZATION,
    ROUNDING,
)

# Of the decrease that was promised, and of the way through a quadratic program: poor steps are not taken,
# after fair ones the next is as long, after good ones longer.
POOR, FAIR, GOOD = 0.1, 0.3, 0.75


class Damping:
    """The amount of damping, relative to the entries that it is added to; none is `ROUNDING`."""

    def __init__(self) -> None:
        self.amount = FEASIBILITY

    @property
    def is_hopeless(self) -> bool:
        """True if a step is so short by now that none will be good."""
        return FLAT * self.amount > 1.0

    def increase(self, factor: float = GROWTH) -> None:
        self.amount = max(factor * self.amount, REGULARIZATION)

    def follow(self, decrease: float, promised: float) -> None:
        """Change it after a step that was taken, by its decrease and the one that was promised."""
        if decrease > GOOD * promised:
            self.amount /= GROWTH
            if self.amount < REGULARIZATION:
                self.amount = ROUNDING
        elif decrease < FAIR * promised:
            self.increase(LITTLE_GROWTH)
