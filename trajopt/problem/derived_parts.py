"""What follows from the parts of a problem: everything that is stated, its curves and their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.graph.block import Dynamics
from trajopt.graph.leaves import SplineLeaf, spline_leaves
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint, Periodicity
from trajopt.problem.statements.integrals import IntegralConstraint
from trajopt.splines.node_sets import PATH

if TYPE_CHECKING:
    from trajopt.display.problem_summary import ProblemSummary


class DerivedParts:
    """Properties of a problem that follow from its fields."""

    dynamics: Dynamics
    constraints: list[Constraint]
    integrals: list[IntegralConstraint]
    periodicities: list[Periodicity]
    extras: dict[str, AdditionalCurve]

    @property
    def stated(self) -> tuple[Constraint | IntegralConstraint | Periodicity, ...]:
        """All that must hold and has a name: constraints, bounded integrals, periodicities."""
        return (*self.constraints, *self.integrals, *self.periodicities)

    def path_limits(self) -> list[Constraint]:
        """The inequality constraints over the whole path."""
        return [c for c in self.constraints if c.over == PATH and not np.all(c.lower == c.upper)]

    @property
    def spline_leaves(self) -> dict[str, SplineLeaf]:
        """The leaves that are derivatives of curves, with their order and their curves."""
        apart = [name for name, extra in self.extras.items() if extra.pieces is not None]
        return spline_leaves(self.dynamics.n, self.extra_widths, apart, self.state_curves)

    @property
    def state_curves(self) -> tuple[str, ...]:
        """The additional curves that are further states of a robot."""
        return tuple(name for name, extra in self.extras.items() if extra.is_state)

    def summary(self) -> ProblemSummary:
        """All costs, constraints and unknowns, and how large the program is, before it is solved; print it.

        Raises ProblemError or a subclass where the problem contradicts itself.
        """
        from trajopt.display.problem_summary import ProblemSummary

        return ProblemSummary.of(self)

    def __repr__(self) -> str:
        from trajopt.display.problem_facts import problem_facts

        return str(problem_facts(self))

    def _repr_html_(self) -> str:
        from trajopt.display.problem_facts import problem_facts

        return problem_facts(self).html()

    @property
    def extra_widths(self) -> dict[str, int]:
        """Number of components of every additional curve."""
        return {name: extra.lower.size for name, extra in self.extras.items()}
