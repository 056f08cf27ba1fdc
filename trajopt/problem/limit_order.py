"""The order of a limit: the highest derivative of q in it that an arc can hold at the limit."""

from __future__ import annotations

import numpy as np

from trajopt.graph.protocols import Term
from trajopt.graph.quantities import TORQUES
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of


def limit_order(problem: Problem, limit: Constraint) -> int | None:
    """2 for a limit that depends on accelerations, 1 for v, 0 for q; None for one that no arc can hold.

    Held on an arc, a limit of order 2 is an equation for the torque there; v and q are held by a = 0.
    """
    quantity = limit.term.quantity
    if quantity in ("q", "v"):
        return ("q", "v").index(quantity)
    if quantity in ("a", *TORQUES):
        return 2
    return 2 if _depends(problem, limit.term, "a") and not depends_on_jerk(problem, limit.term) else None


def depends_on_jerk(problem: Problem, term: Term) -> bool:
    """True if a term, of a constraint, a cost or an integral, changes with the third derivative of q."""
    return _depends(problem, term, "jerk")


def _depends(problem: Problem, term: Term, leaf: str) -> bool:
    return bool(np.any(graph_of(problem, [term]).leaf_pattern(term.quantity).get(leaf, False)))
