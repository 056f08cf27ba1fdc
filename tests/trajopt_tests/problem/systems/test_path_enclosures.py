"""Bounds for all times of robots on given paths: what is proved, what is met between samples, what is not."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator
from tiers import every

import dynamics
import trajopt
from trajopt.problem.systems.joint_path import path_of
from trajopt.taylor_models.taylor_model import TaylorModel

POINTS = np.random.default_rng(7).normal(size=(9, 2))
AT = np.linspace(0.0, 1.0, 9)


def waves(s):
    return [np.sin(3.0 * s) + s**2, np.exp(-s)]


PATHS = {
    "points": POINTS,
    "cubic": CubicSpline(AT, POINTS),
    "with jumps of its second derivative": PchipInterpolator(AT, POINTS),
    "function": waves,
}


def pieces(rng, count=150):
    """s = centre + half z on pieces that cover a little more than the path, z in [-1, 1]."""
    edges = np.sort(np.concatenate([[-0.05, 1.05], rng.uniform(-0.05, 1.05, count)]))
    return 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)


@every("kind", PATHS)
@every("order", [0, 1, 2])
def test_models_of_a_path_hold_its_values_and_are_sharp_beside_its_breakpoints(kind, order):
    path = path_of(PATHS[kind], (0.0, 1.0), ("x", "y"))
    centre, half = pieces(np.random.default_rng(order))
    models = path.over(
        TaylorModel(np.stack([centre, half]), np.zeros(centre.size)), order, TaylorModel.constant
    )
    z = np.linspace(-1.0, 1.0, 21)[:, None]
    true = path((centre + z * half).ravel(), order).reshape(21, -1, 2)
    size = np.abs(true).max()
    for j, model in enumerate(models):
        powers = z[:, None] ** np.arange(len(model.coefficients))[:, None]
        found = (powers * model.coefficients).sum(axis=1)
        assert np.all(np.abs(true[..., j] - found) <= model.radius + 1e-12 * size)
        assert np.median(model.radius) < 1e-9 * size


def test_a_small_jump_between_short_pieces_is_not_taken_for_rounding():
    """Pieces of a hundredth whose fifth powers have coefficients of 1e10, and jumps of 1e-6."""
    x, rng = np.linspace(0.0, 0.5, 51), np.random.default_rng(3)
    spline = CubicSpline(x, rng.normal(size=(51, 2)))
    spline.c = spline.c.copy()
    spline.c[-1, 25:] += 1e-6
    path = path_of(spline, (0.0, 0.5), ("x", "y"))
    s = TaylorModel(np.array([[0.301], [1e-4]]), np.zeros(1))
    for model, true in zip(path.over(s, 0, TaylorModel.constant), spline(0.301), strict=True):
        assert model.coefficients[0, 0] == pytest.approx(true, abs=1e-10)


def test_a_periodic_path_has_no_models_as_it_does_not_go_on_beyond_its_end():
    angle = np.linspace(0.0, 2.0 * np.pi, 9)
    round_points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    round_points[-1] = round_points[0]
    circle = CubicSpline(angle, round_points, bc_type="periodic")
    assert circle.extrapolate == "periodic"
    path = path_of(circle, (0.0, 4.0 * np.pi), ("x", "y"))
    with pytest.raises(NotImplementedError, match="does not go on beyond its ends"):
        path.over(TaylorModel(np.array([[7.0], [0.1]]), np.zeros(1)), 0, TaylorModel.constant)


def test_no_path_of_numpy_alone_or_of_many_pieces_has_models():
    s = TaylorModel(np.array([[0.5], [0.1]]), np.zeros(1))
    many = np.stack([np.linspace(0.0, 1.0, 200), np.linspace(0.0, 2.0, 200) ** 2], axis=1)
    for path in (lambda s, order: np.stack([s, s], axis=1) if not order else np.ones((len(s), 2)), many):
        with pytest.raises(NotImplementedError, match="NumPy alone, a spline of many pieces, or one that"):
            path_of(path, (0.0, 1.0), ("x", "y")).over(s, 0, TaylorModel.constant)


def carriage():
    """Two slides at right angles, 3 kg and 2 kg, with 6 N each."""
    limits = dynamics.JointLimits.symmetric(torque=6.0)
    x = dynamics.Joint("x", "prismatic", axis=(1.0, 0.0, 0.0), limits=limits)
    y = dynamics.Joint("y", "prismatic", axis=(0.0, 1.0, 0.0), limits=limits)
    bodies = [dynamics.Body("carriage", x, mass=1.0), dynamics.Body("head", y, "carriage", 2.0)]
    return dynamics.RigidBodyModel(bodies, (0.0, 0.0, 0.0))


def moved(path, T):
    """From rest to rest in T seconds with little effort."""
    problem = trajopt.Problem(trajopt.on_path(carriage(), path), trajopt.Trajectory.uniform(6, duration=T))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.Quantity("a") ** 2)
    return problem


def torque_lines(solution):
    return [v for v in solution.verify().violations if v.name == "torque limits"]


@pytest.mark.parametrize("path", [[[0.0, 0.0], [0.3, 0.5], [1.0, 1.0]], lambda s: [s, np.sin(s)]])
def test_torques_on_a_path_are_proved(path):
    lines = torque_lines(trajopt.solve(moved(path, 3.0)))
    assert [line.evidence for line in lines] == ["proved", "proved"]
    assert all(line.dense_violation <= 0.0 for line in lines)


@pytest.mark.long
def test_a_bend_between_all_samples_is_met():
    """A bump of 20 nanometres with p'' = -400, within a hundred-thousandth of the way."""
    width, height, place = 1e-5, 2e-8, 0.3123

    def bumped(s):
        return [s + height * np.exp(-(((s - place) / width) ** 2)), s]

    straight = torque_lines(trajopt.solve(moved([[0.0, 0.0], [1.0, 1.0]], 3.0)))
    assert [line.evidence for line in straight] == ["proved", "proved"]
    solution = trajopt.solve(moved(bumped, 3.0))
    grid = np.linspace(0.0, 3.0, 400)
    assert np.abs(solution.tau(grid)).max() < 6.0
    x, y = torque_lines(solution)
    t = np.linspace(0.0, 3.0, 100_001)
    near = solution.v(t)[np.argmin(np.abs(solution.q(t)[:, 0] - place)), 0]
    assert x.dense_violation == pytest.approx(3.0 * 2.0 * height / width**2 * near**2 - 6.0, rel=0.05)
    assert y.evidence == "proved"


def test_torques_on_a_path_of_numpy_alone_are_sampled():
    def line(s, order):
        return np.stack([s, s], axis=1) if order == 0 else np.full((len(s), 2), float(order == 1))

    lines = torque_lines(trajopt.solve(moved(line, 3.0)))
    assert [each.evidence for each in lines] == ["sampled", "sampled"]
