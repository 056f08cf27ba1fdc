"""Motions from a measured state: what of it contradicts feet and limits gives way by the least change."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tiers import fast_first

import problems
import trajopt
from problems.gallery.legged.solo import FEET, STANDING, minimize_effort, solo
from trajopt.base.errors import InfeasibleBoundsError, OptionError
from trajopt.certificates.certificate import Certificate
from trajopt.problem.costs_and_constraints import Relaxation
from trajopt.problem.measured_start import MeasuredStart, StartState, with_measured_start
from trajopt.transcription.transcribe import transcribe

N = STANDING.size


def standing(tilt=0.0, ground=None, measured=None, **contact):
    """Solo stands for 0.4 s, a knee turned by tilt, rad, its base drawn 2 cm forward."""
    robot, schedule = solo(), trajopt.Schedule.standing(FEET, 0.4)
    problem = trajopt.Problem(robot, schedule.trajectory(5), name="stand")
    for foot in FEET:
        problem.contact(f"{foot}_FOOT", (0,), ground=ground or trajopt.Ground(), **contact)
    problem.passive_base()
    pose = problem.standing_pose(STANDING) + tilt * np.eye(N)[8]
    problem.start_at(q=pose, v=0, measured=measured)
    problem.minimize((trajopt.q[:3] - (pose[:3] + np.array([0.02, 0.0, 0.0]))) ** 2, 100.0)
    minimize_effort(problem, 1.0, 1e-3, 1e-5)
    problem.guess(np.array([pose, pose]))
    return problem, pose


def starting_at(problem, q, v):
    """The problem with a measured state at its start."""
    other = problem.independent_copy()
    other.measured = True
    for number, each in enumerate(other.constraints):
        for name, value in (("q at the start", q), ("v at the start", v)):
            if each.name == name:
                other.constraints[number] = replace(each, lower=np.array(value), upper=np.array(value))
    return other


def velocities(problem):
    return next(each.lower for each in problem.constraints if each.name == "v at the start")


@pytest.fixture(scope="module")
def plan():
    compiled = trajopt.compile(standing()[0])
    return compiled, compiled.solve()


@pytest.mark.long
def test_a_robot_that_stands_goes_on_from_a_state_of_its_own_plan(plan):
    compiled, first = plan
    later = compiled.solve(q_start=first.q(0.02), v_start=first.v(0.02), start=first)
    assert first.converged and not first.relaxations
    assert later.converged and 0.0 < max(abs(each.by) for each in later.relaxations) < 1e-5
    foot = later.value(trajopt.position("FL_FOOT"), np.linspace(0.0, 0.4, 50))
    np.testing.assert_allclose(foot, np.broadcast_to(foot[0], foot.shape), atol=1e-4)


@fast_first("tilt", [1e-8, 1e-6, 1e-4], 1)
def test_feet_within_a_millimetre_of_the_ground_stand_where_they_are(tilt):
    problem, _ = standing(tilt)
    relaxed = with_measured_start(problem)
    (told,) = relaxed.relaxations
    assert told.constraint == "FL_FOOT touches down, arc 0" and told.change == "held there"
    assert told.by == pytest.approx(-0.1148 * tilt, rel=1e-3) and told.unit == "m"
    assert with_measured_start(relaxed).relaxations == relaxed.relaxations


@pytest.mark.long
def test_feet_further_off_are_refused_unless_the_state_was_measured():
    problem, _ = standing(tilt=0.05)
    assert with_measured_start(problem) is problem
    with pytest.raises(InfeasibleBoundsError, match=re.escape("start_at(..., measured=True)")):
        trajopt.solve(problem, starts=1)
    measured, _ = standing(tilt=0.05, measured=True)
    assert with_measured_start(measured).relaxations


@pytest.mark.long
def test_velocities_that_contradict_other_statements_are_refused_as_before():
    problem, pose = standing()
    problem.subject_to(trajopt.v[6], equals=0.5, over="start", name="hip turns")
    with pytest.raises(InfeasibleBoundsError, match="hip turns"):
        trajopt.solve(problem, starts=1)
    eased = with_measured_start(starting_at(problem, pose, np.zeros(N)))
    assert velocities(eased)[6] == pytest.approx(0.5)


KINDS = {
    "points": {},
    "soles": {"sole": [[0.01, 0.01, 0.0], [0.01, -0.01, 0.0], [-0.01, 0.0, 0.0]]},
    "edges": {"sole": [[0.01, 0.0, 0.0], [-0.01, 0.0, 0.0]]},
    "sideways free": {"held": "xz"},
    "impacts": {"impact": True},
    "plane": {"ground": trajopt.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_velocities_change_by_the_least_that_stops_the_feet(kind):
    """The change is M^-1 J' l for some l, and no foot slips: conditions of the least in the norm of M."""
    problem, pose = standing(**KINDS[kind])
    rng = np.random.default_rng(3)
    v = 0.3 * rng.standard_normal(N)
    measured = starting_at(problem, pose + 0.01 * rng.standard_normal(N), v)
    start = MeasuredStart.of(measured)
    assert start is not None
    relaxed = start.applied(measured, all_rows=True)
    change = velocities(relaxed) - v
    assert {"velocity changed", "held there"} == {each.change for each in relaxed.relaxations}
    frames = {each.constraint.split()[0] for each in relaxed.relaxations}
    assert frames == {f"{foot}_FOOT" for foot in FEET}
    state = start.applied(relaxed, all_rows=True)
    assert not state.relaxations  # all rows hold now
    rows = [row for row in start.rows if row.of_v.any() and relaxed.constraints[row.number].hold != "implied"]
    at = StartState(start, relaxed)
    J = np.concatenate([at.slope(row, "v") for row in rows])
    q = next(each.lower for each in relaxed.constraints if each.name == "q at the start")
    momentum = solo().mass_matrix(q) @ change
    across = momentum - np.linalg.pinv(J, rcond=1e-9) @ (J @ momentum)
    assert np.abs(J @ velocities(relaxed)).max() < 1e-10
    np.testing.assert_allclose(across, 0.0, atol=1e-9 * np.abs(momentum).max())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_a_robot_that_stands_is_planned_from_states_with_noise(seed):
    problem, pose = standing()
    rng = np.random.default_rng(seed)
    noisy = starting_at(problem, pose + 0.02 * rng.standard_normal(N), 0.2 * rng.standard_normal(N))
    answer = trajopt.solve(noisy, starts=1)
    heights = answer.value(trajopt.position("HR_FOOT"), np.linspace(0.0, 0.4, 30))[:, 2]
    assert answer.converged and np.ptp(heights) < 1e-3 and answer.relaxations


