"""A robot on a given path: least times against the phase plane, and derivatives of every quantity."""

import numpy as np
import pytest
from random_trees import random_tree
from scipy.interpolate import CubicSpline
from taylor_slopes import slopes

import dynamics
import problems
import trajopt
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError
from trajopt.problem.problem_graph import graph_of


def least_time(model, p, first, second, limit, steps):
    """Least time along q = p(s), 0 <= s <= 1, from rest to rest, |tau| <= limit, in the phase plane.

    With x = s'^2 and u = s'' torques are a(s) u + b(s) x + c(s), and dx/ds = 2 u. Backwards from the end the
    largest x from which the end can be reached, forwards the largest x that can be reached (Pham and Pham, A
    New Approach to Time-Optimal Path Parameterization Based on Reachability Analysis, 2018). Each step is a
    linear program in (u, x), solved by trying all pairs of its bounds.
    """
    s = np.linspace(0.0, 1.0, steps + 1)
    q, rate, bend = p(s), first(s), second(s)
    zero = np.zeros_like(q)
    c = dynamics.rnea(model, q, zero, zero)
    a = dynamics.rnea(model, q, zero, rate) - c
    b = dynamics.rnea(model, q, rate, bend) - c
    h = 1.0 / steps
    reach = np.zeros(steps + 1)
    for k in range(steps - 1, -1, -1):
        reach[k] = _largest(a[k], b[k], c[k], limit, (2.0 * h, 0.0, reach[k + 1]))
    x = np.zeros(steps + 1)
    for k in range(steps):
        low, high = -np.inf, np.inf
        for i in range(a.shape[1]):
            ends = sorted(((sign * limit[i] - b[k, i] * x[k] - c[k, i]) / a[k, i]) for sign in (-1.0, 1.0))
            low, high = max(low, ends[0]), min(high, ends[1])
        x[k + 1] = min(x[k] + 2.0 * h * high, reach[k + 1])
    # constant s'' over a step: the mean of the rates at its ends
    return float((2.0 * h / (np.sqrt(x[:-1]) + np.sqrt(x[1:]))).sum())


def extrapolated(steps, *problem):
    """The limit of times whose errors halve with the step."""
    return 2.0 * least_time(*problem, 2 * steps) - least_time(*problem, steps)


def _largest(a, b, c, limit, onto):
    """The largest x >= 0 with some u such that |a u + b x + c| <= limit and 0 <= x + onto_0 u <= onto_2."""
    rows = [(a[i], b[i], c[i] - sign * limit[i], sign) for i in range(a.size) for sign in (-1.0, 1.0)]
    half = [(sign * r[0], sign * r[1], sign * r[2]) for *r, sign in rows]  # each <= 0
    half += [(onto[0], 1.0, -onto[2]), (-onto[0], -1.0, onto[1])]
    A = np.array(half)
    i, j = np.triu_indices(len(A), 1)
    det = A[i, 0] * A[j, 1] - A[j, 0] * A[i, 1]
    i, j, det = (part[np.abs(det) > 1e-14] for part in (i, j, det))
    u = (A[i, 1] * A[j, 2] - A[j, 1] * A[i, 2]) / det
    x = (A[j, 0] * A[i, 2] - A[i, 0] * A[j, 2]) / det
    slack = 1e-9 * (1.0 + np.abs(A[:, 2]))
    allowed = np.all(np.outer(u, A[:, 0]) + np.outer(x, A[:, 1]) + A[:, 2] <= slack, axis=1)
    return float(x[allowed].max(initial=0.0))


def rectangular(gravity=0.0):
    """Two slides at right angles: 2 kg in x on a carriage of 1 kg, so 3 kg and 2 kg move."""
    unlimited = dynamics.JointLimits.symmetric(torque=6.0)
    x = dynamics.Joint("x", "prismatic", axis=(1.0, 0.0, 0.0), limits=unlimited)
    y = dynamics.Joint("y", "prismatic", axis=(0.0, 1.0, 0.0), limits=unlimited)
    carriage, head = dynamics.Body("carriage", x, mass=1.0), dynamics.Body("head", y, "carriage", 2.0)
    return dynamics.RigidBodyModel([carriage, head], (0.0, -gravity, 0.0))


