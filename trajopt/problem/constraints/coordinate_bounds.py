"""Bounds of terms, boundary values, locked joints, limits, joints without motors, borders of arcs.

The torque of a joint without a motor is zero, an equation of the robot that every motion must satisfy.

Of a joint with a spring or a damper it is the motor's torque beside them that is zero.

Continuity holds where arcs meet, periodicity at the ends of a motion.

At a border of arcs every coordinate and as many derivatives of it agree as the trajectory says. An impact, a
jump of one state or a torque that switches is a border at which one coordinate keeps fewer of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import check_count, check_flag, is_whole, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import DegreesWarning, InfeasibleBoundsError, OptionError, ShapeError, warn_user
from trajopt.graph.protocols import Dynamics
from trajopt.graph.quantities import (
    EXTRA,
    SPLINE_LEAVES,
    TORQUES,
    described_joints,
    has_springs,
    is_extra,
    slices_of,
)
from trajopt.problem import input_checks
from trajopt.problem.costs_and_constraints import Constraint, Periodicity
from trajopt.problem.input_checks import bound_of, equal_to, index_of
from trajopt.problem.systems.augmented_dynamics import AugmentedDynamics
from trajopt.problem.systems.robot_on_path import RobotOnPath
from trajopt.problem.systems.state_equations import StateEquations
from trajopt.splines.node_sets import PATH, NodeSet
from trajopt.splines.trajectory import Trajectory
from trajopt.terms import term as terms
from trajopt.terms.arithmetic import Combination, Squared, factor_of
from trajopt.terms.term import ComponentTerm, ExpressionTerm, SliceTerm, components_read

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.protocols import Term
    from trajopt.graph.trace import NodeSymbols
    from trajopt.problem.problem import Problem


TORQUE_LIMITS = "torque limits"  # the name of those of the robot
OF_SPRINGS = "stiffness", "rest", "damping"  # what a design may say of a joint's spring and damper


def constraint_of(
    problem: Problem,
    term: Term,
    given: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    width: int,
    over: NodeSet,
    label: str,
    hold: Literal["nodes", "hull"],
    scale: float | None,
) -> Constraint:
    """The constraint that users state; given : lower, upper and equal value; see `Problem.subject_to`."""
    names = problem.component_names(term.quantity, width)
    low, high = input_checks.bounds_or_value(*given, width, label, names)
    term, low, high = input_checks.on_whole_quantity(term, low, high, problem.quantities)
    quantity = term.quantity
    if quantity == "q" or (isinstance(term, ComponentTerm | SliceTerm) and term.base == "q"):
        components = components_read(term, problem.dynamics.n)[1]
        warn_of_degrees(problem.dynamics, label, np.array([low, high]), components)
    input_checks.check_whole_arc(over, low, high, over.placed_on(problem.trajectory), label)
    input_checks.check_hold(hold, label, quantity in SPLINE_LEAVES and over == PATH)
    curve = problem.extras.get(quantity.removeprefix(EXTRA)) if is_extra(quantity) else None
    continuous = quantity == "q" or (curve is not None and curve.is_state)
    input_checks.check_scale(scale, label, has_scale=True)
    sizes = None if scale is None else np.full(low.size, float(scale))
    return Constraint(term, low, high, over, label, hold, continuous, sizes)


def passive_torques(
    problem: Problem, joints: Sequence[str], part: NodeSet
) -> list[tuple[str, ExpressionTerm]]:
    """The torques that vanish over a part of the motion; see `Problem.passive`, also for errors."""
    if part.is_difference:
        raise OptionError(f"joints cannot be passive over {part}: use 'path', a window or an arc")
    if not joints:
        raise OptionError("no joint is named: use, for example, problem.passive('pole')")
    names = problem.dynamics.joint_names
    places = [index_of(joint, names) for joint in joints]
    for number, joint in enumerate(joints):
        before = problem.passive_joints.get(joint, ())
        if joint in joints[:number] or part in before or PATH in before or (before and part == PATH):
            raise OptionError(f"the joint '{joint}' is passive already: name it once")
    units = problem.quantity_units("tau", len(names))
    sprung = sprung_joints(problem.dynamics, problem.designs)
    found = []
    for joint, place in zip(joints, places, strict=True):
        # tau under the problem's loads, or the torque of the motor beside springs and dampers.
        function = partial(_component_of, "motor_torque" if joint in sprung else "tau", place)
        found.append((joint, ExpressionTerm(function, f"torque at {joint}", unit=units[place])))
    return found


def _component_of(quantity: str, index: int, node: NodeSymbols) -> Expression:
    return getattr(node, quantity)[index]


def of_motors(problem: Problem, term: Term) -> Term:
    """A cost's term without the squared torques of joints that nothing ever drives.

    They are zero where equations hold; counted, they would outweigh those of motors before that, by a million
    times for a robot on legs, and add what equations miss between nodes. Where nothing drives any joint the
    term stays: no unknown would be left in it.
    """
    never = {joint for joint, parts in problem.passive_joints.items() if PATH in parts}
    never = never if len(never) < len(problem.dynamics.joint_names) else set()
    parts = term.parts if isinstance(term, Combination) else ((1.0, term),)
    if not never or not any(_is_squared_torque(part) for _, part in parts):
        return term
    driven = np.array([joint not in never for joint in problem.dynamics.joint_names], dtype=float)
    return Combination(
        tuple(
            (factor_of(np.multiply(factor, driven)) if _is_squared_torque(part) else factor, part)
            for factor, part in parts
        )
    )


def _is_squared_torque(term: Term) -> bool:
    return isinstance(term, Squared) and term.base.quantity in TORQUES


def sprung_joints(dynamics: Dynamics, designs: Iterable[str]) -> set[str]:
    """The joints with a spring or a damper, of the robot as it is or by a design."""
    sprung = {joint.name for joint in described_joints(dynamics) if has_springs(joint)}
    of_designs = (name.rpartition(".") for name in designs)
    return sprung | {joint for joint, _, kind in of_designs if kind in OF_SPRINGS}


def refuse_late_spring(problem: Problem, design: str) -> None:
    """OptionError for the design of a joint's first spring after what was stated as if there were none."""
    for joint in sprung_joints(problem.dynamics, [design]) - sprung_joints(problem.dynamics, problem.designs):
        limited = any(c.name == TORQUE_LIMITS and c.term.quantity == "tau" for c in problem.constraints)
        done = "problem.passive" if joint in problem.passive_joints else "problem.subject_to_joint_limits"
        if joint in problem.passive_joints or limited:
            raise OptionError(
                f"'{design}' is designed after {done}, which took the joint '{joint}' to have no spring or "
                f"damper: call problem.design before {done}"
            )


