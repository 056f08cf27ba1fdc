"""Checks of numbers, names, rotations, masses and inertias that users pass to a model."""

from __future__ import annotations

import numpy as np

from dynamics.arguments import real_array, short_repr
from dynamics.errors import InertiaError, JointError, ModelError, ShapeError

# Relative slack for numbers that went through a decimal file: six digits survive in a typical URDF.
ROUNDING = 1e-5
LONGEST_NAME = 200  # characters; names are repeated in messages
# In SI units; robots and cranes are far from it, and beyond it rounding is all that is left of a sum.
LARGEST = 1e9
HOLDING = 1e15  # of damping, friction and stiffness, by whose size models hold a joint
# kg m^2, far below any robot's: a microgram at a millimetre. Programs that write URDF leave such noise.
NEGLIGIBLE = 1e-15


def finite_array(
    value: object, shape: tuple[int, ...], what: str, largest: float = LARGEST
) -> np.ndarray:  # fmt: skip
    """A read-only float64 copy of `value`; ShapeError names `what` unless it is finite and of this shape."""
    array = np.array(real_array(value, what))
    if array.shape != shape:
        raise ShapeError(f"{what} has shape {array.shape} but shape {shape} is expected")
    if not np.abs(array).max(initial=0.0) <= largest:  # written so that NaN is refused too
        finite = bool(np.isfinite(array).all())
        wanted = f"beyond {largest:g} products overflow" if finite else "every number must be finite"
        raise ShapeError(f"{what} is {short_repr(array.tolist())}; {wanted}")
    array.flags.writeable = False
    return array


def finite_number(value: object, what: str, largest: float = LARGEST) -> float:
    """`value` as a float; ShapeError names `what` when it is not one finite number."""
    return float(finite_array(value, (), what, largest))


def checked_reference(name: object, what: str) -> None:
    """ModelError unless `name` is None or a string."""
    if name is not None and (not isinstance(name, str) or len(name) > LONGEST_NAME):
        raise ModelError(
            f"{what} is {short_repr(name)}; give a name or None, at most {LONGEST_NAME} characters"
        )


def checked_name(name: object, what: str) -> str:
    """`name` itself; ModelError when it is not a non-empty string."""
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"{what} has the name {short_repr(name)}; give a non-empty string")
    if len(name) > LONGEST_NAME:
        raise ModelError(f"{what} has a name of {len(name)} characters; at most {LONGEST_NAME} are allowed")
    return name


def unit_vector(value: object, what: str) -> np.ndarray:
    """`value` (3,) scaled to length one; JointError when it has no direction."""
    vector = finite_array(value, (3,), what)
    length = float(np.linalg.norm(vector))
    if length < 1e-12:
        raise JointError(f"{what} is {vector.tolist()}, which has no direction; give a non-zero axis")
    # An axis that is already of unit length keeps its bits, so that saving and loading change nothing.
    unit = vector if abs(length - 1.0) < 1e-15 else vector / length
    unit.flags.writeable = False
    return unit


def rotation_matrix(value: object, what: str) -> np.ndarray:
    """`value` (3, 3); JointError unless R'R = 1 and det R = 1 to 1e-9."""
    matrix = finite_array(value, (3, 3), what)
    error = float(np.abs(matrix.T @ matrix - np.eye(3)).max())
    if error > 1e-9:
        raise JointError(f"{what} is not a rotation: R'R differs from 1 by {error:.1e}; orthonormalize it")
    if np.linalg.det(matrix) < 0.0:
        raise JointError(f"{what} is a reflection (determinant -1); use a right-handed frame")
    return matrix


def checked_mass(value: object, what: str) -> float:
    """`value` as a mass in kg; InertiaError when it is negative."""
    mass = finite_number(value, what)
    if mass < 0.0:
        raise InertiaError(f"{what} is {mass} kg; a mass is zero or positive")
    return mass


def inertia_matrix(value: object, what: str, is_body: bool = True) -> np.ndarray:
    """`value` (3, 3) about the centre of mass, in kg m^2; InertiaError unless a body could have it.

    It must be symmetric with principal moments A >= B >= C >= 0 and, for a body, A <= B + C (no mass
    distribution does otherwise), to the rounding of a decimal file.
    """
    matrix = finite_array(value, (3, 3), what)
    size = float(np.abs(matrix).max())
    if size == 0.0:
        return matrix
    slack = ROUNDING * size + NEGLIGIBLE
    if np.abs(matrix - matrix.T).max() > 1e-9 * size:
        raise InertiaError(f"{what} is not symmetric: {matrix.tolist()}; give the full symmetric matrix")
    moments = np.linalg.eigvalsh(matrix)
    listed = ", ".join(f"{moment:.6g}" for moment in moments)
    if moments[0] < -slack:
        raise InertiaError(f"{what} has principal moments {listed} kg m^2; none may be negative")
    if is_body and moments[2] > moments[0] + moments[1] + slack:
        raise InertiaError(
            f"{what} has principal moments {listed} kg m^2; the largest exceeds the sum of the others, "
            "which no body can have: check units, signs and the reference point (the centre of mass)"
        )
    return matrix


def nearest_inertia(matrix: np.ndarray) -> np.ndarray:
    """The nearest inertia (3, 3) that a body can have: same axes, negative second moments of mass made zero.

    With second moments s_i = trace/2 - A_i along the principal axes, A_i is the sum of the other two, and
    A >= B >= C >= 0 with A <= B + C says no more than s_i >= 0.
    """
    moments, axes = np.linalg.eigh(matrix)
    second = np.clip(moments.sum() / 2.0 - moments, 0.0, None)
    repaired = axes @ np.diag(second.sum() - second) @ axes.T
    return (repaired + repaired.T) / 2.0
