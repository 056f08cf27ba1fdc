"""Optional capabilities of NLPs: a protocol each, and a function with the default without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from trajopt.base.arguments import implements
from trajopt.solvers.solver import NLP


@runtime_checkable
class RowSelectingNLP(Protocol):
    """Differentiates some of its rows without computing what only the others need."""

    def jacobian_of_rows(self, kept: np.ndarray) -> Callable[[np.ndarray], np.ndarray]: ...


@runtime_checkable
class ScaledNLP(Protocol):
    """An NLP whose objective is that of a problem times a constant factor."""

    @property
    def objective_scale(self) -> float: ...


@runtime_checkable
class NonfiniteExplainer(Protocol):
    """An NLP that can name the term, node and component that is not finite at y ("" where all is finite)."""

    def culprit(self, y: np.ndarray) -> str: ...


def nonfinite_cause(nlp: NLP, y: np.ndarray) -> str:
    """Which part of an NLP is not finite at y; "" where all is, or where the NLP cannot say."""
    return nlp.culprit(y) if implements(nlp, NonfiniteExplainer) else ""


def jacobian_of_rows(nlp: NLP, kept: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function that gives, of `nlp.jacobian(y)`, the entries of the rows that are kept, in their order.

    kept : (row_count,) boolean
    """
    if implements(nlp, RowSelectingNLP):
        return nlp.jacobian_of_rows(kept)
    entries = np.flatnonzero(kept[nlp.jacobian_rows])
    return lambda y: nlp.jacobian(y)[entries]


def unscaled_objective(nlp: NLP, value: float) -> float:
    """A value of an NLP's objective without the factor that scales it, where there is one."""
    return value / nlp.objective_scale if implements(nlp, ScaledNLP) else value
