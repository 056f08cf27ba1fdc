"""Polynomials in three variables up to degree 4, truncated: tables of monomials and products.

Coefficients stand in slots of a workspace, constant first, then by degree. A product of two costs 7, 28, 84
or 210 multiplications at degree 1 to 4.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import factorial, prod

import numpy as np

from dynamics.kernels.compile import inlined
from dynamics.kernels.inertia import clear
from dynamics.kernels.simd import load, same, store

HIGHEST = 4  # degree
MONOMIALS = sorted(
    (powers for powers in product(range(HIGHEST + 1), repeat=3) if sum(powers) <= HIGHEST),
    key=lambda powers: (sum(powers), [-power for power in powers]),
)
PLACES = {powers: place for place, powers in enumerate(MONOMIALS)}
COUNTS = tuple(sum(sum(powers) <= degree for powers in MONOMIALS) for degree in range(HIGHEST + 1))
SIZE = len(MONOMIALS)  # slots of a polynomial

#: (count, 3) places of two factors and of their product, by the degree of the product
PRODUCTS = np.array(
    sorted(
        (
            (PLACES[one], PLACES[other], PLACES[tuple(np.add(one, other).tolist())])
            for one, other in product(MONOMIALS, repeat=2)
            if sum(one) + sum(other) <= HIGHEST
        ),
        key=lambda entry: entry[2],
    )
)
#: number of rows of `PRODUCTS` that a product up to a degree takes
PRODUCT_COUNTS = tuple(int(np.sum(PRODUCTS[:, 2] < count)) for count in COUNTS)


@inlined
def multiply(work, products, size, one, other, to):
    """The product of two polynomials, into a third place."""
    clear(work, to, size)
    for row in range(len(products)):
        i, j, k = products[row, 0], products[row, 1], products[row, 2]
        store(work, to + k, load(work, to + k) + load(work, one + i) * load(work, other + j))


@inlined
def copy(work, size, one, to):
    """A polynomial into another place."""
    for k in range(size):
        store(work, to + k, load(work, one + k))


@inlined
def add_multiple(work, size, factor, one, to):
    """Add a number times a polynomial to another one."""
    for k in range(size):
        store(work, to + k, load(work, to + k) + factor * load(work, one + k))


@inlined
def set_linear(work, size, constant, variable, to):
    """The polynomial constant + variable, 0 to 2."""
    clear(work, to, size)
    store(work, to, constant)
    store(work, to + 1 + variable, same(work, 1.0))


@cache
def derivative_places(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Place of the monomial of `order` variables and the factor of its derivative, (3, ..., 3) each."""
    places, factors = np.empty((3,) * order, dtype=np.int64), np.empty((3,) * order)
    for index in np.ndindex(places.shape):
        powers = tuple(index.count(variable) for variable in range(3))
        places[index] = PLACES[powers]
        factors[index] = prod(factorial(power) for power in powers)
    return places, factors


def derivatives_at_zero(polynomials: np.ndarray, order: int) -> np.ndarray:
    """(..., 3, ..., 3) with `order` further axes, of polynomials whose coefficients are the last axis."""
    places, factors = derivative_places(order)
    return polynomials[..., places] * factors
