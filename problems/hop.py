"""Hop of a free-floating body: ground forces at heel and toe are unknown curves, phases have own durations.

    minimize integral_0^T sum_i (tau_i / limit_i)^2 + smoothness sum_j a_j^2 dt + u T
                                                                       i: ankle, knee, hip; j: foot too
    subject to   tau_x = tau_y = tau_foot = 0                          the ground alone carries the body
                 heel, toe >= 0,  |along| <= mu (heel + toe)           where they stand; zero elsewhere
                 heel and toe never below the ground
                 y + v_y^2 / 2 g at take-off = y(0) + height           of the centre of mass

from standing to standing in four arcs: push-off from the flat foot, from the toe, flight, landing on the flat
foot, which comes to rest where it lands, so that no impact is lost. The tree begins at the toe: x, y and the
angle of the foot are its free base, so that standing is linear, is eliminated, and holds for all times. Heel
and toe lie on one line along which the ground pushes too; how they share that force does not matter. An arc
is one polynomial of degree d per coordinate: its start leaves d - 1 coefficients, for as many Gauss points.
A foot in the air is turned by torques that cost next to nothing: without smoothness it wobbles between those
points, which takes forces that no motor supplies. Both legs count as one. No published optimum: tests hold
the hop against ballistics, momentum balance and power.
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe
from trajopt import ArcNodes

FLAT, TIPTOE, FLIGHT, LANDING = range(4)  # arcs
GRAVITY, SPEED = 9.81, 12.0  # m/s^2, rad/s
# link: joint, its place in the link before m, mass kg, centre m, inertia kg m^2, range rad, torque N m
LINKS = {
    "foot": ("foot", (0.0, 0.0), 2.0, (-0.12, 0.03), 0.008, (-1.5, 0.5), np.inf),
    "shank": ("ankle", (-0.18, 0.07), 7.0, (0.0, 0.24), 0.09, (-0.7, 1.0), 350.0),
    "thigh": ("knee", (0.0, 0.43), 15.0, (0.0, 0.24), 0.27, (0.15, 2.6), 500.0),
    "trunk": ("hip", (0.0, 0.43), 51.0, (0.0, 0.30), 3.0, (-2.2, 0.5), 450.0),
}
HEEL = (-0.23, 0.0, 0.0)  # m, from the toe
WEIGHT = GRAVITY * sum(link[2] for link in LINKS.values())  # N; ground forces are multiples of it
STRENGTH = [link[6] for link in LINKS.values()][1:]
STANDING = np.array([0.0, 0.0, 0.0, -0.15, 0.3, -0.15])
FORWARD = np.eye(6)[0]


def body() -> dynamics.RigidBodyModel:
    """x and y of the toe, then foot, ankle, knee and hip about z, counted to the left; upright at zero."""
    x, y = (dynamics.Joint(name, "prismatic", np.eye(3)[i]) for i, name in enumerate("xy"))
    bodies = [dynamics.Body("along", x), dynamics.Body("above", y, "along")]
    for name, (joint, place, mass, centre, inertia, (low, high), torque) in LINKS.items():
        limits = dynamics.JointLimits(low, high, SPEED, -torque, torque)
        hinge = dynamics.Joint(joint, position=np.array([*place, 0.0]), limits=limits)
        at = np.array([*centre, 0.0])
        bodies.append(dynamics.Body(name, hinge, bodies[-1].name, mass, at, inertia * np.eye(3)))
    heel = dynamics.Frame("heel", "foot", position=np.array(HEEL))
    return dynamics.RigidBodyModel(bodies, (0.0, -GRAVITY, 0.0), "hopper", frames=(heel,))


@trajopt.term
def effort(node):
    return sum((node.tau[3 + i] / strength) ** 2 for i, strength in enumerate(STRENGTH))


@trajopt.term
def angular_accelerations(node):
    """Angular accelerations of foot, ankle, knee and hip, (4,) rad/s^2."""
    return node.a[2:]


@trajopt.term
def ground_wrench(node):
    """[moment; force] about the world origin."""
    along, heel, toe = node.extra("along"), node.extra("heel"), node.extra("toe")
    moment = node.position("heel")[0] * heel + node.q[0] * toe - node.q[1] * along
    return [WEIGHT * part for part in (0.0, 0.0, moment, along, heel + toe, 0.0)]


@trajopt.term
def heel_height(node):
    return node.position("heel")[1]


@trajopt.term
def apex(node):
    """Height of the apex of the flight of the centre of mass, m."""
    return node.centre_of_mass[1] + (node.momentum[4] * GRAVITY / WEIGHT) ** 2 / (2.0 * GRAVITY)


@recipe
def build(
    *,
    degree: int = 10,
    flight_degree: int = 14,
    height: float = 0.15,
    distance: float = 0.3,
    friction: float = 0.7,
    u: float = 0.2,
    smoothness: float = 1e-6,
) -> trajopt.Problem:
    """Degrees of the polynomials; rise of the centre of mass and length of the hop in m; u in 1/s.

    smoothness : s^4, weight of squared accelerations of foot, ankle, knee and hip
    """
    fall = (2.0 * height / GRAVITY) ** 0.5  # s, flight cannot be shorter
    phases = ((0.2, 1.0), (0.05, 0.3), (fall, 4.0 * fall), (0.2, 1.0))  # s, each within these
    degrees = (degree, degree, flight_degree, degree)
    arcs = tuple(
        trajopt.Arc(trajopt.SplineBasis.uniform(1, d), phase, nodes_per_span=d - 1, rule="gauss")
        for d, phase in zip(degrees, phases, strict=True)
    )
    model = body()
    problem = trajopt.Problem(model, trajopt.Trajectory(arcs), name="hop")
    problem.minimize(effort)
    problem.minimize(trajopt.duration, weight=u, name="time")
    if smoothness:
        problem.minimize(angular_accelerations**2, weight=smoothness, name="smoothness")
    problem.subject_to_joint_limits()
    problem.start_at(q=STANDING, v=0.0)
    problem.end_at(q=STANDING + distance * FORWARD, v=0.0)
    problem.guess(crouch_and_fly(distance, height), duration=[0.5, 0.1, 2.0 * fall, 0.5])

    # Where the foot is: toe at x, y, sole at an angle; infinite where it may move.
    def foot(arc: int, lower: list[float], upper: list[float], name: str) -> None:
        low, high = lower + [-np.inf] * (6 - len(lower)), upper + [np.inf] * (6 - len(upper))
        problem.subject_to(trajopt.q, low, high, over=ArcNodes(arc, "whole"), name=name)

    foot(FLAT, [0.0] * 3, [0.0] * 3, "foot stands")
    foot(TIPTOE, [0.0] * 2, [0.0] * 2, "toe stands")
    foot(FLIGHT, [-np.inf, 0.0], [], "toe above ground")
    foot(LANDING, [distance, 0.0, 0.0], [distance, 0.0, 0.0], "foot landed")
    problem.subject_to(heel_height, lower=0.0, over=ArcNodes(TIPTOE), name="heel above ground, tiptoe")
    problem.subject_to(heel_height, lower=0.0, over=ArcNodes(FLIGHT), name="heel above ground, flight")

    # With what forces: none in flight, none at a heel that has risen.
    along = problem.extra("along", lower=-1.0, upper=1.0, unit="BW")
    heel, toe = (problem.extra(name, lower=0.0, upper=5.0, guess=0.5, unit="BW") for name in ("heel", "toe"))
    for force, absent in ((along, [FLIGHT]), (heel, [TIPTOE, FLIGHT]), (toe, [FLIGHT])):
        for arc in absent:
            name = f"no {force.name.removeprefix('extra:')} force, {'flight' if arc == FLIGHT else 'tiptoe'}"
            problem.subject_to(force, equals=0.0, over=ArcNodes(arc, "whole"), name=name)
    problem.load("foot", ground_wrench)
    grip = friction * (heel + toe)
    for arc, phase in ((FLAT, "push-off"), (TIPTOE, "tiptoe"), (LANDING, "landing")):
        whole = ArcNodes(arc, "whole")
        problem.passive("x", "y", "foot", over=whole, where=phase)
        for side, word in ((1.0, "backward"), (-1.0, "forward")):
            name = f"friction {word}, {phase}"
            problem.subject_to(grip + side * along, lower=0.0, over=whole, name=name)
    problem.passive("x", "y", "foot", over=ArcNodes(FLIGHT), where="flight")

    standing = float(dynamics.centre_of_mass(model, STANDING)[1])
    problem.subject_to(apex, equals=standing + height, over=ArcNodes(FLIGHT, "start"))
    return problem


def crouch_and_fly(distance: float, height: float):
    """Initial guess: postures at the borders of arcs, crouches and a leap between them."""
    bent, leaving = np.array([[0.0, 0.0, 0.0, -0.5, 1.2, -1.25], [0.0, 0.0, 0.0, -0.2, 0.5, -0.5]])
    risen = np.array([0.0, 0.0, -0.5, 0.4, 0.3, -0.3])
    ahead = distance * FORWARD
    borders = np.array([STANDING, leaving, risen, leaving + ahead, STANDING + ahead])
    middles = np.array([bent, 0.0 * bent, [0.0, height, 0.0, 0.0, 0.0, 0.0], bent])

    def curve(s):
        arc = np.minimum((4.0 * s).astype(int), LANDING)
        part = (4.0 * s - arc)[:, None]
        eased = part**2 * (3.0 - 2.0 * part)
        bump = 16.0 * (part * (1.0 - part)) ** 2
        return borders[arc] * (1.0 - eased) + borders[arc + 1] * eased + bump * middles[arc]

    return curve
