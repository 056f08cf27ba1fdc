"""All constraints of a problem, the bounds of additional curves and of parameters among them."""

from __future__ import annotations

from collections.abc import Iterator

from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import ProblemData
from trajopt.splines.node_sets import END, PATH
from trajopt.terms import term as terms


def all_constraints(problem: ProblemData) -> list[Constraint]:
    """The constraints as they were added, then the implied ones."""
    return [*problem.constraints, *implied_constraints(problem)]


def implied_constraints(problem: ProblemData) -> Iterator[Constraint]:
    """One constraint for every additional curve and every parameter, in the order of their definition."""
    for name, extra in problem.extras.items():
        yield Constraint(terms.extra(name), extra.lower, extra.upper, PATH, f"bounds of {name}")
    for name, given in problem.parameters.items():
        yield Constraint(terms.parameter(name), given.lower, given.upper, END, f"bounds of {name}")
