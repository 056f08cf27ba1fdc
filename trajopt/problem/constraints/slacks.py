"""Bounded integrals, and smooth forms of terms with kinks: slacks, one bound for every piece.

An energy budget is lower <= integral of a term over a part of the motion <= upper.
"""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError
from trajopt.graph.protocols import Term
from trajopt.problem.costs_and_constraints import (
    AdditionalCurve,
    Constraint,
    NodeValues,
    Parameter,
    with_curve,
)
from trajopt.problem.input_checks import bounds_or_value, label_of, no_term
from trajopt.splines.node_sets import PATH, NodeSet, Over, node_set
from trajopt.terms import term as terms
from trajopt.terms.nonsmooth import (
    SMALLEST,
    Kinked,
    Maximum,
    Norm,
    Slacked,
    SlackedNorm,
    has_kinks,
    multiple_of_norm,
    selections,
    with_slacks,
)

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term
    from trajopt.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Slack:
    """Values s with s >= every piece of a maximum, or those of a norm, at the nodes with weight in a part.

    name : of the additional curve whose values at these nodes they are
    """

    name: str
    maximum: Kinked
    over: NodeSet

    @property
    def rows(self) -> Iterator[tuple[Term, NDArray[np.float64] | float]]:
        """Terms and their lower bounds: s - piece >= 0, s >= floor."""
        if isinstance(self.maximum, Norm):  # whose slack has a bound alone
            return
        slack = terms.extra(self.name)
        for piece in self.maximum.pieces:
            yield slack - piece, 0.0
        if self.maximum.floor is not None:
            yield slack, np.asarray(self.maximum.floor)


def smooth_cost(problem: Problem, term: Term, weight: float, over: NodeSet) -> Any:
    """A cost's term with slacks of the problem in place of its maxima; OptionError where it is not convex."""
    if not has_kinks(term):
        return term
    with_slacks(term, weight, lambda maximum: maximum)  # raises before the problem is changed
    slack_of = _curve_of if over.integrates else _value_of
    return with_slacks(term, weight, lambda maximum: slack_of(problem, maximum, over))


def integral_constraint(
    problem: Problem,
    integral: Integral,
    bounds: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    name: str | None,
) -> IntegralConstraint:
    """The bounded integral of a call of `Problem.subject_to`; its maxima become slacks.

    Raises OptionError where the bounds of a term with kinks are not convex.
    """
    label, width, term = label_of(name, integral), problem.width_of_term(integral.term), integral.term
    names = [str(i) if width > 1 else "" for i in range(width)]
    low, high = bounds_or_value(*bounds, width, label, names)
    if has_kinks(term):
        _check_one_side(*bounds, label)
        term = smooth_cost(problem, term, -1.0 if bounds[1] is None else 1.0, integral.over)
    return IntegralConstraint(term, integral.over, low, high, label)


def smooth_bounds(
    term: Any, lower: ArrayLike | None, upper: ArrayLike | None, equals: ArrayLike | None, label: str
) -> Iterator[tuple[Any, Any, Any, str]]:
    """Smooth terms with their bounds and names that together are equivalent to a bounded one with kinks."""
    _check_one_side(lower, upper, equals, label)
    if upper is None:
        negative = -numbers(lower, f"a bound of '{label}'")
        for piece, low, high, name in smooth_bounds(-term, None, negative, None, label):
            yield -piece, None if high is None else -np.asarray(high), None if low is None else -low, name
        return
    bound = numbers(upper, f"a bound of '{label}'")
    if (multiple := multiple_of_norm(term)) is not None:
        norm, factor, number = multiple
        if np.any(bound < number):
            raise InfeasibleBoundsError(
                f"'{label}' is at least {number:g}, which is above its upper bound {bound}"
            )
        yield norm.squared, None, ((bound - number) / factor) ** 2, f"{label}, squared"
        return
    if isinstance(term, Maximum) and term.is_absolute:
        yield term.pieces[0], -bound, bound, label
        return
    for piece, number, named in selections(term):
        if piece is not None:
            yield piece, None, bound - number, f"{label}, {named}"
        elif np.any(number > bound):
            raise InfeasibleBoundsError(
                f"'{label}' is at least {named}, which is above its upper bound {bound}: raise the bound"
            )


def _check_one_side(
    lower: ArrayLike | None, upper: ArrayLike | None, equals: ArrayLike | None, label: str
) -> None:
    """OptionError unless a term with kinks has one bound."""
    if equals is not None or (lower is not None and upper is not None):
        raise OptionError(
            f"'{label}' has kinks, so that it is convex: bound it from one side only, above for absolute "
            "values, norms and maxima"
        )
    if lower is None and upper is None:
        raise OptionError(f"'{label}' has no bound: give upper, or lower for what is to stay above it")


def _curve_of(problem: Problem, kinked: Kinked, over: NodeSet) -> Slacked | SlackedNorm:
    """A term with the slack of a maximum or norm at the nodes of a part of the motion, made on first use."""
    name = _name_of_slack(kinked) if over == PATH else f"{_name_of_slack(kinked)} over {over}"
    if name not in problem.slacks:
        lower, upper = _bounds_of_slack(kinked, problem.width_of_term(kinked))
        curve = AdditionalCurve(name, lower, upper, np.ones(lower.size), pieces=NodeValues())
        problem.extras = with_curve(problem.extras, curve)
        problem.slacks[name] = Slack(name, kinked, over)
    return _with_slack(kinked, terms.extra(name).quantity)


def _value_of(problem: Problem, kinked: Kinked, over: NodeSet) -> Slacked | SlackedNorm:
    """A term with the slack of a maximum or norm at one node: a parameter, with its inequalities as rows."""
    name = f"{_name_of_slack(kinked)} at {over}"
    if name not in problem.parameters:
        lower, free = _bounds_of_slack(kinked, problem.width_of_term(kinked))
        pieces: tuple[Term, ...] = ()
        if isinstance(kinked, Maximum):
            pieces = kinked.pieces
            lower = lower if kinked.floor is None else np.broadcast_to(np.asarray(kinked.floor), lower.shape)
        problem.parameters[name] = Parameter(name, lower, free, np.maximum(lower, 1.0), is_slack=True)
        for i, piece in enumerate(pieces):
            gap = terms.parameter(name) - piece
            label = f"{name}, {i + 1} of {len(pieces)}"
            problem.constraints.append(Constraint(gap, np.zeros(lower.size), free, over, label))
    return _with_slack(kinked, terms.parameter(name).quantity)


def _name_of_slack(kinked: Kinked) -> str:
    """The name that equal terms share: norms of another least value have slacks with another bound."""
    least = f" from {kinked.smallest!r}" if isinstance(kinked, Norm) and kinked.smallest != SMALLEST else ""
    return f"slack of {kinked.name}{least}"


def _bounds_of_slack(kinked: Kinked, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    free = np.full(width, np.inf)
    return (np.array([kinked.smallest]) if isinstance(kinked, Norm) else -free), free


def _with_slack(kinked: Kinked, slack: str) -> Slacked | SlackedNorm:
    return SlackedNorm(kinked, slack) if isinstance(kinked, Norm) else Slacked(kinked, slack)


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

    over : "path", a window (s0, s1) of normalised time, or `ArcNodes(arc, "whole")`. The ends of a window are
        breakpoints, which a collocation mesh gets by itself
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

    def violation(self, value: Array) -> NDArray[np.float64]:
        """Distances (width,) by which a value lies outside, NaN where it is NaN."""
        return np.maximum(np.maximum(self.lower - value, value - self.upper), 0.0)