# rad: real joints that do not turn without end hardly turn further; what is beyond is said as "no limit"
TWO_TURNS, NO_LIMIT = 4.0 * np.pi, 720.0
Limit = tuple[terms.Quantity, Array, Array, Literal["nodes", "hull"], str]


def boundary_values(
    dynamics: Dynamics, place: str, given: Mapping[str, object]
) -> Iterator[tuple[terms.Quantity, Array, Array, str]]:
    """(term, lower and upper bounds, label) of each value that is given: see `Problem.start_at`.

    place : "start" or "end"
    given : values of q, v, a and x, None where there are none; x are the states of a system, which are its
        q, or the further states of a robot, one after the other or by their names
    Raises OptionError where both q and x of a system are given, or x of a robot without states, and what
    `bounds_of_values` raises.
    """
    further = isinstance(dynamics, AugmentedDynamics)
    if given["x"] is not None and given["q"] is not None and not further:
        raise OptionError(f"q and x at the {place} are both given: x are the states of a system, q joints")
    for letter in ("q", "v", "a") if further else ("x", "q", "v", "a"):
        if given[letter] is not None:
            label, values = f"{letter} at the {place}", given[letter]
            values = _listed(dynamics, values, label) if letter == "x" else values
            bounds = bounds_of_values(values, label, dynamics.joint_names)
            yield terms.Quantity("q" if letter == "x" else letter), *bounds, label
    if further and given["x"] is not None:
        label = f"x at the {place}"
        values = _listed(dynamics, given["x"], label)
        lower, upper = bounds_of_values(values, label, dynamics.state_names)
        for name, own in slices_of(dynamics.states).items():
            if np.any(np.isfinite(lower[own])):
                yield terms.extra(name), lower[own], upper[own], f"{name} at the {place}"


