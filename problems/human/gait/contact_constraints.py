"""Step constraints on feet and ground: where the feet stand, and what the ground can supply."""

from __future__ import annotations

import numpy as np

import trajopt
from problems.human.body.tables import contact_points
from problems.human.gait import ground_reaction as reaction
from problems.human.gait.step import FOREFOOT_ALONE, NODES_APART, Step
from problems.human.gait.step_limits import StepLimits
from trajopt.splines.node_sets import Neighbours

MIDDLE_OF_SWING = (0.4, 0.9)  # parts of the swing in which the foot clears the ground
LEAST_PUSH = 0.1  # of body weight, the ground's least vertical reaction


def foot_placement(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Standing foot points are at their places at sampled times of their phases, (5.4) and section 5.2.2.

    Held at a few times, and within a band in between: so few control points cannot hold a point still
    everywhere, and equalities that nearly depend on each other stop the solver. For the same reason the pivot
    of a flat foot, whose heel is held, is not held along the foot, and what symmetry repeats at the other end
    of the step is said once.
    """
    for point, times in step.contacts.items():
        x, z = step.place(point)
        for time in times:
            along, across = step.held(point, time)
            place = np.array([x if along else np.nan, 0.0, z if across and z is not None else np.nan])
            lower = np.nan_to_num(place - limits.contact, nan=-np.inf)
            upper = np.nan_to_num(place + limits.contact, nan=np.inf)
            name = step.named(f"{point} stands at {time:.3g} T")
            problem.subject_to(trajopt.position(point), lower, upper, over=step.at(time), name=name)
        place = np.array([x, 0.0, np.nan if z is None else z])
        lower = np.nan_to_num(place - limits.drift, nan=-np.inf)
        upper = np.nan_to_num(place + limits.drift, nan=np.inf)
        phase, name = _phase(step, point), step.named(f"{point} stays")
        problem.subject_to(trajopt.position(point), lower, upper, over=phase, name=name)


def flat_sole(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Both edges of a sole with a width are level with its middle while the ball stands.

    |b R_yz| <= drift at the nodes, with b half the width and R_yz the rise of the foot's lateral axis: heel,
    ball and toe lie on one line, about which the foot can roll without this. The middle has a drift of its
    own.
    """
    if limits.sole > 0.0:
        steepest = limits.drift / limits.sole
        lower, upper = np.full((3, 3), -np.inf), np.full((3, 3), np.inf)
        lower[1, 2], upper[1, 2] = -steepest, steepest
        for side in (step.leads, step.trails):
            orientation = trajopt.Quantity(f"orientation:hindfoot_{side}")
            phase, name = _phase(step, f"ball_{side}"), step.named(f"sole {side} lies flat")
            problem.subject_to(orientation, lower.ravel(), upper.ravel(), over=phase, name=name)


def penetration(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Every foot point stays above the ground, (5.4)."""
    for point in contact_points():
        floor = [-np.inf, -limits.penetration, -np.inf]
        problem.subject_to(trajopt.position(point), floor, name=f"{point} above ground")


def swing_clearance(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Ball and toe of the swinging foot pass well above the ground."""
    swing = 1.0 - step.toe_off
    middle = step.over(*(step.toe_off + part * swing for part in MIDDLE_OF_SWING))
    if limits.clearance > 0.0:
        for kind in ("ball", "toe"):
            point, floor = f"{kind}_{step.trails}", [-np.inf, limits.clearance, -np.inf]
            name = step.named(f"{point} clears the ground")
            problem.subject_to(trajopt.position(point), floor, over=middle, name=name)


def balance(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """The zero-moment point is inside the support polygon, (5.5)."""
    sole = step.footprint(step.leads)
    both = np.concatenate([sole, step.footprint(step.trails)])
    forefoot = step.heel_off + FOREFOOT_ALONE
    raised = step.footprint(step.leads, "forefoot")
    _supported(problem, step, both, (0.0, step.toe_off - NODES_APART), "zero-moment point under both feet")
    _supported(
        problem, step, sole, (step.toe_off, forefoot - NODES_APART), "zero-moment point under the foot"
    )
    _supported(problem, step, raised, (forefoot, 1.0), "zero-moment point under the forefoot")


def pressure(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Bound the centres of pressure in double support to the leading sole and the trailing forefoot.

    Where legs push against each other, the force on either foot is within the friction cone.
    """
    window = (0.0, step.toe_off - NODES_APART)
    soles = {"leading": step.footprint(step.leads), "trailing": step.footprint(step.trails, "forefoot")}
    for which, corners in soles.items():
        name = f"centre of pressure under the {which} foot"
        split, leading = step.reaction_split, which == "leading"
        _supported(problem, step, corners, window, name, split.shift(leading))
        if split.opposing is not None:
            name, push = step.named(f"friction cone of the {which} foot"), split.push(leading)
            margin = reaction.friction_margin(limits.friction, step.weight, name, push)
            problem.subject_to(margin, 0.0, over=step.over(*window), name=name)


def push(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """The ground pushes upward and within the friction cone."""
    problem.subject_to(reaction.force("y"), LEAST_PUSH * step.weight, name="ground pushes upward")
    problem.subject_to(reaction.friction_margin(limits.friction, step.weight), 0.0, name="friction cone")


def free_moment(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """The moment about the vertical that the ground can give is bounded."""
    problem.subject_to(reaction.free_moment_margin(limits.free_moment, step.weight), 0.0, name="free moment")


def continuous_reaction(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """The ground reaction ends a step as the next one begins: without it, accelerations jump there."""
    axes = "xy" if step.line is None else "xyz"
    name = step.named("ground reaction continuous over the step boundary")
    if step.number + 1 < step.count:
        force = reaction.force(axes, step.weight)
        problem.subject_to(force, equals=0.0, over=Neighbours(step.number), name=name)
    else:
        signs = reaction.MIRRORED[: len(axes)] if step.count == 1 else 1.0
        problem.subject_to_periodic(reaction.force(axes), signs, name=name)


def _phase(step: Step, point: str) -> tuple[float, float] | trajopt.ArcNodes:
    """The window in which a point stands: the trailing foot has stood since the step before."""
    times = step.contacts[point]
    return step.over(times[0] if point.endswith(step.leads) else 0.0, times[-1])


def _supported(problem, step: Step, corners, window, name: str, shift=None) -> None:
    sides = reaction.sides(corners, lateral=step.line is not None)
    margin = reaction.support_margin(sides, step.weight, step.named(name), shift)
    problem.subject_to(margin, 0.0, over=step.over(*window))
