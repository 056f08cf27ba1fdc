"""The human skeleton: its anthropometry, its symmetry, and what holding joints rigidly must not change."""

import numpy as np
import pytest

import dynamics
from problems.human.body import tables
from problems.human.body.model import ACTIVE, GLOBAL, SAGITTAL, other_side, skeleton, standing, step_symmetry
from trajopt.base.errors import ProblemError

RNG = np.random.default_rng(55)
FULL, WALKER, PLANAR = skeleton(), skeleton(moving=ACTIVE), skeleton(moving=SAGITTAL)
POINTS = list(tables.contact_points())
PLACES = [*POINTS, "head", "hand_r"]


def states(model, count=4, size=0.5):
    return RNG.uniform(-size, size, (3, count, model.n))


def positions(model, q, frames):
    return dynamics.forward_kinematics(model, q, frames).position


def places(model):
    return [FULL.joint_names.index(name) for name in model.joint_names]


@pytest.mark.parametrize("model", [FULL, WALKER, PLANAR])
def test_masses_add_up_and_the_standing_centre_of_mass_is_at_0556_of_the_height(model):
    assert sum(body.mass for body in model.bodies) == pytest.approx(75.0, rel=1e-12)
    centre = dynamics.centre_of_mass(model, standing(model.joint_names))
    assert centre[1] == pytest.approx(0.556 * 1.75, abs=5e-4 * 1.75)
    assert centre[2] == pytest.approx(0.0, abs=1e-12)


def test_the_skeleton_has_55_degrees_of_freedom_of_which_38_move_and_9_lie_in_the_sagittal_plane():
    assert (FULL.n, WALKER.n, PLANAR.n) == (55, 38, 9)
    assert len(tables.segments()) == 23 and set(GLOBAL) <= set(ACTIVE)
    assert {"hindfoot_r", "thigh_l", "pelvis"} <= set(PLANAR.link_names)
    assert {"toes_r", "head", "heel_l"} <= set(PLANAR.frame_names)


@pytest.mark.parametrize("model", [WALKER, PLANAR])
def test_joints_held_rigidly_are_joints_at_zero(model):
    q, v, a = states(model)
    embedded = np.zeros((3, 4, FULL.n))
    embedded[:, :, places(model)] = q, v, a
    expected = dynamics.rnea(FULL, *embedded)[:, places(model)]
    assert np.allclose(dynamics.rnea(model, q, v, a), expected, rtol=0, atol=1e-10)
    assert np.allclose(
        dynamics.base_wrench(model, q, v, a), dynamics.base_wrench(FULL, *embedded), rtol=0, atol=1e-10
    )
    mine, whole = (positions(*each, PLACES) for each in ((model, q), (FULL, embedded[0])))
    assert np.allclose(mine, whole, atol=1e-13)


def test_mirrored_postures_have_mirrored_dynamics():
    """Left and right swapped: torques swap likewise, and the body's image stands on the other side."""
    signs, order, _ = step_symmetry(FULL.joint_names, 0.0)
    q, v, a = states(FULL)
    image = [signs * x[:, order] for x in (q, v, a)]
    assert np.allclose(
        dynamics.rnea(FULL, *image), signs * dynamics.rnea(FULL, q, v, a)[:, order], rtol=0, atol=1e-10
    )
    seen = positions(FULL, image[0], [other_side(point) for point in POINTS])
    assert np.allclose(seen * [1, 1, -1], positions(FULL, q, POINTS), atol=1e-13)


def test_repeating_the_symmetry_of_a_step_gives_a_stride():
    signs, order, offset = step_symmetry(WALKER.joint_names, 0.6)
    q = RNG.uniform(-0.3, 0.3, WALKER.n)
    once = signs * q[order] + offset
    assert np.allclose(signs * once[order] + offset, q + 2 * offset, atol=1e-15)


def test_every_foot_point_touches_the_ground_in_the_upright_posture_of_any_height():
    for height in (1.5, 1.75, 2.0):
        model = skeleton(height, 60.0)
        soles = positions(model, standing(model.joint_names, height), POINTS)
        assert np.allclose(soles[:, 1], 0.0, atol=1e-12)


def test_the_base_wrench_is_the_change_of_momentum_against_gravity():
    """Newton's law of the whole body, from its momentum a moment later, with no recursion of forces."""
    q, v, a = states(FULL, 1)
    h = 1e-5

    def momentum(time):
        return dynamics.momentum(FULL, q + time * v + 0.5 * time**2 * a, v + time * a)[0]

    rate = (momentum(h) - momentum(-h)) / (2 * h)
    weight = 75.0 * FULL.gravity
    pulled = np.concatenate([np.cross(dynamics.centre_of_mass(FULL, q)[0], weight), weight])
    assert np.allclose(dynamics.base_wrench(FULL, q, v, a)[0], rate - pulled, rtol=1e-7, atol=1e-5)


def test_torques_scale_with_weight_and_height():
    """At rest a torque is mass times length, for the same posture."""
    q = RNG.uniform(-0.3, 0.3, FULL.n)
    rotating = [i for i, name in enumerate(FULL.joint_names) if name not in GLOBAL[:3]]
    rest = np.zeros(FULL.n)
    small, large = (dynamics.rnea(skeleton(h, m), q, rest, rest)[rotating] for h, m in ((1.6, 60), (2, 90)))
    assert np.allclose(large, small * (90 / 60) * (2 / 1.6), rtol=1e-10, atol=1e-10)


def test_persons_who_cannot_be_are_refused():
    with pytest.raises(ProblemError, match=r"the mass of the person is -3"):
        skeleton(mass=-3)
    with pytest.raises(ProblemError, match="of the skeleton is called 'knee_flex'"):
        skeleton(moving=["knee_flex"])


def test_tables_with_wrong_columns_are_refused():
    with pytest.raises(ProblemError, match=r"table t\.csv has no column mass"):
        tables.checked_rows("name,weight\na,1\n", "t.csv", ["name", "mass"])
    with pytest.raises(ProblemError, match=r"line 2 of table t\.csv ends before column mass"):
        tables.checked_rows("name,mass\na\n", "t.csv", ["name", "mass"])