def warn_of_degrees(
    dynamics: Dynamics, label: str, values: NDArray[np.float64], components: NDArray[np.int64] | None = None
) -> None:
    """DegreesWarning for the largest of values of q (k, n) above two turns, of revolute joints alone.

    components : of q, of which values (k, m) are given in place of all n
    Joints that turn without end, such as "continuous" ones of a URDF, may have any.
    """
    limited = {
        joint.name
        for joint in described_joints(dynamics)
        if joint.kind == "revolute" and not getattr(joint, "continuous", False)
    }
    names = [dynamics.joint_names[i] for i in (range(dynamics.n) if components is None else components)]
    turns, sizes = np.array([name in limited for name in names]), np.abs(values)
    suspected = np.where(turns & (sizes > TWO_TURNS) & (sizes <= NO_LIMIT), sizes, 0.0).max(axis=0)
    worst = int(np.argmax(suspected))
    if angle := float(suspected[worst]):
        warn_user(
            f"'{label}' has {angle:.6g} rad, {angle / (2.0 * np.pi):.3g} turns, for the revolute joint "
            f"'{names[worst]}': degrees? Angles are in rad, {angle:.6g} degrees are "
            f"{np.deg2rad(angle):.4g}; a joint that turns without end is dynamics.Joint(continuous=True)",
            DegreesWarning,
        )


def _listed(dynamics: Any, values: object, label: str) -> object:
    """Values of states by name as one list, None for those that are left out; a list as it is."""
    if not isinstance(values, Mapping) or not isinstance(dynamics, StateEquations):
        return values
    listed: list[object] = [None] * len(dynamics.state_names)
    places = slices_of(dynamics.states)
    for name, value in values.items():
        index_of(name, list(places), f"state of '{label}'")
        own = places[name]
        several = list(value) if isinstance(value, list | tuple) else np.atleast_1d(value).tolist()
        several = several * (own.stop - own.start) if len(several) == 1 else several
        if len(several) != own.stop - own.start:
            raise ShapeError(
                f"{label} has {len(several)} numbers for '{name}', which has {own.stop - own.start} "
                "components: give one for all, or one each"
            )
        listed[own] = several
    return listed


def bounds_of_values(value: Any, name: str, coordinates: Sequence[str]) -> tuple[Array, Array]:
    """Lower and upper bounds (n,) that fix the given coordinates and leave those that are None free.

    Raises ShapeError, NotFiniteError or, where nothing is fixed, OptionError.
    """
    lower, upper = input_checks.bounds_or_value(None, None, value, len(coordinates), name, coordinates)
    if coordinates and not np.isfinite(lower).any():
        raise OptionError(f"{name} leaves all of {', '.join(coordinates)} free: leave it out")
    return lower, upper


def locked_bounds(
    names: Sequence[str], joints: Sequence[str], at: ArrayLike
) -> list[tuple[str, Array, Array]]:
    """(joint, lower and upper bounds of q) that hold joints at one position, or one each."""
    if not joints:
        raise OptionError("no joint is named: use, for example, problem.lock('elbow', at=0.5)")
    places = [index_of(joint, names) for joint in joints]
    positions = equal_to(at, len(joints), "the position of a lock", joints)
    found = []
    for joint, place, position in zip(joints, places, positions, strict=True):
        own = np.arange(len(names)) == place
        found.append((joint, np.where(own, position, -np.inf), np.where(own, position, np.inf)))
    return found


