"""Base parameters: the combinations of inertial and friction parameters on which torques depend.

Motions show no other combinations of the parameters pi than beta = C pi, the fewest in which torques are
linear: Y pi = Y_b beta, with Y_b columns of Y that are linearly independent (Gautier, Numerical calculation
of the base inertial parameters of robots, J. Robotic Systems 8(4), 1991).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array
from dynamics.errors import ModelError
from dynamics.model.kinematic_tree import KinematicTree, checked_model
from dynamics.regressors.dynamic_parameters import PER_LINK, dynamic_parameter_names
from dynamics.regressors.regressor import regressor

# Length of a column of length 1 across those before it: rounding leaves 1e-14 of one that depends on them, an
# offset of a tenth of a millimetre 1e-4 of one that does not.
INDEPENDENT = 1e-8
CLEAR_GAP = 1e3  # least ratio of the remaining lengths of any independent and any dependent column
SMALLEST_COEFFICIENT = 1e-9  # relative to the largest in columns of length 1; below it is rounding
WIDEST = np.pi  # rad or m, of positions without limits
ROWS_PER_PARAMETER = 5


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The parameters on which the torques of a robot depend, beta = combinations @ pi.

    parameter_names : (parameters,) of all, see `dynamic_parameter_names`
    columns : (count,) of the regressor, in order: Y_b = Y[..., columns]
    combinations : (count, parameters); combinations[:, columns] is the identity
    gap : the least of the `remaining_lengths` of columns that were taken, and the largest of the others
    """

    parameter_names: tuple[str, ...]
    columns: np.ndarray
    combinations: np.ndarray
    gap: tuple[float, float]

    @property
    def count(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """(count,) every combination as text: "upper.inertia_zz + 0.25 lower.mass"."""
        return tuple(
            combination_text(row, self.parameter_names, first=column)
            for row, column in zip(self.combinations, self.columns, strict=True)
        )

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of the parameters on which no torque depends."""
        used = np.abs(self.combinations).sum(axis=0)
        return tuple(name for name, size in zip(self.parameter_names, used, strict=True) if size == 0.0)

    def regressor(self, Y: np.ndarray) -> np.ndarray:
        """Y_b, (..., n, count), of a regressor (..., n, parameters)."""
        return Y[..., self.columns]

    def values(self, pi: ArrayLike) -> np.ndarray:
        """beta, (..., count), of parameters (..., parameters)."""
        return real_array(pi, "the parameters") @ self.combinations.T

    def __str__(self) -> str:
        lines = [f"{self.count} base parameters of {len(self.parameter_names)}", *self.names]
        return "\n  ".join(lines)


def base_parameters(model: KinematicTree, friction: bool = True) -> BaseParameters:
    """The base parameters of a robot, for all motions within its joint limits.

    friction : whether damping and Coulomb friction are among them; they are taken as zero otherwise
    Columns are taken in order, so that a link's mass counts for the links further in, as is usual (Khalil and
    Dombre 2002, section 9.4). The rank is decided at seeded random motions, five rows per parameter or more.
    Raises ModelError where it is not clear: some column depends on others nearly, but not to rounding.
    """
    names = dynamic_parameter_names(checked_model(model))
    rows = regressor(model, *random_motions(model, len(names))).reshape(-1, len(names))
    if not friction:
        rows = rows * [not name.endswith((".damping", ".friction")) for name in names]
    return independent_columns(rows, names)


def random_motions(model: KinematicTree, parameters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seeded q within the limits, v and a, (samples, n) each."""
    samples = -(-ROWS_PER_PARAMETER * max(parameters, PER_LINK) // model.n)
    rng = np.random.default_rng(0)
    lower, upper = np.maximum(model.limits.q_lower, -WIDEST), np.minimum(model.limits.q_upper, WIDEST)
    q = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (samples, model.n))
    return q, 2.0 * rng.normal(size=q.shape), 5.0 * rng.normal(size=q.shape)


def independent_columns(rows: np.ndarray, names: tuple[str, ...]) -> BaseParameters:
    """Base parameters of a stacked regressor (rows, parameters); ModelError where its rank is not clear."""
    sizes = np.linalg.norm(rows, axis=0)
    relative = sizes / max(sizes.max(initial=0.0), np.finfo(float).tiny)
    used = relative > INDEPENDENT
    scaled = rows[:, used] / sizes[used]
    left = remaining_lengths(scaled)
    taken = left > INDEPENDENT
    least = min(left[taken].min(initial=1.0), relative[used].min(initial=1.0))
    most = max(left[~taken].max(initial=0.0), relative[~used].max(initial=0.0))
    columns = np.flatnonzero(used)[taken]
    if most > 0.0 and least < CLEAR_GAP * most:
        near = names[int(columns[np.argmin(left[taken])])]
        raise ModelError(
            f"the rank of the regressor is not clear: of the column of {near}, scaled to length 1, "
            f"{least:.1e} does not depend on columns before it, and up to {most:.1e} of columns that count "
            "as dependent; correct offsets of joints that are nearly zero, and axes that are nearly parallel"
        )
    combinations = np.zeros((len(columns), len(names)))
    combinations[:, columns] = np.eye(len(columns))
    others = np.flatnonzero(used)[~taken]
    by_scaled = np.asarray(np.linalg.lstsq(scaled[:, taken], scaled[:, ~taken], rcond=None)[0], dtype=float)
    by_scaled[np.abs(by_scaled) < SMALLEST_COEFFICIENT * np.abs(by_scaled).max(initial=0.0)] = 0.0
    combinations[:, others] = by_scaled * sizes[others] / sizes[columns, None]
    return BaseParameters(names, columns, combinations, (float(least), float(most)))


def remaining_lengths(scaled: np.ndarray) -> np.ndarray:
    """(columns,) the length that every column, of length 1, has across the independent ones before it.

    By the Gram-Schmidt process, twice for each column, which is orthogonal to rounding; a QR factorization
    without pivoting would also take the direction that rounding leaves of a dependent column.
    """
    basis, count = np.empty_like(scaled), 0
    left = np.zeros(scaled.shape[1])
    for i, column in enumerate(scaled.T):
        rest = column
        for _ in range(2):
            rest = rest - basis[:, :count] @ (basis[:, :count].T @ rest)
        left[i] = np.linalg.norm(rest)
        if left[i] > INDEPENDENT:
            basis[:, count] = rest / left[i]
            count += 1
    return left


def combination_text(row: np.ndarray, names: tuple[str, ...], first: int) -> str:
    """A combination as text, the parameter with the column `first` first."""
    order = [first, *(i for i in np.flatnonzero(row) if i != first)]
    text = ""
    for i in order:
        size = abs(row[i])
        factor = "" if abs(size - 1.0) < 1e-9 else f"{size:.6g} "
        sign = ("-" if row[i] < 0 else "") if not text else (" - " if row[i] < 0 else " + ")
        text += f"{sign}{factor}{names[i]}"
    return text
