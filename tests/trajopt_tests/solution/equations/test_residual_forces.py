"""Residual forces of torque equations: no choice of coordinates or equations changes their size."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import dynamics
import trajopt
from trajopt.checks.path_equations import path_equations
from trajopt.checks.residual_forces import equation_scales, residual_forces
from trajopt.splines.node_sets import MotionSamples

G, Z = 9.81, np.array([0.0, 0.0, 1.0])
ONE_SPAN = trajopt.SplineBasis.uniform(1, 14)
TIMES = np.linspace(0.01, 0.99, 50)
UPPER, LOWER = (6.0, 0.7), (2.0, 0.3)  # kg and kg m^2 about the centre
TO_ELBOW, PAST_ELBOW = 0.4, 0.25  # m, from the centre of each link to the joint between them


def two_bodies(first, second, along, beyond, gravity=G):
    """A link that floats in the plane, its origin in its centre, and another one hinged to it."""
    x, y = (dynamics.Joint(name, "prismatic", axis=np.eye(3)[i]) for i, name in enumerate("xy"))
    turn = dynamics.Joint("turn", "revolute", axis=Z)
    hinge = dynamics.Joint("hinge", "revolute", axis=Z, position=np.array([along, 0.0, 0.0]))
    centre = np.array([beyond, 0.0, 0.0])
    bodies = [
        dynamics.Body("sideways", x),
        dynamics.Body("upwards", y, "sideways"),
        dynamics.Body("base", turn, "upwards", first[0], np.zeros(3), first[1] * np.eye(3)),
        dynamics.Body("other", hinge, "base", second[0], centre, second[1] * np.eye(3)),
    ]
    return dynamics.RigidBodyModel(bodies, gravity=(0.0, -gravity, 0.0), name="two bodies")


def motion_of(model, curve, state):
    """A solution whose motion is a curve q(s) over one second, whatever its equations say."""
    arc = trajopt.Arc(ONE_SPAN, 1.0, nodes_per_span=13, rule="gauss")
    problem = trajopt.Problem(model, trajopt.Trajectory((arc,)), name="given")
    problem.minimize(trajopt.a**2)
    state(problem)
    problem.guess(curve)
    solution = trajopt.solve(problem, trajopt.Ipopt(max_iterations=1), refine=None, progress="silent")
    points = ONE_SPAN.interpolate(curve(ONE_SPAN.greville))
    return replace(solution, curve=replace(solution.curve, control_points=(points,)))


def floating(problem):
    problem.passive("x", "y", "turn")


def from_the_upper_link(s):
    """x, y and angle of the upper link's centre, and the angle of the elbow."""
    fall = -0.5 * G * s**2
    return np.stack([0.4 * s**2, fall + 0.1 * s**3, 0.5 * s - 0.2 * s**2, 0.3 + 0.6 * s**2], axis=-1)


def from_the_lower_link(s):
    """The same motion: x, y and angle of the lower link's centre, and the angle of the elbow backwards."""
    x, y, turn, elbow = from_the_upper_link(s).T
    there = turn + elbow
    x = x + TO_ELBOW * np.cos(turn) + PAST_ELBOW * np.cos(there)
    y = y + TO_ELBOW * np.sin(turn) + PAST_ELBOW * np.sin(there)
    return np.stack([x, y, there, -elbow], axis=-1)


def the_only(solution, times=TIMES):
    (found,) = residual_forces(solution, MotionSamples.at(solution.curve, times))
    return found


def test_a_body_that_is_pushed_sideways_in_flight_is_accelerated_by_that_part_of_gravity():
    model = two_bodies(UPPER, LOWER, 0.0, 0.0)

    def pushed(s):
        return np.stack([0.25 * s**2, -0.5 * G * s**2, 0.0 * s, 0.0 * s], axis=-1)

    found, mass = the_only(motion_of(model, pushed, floating)), UPPER[0] + LOWER[0]
    assert np.allclose(found.missing, np.sqrt(mass) * 0.5, rtol=1e-6)
    assert found.largest == pytest.approx(np.sqrt(mass) * G, rel=1e-9)
    scales = equation_scales(*asked(motion_of(model, pushed, floating)))
    sideways = next(c for c in scales if c.name == "no motor at x")
    assert scales[sideways][0] == pytest.approx(mass * G, rel=1e-9)  # newton: the weight of the body


def asked(solution):
    return solution, path_equations(solution.problem), MotionSamples.at(solution.curve, TIMES)


def test_the_same_motion_in_other_coordinates_has_the_same_residual_force():
    upper = two_bodies(UPPER, LOWER, TO_ELBOW, PAST_ELBOW)
    lower = two_bodies(LOWER, UPPER, -PAST_ELBOW, -TO_ELBOW)
    one = the_only(motion_of(upper, from_the_upper_link, floating))
    other = the_only(motion_of(lower, from_the_lower_link, floating))
    assert one.missing.max() > 0.05 * one.largest
    assert np.allclose(one.missing, other.missing, rtol=1e-4)
    assert one.largest == pytest.approx(other.largest, rel=1e-6)