def joint_limits(
    dynamics: Any, designs: Iterable[str], name: str, position: bool, velocity: bool, torque: bool
) -> Iterator[Limit]:
    """(term, lower, upper, hold, label) of every wanted kind that has a finite limit.

    designs : properties that follow from parameters, those of springs among them
    name : of the problem, for messages
    Torques limited are those of motors, beside springs and dampers of joints that have some.
    Of a robot on a path the joints' limits hold at the nodes, the range of the path for all t. A robot
    without mass has no torques, whatever limits its file states.
    Raises InfeasibleBoundsError where all limits of a kind are zero, OptionError for what is no flag.
    """
    q, v, hold, limits = terms.q, terms.v, "hull", dynamics.limits
    robot = dynamics.robot if isinstance(dynamics, RobotOnPath) else dynamics
    driving = terms.motor_torque if sprung_joints(robot, designs) else terms.tau
    if isinstance(dynamics, RobotOnPath):
        q, v, hold = terms.Quantity("joint_position"), terms.Quantity("joint_velocity"), "nodes"
        limits = robot.limits
    has_torques = not getattr(robot, "has_no_mass", False)
    kinds: tuple[tuple[bool, str, Limit], ...] = (
        (position, "position", (q, limits.q_lower, limits.q_upper, hold, "position limits")),
        (velocity, "velocity", (v, -limits.velocity, limits.velocity, hold, "velocity limits")),
        (torque, "torque", (driving, limits.torque_lower, limits.torque_upper, "nodes", TORQUE_LIMITS)),
    )
    for wanted, kind, (_, lower, upper, _, _) in kinds:
        check_flag(kind, wanted)
        if wanted and not (np.any(lower) or np.any(upper)):
            effort = ' (effort="0" in a URDF file)' if kind == "torque" else ""
            raise InfeasibleBoundsError(
                f"all {kind} limits of the robot of '{name}' are zero{effort}, which allows no motion: give "
                f"its joints limits, or call subject_to_joint_limits({kind}=False)"
            )
    if isinstance(dynamics, RobotOnPath):
        yield terms.q, dynamics.limits.q_lower, dynamics.limits.q_upper, "hull", "range of the path"
    for wanted, _, limit in kinds if has_torques else kinds[:2]:
        if wanted and (np.any(np.isfinite(limit[1])) or np.any(np.isfinite(limit[2]))):
            yield limit


MAY_JUMP = {-1: "its value", 0: "its rate", 1: "its acceleration"}  # the lowest derivative that does


@dataclass(frozen=True)
class LowerContinuity:
    """A coordinate that keeps `order` continuous derivatives, -1 for none and no value, at a border of arcs.

    after : the arc before the border; None for every border
    """

    coordinate: int
    order: int
    after: int | None

    def borders(self, count: int) -> slice:
        """The borders that are meant, of `count`."""
        return slice(None) if self.after is None else slice(self.after, min(self.after + 1, count))


def lower_continuity(
    names: Sequence[str], trajectory: Trajectory, coordinate: Any, order: Any, after: Any
) -> LowerContinuity:
    """The value of a call of `Problem.continuity`; see there, also for errors."""
    number, highest = index_of(coordinate, names, "coordinate"), trajectory.continuity - 1
    if not is_whole(order) or not -1 <= order <= highest:
        known = " or ".join(f"{k} ({MAY_JUMP[k]} may jump)" for k in range(-1, highest + 1))
        raise OptionError(
            f"the continuity of '{coordinate}' is {short_repr(order)}, but where arcs meet the trajectory "
            f"has {trajectory.continuity}, and only less can be asked for: use {known}"
        )
    if after is not None:
        check_count("after, the number of the arc before the border", after)
    found = LowerContinuity(number, int(order), None if after is None else int(after))
    check_borders(trajectory, [found])
    return found


def check_borders(trajectory: Trajectory, given: Iterable[LowerContinuity]) -> None:
    """OptionError where a lower continuity is given for a border that the trajectory does not have."""
    count = len(trajectory.arcs) - 1
    for each in given:
        if not count:
            raise OptionError(
                "the continuity of a coordinate is given for borders of arcs; the trajectory has one arc: "
                "cut it where it may jump, Trajectory((arc, arc)) or "
                "Trajectory.collocation(intervals, order, arcs=2)"
            )
        if each.after is not None and each.after >= count:
            raise OptionError(
                f"after is {each.after}, but borders follow arcs 0 to {count - 1} of the {count + 1} arcs"
            )


def periodicity_of(
    term: Term, width: int, signs: ArrayLike, order: ArrayLike | None, offset: ArrayLike, label: str
) -> Periodicity:
    """term(T)_i = signs_i * term(0)_order(i) + offset_i; ShapeError or OptionError where it cannot be."""
    given = np.arange(width) if order is None else numbers(order, f"the order of '{label}'")
    if given.shape != (width,) or sorted(given.tolist()) != list(range(width)):
        raise ShapeError(
            f"the order of '{label}' is {short_repr(given.tolist())}: give each of 0 .. {width - 1} once"
        )
    places = given.astype(np.int64)
    mixed = bool(np.any(places != np.arange(width)))
    if mixed and term.quantity not in SPLINE_LEAVES and not is_extra(term.quantity):
        raise OptionError(
            f"'{label}' reorders components, which only q, v and additional curves can: reorder inside"
        )
    factors, further = bound_of(signs, 1.0, width, label), bound_of(offset, 0.0, width, label)
    return Periodicity(term, factors, places, further, label, np.arange(width))
