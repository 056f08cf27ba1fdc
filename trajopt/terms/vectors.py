"""Vectors and rotations of one node as lists, of CasADi symbols or numbers, for terms of frames.

A vector is (3,), a rotation R (9,), its matrix row by row, as `node.orientation` gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

AXES = range(3)


class Vector(Protocol):
    """Components by number: a list, an array, or a column of CasADi symbols."""

    def __getitem__(self, component: int, /) -> Any: ...


def difference_of(later: Vector, earlier: Vector) -> list[Any]:
    """later - earlier."""
    return [later[i] - earlier[i] for i in AXES]


def total(vectors: Iterable[Sequence[Any]]) -> list[Any]:
    """The sum of vectors of any one length."""
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def dot(a: Vector, b: Vector) -> Any:
    """a . b."""
    return sum(a[i] * b[i] for i in AXES)


def cross(a: Vector, b: Vector) -> list[Any]:
    """a x b."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def normalized(vector: Vector) -> list[Any]:
    """The vector at length one."""
    length = dot(vector, vector) ** 0.5
    return [vector[i] / length for i in AXES]


def matrix_columns(R: Vector) -> list[list[Any]]:
    """The columns of R: the axes of the frame in those of the world."""
    return [[R[len(AXES) * i + j] for i in AXES] for j in AXES]


def turned(R: Vector, vector: Vector) -> list[Any]:
    """R v."""
    return [dot(row, vector) for row in zip(*matrix_columns(R), strict=True)]


def turned_back(R: Vector, vector: Vector) -> list[Any]:
    """R' v."""
    return [dot(column, vector) for column in matrix_columns(R)]


def sines_of_turn(columns: Sequence[Vector]) -> list[Any]:
    """The skew part of a rotation of these columns as a vector: its axis times the sine of its angle."""
    return [0.5 * (columns[j][k] - columns[k][j]) for j, k in ((1, 2), (2, 0), (0, 1))]