def timed(model, path, intervals=20, trajectory=None):
    on_path = trajopt.on_path(model, path)
    problem = trajopt.Problem(on_path, trajectory or trajopt.Trajectory.uniform(intervals))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    return problem


def test_on_a_straight_line_the_slower_axis_pushes_and_brakes():
    """From (0, 0) to (1, 1): 3 kg and 6 N allow 2 m/s^2, so T = 2 sqrt(1 / 2), which two parabolas have."""
    mesh = trajopt.Trajectory.collocation(2, 2)
    solution = trajopt.solve(timed(rectangular(), [[0.0, 0.0], [1.0, 1.0]], trajectory=mesh))
    assert solution.duration == pytest.approx(np.sqrt(2.0), rel=1e-7)
    assert np.abs(solution.tau(np.linspace(0.0, solution.duration, 9))).max() == pytest.approx(6.0, rel=1e-6)
    assert solution.verify().holds


@pytest.mark.long
def test_pictures_and_the_report_show_the_torques_of_all_joints():
    solution = trajopt.solve(timed(rectangular(), [[0.0, 0.0], [1.0, 1.0]], intervals=4))
    figure = trajopt.plot.torques(solution)
    assert [axis.get_title(loc="right") for axis in figure.axes] == ["x", "y"]
    assert solution.wrench(0.0).shape == (2, 6)
    trajopt.plot.joints(solution), trajopt.plot.motion(solution)
    assert "torques and forces" in trajopt.report.html(solution)


def test_on_a_circle_the_centripetal_force_bounds_the_speed():
    """A mass m on a circle of radius r with |force| <= F per axis: m r w^2 <= F at rest of s''."""

    def circle(s):
        return [np.cos(s), np.sin(s)]

    on_circle = trajopt.on_path(rectangular(), circle, over=(0.0, 2.0 * np.pi))
    problem = trajopt.Problem(on_circle, trajopt.Trajectory.uniform(10, duration=3.0))
    problem.start_at(q=0.0)
    problem.end_at(q=2.0 * np.pi)
    problem.minimize(trajopt.state("s"), over="end")
    problem.guess([[0.0], [2.0 * np.pi]])
    solution = trajopt.solve(problem)
    t = np.linspace(0.1, 2.9, 5)
    joints = solution.value(trajopt.Quantity("joint_position"), t)
    np.testing.assert_allclose(np.linalg.norm(joints, axis=1), 1.0, rtol=1e-12)
    w, angle = solution.v(t)[:, 0], solution.q(t)[:, 0]
    turn = solution.a(t)[:, 0]
    force = np.array([3.0, 2.0]) * (
        turn[:, None] * np.stack([-np.sin(angle), np.cos(angle)], 1)
        - (w**2)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    )
    np.testing.assert_allclose(solution.tau(t), force, atol=1e-9)


@pytest.mark.long
def test_the_line_in_least_time_is_that_of_the_phase_plane():
    """Errors fall with the square of the mesh, from above, to the phase plane's time, 0.69293 s."""
    problem = problems.line_in_least_time.build()
    robot, path = problem.dynamics.robot, problem.dynamics.path
    curves = [lambda s, order=order: path(s, order) for order in range(3)]
    exact = extrapolated(1000, robot, *curves, robot.limits.torque_upper)
    assert exact == pytest.approx(problems.line_in_least_time.REFERENCE, rel=5e-5)
    errors = []
    for intervals in (30, 60):
        solution = trajopt.solve(timed(robot, path, intervals))
        assert solution.converged
        errors.append(solution.duration / exact - 1.0)
    assert 0.0 < errors[1] < 1e-3
    assert 2.0 * errors[1] < errors[0]


def random_path(seed, n):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(7, n))


