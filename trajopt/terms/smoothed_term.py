"""Smooth terms that stand for terms with kinks, and the terms that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trajopt.graph.protocols.block import Block
from trajopt.terms.arithmetic import Arithmetic, Combination, Squared
from trajopt.terms.nonsmooth import Maximum
from trajopt.terms.term import ExpressionTerm

__all__ = ["Slacked", "SmoothedTerm", "exact_of"]


@dataclass(frozen=True)
class SmoothedTerm(ExpressionTerm):
    """y = f(node) in place of `exact`, which has no derivative everywhere: |P| made smooth, for instance.

    Solvers see y; reports and certificates compare the integral of y at the nodes with that of `exact`.
    """

    exact: ExpressionTerm | None = None


@dataclass(frozen=True)
class Slacked(Arithmetic):
    """The slack that stands for a maximum: the quantity `quantity` of the program; `exact` is the maximum.

    Solvers see the slack; reports and certificates compare its integral at the nodes with that of `exact`.
    """

    exact: Maximum
    quantity: str

    @property
    def name(self) -> str:
        return self.exact.name

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return ()


def exact_of(term: Any) -> Any:
    """The term that a smoothed one, or one with slacks, stands for; any other term itself."""
    if isinstance(term, SmoothedTerm):
        return term.exact or term
    if isinstance(term, Slacked):
        return term.exact
    if isinstance(term, Squared):
        base = exact_of(term.base)
        return term if base is term.base else Squared(base)
    if isinstance(term, Combination):
        exact = tuple((factor, exact_of(part)) for factor, part in term.parts)
        changed = any(new is not old for (_, new), (_, old) in zip(exact, term.parts, strict=True))
        return Combination(exact) if changed else term
    return term
