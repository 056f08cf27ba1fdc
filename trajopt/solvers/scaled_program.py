"""Programs whose unknowns have very different sizes, divided by these sizes for the solver.

A position of 6e6 m beside a direction cosine leaves an interior-point method no regularization and no
tolerance that fits both. With y = D z and D diagonal, of powers of two so that nothing is rounded,

    f(D z),   g(D z),   gradient D grad f,   Jacobian J D,   Hessian D H D,

multipliers of rows stay as they are and those of bounds are multiplied by D.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from trajopt.solvers.solver import Program, ProgramValue, Result, WarmStart

PointT = TypeVar("PointT", bound=WarmStart | Result)


def scaled_program(nlp: Program, sizes: np.ndarray) -> ProgramValue:
    """The program in z = y / sizes."""
    by_row = sizes[nlp.jacobian_columns]
    by_pair = sizes[nlp.hessian_rows] * sizes[nlp.hessian_columns] if nlp.has_hessian else 1.0
    program = ProgramValue.of(nlp)
    selecting: Any = program.jacobian_of_rows

    def jacobian_of_rows(kept: np.ndarray) -> Any:
        of_y, factors = selecting(kept), by_row[kept[nlp.jacobian_rows]]
        return lambda z: factors * of_y(sizes * z)

    return replace(
        program,
        lower=nlp.lower / sizes,
        upper=nlp.upper / sizes,
        start=nlp.start / sizes,
        objective=lambda z: nlp.objective(sizes * z),
        gradient=lambda z: sizes * nlp.gradient(sizes * z),
        rows=lambda z: nlp.rows(sizes * z),
        jacobian=lambda z: by_row * nlp.jacobian(sizes * z),
        hessian=lambda z, multipliers, factor: by_pair * nlp.hessian(sizes * z, multipliers, factor),
        culprit=lambda z: program.culprit(sizes * z),
        jacobian_of_rows=selecting and jacobian_of_rows,
        unscaled=nlp,
    )


def scaled_point(point: PointT, sizes: np.ndarray) -> PointT:
    """A point of a program with its multipliers as one of the scaled program; by 1 / sizes the way back."""
    low, high = point.lower_multipliers, point.upper_multipliers
    return replace(
        point,
        y=point.y / sizes,
        lower_multipliers=None if low is None else low * sizes,
        upper_multipliers=None if high is None else high * sizes,
        hessian=None,
    )