@pytest.mark.parametrize("kind", ["points", "scipy", "function"])
def test_every_quantity_has_exact_first_and_second_derivatives(kind):
    model = random_tree(2, rotors=True)
    points = random_path(0, model.n)
    weights = np.linspace(0.5, 1.5, model.n)
    path = {
        "points": points,
        "scipy": CubicSpline(np.linspace(0.0, 1.0, len(points)), points),
        "function": lambda s: [w * np.sin(w * s) + s**2 for w in weights],
    }[kind]
    problem = trajopt.Problem(trajopt.on_path(model, path), trajopt.Trajectory.uniform(3))
    problem.start_at(q=0.1)
    problem.end_at(q=0.9)

    @trajopt.term
    def push(node):
        r = node.position("tool")
        return [0.0, 0.0, r[1], r[0], -r[1], 0.3]

    @trajopt.term
    def mixture(node):
        return node.q.T @ node.q + node.v.T @ node.a + node.s**2 + node.rate("s") + node.kinetic_energy

    problem.load("link1", push)
    problem.design("link2.mass", problem.parameter("mass", 0.5, 2.0))
    problem.minimize(mixture, weight=1e-2)
    problem.minimize(trajopt.tau**2, weight=1e-4)
    problem.subject_to(trajopt.Quantity("joint_acceleration"), -50.0, 50.0)
    problem.subject_to(trajopt.Quantity("joint_jerk"), -500.0, 500.0)
    problem.subject_to(trajopt.wrench("joint1"), -500.0, 500.0)
    nlp = trajopt.transcribe(problem)
    rng = np.random.default_rng(4)
    # inside one span of the path's spline: the fourth derivative of a cubic one jumps
    y = nlp.start + 1e-3 * rng.normal(size=nlp.start.size)
    direction = rng.normal(size=y.size)
    direction *= 0.1 / np.linalg.norm(direction)
    value, gradient = slopes(nlp, y, direction, rng.normal(size=nlp.row_count))
    assert value == pytest.approx(2.0, abs=0.1)
    assert gradient == pytest.approx(2.0, abs=0.1)


def torques(on_path, u):
    """tau of the robot, by the graph of a problem along the path."""
    problem = trajopt.Problem(on_path, trajopt.Trajectory.uniform(3))
    return graph_of(problem, [trajopt.tau]).values(u)["tau"]


