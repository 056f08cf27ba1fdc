"""The places of a program's derivatives in the Newton matrix of its interior-point steps, found once.

Rows are those with limits, the unknowns with limits, and the equations; unknowns are in the order of `Bands`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.base.content_cache import cached_if_small, read_only
from trajopt.solvers.interior.bands import Bands, bands_of
from trajopt.solvers.solver import Program


@dataclass(frozen=True, eq=False)
class NewtonLayout:
    """Compressed rows of G, and the places of G and H in the arrays of `band_kernels`.

    order : (n,) which of all unknowns of the program every unknown is
    starts, columns : rows of G and the unknowns of their entries
    entries : which entry of the Jacobian, with a 1 behind them, every entry of G is
    groups, rows : the rows, same columns together, far ones last;  near : groups of others
    far : the rows that stay rows of the matrix, (k,);  is_far : (rows,) their mask
    H_entries, H_rows, H_columns : which entries of the Hessian are in its lower triangle, and where
    H_places, far_places : of these, and of `far_entries` of G, in the flat arrays
    """

    bands: Bands
    order: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    entries: np.ndarray
    groups: np.ndarray
    rows: np.ndarray
    near: int
    far: np.ndarray
    is_far: np.ndarray
    H_entries: np.ndarray
    H_rows: np.ndarray
    H_columns: np.ndarray
    H_places: np.ndarray
    far_entries: np.ndarray
    far_places: np.ndarray

    @property
    def n(self) -> int:
        return self.order.size

    @property
    def row_count(self) -> int:
        return self.starts.size - 1

    @property
    def row_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arrays by which `band_kernels` finds the entries of rows."""
        return self.starts, self.columns, self.groups, self.rows

    @property
    def edge(self) -> int:
        """The number of unknowns and rows of the arrow."""
        return self.bands.arrow + self.far.size

    def arrays(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Band, arrow and corner, views of the flat array that holds them."""
        inner, wide, edge = self.bands.inner, self.bands.half + 1, self.edge
        one = inner * wide
        two = one + inner * edge
        return (
            flat[:one].reshape(inner, wide),
            flat[one:two].reshape(inner, edge),
            flat[two:].reshape(edge, edge),
        )


def newton_layout(
    nlp: Program, free: np.ndarray, limited: np.ndarray, bounded: np.ndarray, equations: np.ndarray
) -> NewtonLayout:
    """The layout of a program; small ones with the same structure share it.

    free : the unknowns that are not fixed;  bounded : those of them with limits
    limited, equations : rows of the program
    """
    spans = getattr(nlp, "unknown_spans", None)
    if spans is None or len(spans) != nlp.variable_count:
        spans = np.zeros((nlp.variable_count, 2))
    layout = _newton_layout(
        free.size,
        nlp.row_count,
        spans,
        np.asarray(nlp.jacobian_rows),
        np.asarray(nlp.jacobian_columns),
        np.asarray(nlp.hessian_rows),
        np.asarray(nlp.hessian_columns),
        free,
        limited,
        bounded,
        equations,
    )
    return read_only(layout)  # compiled loops know arrays that can be written as another type


@cached_if_small
def _newton_layout(
    row_count: int,
    spans: np.ndarray,
    jacobian_rows: np.ndarray,
    jacobian_columns: np.ndarray,
    hessian_rows: np.ndarray,
    hessian_columns: np.ndarray,
    free: np.ndarray,
    limited: np.ndarray,
    bounded: np.ndarray,
    equations: np.ndarray,
) -> NewtonLayout:
    n, rows = free.size, limited.size + bounded.size + equations.size
    unknown = np.full(len(spans), -1)
    unknown[free] = np.arange(n)
    row_of = np.full(row_count, -1)
    row_of[limited] = np.arange(limited.size)
    row_of[equations] = limited.size + bounded.size + np.arange(equations.size)
    row, column = row_of[jacobian_rows], unknown[jacobian_columns]
    kept = np.flatnonzero((row >= 0) & (column >= 0))
    entries = np.concatenate([kept, np.full(bounded.size, len(jacobian_rows))])
    row = np.concatenate([row[kept], limited.size + np.arange(bounded.size)])
    column = np.concatenate([column[kept], unknown[bounded]])
    one, other = unknown[hessian_rows], unknown[hessian_columns]
    H_entries = np.flatnonzero((one >= 0) & (other >= 0))
    one, other = one[H_entries], other[H_entries]

    bands = bands_of(spans[free], (row, column, rows), (one, other))
    position = np.empty(n, dtype=np.int64)
    position[bands.order] = np.arange(n)
    column, one, other = position[column], position[one], position[other]
    sorting = np.argsort(row * n + column, kind="stable")
    row, column, entries = row[sorting], column[sorting], entries[sorting]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    groups, by_group, near = _groups(starts, column, bands.far)
    far = np.flatnonzero(bands.far)
    far_entries = np.flatnonzero(bands.far[row])
    number = np.full(rows, -1)
    number[far] = n + np.arange(far.size)
    H_rows, H_columns = np.maximum(one, other), np.minimum(one, other)
    return NewtonLayout(
        bands=bands,
        order=free[bands.order],
        starts=starts,
        columns=column,
        entries=entries,
        groups=groups,
        rows=by_group,
        near=near,
        far=far,
        is_far=bands.far,
        H_entries=H_entries,
        H_rows=H_rows,
        H_columns=H_columns,
        H_places=_places(bands, far.size, H_rows, H_columns),
        far_entries=far_entries,
        far_places=_places(bands, far.size, number[row[far_entries]], column[far_entries]),
    )


def _groups(starts: np.ndarray, columns: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows with the same columns together: where groups start, the rows, and how many groups are near."""
    by_columns: dict[bytes, list[int]] = {}
    for r in np.flatnonzero(~far).tolist():
        by_columns.setdefault(columns[starts[r] : starts[r + 1]].tobytes(), []).append(r)
    near = list(by_columns.values())
    groups = [*near, *([r] for r in np.flatnonzero(far).tolist())]
    sizes = [len(group) for group in groups]
    rows = np.array([r for group in groups for r in group], dtype=np.int64)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), rows, len(near)


def _places(bands: Bands, far: int, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Places of entries (row >= column) in the flat array of band, arrow and corner."""
    inner, wide, edge = bands.inner, bands.half + 1, bands.arrow + far
    behind = inner * wide
    in_band = column * wide + row - column
    in_arrow = behind + column * edge + row - inner
    in_corner = behind + inner * edge + (row - inner) * edge + column - inner
    return np.where(row < inner, in_band, np.where(column < inner, in_arrow, in_corner))
