"""Norms by slacks: known optima, exact above their least value; roots written by hand are warned of."""

import warnings

import numpy as np
import pytest
from tiers import fast_first

import dynamics
import trajopt
from trajopt.base.errors import InfeasibleBoundsError, KinkWarning, OptionError
from trajopt.transcription.derivative_check import check_problem
from trajopt.transcription.transcribe import transcribe

PUSH = trajopt.norm(trajopt.state("f"))


def arm(spans=8):
    """Two links from rest to rest in a second."""
    limits = dynamics.JointLimits.symmetric(torque=10)
    rod = {"a": 0.4, "mass": 0.5, "centre_of_mass": (-0.2, 0, 0), "inertia": np.diag([0, 0.01, 0.01])}
    model = dynamics.from_dh([rod | {"limits": limits}] * 2, gravity=(0, 0, 0))
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(spans, duration=1.0))
    problem.start_at(q=[0, -2], v=0)
    problem.end_at(q=[1, -1], v=0)
    problem.subject_to_joint_limits()
    return problem


def mass(start=(0.0, 0.0), end=(3.0, 4.0), duration=2.0, intervals=6):
    """r' = f in a plane."""
    system = trajopt.system({"r": 2}, {"f": 2}, lambda node: [node.f])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(intervals, 2, duration=duration))
    if start is not None:
        problem.start_at(x=list(start))
        problem.end_at(x=list(end))
    return problem


@pytest.mark.long
def test_the_shortest_way_is_the_distance():
    problem = mass()
    problem.minimize(PUSH)
    solution = trajopt.solve(problem, starts=1)
    report = solution.verify()
    assert solution.objective == pytest.approx(5.0, rel=1e-7) and report.holds
    assert report.costs[0].integral == pytest.approx(5.0, rel=1e-7)


@pytest.mark.parametrize("smallest", [1e-3, 1e-6])
def test_a_norm_that_stays_at_zero_counts_half_of_its_least_value(smallest):
    problem = mass(end=(0.0, 0.0))
    problem.minimize(trajopt.norm(trajopt.state("f"), smallest))
    solution = trajopt.solve(problem, starts=1)
    assert solution.converged and solution.objective == pytest.approx(smallest, rel=1e-2)


def least_force(unit, **least):
    """Least |f| from rest to rest over 1 m in 2 s, of a mass of one unit; f is within four units."""
    system = trajopt.system({"r": 1, "v": 1}, {"f": 1}, lambda node: [node.v, node.f / unit])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
    problem.control("f", lower=-4.0 * unit, upper=4.0 * unit)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.norm(trajopt.state("f"), **least))
    return trajopt.solve(problem, trajopt.Ipopt(max_iterations=400), refine=None, starts=1)


@pytest.mark.long
def test_a_report_names_the_least_value_that_a_norm_needs():
    """Least force in a unit that the default does not fit fails; with the value that is named it passes."""
    unit = 1e-9
    reason = least_force(unit).verify().reason
    named = float(reason.split("smallest=")[-1].rstrip(")"))
    assert 1e-7 < named / unit < 1e-4
    assert least_force(unit, smallest=named).verify().reason == ""


@pytest.mark.long
@pytest.mark.parametrize("unit", [1e4, 1e8])
def test_forces_of_large_units_have_a_size_whatever_the_least_value_of_a_norm(unit):
    solution = least_force(unit)
    assert solution.objective / unit == pytest.approx(least_force(1.0).objective, rel=1e-5)
    assert solution.verify().reason == ""


@pytest.mark.long
def test_a_median_of_three_points_lies_where_the_pulls_cancel():
    """The point of least sum of distances: three equal pulls at angles of 120 degrees, Fermat's point."""
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]])
    problem = mass(start=None, end=None)
    problem.minimize(trajopt.state("f") ** 2)
    for corner in corners:
        problem.minimize(trajopt.norm(trajopt.state("r") - corner), over="end")
    solution = trajopt.solve(problem, starts=1)
    pulls = corners - solution.q(solution.duration)
    unit = pulls / np.linalg.norm(pulls, axis=1, keepdims=True)
    assert solution.verify().holds and np.abs(unit.sum(axis=0)).max() < 1e-5


