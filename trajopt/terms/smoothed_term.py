"""A smooth term that stands for one with kinks, and the one it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trajopt.terms.term import ExpressionTerm

__all__ = ["SmoothedTerm", "exact_of"]


@dataclass(frozen=True)
class SmoothedTerm(ExpressionTerm):
    """y = f(node) in place of `exact`, which has no derivative everywhere: |P| made smooth, for instance.

    Solvers see y; reports and certificates compare the integral of y at the nodes with that of `exact`.
    """

    exact: ExpressionTerm | None = None


def exact_of(term: Any) -> Any:
    """The term that a smoothed one stands for; any other term itself."""
    return (term.exact or term) if isinstance(term, SmoothedTerm) else term
