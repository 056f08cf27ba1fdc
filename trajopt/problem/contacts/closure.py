"""A closed loop of a mechanism: two frames that a ball joint, a hinge or a weld holds together.

    gap    = A' (p_b - p_a),    turn = A' B R',   A, B the axes of the frames, R those of b in a when closed
    J v    = A' (v_b - v_a - omega_a x (p_b - p_a)),   A' (omega_b - omega_a)
    w_b    = [p_b x f + m; f] = -w_a              wrenches about the world origin, on the links of b and a

The robot's joints are a tree; a loop is a condition between two of its frames that the tree does not state.
It adds the rows J v = 0 at all collocation points and the gap at the start of the motion, and the force f and
moment m that hold it, in the directions of the rows: J' of the rows, so that they do no work where these
vanish. As in contacts, velocities are zero at the collocation points, and positions follow to the order of
the scheme; with positions held there instead, forces would be missing between nodes.

Directions are axes of frame a, or two in the plane of a planar linkage and one across it where its axes lie
askew. Rows that repeat others, all those across the plane, are left out, with their forces, which
no motion determines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from trajopt.base import arguments
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError, ShapeError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.protocols import CarriedFrames
from trajopt.graph.quantities import AXIS_NAMES
from trajopt.problem.contacts.contact import basis_about, checked_arc, link_of
from trajopt.terms.arithmetic import cross, difference_of, dot, sines_of_turn, turned, turned_back
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from trajopt.graph.trace import NodeSymbols

ClosureKind = Literal["point", "pin", "weld"]
OBLIQUE = ("in plane 1", "in plane 2", "across the plane")
PLACES = len(AXIS_NAMES)  # rows of places, which come before those of turns
IDENTITY = np.eye(PLACES)


@dataclass(frozen=True, eq=False)
class Closure:
    """Two frames that are held together in some arcs, as `Problem.close_loop` adds it.

    name : of the loop, in reports
    frame_a, frame_b : what is held together;  link_a, link_b : the links that carry them, None the ground
    kind : "point", a ball joint; "pin", a hinge; "weld", no motion at all
    basis : (3, 3) a direction in each row, in axes of frame a
    turns : the numbers of the directions about which the frames may not turn against each other
    rotation : (3, 3) the axes of frame b in those of frame a when the loop is closed
    arcs : in which it is closed
    kept : which rows are stated, places 0 to 2, then turns;  `left_out` names the others
    pose : (n,) joint positions at which it is closed
    tolerance : m and rad, a gap that counts as none
    """

    name: str
    frame_a: str
    frame_b: str
    link_a: str | None
    link_b: str | None
    kind: ClosureKind
    basis: Array = field(repr=False)
    turns: tuple[int, ...]
    rotation: Array = field(repr=False)
    arcs: tuple[int, ...]
    kept: tuple[int, ...]
    pose: Array = field(repr=False)
    tolerance: float

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all rows: directions of places, then the axes of turns."""
        axes = AXIS_NAMES if np.array_equal(self.basis, IDENTITY) else OBLIQUE
        return *axes, *(f"about {axes[turn]}" for turn in self.turns)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The rows that repeat others, and are not stated."""
        return tuple(label for row, label in enumerate(self.labels) if row not in self.kept)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of all rows of the gap."""
        return ("m",) * PLACES + ("rad",) * len(self.turns)

    @property
    def curves(self) -> dict[str, tuple[int, ...]]:
        """Names of the unknown curves, of forces and of moments, and their directions in `basis`."""
        places = tuple(row for row in self.kept if row < PLACES)
        turns = tuple(self.turns[row - PLACES] for row in self.kept if row >= PLACES)
        every = {f"force of {self.name}": places, f"moment of {self.name}": turns}
        return {curve: directions for curve, directions in every.items() if directions}

    @property
    def force(self) -> ExpressionTerm:
        """The force of frame a on frame b, (3,) N, world axes."""
        return ExpressionTerm(self._force, f"force of {self.name} in world axes", AXIS_NAMES, "N")

    @property
    def moment(self) -> ExpressionTerm:
        """The moment of frame a on frame b, (3,) N m, world axes."""
        return ExpressionTerm(self._moment, f"moment of {self.name} in world axes", AXIS_NAMES, "N m")

    @property
    def force_in_a(self) -> ExpressionTerm:
        """The force of frame a on frame b, (3,) N, in axes of frame a."""
        return ExpressionTerm(
            self._force_in_a, f"force of {self.name} in axes of {self.frame_a}", AXIS_NAMES, "N"
        )

    @property
    def gap(self) -> ExpressionTerm:
        """All rows of the gap, in m and, for small ones, rad."""
        return ExpressionTerm(self._gap, f"gap of {self.name}", self.labels, self.units)

    @property
    def kept_gap(self) -> ExpressionTerm:
        """The rows of the gap that are stated."""
        return self._kept(self._kept_gap, f"stated gap of {self.name}", self.units)

    @property
    def kept_speed(self) -> ExpressionTerm:
        """The rows of its velocity that are stated."""
        return self._kept(self._kept_speed, f"speed of the gap of {self.name}", self.speed_units)

    @property
    def speed(self) -> ExpressionTerm:
        """The velocity of the gap, all rows."""
        return ExpressionTerm(self._speed, f"all speeds of {self.name}", self.labels, self.speed_units)

    @property
    def speed_units(self) -> tuple[str, ...]:
        return tuple(f"{unit}/s" for unit in self.units)

    @property
    def misfit(self) -> ExpressionTerm:
        """The gap, and 1 - cos of the turn between axes: all zero only where the loop is closed.

        The turns of the gap are sines, which vanish where b is turned over by half a turn, too.
        """
        over = bool(self.turns)
        labels, units = (*self.labels, *("turned over",) * over), (*self.units, *("1",) * over)
        return ExpressionTerm(self._misfit, f"misfit of {self.name}", labels, units)

    def wrench_on_b(self, node: NodeSymbols) -> list[Number]:
        """(6,) [moment; force] about the world origin on the link of frame b, N m and N."""
        force, moment, place = self._force(node), self._moment(node), node.position(self.frame_b)
        return [a + b for a, b in zip(cross(place, force), moment, strict=True)] + force

    def wrench_on_a(self, node: NodeSymbols) -> list[Number]:
        """(6,), the opposite one on the link of frame a."""
        return [-each for each in self.wrench_on_b(node)]

    # -- functions of a node ------------------------------------------------------------------------------

    def _kept(self, read: Callable[[NodeSymbols], object], name: str, units: Sequence[str]) -> ExpressionTerm:
        labels, units = ([each[row] for row in self.kept] for each in (self.labels, units))
        return ExpressionTerm(read, name, tuple(labels), tuple(units))

    def _kept_gap(self, node: NodeSymbols) -> list[Number]:
        rows = self._gap(node)
        return [rows[row] for row in self.kept]

    def _kept_speed(self, node: NodeSymbols) -> list[Number]:
        rows = self._speed(node)
        return [rows[row] for row in self.kept]

    def _gap(self, node: NodeSymbols) -> list[Number]:
        place, rows = along(self.basis, self._apart(node)), []
        if self.kind == "pin":
            axis = self._axis()
            rows = along(self.basis, cross(axis, _turned_by(self._turn(node), axis)))
        elif self.kind == "weld":
            rows = along(self.basis, sines_of_turn(self._turn(node)))
        return place + [rows[turn] for turn in self.turns]

    def _speed(self, node: NodeSymbols) -> list[Number]:
        a, b = node.velocity(self.frame_a), node.velocity(self.frame_b)
        moved = cross(a, difference_of(node.position(self.frame_b), node.position(self.frame_a)))
        linear = difference_of(difference_of(b[PLACES:], a[PLACES:]), moved)
        rows = along(self.basis, self._in_a(node, difference_of(b, a))) if self.turns else []
        return along(self.basis, self._in_a(node, linear)) + [rows[turn] for turn in self.turns]

    def _misfit(self, node: NodeSymbols) -> list[Number]:
        gap = self._gap(node)
        if not self.turns:
            return gap
        turn = self._turn(node)
        if self.kind == "weld":
            return [*gap, 0.5 * sum(1.0 - column[i] for i, column in enumerate(turn))]
        axis = self._axis()
        return [*gap, 1.0 - dot(axis, _turned_by(turn, axis))]

    def _force(self, node: NodeSymbols) -> list[Number]:
        return self._pushed(node, f"force of {self.name}")

    def _moment(self, node: NodeSymbols) -> list[Number]:
        return self._pushed(node, f"moment of {self.name}")

    def _pushed(self, node: NodeSymbols, curve: str) -> list[Number]:
        """(3,) in world axes, of a curve; zero where there is none."""
        if curve not in self.curves:
            return [0.0, 0.0, 0.0]
        return turned(node.orientation(self.frame_a), self._pushed_in_a(node, curve))

    def _force_in_a(self, node: NodeSymbols) -> list[Number]:
        return self._pushed_in_a(node, f"force of {self.name}")

    def _pushed_in_a(self, node: NodeSymbols, curve: str) -> list[Number]:
        directions = self.curves.get(curve, ())
        push = node.extra(curve) if directions else ()
        return [sum(push[k] * axis[row] for k, row in enumerate(directions)) for axis in self.basis.T]

    def _apart(self, node: NodeSymbols) -> list[Number]:
        """p_b - p_a in axes of frame a."""
        return self._in_a(node, difference_of(node.position(self.frame_b), node.position(self.frame_a)))

    def _in_a(self, node: NodeSymbols, vector: Sequence[Number]) -> list[Number]:
        return turned_back(node.orientation(self.frame_a), vector)

    def _turn(self, node: NodeSymbols) -> list[list[Number]]:
        """The columns of A' B R', the identity where b is turned as it belongs."""
        b = node.orientation(self.frame_b)
        return [self._in_a(node, turned(b, row)) for row in self.rotation]

    def _axis(self) -> list[float]:
        """(3,) the axis of the hinge, in axes of frame a."""
        (axis,) = set(range(PLACES)) - set(self.turns)
        return self.basis[axis].tolist()