def test_combinations_of_the_equations_in_other_units_have_the_same_residual_force():
    @trajopt.term
    def sum_in_kilonewton(node):
        return 1e-3 * (node.tau[0] + 2.0 * node.tau[1])

    @trajopt.term
    def turning_and_rising(node):
        return [node.tau[2] - 7.0 * node.tau[1], 100.0 * node.tau[1]]

    def combined(problem):
        for term in (sum_in_kilonewton, turning_and_rising):
            problem.subject_to(term, equals=0.0)

    model = two_bodies(UPPER, LOWER, TO_ELBOW, PAST_ELBOW)
    plain = the_only(motion_of(model, from_the_upper_link, floating))
    other = the_only(motion_of(model, from_the_upper_link, combined))
    assert np.allclose(plain.missing, other.missing, rtol=1e-9)
    assert plain.largest == pytest.approx(other.largest, rel=1e-9)


def test_motors_that_work_against_each_other_do_not_loosen_the_scale():
    """A joint that swings a hundred times faster takes large torques; the weight stays what it was."""
    model = two_bodies(UPPER, LOWER, TO_ELBOW, PAST_ELBOW)

    def swinging(s):
        return from_the_upper_link(s) + np.stack([0.0 * s] * 3 + [np.sin(9.0 * s)], axis=-1)

    calm, wild = (the_only(motion_of(model, curve, floating)) for curve in (from_the_upper_link, swinging))
    assert calm.largest == pytest.approx(np.sqrt(UPPER[0] + LOWER[0]) * G, rel=0.2)
    assert (
        wild.largest == pytest.approx(calm.largest, rel=0.2) and wild.missing.max() > 2.0 * calm.missing.max()
    )


def test_without_any_real_force_the_accelerations_of_all_masses_are_the_measure():
    model = two_bodies(UPPER, LOWER, TO_ELBOW, PAST_ELBOW, gravity=0.0)

    def turning(s):
        return np.stack([0.0 * s, 0.0 * s, 0.0 * s, s**2], axis=-1)

    solution = motion_of(model, turning, floating)
    found = the_only(solution)
    t = np.array([0.5])
    M, f = dynamics.crba(model, solution.q(t))[0], solution.tau(t)[0]
    assert 0.0 < found.missing.max() < found.largest < np.inf
    assert found.largest >= np.sqrt(f @ np.linalg.solve(M, f)) * (1.0 - 1e-9)


def test_loads_and_springs_count_as_real_forces():
    """A pole held by a spring of its own equation, without gravity: tau + k q = 0."""
    limits = dynamics.JointLimits(-9.0, 9.0, np.inf, -9.0, 9.0)
    pivot = dynamics.Joint("pole", "revolute", axis=Z, limits=limits)
    model = dynamics.RigidBodyModel(
        [dynamics.Body("pole", pivot, mass=2.0, centre_of_mass=np.array([0.5, 0.0, 0.0]))],
        gravity=(0.0, 0.0, 0.0),
    )

    @trajopt.term
    def sprung(node):
        return node.tau + 3.0 * node.q

    solution = motion_of(
        model, lambda s: (0.2 + 0.0 * s)[:, None], lambda p: p.subject_to(sprung, equals=0.0)
    )
    found = the_only(solution)
    inertia = 2.0 * 0.5**2
    assert np.allclose(found.missing, 0.6 / np.sqrt(inertia), rtol=1e-9)
    assert found.largest == pytest.approx(0.6 / np.sqrt(inertia), rel=1e-9)


def test_a_dynamics_without_inertia_in_these_directions_keeps_the_sum_of_parts():
    """tau = -a is no mechanical system: no size of a force can be told."""
    solution = motion_of(
        PointMasses(1, mass=-1.0), lambda s: (s**2)[:, None], lambda p: p.subject_to(trajopt.tau, equals=0.0)
    )
    here = MotionSamples.at(solution.curve, TIMES)
    assert residual_forces(solution, here) == []
    (scale,) = equation_scales(solution, path_equations(solution.problem), here).values()
    assert scale == pytest.approx(2.0)


@fast_first(
    ("rise", "sideways"),
    [(1e-6, True), (1e-6, False), (1.0, False), (1.0, True), (1e-3, False), (1e-3, True)],
    2,
)
def test_the_weight_is_in_the_scale_of_a_torque_that_is_prescribed_at_one_time(rise, sideways):
    """2 kg are lifted in 200 s, along an axis or by an arm of 0.5 m whose angle hardly changes.

    The weight has no derivative by height, nor by the angle of a level arm: without it the scale is that of
    the accelerations, 1e-7 N for a millimetre, below the tolerance of the solve.
    """
    row = dynamics.DhRow(name="lift", kind="revolute", a=0.5, mass=2.0)
    if not sideways:
        row = dynamics.DhRow(name="lift", kind="prismatic", mass=2.0)
    model = dynamics.from_dh([row], gravity=(0.0, -G, 0.0) if sideways else (0.0, 0.0, -G))
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(8, duration=200.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=rise, v=0.0)
    problem.minimize(trajopt.a**2)
    weight = 2.0 * G * (0.5 * np.cos(rise) if sideways else 1.0)
    problem.subject_to(trajopt.tau, equals=weight, over="end", name="held")
    solution = trajopt.solve(problem)
    (held,) = [each for each in solution.verify().violations if each.name == "held"]
    assert solution.converged and solution.verify().holds
    most = 2.0 * G * (0.5 if sideways else 1.0)
    assert most * (1.0 - 1e-6) <= held.scale <= most * (1.5 + rise)