def arm(q, v):
    """A UR5 that returns to its middle in 1 s from a state outside of limits."""
    problem = problems.six_axis_arm.build(intervals=20)
    robot = problem.dynamics
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(20, duration=1.0))
    problem.start_at(q=q, v=v, measured=True)
    problem.minimize(trajopt.q**2)
    problem.minimize(trajopt.a**2, weight=1e-3)
    problem.subject_to(trajopt.q, -1.0, 1.0, name="range", hold="hull")
    problem.subject_to(trajopt.v, -2.0, 2.0, name="speed", hold="hull")
    return problem


def test_limits_that_a_measurement_exceeds_are_wider_until_two_intervals_later():
    q, v = np.array([1.05, -1.02, 0.0, 0.0, 0.0, 0.0]), np.array([0.2, 0.0, 2.3, 0.0, 0.0, 0.0])
    answer = trajopt.solve(arm(q, v), starts=1)
    assert answer.converged
    told = {(each.constraint, each.by > 0.0): each for each in answer.relaxations}
    assert told["range", True].by == pytest.approx(0.05) and told["range", False].by == pytest.approx(-0.02)
    assert told["speed", True].by == pytest.approx(0.3)
    assert {each.change for each in answer.relaxations} == {"limit widened"}
    later = np.linspace(0.1, 1.0, 200)
    assert np.abs(answer.q(later)).max() < 1.0 + 1e-6 and np.abs(answer.v(later)).max() < 2.0 + 1e-6
    np.testing.assert_allclose(answer.q(0.0), q, atol=1e-9)
    # A verification allows what the program does, and no more.
    assert answer.verify().holds and "range" in eased_by(0.9, answer, "range").reason
    assert eased_by(1.1, answer, "range").holds and "speed" in eased_by(0.9, answer, "speed").reason


