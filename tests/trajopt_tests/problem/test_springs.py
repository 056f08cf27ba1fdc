"""Springs and dampers of joints as properties of a robot and as unknowns, against closed forms."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.optimize import brentq
from taylor_slopes import slopes

import dynamics
import trajopt
from trajopt.base.errors import OptionError, ProblemError

MASS = 2.0
motor = trajopt.Quantity("motor_torque")


def cart(**joint):
    slide = dynamics.Joint("slide", "prismatic", **joint)
    return dynamics.RigidBodyModel([dynamics.Body("cart", slide, None, MASS)], (0.0, 0.0, 0.0))


def swing(robot=None, duration=0.5):
    """From -1 to 1 m and rest to rest."""
    problem = trajopt.Problem(robot or cart(), trajopt.Trajectory.collocation(6, 6, duration=duration))
    problem.start_at(q=-1.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(motor**2, name="effort")
    return problem


def test_a_spring_in_resonance_needs_no_motor():
    """k = m (pi / T)^2 and a relaxed spring in the middle swing the mass over by themselves."""
    problem = swing()
    problem.design("slide.stiffness", problem.parameter("k", 1.0, 200.0, 20.0))
    problem.design("slide.rest", problem.parameter("r", -0.5, 0.5, 0.2))
    solution = trajopt.solve(problem)
    k = MASS * (np.pi / 0.5) ** 2
    assert solution.parameters["k"][0] == pytest.approx(k, rel=1e-6)
    assert solution.parameters["r"][0] == pytest.approx(0.0, abs=1e-6)
    assert solution.objective < 1e-9 * k**2
    robot = solution.as_built.dynamics
    assert isinstance(robot, dynamics.RigidBodyModel)
    assert robot.joints[0].stiffness == pytest.approx(k, rel=1e-6)


@pytest.mark.long
def test_the_resonant_spring_of_a_robot_acts_without_a_design():
    k = MASS * (np.pi / 0.5) ** 2
    solution = trajopt.solve(swing(cart(stiffness=k)))
    assert solution.objective < 1e-9 * k**2
    t = np.linspace(0.0, 0.5, 7)
    np.testing.assert_allclose(solution.q(t)[:, 0], -np.cos(np.pi * t / 0.5), atol=1e-6)
    np.testing.assert_allclose(solution.value(motor, t), 0.0, atol=1e-4 * k)
    np.testing.assert_allclose(solution.tau(t)[:, 0], -k * solution.q(t)[:, 0], atol=1e-4 * k)


def given_motion(start, end, degree, duration):
    """The only polynomial of the degree with these end conditions, and a problem that has it alone."""
    problem = trajopt.Problem(
        cart(), trajopt.Trajectory.uniform(1, degree, duration=duration, nodes_per_span=8)
    )
    problem.start_at(**start)
    problem.end_at(**end)
    problem.minimize(motor**2)
    orders = {"q": 0, "v": 1, "a": 2}
    basis = [Polynomial.basis(i) for i in range(degree + 1)]
    rows = [
        ([each.deriv(orders[name])(t) for each in basis], value)
        for t, given in ((0.0, start), (duration, end))
        for name, value in given.items()
    ]
    matrix, values = zip(*rows, strict=True)
    return problem, Polynomial(np.linalg.solve(np.array(matrix), np.array(values)))


def integral(polynomial, duration):
    return polynomial.integ()(duration)


def test_the_best_spring_of_a_given_cycle_is_a_regression():
    """Least integral of (m a + k q - s)^2, s = k r: two linear equations for k and s."""
    T = 0.8
    start, end = {"q": -0.3, "v": 0.0, "a": 1.0}, {"q": 0.9, "v": 0.0, "a": -5.0}
    problem, q = given_motion(start, end, 5, T)
    problem.design("slide.stiffness", problem.parameter("k", 0.0, 100.0, 5.0))
    problem.design("slide.rest", problem.parameter("r", -2.0, 2.0, 0.0))
    solution = trajopt.solve(problem)
    force, one = MASS * q.deriv(2), Polynomial([1.0])
    matrix = [[integral(a * b, T) for b in (q, -one)] for a in (q, -one)]
    k, s = np.linalg.solve(matrix, [-integral(force * a, T) for a in (q, -one)])
    assert solution.parameters["k"][0] == pytest.approx(k, rel=1e-6)
    assert solution.parameters["r"][0] == pytest.approx(s / k, rel=1e-6)
    assert solution.objective == pytest.approx(integral((force + k * q - s) ** 2, T), rel=1e-9)
    report = solution.verify()
    assert report.holds, report
    assert "robot: slide.stiffness" in report.table


def test_the_best_damper_of_a_stop_is_a_quotient():
    """Least integral of (m a + c v)^2: c = m v0^2 / (2 integral of v^2), as the mass stops."""
    T, v0 = 1.5, 2.0
    problem, q = given_motion({"q": 0.0, "v": v0}, {"q": 1.2, "v": 0.0}, 3, T)
    problem.design("slide.damping", problem.parameter("c", 0.0, 100.0, 1.0))
    solution = trajopt.solve(problem)
    c = 0.5 * MASS * v0**2 / integral(q.deriv() ** 2, T)
    assert solution.parameters["c"][0] == pytest.approx(c, rel=1e-6)


def test_the_program_has_exact_first_and_second_derivatives():
    problem = swing()
    problem.design("slide.stiffness", problem.parameter("k", 1.0, 200.0, 20.0))
    problem.design("slide.rest", lambda node: 0.01 * node.parameter("k"))
    problem.design("slide.damping", problem.parameter("c", 0.0, 9.0, 1.0))
    problem.design("cart.mass", lambda node: 1.0 + 0.1 * node.parameter("c"))
    problem.subject_to(motor, -500.0, 500.0)
    nlp, rng = trajopt.transcribe(problem), np.random.default_rng(4)
    y = nlp.start + 0.1 * rng.normal(size=nlp.start.size)
    direction = rng.normal(size=y.size)
    direction /= np.linalg.norm(direction)
    value, gradient = slopes(nlp, y, direction, rng.normal(size=nlp.row_count))
    assert value == pytest.approx(2.0, abs=0.1)
    assert gradient == pytest.approx(2.0, abs=0.1)


def test_a_design_without_effect_is_refused():
    problem = swing()
    problem.costs.clear()
    problem.minimize(trajopt.tau**2)
    problem.design("slide.stiffness", problem.parameter("k", 1.0, 200.0, 20.0))
    with pytest.raises(ProblemError, match=r"'slide.stiffness' is designed, but nothing .*'motor_torque'"):
        trajopt.solve(problem)


@pytest.mark.long
def test_a_passive_joint_swings_on_its_spring_and_damper():
    """m x'' + c x' + k x = 0 from x = -1 m at rest, whatever is minimized."""
    k, c, T = 50.0, 4.0, 1.3
    problem = trajopt.Problem(cart(stiffness=k, damping=c), trajopt.Trajectory.collocation(12, 6, duration=T))
    problem.passive("slide")
    problem.start_at(q=-1.0, v=0.0)
    problem.minimize(trajopt.v**2)
    solution = trajopt.solve(problem)
    t, decay = np.linspace(0.0, T, 41), c / (2.0 * MASS)
    rate = np.sqrt(k / MASS - decay**2)
    exact = -np.exp(-decay * t) * (np.cos(rate * t) + decay / rate * np.sin(rate * t))
    np.testing.assert_allclose(solution.q(t)[:, 0], exact, atol=1e-6)
    assert solution.verify().verdict == "PASS"