@pytest.mark.long
def test_at_a_blunt_corner_the_median_is_the_corner_itself():
    corners = np.array([[0.0, 0.0], [3.0, 0.2], [-3.0, 0.2]])
    problem = mass(start=None, end=None)
    problem.minimize(trajopt.state("f") ** 2)
    for corner in corners:
        problem.minimize(trajopt.norm(trajopt.state("r") - corner), over="end")
    solution = trajopt.solve(problem, starts=1)
    assert solution.verify().holds and np.abs(solution.q(solution.duration)).max() < 2e-6


@pytest.mark.long
def test_bounded_norms_and_integrals_of_them_hold():
    problem = mass()
    problem.minimize(trajopt.state("f")[0] ** 2, weight=1.0)
    problem.subject_to(PUSH, upper=2.5, name="push")
    assert np.allclose(trajopt.solve(problem, starts=1).value(PUSH, np.linspace(0.1, 1.9, 9)), 2.5, atol=1e-6)
    detour = mass()
    detour.minimize((trajopt.state("r")[1] - 4.0) ** 2)
    detour.subject_to(trajopt.integral(PUSH), upper=6.0)
    solution = trajopt.solve(detour, starts=1, refine=None)
    values = solution.value(PUSH, np.linspace(0.0, 2.0, 4001))[:, 0]
    assert np.trapezoid(values, dx=2.0 / 4000) <= 6.0 * (1.0 + 1e-3)


def test_squares_and_sums_of_norms_are_costs():
    problem = mass()
    problem.minimize(PUSH**2 + 2.0 * PUSH)
    assert trajopt.solve(problem, starts=1).objective == pytest.approx(2.0 * 2.5**2 + 10.0, rel=1e-7)


def test_norms_of_other_least_values_have_slacks_of_their_own():
    for order in (1, -1):
        problem = mass(end=(0.0, 0.0))
        for smallest in (0.1, 1e-6)[::order]:
            problem.minimize(trajopt.norm(trajopt.state("f"), smallest) * 2.0)
        bounds = {float(each.lower[0]) for name, each in problem.extras.items() if name in problem.slacks}
        assert bounds == {0.1, 1e-6}
        for smallest in (0.1, 1e-6)[::order]:
            problem.minimize(trajopt.norm(trajopt.state("f"), smallest), over="end")
        assert sorted(float(each.lower[0]) for each in problem.parameters.values()) == [1e-6, 0.1]


@pytest.mark.parametrize(
    ("written", "lower", "upper"),
    [(2.0 * PUSH + 1.0, None, 6.0), (1.0 + PUSH, None, 3.5), (-PUSH / 2.0, -1.25, None), (PUSH, None, 2.5)],
)
def test_multiples_of_a_norm_are_bounded_by_its_square(written, lower, upper):
    problem = mass()
    problem.subject_to(written, lower, upper, name="push")
    (constraint,) = (each for each in problem.constraints if each.name == "push, squared")
    given, bound = (constraint.upper, 2.5**2) if lower is None else (constraint.lower, -(2.5**2))
    assert given == pytest.approx(bound)
    with pytest.raises(InfeasibleBoundsError, match="at least 1, which is above"):
        problem.subject_to(2.0 * PUSH + 1.0, upper=0.5)


