"""Damping of Newton's steps: a multiple of the identity, changed by how well a step keeps its promise.

As Levenberg and Marquardt do: Nocedal and Wright, Numerical Optimization (2006), section 10.3.
"""

from __future__ import annotations

from trajopt.solvers.tolerances import ROUNDING

__all__ = ["POOR", "Damping"]

POOR, FAIR, GOOD = 0.1, 0.3, 0.75  # of the decrease that was promised; poor steps are not taken
LEAST, MOST = 1e-9, 1e10  # the least but for none, which is `ROUNDING`
FACTOR, BARELY = 8.0, 3.0  # after a step that is not taken or is good, and after one that is less than fair


class Damping:
    """The amount of damping, relative to the entries that it is added to."""

    def __init__(self, first: float) -> None:
        self.amount = first

    @property
    def is_hopeless(self) -> bool:
        return self.amount > MOST

    def increase(self, factor: float = FACTOR) -> None:
        self.amount = max(factor * self.amount, LEAST)

    def follow(self, decrease: float, promised: float) -> None:
        """Change it after a step that was taken, by its decrease and the one that was promised."""
        if decrease > GOOD * promised:
            self.amount = self.amount / FACTOR if self.amount >= FACTOR * LEAST else ROUNDING
        elif decrease < FAIR * promised:
            self.increase(BARELY)
