"""Bounds of additional curves and of parameters, as constraints."""

from __future__ import annotations

from collections.abc import Iterator

from trajopt.graph.leaves import extra_leaf
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.splines.node_sets import END, PATH
from trajopt.terms import term as terms


def implied_constraints(problem: Problem) -> Iterator[Constraint]:
    """One constraint for every additional curve and every parameter, in the order of their definition."""
    for name, extra in problem.extras.items():
        leaf = terms.Quantity(extra_leaf(name))
        yield Constraint(leaf, extra.lower, extra.upper, PATH, f"bounds of {name}")
    for name, given in problem.parameters.items():
        yield Constraint(terms.parameter(name), given.lower, given.upper, END, f"bounds of {name}")