def test_a_compiled_program_takes_no_weight_by_which_a_norm_is_maximized():
    problem, lowest = mass(), trajopt.minimum(trajopt.state("r"), 0.0)
    problem.minimize(PUSH, name="push")
    problem.minimize(lowest, weight=-1.0, name="lowest")
    problem.minimize(PUSH**2, weight=-1.0, name="square")
    problem.minimize(PUSH, over="end", name="last push")
    compiled = trajopt.compile(problem)
    assert not [each.keyword for each in compiled.inputs if each.keyword.startswith("slack_of_norm")]
    for refused in ({"weight_push": -1.0}, {"weight_lowest": 1.0}):
        with pytest.raises(OptionError, match="not convex"):
            compiled.inputs.applied(problem, refused)
    weights = {"weight_push": 0.0, "weight_lowest": -2.0, "weight_square": 3.0}
    assert [each.weight for each in compiled.inputs.applied(problem, weights).costs] == [0.0, -2.0, 3.0, 1.0]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (lambda p: p.minimize(PUSH, weight=-1.0), "not convex"),
        (lambda p: p.subject_to(-2.0 * PUSH, upper=-1.0), "from below"),
        (lambda p: p.subject_to(PUSH + trajopt.state("f")[0], upper=1.0), "bounded in a sum"),
        (lambda p: p.subject_to(PUSH, lower=1.0), "not convex"),
        (lambda p: p.subject_to(PUSH + PUSH, upper=1.0), "bounded in a sum"),
        (lambda p: trajopt.norm(3.0), "is no term"),
        (lambda p: trajopt.absolute(PUSH), "has kinks"),
        (lambda p: trajopt.norm(trajopt.tau, smallest=0.0), "expected a finite number above 0"),
    ],
)
def test_what_has_no_smooth_form_is_refused(written, reason):
    with pytest.raises(OptionError, match=reason):
        written(mass())
    with pytest.raises(InfeasibleBoundsError, match="at least 0"):
        mass().subject_to(PUSH, upper=-1.0)


def test_derivatives_units_and_files(tmp_path):
    problem = mass()
    problem.minimize(PUSH)
    check_problem(problem)
    solution = trajopt.solve(problem, starts=1)
    solution.save(tmp_path / "solution.npz")
    loaded = trajopt.Solution.load(tmp_path / "solution.npz", problem)
    assert loaded.verify().holds
    robot = arm()
    assert robot.term_units(trajopt.norm(trajopt.tau), 1) == ["N m"]


def power(small):
    return lambda node: sum(((node.tau[i] * node.v[i]) ** 2 + small) ** 0.5 for i in range(2))


SHARP = {
    "norm of numpy": lambda node: np.linalg.norm(node.tau),
    "smoothed norm": lambda node: (node.tau.T @ node.tau + 1e-6) ** 0.5,
    "smoothed power": power(1e-6),
    "beside a target": lambda node: ((node.q - 0.5).T @ (node.q - 0.5) + 1e-8) ** 0.5,
}


@pytest.mark.parametrize("name", SHARP)
def test_roots_that_turn_sharply_are_warned_of(name):
    problem = arm()
    problem.minimize(trajopt.term(SHARP[name], name=name))
    with pytest.warns(KinkWarning, match=rf"'{name}': a root turns near .*trajopt\.norm\(term\)"):
        transcribe(problem, check=True)


def test_roots_of_arithmetic_are_warned_of_too():
    problem = arm()
    problem.subject_to(np.sqrt(trajopt.tau**2 + 1e-6), upper=9.0)
    with pytest.warns(KinkWarning, match="a root turns near"):
        transcribe(problem, check=True)


SMOOTH = {
    "over a tenth": lambda node: (node.tau.T @ node.tau + 1e-2) ** 0.5,
    "far from zero": lambda node: np.sqrt(node.q[0] + 3.0),
    "root of an exponential": lambda node: np.sqrt(np.exp(-10.0 * node.q[0])),
    "one and a square": lambda node: np.sqrt(1.0 + node.v[0] ** 2),
}


@fast_first("name", SMOOTH, 2)
def test_other_roots_are_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = arm()
        problem.minimize(trajopt.term(SMOOTH[name], name=name))
        transcribe(problem, check=True)
        kept_away = arm()
        kept_away.minimize(trajopt.tau**2)
        kept_away.subject_to(trajopt.term(SHARP["beside a target"], name="distance"), lower=0.1)
        transcribe(kept_away, check=True)


@pytest.mark.long
@pytest.mark.parametrize("spans", [10, 20, 30])
def test_an_arm_moves_with_least_norm_of_torques(spans):
    """A root (tau' tau + 1e-6)^(1/2) takes more than a thousand iterations."""
    problem = arm(spans)
    problem.minimize(trajopt.norm(trajopt.tau))
    solution = trajopt.solve(problem, starts=1, refine=None)
    t = np.linspace(0.0, 1.0, 4001)
    integral = np.trapezoid(np.linalg.norm(solution.tau(t), axis=1), t)
    assert solution.iterations < 100 and solution.verify().holds
    assert solution.objective == pytest.approx(integral, rel=1e-4)
