"""Bounded integrals: lower <= integral of a term over a part of the motion <= upper: energy budgets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.base.errors import OptionError
from trajopt.graph.protocols.term import Term
from trajopt.problem.term_checks import no_term
from trajopt.splines.node_sets import PATH, NodeSet, Over, node_set


@dataclass(frozen=True)
class Integral:
    """The integral of a term over time, (width,), to be bounded or minimized; `trajopt.integral` makes it."""

    term: Term
    over: NodeSet

    @property
    def name(self) -> str:
        """The name in reports."""
        part = "" if self.over == PATH else f" over {self.over}"
        return f"integral of {self.term.name}{part}"

    def check_over(self, over: object, absent: object) -> None:
        """Raise OptionError where a part of the motion is given beside the integral's own.

        absent : the default of `over`
        """
        if over is not absent and over != absent:
            raise OptionError(
                f"'{self.name}' says itself what it is over: trajopt.integral(term, over={over!r})"
            )


def integral(term: Term, over: Over = "path") -> Integral:
    """The integral of a term over time, component by component, for `subject_to` and `minimize`.

        problem.subject_to(trajopt.integral(heat), upper=500.0)

    over : "path", a window (s0, s1) of normalised time that ends at breakpoints, or `ArcNodes(arc, "whole")`
    It is the quadrature of the trajectory's rule, in the unit of the term times seconds. Raises OptionError
    for an object that is no term, and where nothing can be integrated.
    """
    if not isinstance(term, Term):
        raise no_term(term)
    where = node_set(over)
    if not (where.has_cost and where.integrates):
        raise OptionError(
            f"nothing can be integrated over {where}: use 'path', a window (s0, s1), "
            "or ArcNodes(arc, 'whole')"
        )
    return Integral(term, where)


@dataclass(frozen=True, eq=False)
class IntegralConstraint:
    """lower <= integral of the term's components over a part of the motion <= upper, (width,)."""

    term: Term
    over: NodeSet
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    name: str

    def violation(self, value: NDArray) -> NDArray[np.float64]:
        """Distances (width,) by which a value lies outside, NaN where it is NaN."""
        return np.maximum(np.maximum(self.lower - value, value - self.upper), 0.0)
