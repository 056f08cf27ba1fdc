"""Errors of quantities, frame positions and orientations with respect to data or targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import numbers
from trajopt.base.errors import ShapeError
from trajopt.splines.node_sets import Over
from trajopt.terms.arithmetic import Combination, dot, matrix_columns, sines_of_turn
from trajopt.terms.term import ExpressionTerm, Quantity, Target, position

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols


def distance_to_data(quantity: Quantity, data: Quantity) -> Combination:
    """quantity - data: minimize its square, or bound it, to follow the samples of `problem.data`."""
    return quantity - data


def position_error(frame: str, target: ArrayLike) -> ExpressionTerm:
    """p_frame - target, (3,) metres in world axes."""
    goal = vector_in_metres(target, "target")

    def error(node: NodeSymbols) -> Expression:
        return node.position(frame) - goal.tolist()

    scene = Target(frame, tuple(goal.tolist()))
    return ExpressionTerm(error, f"position error of {frame}", unit="m", scene=scene)


def orientation_error(frame: str, rotation: ArrayLike) -> ExpressionTerm:
    """The skew part of R_d' R as a vector, (3,): axis times the sine of the angle between frame and target.

    It vanishes at half a turn as well: start nearer to the target.

    rotation : (3, 3) target axes of the frame in world axes
    Raises ShapeError for what is no rotation matrix, a reflection for instance.
    """
    wanted = numbers(rotation, "rotation")
    if wanted.shape != (3, 3) or not np.allclose(wanted.T @ wanted, np.eye(3), atol=1e-6):
        raise ShapeError(f"the rotation is {wanted.tolist()}: give a (3, 3) rotation matrix")
    if np.linalg.det(wanted) < 0.0:
        raise ShapeError(
            f"the rotation is {wanted.tolist()}, a reflection (determinant -1), which no frame reaches: give "
            "the axes of a right-handed frame as columns"
        )

    def error(node: NodeSymbols) -> list[Expression]:
        own = matrix_columns(node.orientation(frame))
        return sines_of_turn([[dot(axis, column) for axis in wanted.T.tolist()] for column in own])

    return ExpressionTerm(error, f"orientation error of {frame}")


def frame_at(
    problem: Any,
    frame: str,
    target: ArrayLike,
    rotation: ArrayLike | None = None,
    over: Over = "end",
    name: str | None = None,
) -> None:
    """Hold a frame at a position, (3,) m, and a rotation (3, 3) if given, over a part of the motion.

    name : in reports; "FRAME at the target, at the end" and the like by default
    """
    part = {"start": ", at the start", "end": ", at the end"}.get(over, "") if isinstance(over, str) else ""
    called = f"{frame} at the target{part}" if name is None else name
    problem.subject_to(position(frame), equals=vector_in_metres(target, "target"), over=over, name=called)
    if rotation is not None:
        turned = f"turn of {frame}{part}" if name is None else f"{name}, turn"
        problem.subject_to(orientation_error(frame, rotation), equals=0.0, over=over, name=turned)


def vector_in_metres(values: ArrayLike, what: str) -> np.ndarray:
    """`values` as an array (3,); ShapeError, naming `what`, for another shape or a number not finite."""
    array = numbers(values, what)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise ShapeError(f"the {what} is {array.tolist()}: give three finite numbers in metres")
    return array