def along(basis: Array, vector: Sequence[Number]) -> list[Number]:
    """The components of a vector along the rows of a basis."""
    return [sum(own * vector[i] for i, own in enumerate(row) if own) for row in basis.tolist()]


def _turned_by(columns: Sequence[Sequence[Number]], vector: Sequence[Number]) -> list[Number]:
    """A rotation of these columns times a vector."""
    return [dot(row, vector) for row in zip(*columns, strict=True)]


def basis_of(kind: str, axis: ArrayLike | None, name: str) -> tuple[Array, tuple[int, ...]]:
    """`basis` and `turns` of a `Closure`; OptionError and ShapeError, see `Problem.close_loop`."""
    if kind not in get_args(ClosureKind):
        raise OptionError(
            f"the loop '{name}' is closed by {arguments.short_repr(kind)}: give 'point', a ball joint; "
            "'pin', a hinge, with its axis; or 'weld'"
        )
    if (kind == "pin") != (axis is not None):
        wanted = "needs the axis of its hinge" if kind == "pin" else "has no axis"
        raise OptionError(f"the loop '{name}', closed by a {kind}, {wanted}: axis=(0, 0, 1) is z of frame a")
    if kind != "pin":
        return IDENTITY, (0, 1, 2) if kind == "weld" else ()
    given = arguments.finite_numbers(axis, f"the axis of '{name}'")
    if given.shape != (3,) or not np.linalg.norm(given) > 0.0:
        raise ShapeError(
            f"the axis of '{name}' is {arguments.short_repr(axis)}: give three numbers, not zero"
        )
    unit = given / np.linalg.norm(given)
    if np.count_nonzero(unit) == 1:  # an axis of the frame
        return IDENTITY, tuple(int(i) for i in np.flatnonzero(unit == 0.0))
    return basis_about(given), (0, 1)


