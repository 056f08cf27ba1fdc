"""Estimates from simulated measurements: coverage of intervals, prediction, robots that can exist."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from identified_arms import RATE, another, harmonic_motion, measured, planar_arm

import dynamics
import problems
from problems import identification, moves
from problems.identification import consistent, least_squares
from trajopt.base.errors import OptionError, ShapeError

ROBOTS = Path(problems.__file__).parent / "robots"


def deviations(found, model):
    """Estimated less true base parameters in standard deviations."""
    true = found.base.values(dynamics.dynamic_parameters(model))
    return (found.values - true) / found.standard_deviations


def test_without_noise_the_parameters_are_found():
    model = planar_arm()
    found = identification.estimate(another(model), measured(model, 1, noise=0.0, position_noise=0.0))
    true = found.base.values(dynamics.dynamic_parameters(model))
    np.testing.assert_allclose(found.values, true, rtol=1e-5, atol=1e-6)
    own = found.base.values(dynamics.dynamic_parameters(found.model))
    np.testing.assert_allclose(own, true, rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_intervals_hold_the_true_parameters_as_often_as_they_say():
    model = planar_arm()
    inside = {0.5: [], 0.95: []}
    for seed in range(40):
        found = identification.estimate(another(model), measured(model, seed), bandwidth=6.0)
        true = found.base.values(dynamics.dynamic_parameters(model))
        for level, hits in inside.items():
            ends = found.intervals(level)
            hits.append((ends[:, 0] <= true) & (true <= ends[:, 1]))
    assert 0.90 <= np.mean(inside[0.95]) <= 0.98
    assert 0.42 <= np.mean(inside[0.5]) <= 0.58


@pytest.mark.long
def test_noise_of_every_joint_is_found_and_weighs_its_torques():
    model = planar_arm()
    data = measured(model, 2, noise=np.array([2.0, 0.05]))
    found = identification.estimate(another(model), data)
    assert found.noise == pytest.approx([2.0, 0.05], rel=0.1)
    lower = [i for i, name in enumerate(found.base.names) if name.startswith(("lower.", "elbow."))]
    assert np.abs(deviations(found, model)[lower]).max() < 4.0
    assert np.abs(found.correlation).max() < 0.1


@pytest.mark.long
def test_torques_of_another_motion_are_predicted_to_the_noise():
    model = planar_arm()
    found = identification.estimate(another(model), measured(model, 5))
    check = found.validate(measured(model, 6))
    assert np.all(check.ratio < 1.1)
    assert str(check).startswith("torque of another motion")
    q, v, a = harmonic_motion(2, 7)
    exact = dynamics.rnea(model, q, v, a) - dynamics.friction(model, v).force
    assert np.sqrt(np.mean((found.torques(q, v, a) - exact) ** 2)) < 0.03


@pytest.mark.long
def test_several_motions_count_together():
    model = planar_arm()
    one = identification.estimate(another(model), measured(model, 8))
    both = identification.estimate(another(model), [measured(model, 8), measured(model, 9)])
    assert both.samples > 1.9 * one.samples
    assert np.all(both.standard_deviations < one.standard_deviations)


@pytest.mark.long
def test_springs_are_taken_from_the_robot():
    model = planar_arm()
    elbow = replace(model.bodies[1].joint, stiffness=5.0, rest=0.2)
    sprung = replace(model, bodies=(model.bodies[0], replace(model.bodies[1], joint=elbow)))
    data = measured(model, 3)
    tau = data.tau + np.array([0.0, 5.0]) * (data.q - 0.2)
    found = identification.estimate(sprung, replace(data, tau=tau))
    assert np.abs(deviations(found, model)).max() < 4.0
    assert np.all(found.validate(replace(data, tau=tau)).ratio < 1.05)


def test_known_friction_is_kept():
    model = planar_arm()
    found = identification.estimate(model, measured(model, 4), friction=False)
    assert [body.joint.friction for body in found.model.bodies] == [1.5, 0.7]
    assert found.base.count == 6
    assert np.abs(deviations(found, model)).max() < 4.0


@pytest.mark.long
def test_the_model_can_exist_where_the_estimate_cannot():
    """Noise so large that estimated inertias are negative; those of the model are bodies all the same."""
    model = planar_arm()
    found = identification.estimate(another(model), measured(model, 11, noise=30.0, seconds=3.0))
    lower_inertia = found.values[found.base.names.index("lower.inertia_yy")]
    assert lower_inertia < 0.0
    for body in found.model.bodies:
        moments = np.linalg.eigvalsh(body.inertia)
        assert body.mass > 0.0
        assert moments[0] > 0.0
        assert moments[0] + moments[1] >= moments[2] * (1.0 - 1e-9)
    assert min(body.joint.friction for body in found.model.bodies) >= 0.0


@pytest.mark.long
def test_the_report_tells_all_of_it(tmp_path):
    model = planar_arm()
    found = identification.estimate(another(model), measured(model, 12))
    text = str(found)
    assert "10 base parameters of 24" in text
    assert "upper.moment_x + 0.4 lower.mass" in text
    assert found.identifiability["upper.mass"] == "not at all"
    assert found.identifiability["lower.mass"] == "in combination"
    assert found.identifiability["elbow.friction"] == "alone"
    found.to_csv(tmp_path / "base.csv")
    lines = (tmp_path / "base.csv").read_text().splitlines()
    assert len(lines) == 11
    assert float(lines[1].split(",")[1]) == found.values[0]


def test_residuals_that_are_not_white_are_told():
    model = planar_arm()
    data = measured(model, 13)
    slow = 0.5 * np.sin(9.0 * data.t)[:, None]
    found = identification.estimate(another(model), replace(data, tau=data.tau + slow))
    assert np.all(found.correlation > 0.5)
    assert "not white, so intervals are too narrow" in str(found)


def still(model, joint, seed=1):
    """Measurements during which a joint rests."""
    q, v, a = harmonic_motion(model.n, seed)
    q[:, joint], v[:, joint], a[:, joint] = 0.3, 0.0, 0.0
    tau = dynamics.rnea(model, q, v, a) - dynamics.friction(model, v).force
    return identification.measurements(model.joint_names, q, tau, RATE)


@pytest.mark.long
def test_motions_that_do_not_excite_are_refused_by_name():
    model = planar_arm()
    with pytest.raises(identification.NotExcitingError, match=r"joint 'elbow' moves at most at .* per"):
        identification.estimate(model, still(model, 1))
    with pytest.raises(
        identification.NotExcitingError,
        match=r"does not show \d of 6 combinations of parameters.*they are among .*upper\.",
    ):
        identification.estimate(model, still(model, 0), friction=False)


@pytest.mark.long
@pytest.mark.parametrize("noise", [1e-5, 1e-3])
def test_what_noise_of_positions_shows_alone_is_refused(noise):
    """The shoulder rests: its parameters multiply accelerations that are nothing but noise."""
    model, rng = planar_arm(), np.random.default_rng(3)
    data = still(model, 0)
    noisy = replace(
        data,
        q=data.q + noise * rng.normal(size=data.q.shape),
        tau=data.tau + 0.1 * rng.normal(size=data.q.shape),
    )
    with pytest.raises(identification.NotExcitingError, match=r"than noise of positions would.*upper\."):
        identification.estimate(model, noisy, friction=False)
    assert identification.estimate(model, measured(model, 1, position_noise=noise)).position_noise < 0.1


@pytest.mark.long
def test_blocks_of_samples_change_nothing(monkeypatch):
    model, data = planar_arm(), measured(planar_arm(), 3)
    whole = identification.estimate(model, data)
    monkeypatch.setattr(least_squares, "BLOCK", 97)
    parts = identification.estimate(model, data)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-8, atol=1e-16)


def test_what_is_refused():
    model = planar_arm()
    data = measured(model, 1)
    with pytest.raises(OptionError, match=r"the robot is 'ur5': give a RigidBodyModel or moves\.robot"):
        identification.estimate("ur5", data)  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match="the data are an empty list: give measurements"):
        identification.estimate(model, [])
    with pytest.raises(OptionError, match="the data are 3: give measurements, or a list of them"):
        identification.estimate(model, 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match="the data hold 3: give what read_measurements"):
        identification.estimate(model, [3])  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        ShapeError, match="the measurements are of elbow, shoulder, the robot has shoulder, elbow"
    ):
        identification.estimate(model, replace(data, joint_names=("elbow", "shoulder")))
    with pytest.raises(OptionError, match="level is 95: give a number between 0 and 1"):
        identification.estimate(model, data).intervals(95)
    free = dynamics.load_urdf(ROBOTS / "solo12.urdf", floating_base="free")
    with pytest.raises(OptionError, match="free base or a ball joint"):
        identification.estimate(free, data)


def test_any_log_cholesky_parameters_are_a_body():
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta = rng.normal(size=10)
        P = consistent.pseudo_inertia(consistent.inertial_parameters(theta))
        assert np.linalg.eigvalsh(P)[0] > 0.0
        np.testing.assert_allclose(consistent.log_cholesky(consistent.ten_of(P)), theta, atol=1e-9)


def test_derivatives_by_log_cholesky_parameters_are_exact():
    rng = np.random.default_rng(1)
    theta, direction = rng.normal(size=(2, 10))
    slope = consistent.inertial_derivatives(theta) @ direction
    errors = []
    for h in (1e-2, 5e-3):
        moved = consistent.inertial_parameters(theta + h * direction)
        errors.append(np.abs(moved - consistent.inertial_parameters(theta) - h * slope).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_a_body_without_mass_or_extent_has_parameters_too():
    point = np.concatenate([[2.0], 2.0 * np.array([0.1, 0.0, 0.0]), [0.0, 0.0, 0.0, 0.02, 0.0, 0.02]])
    for ten in (np.zeros(10), point):
        found = consistent.inertial_parameters(consistent.log_cholesky(ten))
        assert np.abs(found - ten).max() < 2e-3


@pytest.mark.long
def test_a_six_axis_arm_with_rotors_is_identified():
    nominal = moves.robot(ROBOTS / "ur5.urdf").model.with_rotors("armature")
    pi, names = dynamics.dynamic_parameters(nominal), dynamics.dynamic_parameter_names(nominal)
    for what, value in (("damping", 2.0), ("friction", 3.0), ("rotor_inertia", 0.5)):
        pi[[name.endswith(what) for name in names]] = value
    model = dynamics.with_dynamic_parameters(nominal, pi)
    start = another(model, 1.3)
    hits = []
    for seed in range(3):
        found = identification.estimate(start, measured(model, seed, noise=0.5))
        hits.append(np.abs(deviations(found, model)) < 1.96)
        assert np.all(found.validate(measured(model, seed + 100, noise=0.5)).ratio < 1.1)
    assert found.base.count == 52
    assert 0.90 <= np.mean(hits) <= 0.98


@pytest.mark.long
def test_intervals_widen_with_noise_of_positions():
    """A milliradian hides accelerations: intervals of 95 % hold 9 of 10 true values and more."""
    model = planar_arm()
    errors = []
    for seed in range(40):
        data = measured(model, seed, position_noise=1e-3)
        errors.append(deviations(identification.estimate(another(model), data, bandwidth=6.0), model))
    assert np.mean(np.abs(errors) < 1.96) > 0.9
    assert np.abs(np.mean(errors, axis=0)).max() < 0.7  # 0.2 is chance; without a correction of bias 2


def test_a_joint_without_measured_torques_is_refused_by_name():
    model = planar_arm()
    data = measured(model, 1)
    with pytest.raises(OptionError, match="torques of elbow are zero at all samples"):
        identification.estimate(model, replace(data, tau=data.tau * [1.0, 0.0]))