def eased_by(factor, answer, name):
    """The report of an answer to a problem one of whose limits eases by a factor of what it did."""
    problem = answer.problem.independent_copy()
    for number, each in enumerate(problem.constraints):
        if each.name == name:
            eased = each.easing
            other = replace(eased, excess=factor * eased.excess, slope=factor * eased.slope)
            problem.constraints[number] = replace(each, easing=other)
    return replace(answer, known_problem=problem).verify()


def test_a_state_outside_limits_that_is_no_measurement_is_refused():
    problem = arm(np.array([1.05, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6))
    problem.measured = False
    with pytest.raises(InfeasibleBoundsError, match="is fixed at 1"):
        trajopt.solve(problem, starts=1)
    with pytest.raises(OptionError, match="measured"):
        problem.start_at(q=0.0, measured="yes")  # type: ignore[arg-type]


@pytest.mark.long
def test_an_answer_and_its_report_say_what_gave_way_also_from_a_file(tmp_path):
    """The limit that was widened holds then: a report that is silent about it claims too much."""
    answer = trajopt.solve(cart(over="start"), starts=1, refine=None)
    answer.save(tmp_path / "cart.npz")
    told = "'rail', is off by 0.1: limit widened"
    for each in (answer, trajopt.Solution.load(tmp_path / "cart.npz")):
        report = each.verify()
        assert report.holds and report.relaxations == each.relaxations
        assert f"relaxed at the start: {told}" in report.table and "as relaxed at the start" in report.table
        assert report.summary()["relaxations"] == [told] and told in repr(report)
    assert f"relaxed at the start: {told}" in str(answer) and told in repr(answer)
    inside = trajopt.solve(cart(x=0.5, over="start"), starts=1, refine=None)
    assert "relaxed" not in str(inside) + inside.verify().table + repr(inside)


def test_long_lists_of_relaxations_end_with_how_many_more_there_are():
    problem, pose = standing()
    rng = np.random.default_rng(3)
    noisy = starting_at(problem, pose + 0.02 * rng.standard_normal(N), rng.standard_normal(N))
    several = with_measured_start(noisy).relaxations
    lines = Relaxation.lines(several)
    assert len(several) == 16 and lines[-1] == "relaxed at the start: 10 more, solution.relaxations"
    assert len(lines) == 7 and Relaxation.lines(several[:6]) == lines[:6] and not Relaxation.lines(())


@pytest.mark.parametrize(("term", "unit"), [(trajopt.q, "rad"), (trajopt.v, "rad/s")])
def test_limits_of_all_positions_or_velocities_at_the_start_are_widened(term, unit):
    """They are no statements of the state, which they would replace."""
    problem = trajopt.Problem(
        problems.two_link_rr.build().dynamics, trajopt.Trajectory.uniform(5, duration=1)
    )
    problem.start_at(q=[1.5, 0.0], v=[1.5, 0.0], measured=True)
    problem.subject_to(term, -1.0, 1.0, over="start", name="limit")
    problem.subject_to(trajopt.v[1], equals=0.5, over="start", name="turns")
    problem.minimize(trajopt.a**2)
    relaxed = with_measured_start(problem)
    limit = next(each for each in relaxed.constraints if each.name == "limit")
    (told,) = (each for each in relaxed.relaxations if each.constraint == "limit")
    state = [1.5, 0.0] if unit == "rad" else velocities(relaxed)
    assert (told.by, told.unit, told.change) == (pytest.approx(state[0] - 1.0), unit, "limit widened")
    np.testing.assert_allclose([limit.lower, limit.upper], [[-1.0, -1.0], [state[0], 1.0]])
    assert told.by > 0.2 and velocities(relaxed)[1] == pytest.approx(0.5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_limit_that_a_measured_velocity_leads_beyond_is_widened_and_told(sign):
    """The second control point of a cubic curve on intervals of 0.2 s is v / 15 s away."""
    problem = measured_arm([sign, 0.0], [1.5 * sign, 0.0])
    relaxed = with_measured_start(problem)
    (told,) = relaxed.relaxations
    assert told.constraint == "limit" and told.change == "limit widened"
    assert told.by == pytest.approx(sign * 1.5 / 15.0)
    inward = measured_arm([sign, 0.0], [-1.5 * sign, 0.0])
    assert with_measured_start(inward) is inward


@pytest.mark.parametrize(("q", "v"), [([1.1, None], [0.0, 0.0]), ([0.0, 0.0], [2.5, None])])
def test_measurements_of_some_joints_alone_are_refused_where_they_exceed_limits(q, v):
    """Nothing gives way to them: that limits were dropped without a word was wrong."""
    problem = measured_arm(q, v)
    problem.subject_to(trajopt.v, -2.0, 2.0, name="speed", hold="hull")
    with pytest.raises(InfeasibleBoundsError, match="is fixed at"):
        transcribe(with_measured_start(problem))


def measured_arm(q, v):
    """Two joints with limits of 1 rad."""
    problem = trajopt.Problem(
        problems.two_link_rr.build().dynamics, trajopt.Trajectory.uniform(5, duration=1)
    )
    problem.start_at(q=q, v=v, measured=True)
    problem.subject_to(trajopt.q, -1.0, 1.0, name="limit", hold="hull")
    problem.minimize(trajopt.a**2)
    return problem


def test_a_limit_of_a_velocity_that_holds_at_the_start_is_no_wider():
    """It is 0.96 m/s, and at the same joint velocities 1.19 m/s at the next control point."""
    problem = trajopt.Problem(
        problems.two_link_rr.build().dynamics, trajopt.Trajectory.uniform(5, duration=1)
    )
    problem.start_at(q=[0.5, 0.0], v=[2.0, 0.0], measured=True)
    backward = trajopt.term(lambda node: np.sin(node.q[0]) * node.v[0], name="backward")
    problem.subject_to(backward, upper=1.0)
    assert not with_measured_start(problem).relaxations


def cart(x=1.1, speed=-0.5, force=5.0, **rail):
    """A cart on a rail of 1 m to both sides."""
    system = trajopt.system(("x", "speed"), ("force",), lambda node: [node.speed, node.force])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(10, 3, "radau", duration=2.0))
    problem.control("force", -force, force)
    problem.start_at(x=[x, speed], measured=True)
    problem.subject_to(trajopt.q[0], -1.0, 1.0, name="rail", **rail)
    problem.minimize(trajopt.q**2)
    return problem


def test_a_problem_given_with_a_file_has_the_limits_of_its_solve(tmp_path):
    answer = trajopt.solve(cart(), trajopt.Ipopt(max_iterations=0), starts=1, refine=None)
    answer.save(tmp_path / "x.npz")
    again = trajopt.Solution.load(tmp_path / "x.npz", problem=cart())
    assert again.relaxations == answer.relaxations and again.relaxations
    assert trajopt.Solution.load(tmp_path / "x.npz", problem=again.problem).problem is again.problem


@pytest.mark.long
def test_a_cart_beyond_its_rail_is_led_back():
    """A system, whose states are all that is measured."""
    answer = trajopt.solve(cart(), starts=1)
    (told,) = answer.relaxations
    assert answer.converged and told.constraint == "rail" and told.by == pytest.approx(0.1)
    assert str(told) == "'rail', is off by 0.1: limit widened"
    assert answer.verify().holds and "rail" in eased_by(0.9, answer, "rail").reason
    certificate = Certificate(1e-3, "none", None, 0, "", equation_tolerance=1e-2, motion=answer)
    assert certificate.holds and f"relaxed at the start: {told}" in str(certificate)


@pytest.mark.parametrize(("x", "speed", "force"), [(1.2, 0.4, 1.0), (-1.2, -0.4, 1.0), (0.9, 2.0, 5.0)])
def test_a_limit_is_wider_by_what_bounded_inputs_cannot_prevent(x, speed, force):
    """The parabola of nine tenths of the force fits below it, not one of a half more."""
    (limit,) = (each for each in with_measured_start(cart(x, speed, force)).constraints if each.easing)
    s, sign = np.linspace(0.0, 1.0, 201), np.sign(x)
    lower, upper = (each[:, 0] for each in limit.limits_at(np.zeros(s.size, int), s))
    braked = lambda part: sign * (x + speed * 2.0 * s) - 0.5 * part * force * (2.0 * s) ** 2  # noqa: E731
    room = upper if sign > 0.0 else -lower
    assert np.all(room >= braked(0.9) - 1e-9) and np.any(room < braked(0.45) - 1e-3)
    assert limit.easing.end <= 0.85 and room[-1] == 1.0


def test_limits_that_no_input_within_bounds_keeps_are_no_wider_where_inputs_have_none():
    """A force without bounds stops the cart at once."""
    assert not with_measured_start(cart(0.9, 2.0, np.inf)).relaxations


def one_state(rates, term, upper, x=0.0, over="path"):
    """x' = rates with |u| <= 1, from a measured x, under one limit."""
    system = trajopt.system(("x",), ("u",), lambda node: [rates(node)])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(10, 3, "radau", duration=2.0))
    problem.control("u", -1.0, 1.0)
    problem.start_at(x=[x], measured=True)
    problem.subject_to(term, upper=upper, over=over)
    return problem


