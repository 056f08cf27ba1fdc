"""Derivatives of an optimum by its inputs are those of differences between solves."""

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import trajopt
from trajopt.base.errors import OptionError, UnknownNameError

SOLVER = trajopt.Ipopt(tol=1e-11)
PLACES = np.linspace(0.0, 1.0, 7)


@trajopt.term
def drag(node):
    return node.tau[0] - node.parameter("load") * node.v[0] ** 2


def effort():
    """Fixed duration, an active limit of the force, a parameter and two costs."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(6, 4, 1.0))
    problem.parameter("load", lower=0.3, upper=0.3)
    problem.start_at(q=0.0, v=0.2)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.tau, -4.0, 4.0, name="force")
    problem.minimize(drag**2, name="drag")
    problem.minimize(trajopt.v**2, weight=0.5, name="speed")
    return problem


def least_time():
    """A free duration, which the force and the speed limit bound."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(5, 3, (0.2, 5.0)))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.v, -0.8, 0.8, hold="hull", name="speed")
    problem.subject_to(trajopt.tau, -2.0, 2.0, name="force")
    problem.minimize(trajopt.duration, name="time")
    problem.minimize(trajopt.tau**2, weight=1e-2, name="effort")
    return problem


CASES = [
    (effort, "load", lambda p: {"load": 0.3 + p}),
    (least_time, "speed", lambda p: {"speed": (-0.8 + p, 0.8)}),
    (least_time, "v_start", lambda p: {"v_start": p}),
    (effort, "q_end", lambda p: {"q_end": 1.0 + p}),
    (effort, "weight_speed", lambda p: {"weight_speed": 0.5 + p}),
    (effort, "v_start", lambda p: {"v_start": 0.2 + p}),
    (effort, "duration", lambda p: {"duration": 1.0 + p}),
    (effort, "force", lambda p: {"force": (-4.0 + p, 4.0)}),
    (least_time, "q_end", lambda p: {"q_end": 1.0 + p}),
    (least_time, "force", lambda p: {"force": (-2.0 + p, 2.0)}),
]


@fast_first(("build", "name", "moved"), CASES, 5, ids=[f"{b.__name__} {n}" for b, n, _ in CASES])
def test_derivatives_are_those_of_differences_of_solves(build, name, moved):
    compiled = trajopt.compile(build(), inputs=[name], solver=SOLVER)
    optimum = compiled.solve()
    found = optimum.sensitivity(name)
    step = 1e-4
    low, high = (compiled.solve(moved(p), start=optimum) for p in (-step, step))
    assert low.converged and high.converged
    for attribute in ("objective", "duration"):
        slope = (getattr(high, attribute) - getattr(low, attribute)) / (2.0 * step)
        assert abs(getattr(found, attribute)[0] - slope) <= 1e-5 * (1.0 + abs(slope)), attribute
    places = [solution.curve.at_progress(PLACES)[:, :1] for solution in (low, high)]
    np.testing.assert_allclose(found.q(PLACES)[..., 0], (places[1] - places[0]) / (2.0 * step), atol=2e-4)


@pytest.mark.parametrize("T", [1e-2, 5e-4])
def test_the_derivative_by_a_duration_is_as_exact_where_it_is_short(T):
    """With a jerk j at the start the least effort is k(j T^3) / T^3: at j = 6 / T^3 its slope is c / T^4."""

    def solved(duration, jerk):
        problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(3, 5, duration))
        problem.start_at(q=0.0, v=0.0, a=0.0)
        problem.end_at(q=1.0, v=0.0)
        problem.subject_to(trajopt.jerk, equals=jerk, over="start", name="jerk")
        problem.minimize(trajopt.tau**2, name="effort")
        return trajopt.compile(problem, solver=SOLVER).solve()

    scaled = solved(1.0, 6.0).sensitivity("duration").objective[0]
    found = solved(T, 6.0 / T**3).sensitivity("duration").objective[0]
    assert abs(found * T**4 / scaled - 1.0) < 1e-8


def test_no_derivatives_of_what_is_no_optimum_or_no_input():
    stopped = trajopt.solve(effort(), trajopt.Ipopt(max_iterations=0))
    with pytest.raises(OptionError, match="not converged"):
        stopped.sensitivity("q_end")
    with pytest.raises(UnknownNameError, match="'q_finish'"):
        trajopt.solve(effort()).sensitivity("q_finish")


def at_the_limit(end, speed=3.0):
    """Least effort from rest to rest in 1 s, v = 6 end s (1 - s) with the peak 1.5 end at a node."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(2, 5, 1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=end, v=0.0)
    problem.subject_to(trajopt.v, -speed, speed, over=[0.5], name="speed")
    problem.minimize(trajopt.tau**2, name="effort")
    return trajopt.solve(problem, SOLVER, refine=None).sensitivity("q_end")


def test_a_derivative_at_a_limit_that_is_just_reached_says_on_which_side_it_holds():
    """The peak is 1.5 end until it is held at 3; at end = 2 rounding decides which of both is told."""
    for end in (1.9, 2.1):
        assert at_the_limit(end).one_sided == ("",)
    for sign in (1.0, -1.0):
        reached = at_the_limit(2.0 * sign)
        around = reached.q(np.array([0.499, 0.501]))[:, 0, 0]
        peak_by_end = float(np.diff(around)[0] / 0.002)
        is_held = abs(peak_by_end) < 1e-2
        assert is_held or peak_by_end == pytest.approx(1.5, abs=1e-2)
        side = "rises" if is_held == (sign > 0.0) else "falls"
        assert reached.one_sided == (f"holds where it {side}: limit 'speed' of slider 0 just reached",)
        assert reached.objective[0] == pytest.approx(48.0 * sign, rel=1e-4)
        assert reached.one_sided[0] in str(reached)
