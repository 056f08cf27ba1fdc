"""Exciting motions: exact gradients of the criteria, limits that hold, and what estimates gain by them."""

from dataclasses import replace

import numpy as np
import pytest
from identified_arms import RATE, another, harmonic_motion, planar_arm

import dynamics
import trajopt
from problems import identification, moves
from problems.identification.criterion import ORDER, condition_number, criterion_value
from problems.identification.excitation import squared_speed
from problems.identification.information import InformationSolver, ProgramInformation, RegressorWeights
from trajopt.base.errors import InfeasibleBoundsError, OptionError, ShapeError, UnboundedError

LIMITS = {"velocity": 3.0, "torque": [40.0, 15.0]}
QUICK = {**LIMITS, "duration": 5.0, "starts": 1, "iterations": 60}


def random_information(count=7, seed=0):
    rows = np.random.default_rng(seed).normal(size=(30, count)) * np.logspace(-2, 2, count)
    return rows.T @ rows


@pytest.mark.parametrize("criterion", ["condition", "information"])
def test_gradients_of_criteria_are_exact(criterion):
    G, rng = random_information(), np.random.default_rng(1)
    sizes = np.sqrt(np.diag(G))
    direction = rng.normal(size=G.shape)
    direction = sizes[:, None] * (direction + direction.T) * sizes
    value, gradient = criterion_value(criterion, G)
    errors = []
    for h in (1e-3, 5e-4):
        moved = criterion_value(criterion, G + h * direction)[0]
        errors.append(abs(moved - value - h * np.sum(gradient * direction)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_the_smooth_condition_lies_above_the_true_one_by_little():
    for seed in range(5):
        G = random_information(seed=seed)
        excess = criterion_value("condition", G)[0] - 2.0 * np.log(condition_number(G))
        assert 0.0 <= excess <= 2.0 * np.log(len(G)) / ORDER


def test_criteria_do_not_depend_on_units():
    G, units = random_information(), np.logspace(-3, 3, 7)
    scaled = units[:, None] * G * units
    assert condition_number(scaled) == pytest.approx(condition_number(G))
    assert criterion_value("condition", scaled)[0] == pytest.approx(criterion_value("condition", G)[0])
    value, other = criterion_value("information", G)[0], criterion_value("information", scaled)[0]
    assert other == pytest.approx(value - 2.0 * np.log(units).sum())
    assert value == pytest.approx(-np.linalg.slogdet(G)[1])


def weights_of(model, smoothing=0.3):
    return RegressorWeights(model, dynamics.base_parameters(model), np.array([1.0, 4.0]), smoothing)


@pytest.mark.parametrize("criterion", ["condition", "information"])
def test_gradient_by_the_unknowns_of_a_program_is_exact(criterion):
    model = planar_arm()
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(12, 5, 4.0))
    problem.minimize(squared_speed)
    problem.start_at(v=0.0)
    problem.guess(harmonic_motion(2, 1, seconds=4.0)[0])
    nlp, _ = trajopt.compile(problem).program()
    information = ProgramInformation(nlp, weights_of(model), criterion)
    y, direction = nlp.start, np.random.default_rng(0).normal(size=nlp.variable_count)
    slope = information.gradient(y) @ direction
    errors = [
        abs(information.objective(y + h * direction) - information.objective(y) - h * slope)
        for h in (2e-4, 1e-4)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.fixture(scope="module")
def informative():
    return identification.excite(planar_arm(), criterion="information", **QUICK)


@pytest.mark.long
def test_limits_and_ends_hold_for_all_times(informative):
    model, motion = planar_arm(), informative
    assert motion.converged, motion.certificate
    assert motion.certificate["speed"].evidence == "proved"
    t = np.linspace(0.0, motion.duration, 4001)
    assert np.abs(motion.v(t)).max() <= 3.0
    tau = dynamics.rnea(model, motion.q(t), motion.v(t), motion.a(t))
    tau += np.array([0.8, 0.3]) * motion.v(t) + np.array([1.5, 0.7]) * np.sign(motion.v(t))
    assert np.all(np.abs(tau) <= np.array(LIMITS["torque"]))
    np.testing.assert_allclose(motion.tau(t), tau, atol=1e-9)
    ends = np.array([0.0, motion.duration])
    np.testing.assert_allclose(motion.q(ends)[0], motion.q(ends)[1], atol=1e-9)
    np.testing.assert_allclose(motion.v(ends), 0.0, atol=1e-9)
    np.testing.assert_allclose(motion.a(ends), 0.0, atol=1e-8)
    assert motion.verify().holds


@pytest.mark.long
def test_the_condition_number_is_that_of_the_stacked_regressor():
    model = planar_arm()
    motion = identification.excite(model, criterion="condition", noise=[1.0, 0.5], **QUICK)
    t = np.arange(500) / 100.0
    rows = dynamics.regressor(model, motion.q(t), motion.v(t), motion.a(t))[..., motion.base.columns]
    stacked = (rows / np.array([1.0, 0.5])[:, None]).reshape(-1, motion.base.count)
    assert motion.condition == pytest.approx(np.linalg.cond(stacked / np.linalg.norm(stacked, axis=0)))
    assert motion.condition < 5.0
    assert "condition number" in str(motion)


def simulated(model, motion, seed, noise=0.1):
    """Measurements of two periods."""
    t = np.arange(int(2.0 * motion.duration * RATE)) / RATE % motion.duration
    q, v, a = motion.q(t), motion.v(t), motion.a(t)
    rng = np.random.default_rng(seed)
    tau = dynamics.rnea(model, q, v, a) - dynamics.friction(model, v).force
    tau += noise * rng.normal(size=tau.shape)
    return identification.measurements(model.joint_names, q + 1e-6 * rng.normal(size=q.shape), tau, RATE)


def within_limits(model, motion):
    """Positions and torques of a motion made smaller until LIMITS hold; it begins at the speed limit."""
    motion = motion * (3.0 / np.abs(motion[1]).max(axis=0))
    while True:
        q, v, a = motion
        tau = dynamics.rnea(model, q, v, a) - dynamics.friction(model, v).force
        if np.all(np.abs(tau) <= LIMITS["torque"]):
            return q, tau
        motion = 0.95 * motion


@pytest.mark.long
def test_an_exciting_motion_tells_more_than_random_ones_within_the_same_limits():
    model = planar_arm()
    motion = identification.excite(another(model), **QUICK)
    found = identification.estimate(another(model), simulated(model, motion, 1))
    volume = np.log(found.standard_deviations).sum()
    for seed in range(5):
        q, tau = within_limits(model, harmonic_motion(2, seed, 10.0))
        data = identification.measurements(model.joint_names, q, tau, RATE)
        noisy = replace(data, tau=tau + 0.1 * np.random.default_rng(seed).normal(size=tau.shape))
        random = identification.estimate(another(model), noisy)
        assert volume < np.log(random.standard_deviations).sum()
    true = found.base.values(dynamics.dynamic_parameters(model))
    assert np.abs((found.values - true) / found.standard_deviations).max() < 4.0


@pytest.mark.long
def test_each_criterion_is_best_at_what_it_minimizes(informative):
    least, most = identification.excite(planar_arm(), criterion="condition", **QUICK), informative
    assert least.condition < most.condition
    assert np.linalg.slogdet(least.information())[1] < np.linalg.slogdet(most.information())[1]


@pytest.mark.long
def test_obstacles_and_a_start_are_respected():
    model = planar_arm()
    ball = replace(dynamics.sphere(0.04), carrier="lower")
    robot = moves.robot(model.with_shapes([ball]))
    floor = dynamics.Scene((dynamics.half_space(normal=(0.0, 0.0, 1.0), at=(0.0, 0.0, -0.25)),))
    start = np.array([-0.4, 0.3])
    motion = identification.excite(robot, scene=floor, clearance=0.02, start=start, **QUICK)
    assert motion.converged, motion.certificate
    np.testing.assert_allclose(motion.q(0.0), start, atol=1e-9)
    t = np.linspace(0.0, motion.duration, 2001)
    heights = dynamics.forward_kinematics(model, motion.q(t), ["lower"]).position[:, 0, 2]
    assert heights.min() >= -0.25 + 0.04 + 0.02 - 1e-9
    assert heights.min() < -0.1  # without the floor it would go lower still
    assert motion.certificate["clearance"].evidence == "proved"


@pytest.mark.long
def test_the_same_arguments_give_the_same_motion(informative):
    again = identification.excite(planar_arm(), criterion="information", **QUICK)
    t = np.linspace(0.0, 5.0, 11)
    np.testing.assert_array_equal(again.q(t), informative.q(t))


@pytest.mark.long
def test_a_motion_goes_to_a_table_and_back(tmp_path):
    model = planar_arm()
    motion = identification.excite(model, at_rest=False, **QUICK)
    np.testing.assert_allclose(motion.v(0.0), motion.v(motion.duration), atol=1e-9)
    motion.to_csv(tmp_path / "motion.csv", rate=200)
    data = identification.read_measurements(tmp_path / "motion.csv", model.joint_names)
    found = identification.estimate(another(model), data)
    true = found.base.values(dynamics.dynamic_parameters(model))
    np.testing.assert_allclose(found.values, true, rtol=0.02, atol=0.02)


def test_a_solver_of_information_changes_nothing_but_the_objective():
    model = planar_arm()
    solver = InformationSolver(
        trajopt.Ipopt(hessian="lbfgs", max_iterations=3), weights_of(model), "condition"
    )
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(8, 5, 4.0))
    problem.minimize(squared_speed)
    problem.subject_to(trajopt.q, -1.0, 1.0)
    problem.guess(0.3 * harmonic_motion(2, 1, seconds=4.0)[0])
    nlp, _ = trajopt.compile(problem).program()
    result = solver.solve(nlp)
    assert result.objective == pytest.approx(
        ProgramInformation(nlp, weights_of(model), "condition").objective(result.y)
    )


def test_what_is_refused():
    model = planar_arm()
    with pytest.raises(UnboundedError, match="joint 'elbow' has no limit of speed, acceleration or torque"):
        identification.excite(model, velocity=[3.0, np.inf])
    with pytest.raises(OptionError, match="criterion"):
        identification.excite(model, criterion="best", **LIMITS)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShapeError, match=r"start has shape \(3,\): give \(2,\), a position of every joint"):
        identification.excite(model, start=[0.0, 0.0, 0.0], **LIMITS)
    with pytest.raises(ShapeError, match=r"noise has shape \(3,\): give one number or \(2,\)"):
        identification.excite(model, noise=[1.0, 1.0, 1.0], **LIMITS)
    with pytest.raises(OptionError, match="duration"):
        identification.excite(model, duration=-1.0, **LIMITS)
    with pytest.raises(OptionError, match="takes 20000 intervals: at most 1000 are computed with"):
        identification.excite(model, duration=1e4, **LIMITS)
    elbow = replace(model.bodies[1].joint, limits=dynamics.JointLimits(-1.0, 1.0))
    bounded = replace(model, bodies=(model.bodies[0], replace(model.bodies[1], joint=elbow)))
    with pytest.raises(
        InfeasibleBoundsError, match=r"start: joint 'elbow' is at 1\.5, beyond its limits -1 to 1"
    ):
        identification.excite(bounded, start=[0.0, 1.5], **LIMITS)
    ball = replace(dynamics.sphere(0.04), carrier="lower")
    floor = dynamics.Scene((dynamics.half_space(at=(0.0, 0.0, 0.5)),))
    with pytest.raises(
        InfeasibleBoundsError, match=r"start: lower and half_space 0 have a clearance of -0\.54"
    ):
        identification.excite(model.with_shapes([ball]), start=[0.0, 0.0], scene=floor, **LIMITS)