X = trajopt.state("x")


@pytest.mark.parametrize(
    ("rates", "term", "upper", "x", "over"),
    [
        (lambda node: 1.0 + 0.1 * node.u, X, 1.0, 0.0, (0.0, 0.4)),  # beyond 1 after 0.9 s, behind the window
        (
            lambda node: 1.0 + 0.1 * node.u,
            trajopt.term(lambda node: node.x - node.t, name="lag"),
            0.1,
            0.0,
            "path",
        ),
        (lambda node: node.u, trajopt.term(lambda node: node.t, name="time"), 1.0, 0.0, "path"),
        (lambda node: node.x**3 + node.u, X, 4.0, 3.0, "path"),  # infinite after 0.06 s
        (lambda node: node.u + 4.2 - 2.0 * node.duration, X, 1.0, 0.0, "path"),
    ],
    ids=["window", "of_time", "time_alone", "infinite", "of_the_duration"],
)
def test_limits_that_inputs_keep_or_that_no_simulation_decides_are_no_wider(rates, term, upper, x, over):
    assert not with_measured_start(one_state(rates, term, upper, x, over)).relaxations


def test_a_state_that_settles_within_an_interval_widens_its_limit_by_what_it_exceeds():
    """Its time constant is a fifth of a step."""
    problem = one_state(lambda node: (node.u - node.x) / 0.01, X, 1.0, 1.2)
    (limit,) = (each for each in with_measured_start(problem).constraints if each.easing)
    upper = limit.limits_at(np.zeros(101, int), np.linspace(0.0, 1.0, 101))[1]
    assert np.all(upper <= 1.21) and limit.easing.end == pytest.approx(0.2)


@pytest.mark.long
@pytest.mark.parametrize(("x", "speed", "force"), [(1.2, 0.4, 1.0), (0.9, 2.0, 5.0)])
def test_a_cart_that_runs_off_its_rail_is_led_back(x, speed, force):
    answer = trajopt.solve(cart(x, speed, force), starts=1)
    assert answer.converged and answer.relaxations
    assert answer.verify().holds and "rail" in eased_by(0.0, answer, "rail").reason


def test_a_limit_is_wider_to_the_end_of_a_single_span_of_degree_one():
    """Its second control point is where the limit holds again."""
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(1, 1, duration=1.0))
    problem.control("u", -5.0, 5.0)
    problem.start_at(x=[1.2], measured=True)
    problem.subject_to(trajopt.state("x"), upper=1.0)
    (limit,) = (each for each in with_measured_start(problem).constraints if each.easing is not None)
    np.testing.assert_allclose(
        limit.limits_at(np.zeros(3, int), np.array([0.0, 0.5, 1.0]))[1][:, 0], [1.2, 1.1, 1.0]
    )
