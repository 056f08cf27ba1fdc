"""Refuses a start and an end that no free fall of a robot joins, before a solver looks for a motion.

With c the centre of mass, c'(T) = c'(0) + g T and c(T) = c(0) + c'(0) T + g T^2 / 2, whatever joints do; of a
robot whose feet all slide without friction along a level axis, that component of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.problem.contacts.contact_checks import stated_limits, statements_of
from trajopt.problem.contacts.ground import Ground
from trajopt.problem.contacts.loop_poses import MOVED, NEARLY, fixed_at
from trajopt.problem.contacts.pose_search import SEED, STARTS, STEP, nearest_pose
from trajopt.splines.node_sets import END, PATH, START, NodeSet

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem


def refuse_free_fall(problem: Problem) -> None:
    """Raise InfeasibleBoundsError where nothing carries a free base and its start and end do not fit a fall.

    Nothing is said where a contact or a load acts at any time, or where q or v is free at one of the ends.
    """
    robot: Any = problem.dynamics
    floating = getattr(robot, "floating_joints", ())
    passive = all(PATH in problem.passive_joints.get(joint, ()) for joint in floating)
    if not floating or not passive or problem.loads:
        return
    start, end = _centre_at(problem, START), _centre_at(problem, END)
    if start is None or end is None:
        return
    (c_0, v_0), (c_1, v_1) = start, end
    g = np.asarray(robot.gravity, dtype=float)
    shortest, longest = np.sum([arc.duration_bounds for arc in problem.trajectory.arcs], axis=0)
    T = float(np.clip(g @ (v_1 - v_0) / max(g @ g, 1e-12), shortest, longest))
    off_speed = float(np.linalg.norm(v_0 + g * T - v_1))
    off = float(np.linalg.norm(c_0 + (v_0 + 0.5 * g * T) * T - c_1))
    # Of g T and g T^2, as of values: less is what typed digits leave.
    size = float(np.linalg.norm(g)) * T + float(np.linalg.norm(v_0))
    if off_speed > MOVED * size or off > MOVED * size * T:
        raise InfeasibleBoundsError(
            f"nothing but gravity moves the robot, whose base has no motor: after {T:.4g} s in free fall its "
            f"centre of mass is {off:.4g} m from where the motion ends and {off_speed:.4g} m/s too fast. Add "
            "contacts that carry it, or leave q and v of the base open at the end"
        )


def refuse_unpushed(problem: Problem) -> None:
    """Raise InfeasibleBoundsError where no foot pushes along a level axis and the end is out of reach there.

    Looked at are motions from a whole state, of a robot that contacts on level ground alone push.
    """
    contacts = [each for each in problem.contacts.values() if each.arcs]
    stated = {constraint.name for constraint in problem.constraints}
    if not contacts or problem.closures or set(problem.loads) - {contact.link for contact in contacts}:
        return
    grounds = {ground for contact in contacts for ground in contact.grounds}
    level = all(isinstance(one, Ground) and one.shape is None and not any(one.slope) for one in grounds)
    start = _centre_at(problem, START) if level else None
    if start is None:
        return
    for way in (0, 1):
        every = (statements_of(contact, arc, way)[0] for contact in contacts for arc in contact.arcs)
        if all(name in stated for name in every):
            _refuse_unpushed_along(problem, next(iter(grounds)).order[way], start)


def _refuse_unpushed_along(problem: Problem, axis: int, start: tuple[Array, Array]) -> None:
    (c, v), seconds = start, [arc.duration_bounds for arc in problem.trajectory.arcs]
    places = np.sort(c[axis] + v[axis] * np.sum(seconds, axis=0)) if v[axis] else np.full(2, c[axis])
    fixed, values = fixed_at(problem, "q", END)
    block = problem.dynamics.block(("centre_of_mass",))

    def miss(q: Array) -> Array:
        place = block.value({"q": q[None]})["centre_of_mass"][:, axis]
        return place - np.clip(place, *places)

    def slope(q: Array) -> Array:
        return block.partials({"q": q[None]})["centre_of_mass", "q"][0][[axis]]

    begin, random = np.where(fixed, values, fixed_at(problem, "q", START)[1]), np.random.default_rng(SEED)
    guesses = [begin + ~fixed * random.uniform(-STEP, STEP, begin.size) for _ in range(STARTS)]
    poses = (nearest_pose(miss, slope, guess, stated_limits(problem), fixed) for guess in (begin, *guesses))
    off = min(abs(float(miss(pose)[0])) for pose in poses)
    if off > NEARLY:
        raise InfeasibleBoundsError(
            f"no foot pushes the robot along {'xyz'[axis]}, as all slide there without friction: its centre "
            f"of mass is {off:.3g} m from where any pose found has it at the end. Hold feet along "
            f"{'xyz'[axis]}, held='xyz', or leave the base open at the end"
        )


def _centre_at(problem: Problem, place: NodeSet) -> tuple[Array, Array] | None:
    """Place and velocity of the centre of mass at an end, (3,) each; None where q or v is not fixed."""
    fixed, q = fixed_at(problem, "q", place)
    also, v = fixed_at(problem, "v", place)
    if not (fixed.all() and also.all()):
        return None
    block, u = problem.dynamics.block(("centre_of_mass",)), {"q": q[None]}
    slope = block.partials(u)["centre_of_mass", "q"][0]
    return block.value(u)["centre_of_mass"][0], slope @ v