def rotation_of(rotation: ArrayLike | None, name: str) -> Array:
    """A rotation matrix (3, 3), the identity where none is given."""
    if rotation is None:
        return IDENTITY
    R = arguments.finite_numbers(rotation, f"the rotation of '{name}'")
    if R.shape != (3, 3) or np.abs(R @ R.T - IDENTITY).max() > AGREEMENT or np.linalg.det(R) < 0.0:
        raise ShapeError(
            f"the rotation of '{name}' is no rotation matrix: give (3, 3), the axes of frame b in those of a"
        )
    return R


def frames_of(dynamics: Any, frame_a: str, frame_b: str, name: str) -> tuple[str | None, str | None]:
    """The links of the two frames of a loop; OptionError where they are one, or frames have no links."""
    if not arguments.implements(dynamics, CarriedFrames):
        raise OptionError(
            f"a loop needs the links of its frames, which {type(dynamics).__name__} does not have: give a "
            "dynamics.RigidBodyModel, or say how in `carrier`"
        )
    links = link_of(dynamics, frame_a), link_of(dynamics, frame_b)
    if links[0] == links[1]:
        raise OptionError(
            f"the frames of the loop '{name}', {frame_a} and {frame_b}, are both fixed to "
            f"{links[0] or 'the ground'}: name frames of two links"
        )
    return links


def closure_of(
    dynamics: Any,
    arc_count: int,
    name: str,
    frames: tuple[str, str],
    joint: tuple[Any, Any, Any],
    arcs: Iterable[int],
    pose: Array,
    tolerance: object,
) -> Closure:
    """The closure of a call of `Problem.close_loop` with all of its rows; see there, also for errors.

    joint : kind, axis and rotation
    """
    kind, axis, rotation = joint
    links = frames_of(dynamics, *frames, name)
    basis, turns = basis_of(kind, axis, name)
    where = tuple(sorted({checked_arc(arc, f"the loop {name}", arc_count) for arc in arcs}))
    if not where:
        raise OptionError(f"the loop '{name}' is closed in no arc: leave it out, or name arcs from 0")
    allowed = arguments.number(tolerance, f"the tolerance of '{name}'")
    if not 0.0 < allowed < np.inf:
        raise OptionError(f"the tolerance of '{name}' is {tolerance} m: give a number above 0")
    every, R = tuple(range(PLACES + len(turns))), rotation_of(rotation, name)
    return Closure(name, *frames, *links, kind, basis, turns, R, where, every, pose, allowed)
