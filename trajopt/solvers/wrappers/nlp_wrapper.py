"""Base class of NLPs that change a part of another NLP and delegate the rest."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.program_capabilities import nonfinite_cause, unscaled_objective
from trajopt.solvers.solver import NLP

__all__ = ["NLPWrapper"]


class NLPWrapper:
    """The protocol `NLP`, each member that of `nlp`; subclasses override what differs."""

    def __init__(self, nlp: NLP) -> None:
        self.nlp = nlp

    @property
    def variable_count(self) -> int:
        return self.nlp.variable_count

    @property
    def row_count(self) -> int:
        return self.nlp.row_count

    @property
    def lower(self) -> np.ndarray:
        return self.nlp.lower

    @property
    def upper(self) -> np.ndarray:
        return self.nlp.upper

    @property
    def row_lower(self) -> np.ndarray:
        return self.nlp.row_lower

    @property
    def row_upper(self) -> np.ndarray:
        return self.nlp.row_upper

    @property
    def jacobian_rows(self) -> np.ndarray:
        return self.nlp.jacobian_rows

    @property
    def jacobian_columns(self) -> np.ndarray:
        return self.nlp.jacobian_columns

    @property
    def hessian_rows(self) -> np.ndarray:
        return self.nlp.hessian_rows

    @property
    def hessian_columns(self) -> np.ndarray:
        return self.nlp.hessian_columns

    @property
    def has_hessian(self) -> bool:
        return self.nlp.has_hessian

    @property
    def start(self) -> np.ndarray:
        return self.nlp.start

    def objective(self, y: np.ndarray, /) -> float:
        return self.nlp.objective(y)

    def gradient(self, y: np.ndarray, /) -> np.ndarray:
        return self.nlp.gradient(y)

    def rows(self, y: np.ndarray, /) -> np.ndarray:
        return self.nlp.rows(y)

    def jacobian(self, y: np.ndarray, /) -> np.ndarray:
        return self.nlp.jacobian(y)

    def hessian(self, y: np.ndarray, row_multipliers: np.ndarray, objective_factor: float, /) -> np.ndarray:
        return self.nlp.hessian(y, row_multipliers, objective_factor)

    @property
    def objective_scale(self) -> float:
        return 1.0 / unscaled_objective(self.nlp, 1.0)

    def culprit(self, y: np.ndarray) -> str:
        return nonfinite_cause(self.nlp, y)