def test_torques_are_those_of_the_robot_in_that_motion():
    model = random_tree(0)
    on_path = trajopt.on_path(model, random_path(1, model.n))
    s, rate, second = np.array([[0.2], [0.7]]), np.array([[1.0], [-0.5]]), np.array([[0.3], [2.0]])
    u = {"q": s, "v": rate, "a": second}
    motion = on_path.block(("joint_position", "joint_velocity", "joint_acceleration")).value(u)
    q, v, a = motion.values()
    h = 1e-4
    ahead, behind = (
        on_path.joint_positions(s + sign * h * rate + 0.5 * h**2 * second) for sign in (1.0, -1.0)
    )
    np.testing.assert_allclose((ahead - behind) / (2.0 * h), v, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((ahead - 2.0 * q + behind) / h**2, a, rtol=1e-4, atol=1e-3)
    tau = torques(on_path, u)
    np.testing.assert_allclose(tau, dynamics.rnea(model, q, v, a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(on_path.forward_dynamics(s, rate, tau), second, rtol=1e-9)


@pytest.mark.parametrize("path", [random_path(1, 3), lambda s: [np.sin(3.0 * s), s**2, np.exp(-s)]])
def test_jerks_are_rates_of_accelerations(path):
    on_path = trajopt.on_path(random_tree(0, n=3), path)
    s, h = np.array([[0.3, 1.0, 0.4, -2.0], [0.6, -0.5, 2.0, 3.0]]), 1e-4  # s and its derivatives
    block = on_path.block(("joint_acceleration", "joint_jerk"))

    def motion(t):
        q = s[:, 0] + s[:, 1] * t + s[:, 2] * t**2 / 2 + s[:, 3] * t**3 / 6
        v, a = s[:, 1] + s[:, 2] * t + s[:, 3] * t**2 / 2, s[:, 2] + s[:, 3] * t
        return block.value({"q": q[:, None], "v": v[:, None], "a": a[:, None], "jerk": s[:, 3:]})

    rate = (motion(h)["joint_acceleration"] - motion(-h)["joint_acceleration"]) / (2.0 * h)
    np.testing.assert_allclose(motion(0.0)["joint_jerk"], rate, rtol=1e-5, atol=1e-4)


def test_forces_of_the_guide_have_no_effect_along_the_path():
    model = random_tree(0)
    on_path = trajopt.on_path(model, random_path(1, model.n))
    s, rate, second = np.array([[0.4]]), np.array([[1.0]]), np.array([[0.3]])
    tau = torques(on_path, {"q": s, "v": rate, "a": second})
    along = on_path.path(s.ravel(), 1)[0]
    across = np.linalg.svd(along[None])[2][1]
    np.testing.assert_allclose(on_path.forward_dynamics(s, rate, tau + 5.0 * across), second, rtol=1e-8)


def test_the_spline_goes_through_its_points_in_proportion_to_their_distance():
    points = random_path(2, 3)
    path = trajopt.on_path(random_tree(0, n=3), points).path
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(chords)]) / chords.sum()
    np.testing.assert_allclose(path(at), points, atol=1e-12)


@pytest.mark.parametrize(
    ("path", "over", "error", "words"),
    [
        ([[0.0, 0.0]], (0.0, 1.0), ShapeError, "at least two rows"),
        ([[0.0], [1.0]], (0.0, 1.0), ShapeError, r"give \(k, 2\)"),
        ([[0.0, np.nan], [1.0, 1.0]], (0.0, 1.0), NotFiniteError, "NaN or infinity"),
        ([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], (0.0, 1.0), OptionError, "are the same"),
        ([[0.0, 0.0], [1.0, 1.0]], (1.0, 0.0), OptionError, "two numbers in rising order"),
        (5, (0.0, 1.0), OptionError, "the path is 5"),
        (lambda s: [s], (0.0, 1.0), ShapeError, "one column per joint"),
        (lambda s: [s, 1.0 / s], (0.0, 1.0), NotFiniteError, "not finite"),
        (lambda s: [s, "far"], (0.0, 1.0), ShapeError, "returned"),
        (lambda s, order: np.zeros((len(s), 3)), (0.0, 1.0), ShapeError, "one column per joint"),
        (lambda s, order: s.no_such_thing, (0.0, 1.0), OptionError, "the path failed"),
    ],
)
def test_what_is_no_path_is_refused(path, over, error, words):
    with pytest.raises(error, match=words):
        trajopt.on_path(rectangular(), path, over)


def test_a_system_follows_no_path_of_joints():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    with pytest.raises(OptionError, match="give a robot"):
        trajopt.on_path(system, [[0.0], [1.0]])


def test_the_mass_of_a_link_on_a_path_may_be_chosen():
    """Half a turn of one rod: the lighter it is the less time it takes."""
    joint = dynamics.Joint("hinge", limits=dynamics.JointLimits.symmetric(torque=1.0))
    model = dynamics.RigidBodyModel(
        [dynamics.Body("rod", joint, None, 1.0, (0.5, 0.0, 0.0))], (0.0, 0.0, 0.0)
    )
    problem = timed(model, [[0.0], [np.pi]], trajectory=trajopt.Trajectory.collocation(2, 2))
    problem.design("rod.mass", problem.parameter("mass", 0.5, 2.0))
    solution = trajopt.solve(problem)
    assert solution.parameters["mass"][0] == pytest.approx(0.5, abs=1e-6)
    assert solution.duration == pytest.approx(2.0 * np.sqrt(np.pi * 0.5 * 0.25), rel=1e-6)