@pytest.mark.long
def test_a_design_of_a_spring_comes_before_what_depends_on_it():
    """Without a motor the mass swings from side to side in T where k = m (pi / T)^2."""
    problem = trajopt.Problem(cart(), trajopt.Trajectory.collocation(6, 6, duration=0.5))
    problem.start_at(q=-1.0, v=0.0)
    problem.end_at(v=0.0)
    problem.design("slide.stiffness", problem.parameter("k", 1.0, 200.0, 60.0))
    problem.passive("slide")
    problem.minimize(trajopt.v**2)
    solution = trajopt.solve(problem)
    assert solution.parameters["k"][0] == pytest.approx(MASS * (np.pi / 0.5) ** 2, rel=1e-6)
    late = swing()
    late.passive("slide")
    with pytest.raises(OptionError, match=r"'slide.stiffness' is designed after problem.passive, .* before"):
        late.design("slide.stiffness", late.parameter("k", 1.0, 200.0, 20.0))
    assert not late.designs
    limited = swing(cart(limits=dynamics.JointLimits.symmetric(torque=9.0)))
    limited.subject_to_joint_limits()
    with pytest.raises(OptionError, match=r"after problem.subject_to_joint_limits"):
        limited.design("slide.damping", limited.parameter("c", 1.0, 200.0, 20.0))


@pytest.mark.long
def test_limits_of_torque_are_those_of_the_motor_beside_a_damper():
    """Least time over D: full force F for t1, full brake for t2, with m v' = F - c v.

    t1 - t2 = D c / F and exp(c t2 / m) = 2 - exp(-c t1 / m).
    """
    F, c, D = 10.0, 3.0, 2.0
    robot = cart(damping=c, limits=dynamics.JointLimits.symmetric(torque=F))
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(20))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=D, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))

    def missing(t2):
        return np.exp(c * t2 / MASS) - 2.0 + np.exp(-c * (t2 + D * c / F) / MASS)

    brake = brentq(missing, 0.0, MASS / c)
    assert solution.duration == pytest.approx(2.0 * brake + D * c / F, rel=1e-6)
    samples = solution.sample(1000)
    given = samples["motor_torque slide"]
    np.testing.assert_allclose(given, samples["tau slide"] + c * samples["v slide"], atol=1e-9)
    assert np.abs(given).max() <= F * (1.0 + 1e-6)
    assert np.abs(samples["tau slide"]).max() > F + 1.0


@pytest.mark.long
@pytest.mark.parametrize("on_path", [False, True])
def test_figures_show_the_limit_at_the_motor_that_it_holds_for(on_path):
    robot = cart(damping=3.0, limits=dynamics.JointLimits.symmetric(torque=10.0))
    if on_path:
        robot = trajopt.on_path(robot, [[0.0], [0.7], [2.0]])
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(20))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0 if on_path else 2.0, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    t = np.linspace(0.0, solution.duration, 400)
    assert 9.9 < np.abs(solution.value(motor, t)).max() < 10.02
    ax = trajopt.plot.torques(solution).axes[0]
    drawn = np.concatenate([np.abs(line.get_ydata()) for line in ax.get_lines()])
    assert 9.9 < drawn[np.isfinite(drawn)].max() < 10.02


def test_a_spring_that_cannot_be_is_refused_where_it_is_designed():
    problem = swing()
    problem.parameter("k", -9.0, 9.0, -1.0)
    with pytest.raises(dynamics.JointError, match=r"stiffness is -1\.0; it must not be negative"):
        problem.design("slide.stiffness", trajopt.Quantity("parameter:k"))
