"""Landing with an impact: impulses against closed forms, and velocities against the projection by M."""

from pathlib import Path

import numpy as np
import pytest
from feet import missing_at_base
from taylor_slopes import slope_and_difference_of_rows, slopes
from tiers import fast_first

import dynamics
import trajopt
from problems.gallery.legged import one_legged_hopper
from trajopt.base.errors import OptionError
from trajopt.splines.basis import BORDER_SIDE
from trajopt.transcription.transcribe import transcribe

G, HEIGHT = 9.81, 0.2  # m/s^2, m of a fall
ONCE = trajopt.Ipopt(max_iterations=60)
SOLE = [[x, y, 0.0] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]


def box(mass=3.0):
    """A rigid body whose frame is in the middle of its underside."""
    body = dynamics.Body("box", dynamics.Joint("base"), None, mass, np.array([0, 0, 0.1]), 0.1 * np.eye(3))
    return dynamics.RigidBodyModel(dynamics.free_joint(body), np.array([0.0, 0.0, -G]), "box")


def falling_box(speed=0.0, friction=0.7):
    schedule = trajopt.Schedule([((), (0.05, 1.0)), (("box",), 0.1)], feet=("box",))
    problem = trajopt.Problem(box(), schedule.trajectory(4), name="fall")
    contact = problem.contact("box", schedule.arcs("box"), friction, sole=SOLE, impact=True)
    problem.passive_base()
    problem.start_at(q=[0.0, 0.0, HEIGHT, 0.0, 0.0, 0.0], v=[speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    problem.minimize(contact.force**2, 1e-3)
    problem.guess(np.array([[0, 0, HEIGHT, 0, 0, 0], np.zeros(6)], dtype=float), duration=[0.2, 0.1])
    return problem, contact


def sides(solution, border):
    """Velocities (n,) before and after."""
    t = solution.curve.starts[border]
    side = 2.0 * BORDER_SIDE * solution.duration
    return solution.v(t - side), solution.v(t + side)


@pytest.mark.long
def test_a_box_that_falls_flat_takes_its_momentum_as_impulse():
    """m sqrt(2 g h), after sqrt(2 h / g) seconds; it stays."""
    problem, contact = falling_box()
    solution = trajopt.solve(problem, progress="silent")
    assert solution.converged and solution.verify().verdict == "PASS"
    assert solution.curve.starts[1] == pytest.approx(np.sqrt(2.0 * HEIGHT / G), rel=1e-6)
    impulse = solution.value(contact.impulse(1), 0.0)
    np.testing.assert_allclose(impulse, [0.0, 0.0, 3.0 * np.sqrt(2.0 * G * HEIGHT)], atol=1e-5)
    before, after = sides(solution, 1)
    assert before[2] == pytest.approx(-np.sqrt(2.0 * G * HEIGHT), rel=1e-6)
    assert np.abs(after).max() < 1e-6


@pytest.mark.long
def test_a_sliding_box_stops_only_where_friction_can_take_its_momentum():
    """tan of the angle of the impulse is at most mu: speed <= mu sqrt(2 g h) at the landing."""
    fastest = 0.5 * np.sqrt(2.0 * G * HEIGHT)
    slow, fast = (
        trajopt.solve(falling_box(part * fastest, 0.5)[0], ONCE, starts=1, refine=None, progress="silent")
        for part in (0.95, 1.05)
    )
    assert slow.converged and not fast.converged


def landing(impact=True):
    """The hopper falls on its foot with a speed forward and comes to rest; how it holds its leg is free."""
    robot = one_legged_hopper.hopper()
    schedule = trajopt.Schedule([((), (0.05, 0.3)), (("foot",), 0.25)])
    problem = trajopt.Problem(robot, schedule.trajectory(6), name="landing")
    contact = problem.contact("foot", schedule.arcs("foot"), impact=impact)
    problem.passive_base()
    high = np.array([0.0, 0.0, 0.55, 0.0, 0.0, 0.0, *one_legged_hopper.BENT])
    problem.start_at(q=high, v=[0.3, *[0.0] * 8])
    problem.minimize(trajopt.tau**2)
    problem.minimize((trajopt.q[6:] - one_legged_hopper.BENT) ** 2, 100.0)
    problem.minimize(trajopt.v[6:] ** 2, 0.1)
    problem.guess(np.array([high, high - 0.1 * np.eye(9)[2]]), duration=[0.15, 0.25])
    return problem, contact


def test_derivatives_of_an_impact_are_exact():
    """Rows and Lagrangian of a landing: expansions fail at the second order, multipliers are random."""
    nlp = transcribe(landing()[0])
    rng = np.random.default_rng(0)
    y = nlp.start + 0.05 * rng.standard_normal(nlp.variable_count)
    direction = rng.standard_normal(nlp.variable_count)
    first, second = slopes(nlp, y, direction / np.linalg.norm(direction), rng.standard_normal(nlp.row_count))
    assert first == pytest.approx(2.0, abs=0.1) and second == pytest.approx(2.0, abs=0.1)
    slope, difference = slope_and_difference_of_rows(nlp)
    np.testing.assert_allclose(slope, difference, atol=1e-5 * np.abs(slope).max())


@pytest.fixture(scope="module")
def landed():
    problem, contact = landing()
    return trajopt.solve(problem, progress="silent"), contact


def jacobian_of_foot(robot, q):
    """(3, n) by central differences of the place of the foot."""
    place = lambda x: dynamics.forward_kinematics(robot, x, ["foot"]).position[0]  # noqa: E731
    return np.stack([(place(q + h) - place(q - h)) / 2e-6 for h in 1e-6 * np.eye(robot.n)], axis=1)


@pytest.mark.long
def test_velocities_after_an_impact_are_those_of_the_projection(landed):
    """v+ = v- - M^-1 J' (J M^-1 J')^-1 J v-, with the impulse -(J M^-1 J')^-1 J v-."""
    solution, contact = landed
    report = solution.verify()
    assert solution.converged and report.verdict == "PASS", report.reason
    robot, q = solution.problem.dynamics, solution.q(solution.curve.starts[1])
    before, after = sides(solution, 1)
    M, J = dynamics.crba(robot, q), jacobian_of_foot(robot, q)
    inverse = np.linalg.inv(M)
    impulse = -np.linalg.solve(J @ inverse @ J.T, J @ before)
    assert np.abs(J @ before).max() > 0.1
    np.testing.assert_allclose(solution.value(contact.impulse(1), 0.0), impulse, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(after, before + inverse @ J.T @ impulse, atol=1e-4)
    assert after @ M @ after < before @ M @ before
    assert np.hypot(*impulse[:2]) <= 0.7 * impulse[2]


@pytest.mark.long
def test_between_impacts_the_ground_alone_moves_the_base(landed):
    solution = landed[0]
    weight = G * solution.problem.dynamics.total_mass
    for first, last in zip(solution.curve.starts[:-1], solution.curve.starts[1:], strict=True):
        t = np.linspace(first + 1e-9, last - 1e-9, 101)
        assert np.abs(missing_at_base(solution, t)).max() < 2e-2 * weight


@pytest.mark.long
def test_an_impact_may_cost_less_than_landing_softly(landed):
    """A soft landing has an impact of zero: it is one of the motions allowed."""
    soft = trajopt.solve(landing(impact=False)[0], progress="silent")
    assert soft.converged and landed[0].objective < soft.objective


def test_a_foot_that_stands_takes_a_part_of_the_impulse_of_another():
    robot = dynamics.load_urdf(SOLO.read_text(encoding="utf-8"), floating_base="free")
    schedule = trajopt.Schedule([(("FL", "HR"), 0.2), (("FL", "HR", "FR"), 0.2)])
    problem = trajopt.Problem(robot, schedule.trajectory(2))
    problem.contact("FL_FOOT", schedule.arcs("FL"), impact=True)
    problem.contact("FR_FOOT", schedule.arcs("FR"), impact=True)
    assert {"impulse FL_FOOT, arc 1", "impulse FR_FOOT, arc 1"} == set(problem.parameters)
    assert [each.name for each in problem.constraints].count("impact, arc 1") == 1
    assert "FL_FOOT stays, arc 1" in {each.name for each in problem.constraints}
    with pytest.raises(OptionError, match="'HR_FOOT' stands where another foot lands with an impact, arc 1"):
        problem.contact("HR_FOOT", schedule.arcs("HR"))
    with pytest.raises(OptionError, match="'FR_FOOT' takes no impulse in arc 0: give one in which it stands"):
        problem.contacts["FR_FOOT"].impulse(0)


SOLO = Path(__file__).parents[3] / "support" / "robots" / "solo12.urdf"


TROT = [(("FL", "HR"), 0.12), (("FR", "HL"), 0.12)]  # half a period from touchdown, and half a one more
CUT = [(("FL", "HR"), 0.06), (("FR", "HL"), 0.06)]  # half a period from the middle of a stance


@fast_first(
    ("stances", "sides", "landing"),
    [
        (TROT[:1], {"FL": "FR", "HL": "HR"}, True),
        (CUT, {"FL": "FR", "HL": "HR"}, False),
        (TROT, None, True),
        ([*CUT, CUT[0]], None, False),
    ],
    2,
)
def test_an_impact_between_two_periods_is_refused(stances, sides, landing):
    """Velocities of a periodic gait do not jump there; a foot whose mirror image stands at the end may."""
    robot = dynamics.load_urdf(SOLO.read_text(encoding="utf-8"), floating_base="free")
    schedule = trajopt.Schedule(stances, feet=("FL", "FR", "HL", "HR"))
    problem = trajopt.Problem(robot, schedule.trajectory(2))
    for foot in schedule.feet:
        problem.contact(f"{foot}_FOOT", schedule.arcs(foot), impact=True)
    mirror = robot.mirrored(sides) if sides else None
    if landing:
        with pytest.raises(OptionError, match=r"'FL_FOOT' has impact=True .* Begin the period in the middle"):
            problem.subject_to_periodic_gait(0.1, mirror=mirror)
    else:
        problem.subject_to_periodic_gait(0.1, mirror=mirror)
        assert "impact, arc 1" in [each.name for each in problem.constraints]
