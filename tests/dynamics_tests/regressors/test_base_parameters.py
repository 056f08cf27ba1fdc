"""Base parameters: known numbers of known robots, and combinations that torques do and do not show."""

from pathlib import Path

import numpy as np
import pytest
from random_trees import random_state, random_tree, relative_error
from tiers import fast_first

import dynamics
import problems
from dynamics import Body, Joint, RigidBodyModel
from dynamics.model.rotation import about_axis
from problems import moves

ROBOTS = Path(problems.__file__).parent / "robots"


def planar_arm(tilt=0.0):
    """Two links in a vertical plane, the second axis tilted by an angle about x."""
    y = np.array([0.0, 1.0, 0.0])
    turn = about_axis(np.array([1.0, 0.0, 0.0]), tilt)
    return RigidBodyModel(
        (
            Body("upper", Joint("shoulder", axis=y), None, 2.0, (0.2, 0.0, 0.05), 0.05 * np.eye(3)),
            Body(
                "lower",
                Joint("elbow", axis=turn @ y, position=(0.4, 0.0, 0.0)),
                "upper",
                1.0,
                (0.1, 0.0, 0.0),
                0.02 * np.eye(3),
            ),
        ),
        name="planar arm",
    )


def test_a_planar_arm_has_the_six_combinations_of_the_textbook():
    found = dynamics.base_parameters(planar_arm(), friction=False)
    assert found.names == (
        "upper.moment_x + 0.4 lower.mass",
        "upper.moment_z",
        "upper.inertia_yy + 0.16 lower.mass",
        "lower.moment_x",
        "lower.moment_z",
        "lower.inertia_yy",
    )
    assert "upper.mass" in found.without_effect
    assert "shoulder.friction" in found.without_effect


@pytest.mark.parametrize(
    ("name", "locked", "count"),
    [
        ("ur5", {}, 36),  # of a six-axis arm whose first axis is vertical: Gautier and Khalil (1990)
        ("panda", {"panda_finger_joint1": 0.0}, 43),  # Gaz et al., RA-L 4(4), 2019: 43 dynamic coefficients
    ],
)
def test_known_robots_have_as_many_as_published(name, locked, count):
    model = moves.robot(ROBOTS / f"{name}.urdf", locked=locked).model
    found = dynamics.base_parameters(model, friction=False)
    assert found.count == count
    assert found.gap[0] > 1e8 * found.gap[1]
    assert dynamics.base_parameters(model).count == count + 2 * model.n


@fast_first("seed", range(8), 3)
def test_torques_depend_on_base_parameters_alone(seed):
    model = random_tree(seed, mimic=seed % 2 == 1).with_rotors("armature")
    base, motion = dynamics.base_parameters(model), random_state(model, 20, seed=seed + 77)
    Y, pi = dynamics.regressor(model, *motion), dynamics.dynamic_parameters(model)
    assert relative_error(base.regressor(Y) @ base.values(pi), Y @ pi) < 1e-10
    other = np.random.default_rng(seed).normal(size=pi.shape)
    unseen = other - np.linalg.pinv(base.combinations) @ base.values(other)
    assert np.linalg.norm(unseen) > 0.1
    assert relative_error(Y @ (pi + unseen), Y @ pi) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_the_count_is_the_rank_by_singular_values(seed):
    model = random_tree(seed)
    base = dynamics.base_parameters(model)
    rows = dynamics.regressor(model, *random_state(model, 300, seed=5)).reshape(-1, len(base.parameter_names))
    sizes = np.linalg.norm(rows, axis=0)
    used = sizes > 1e-10 * sizes.max()  # a column of rounding alone is none
    values = np.linalg.svd(rows[:, used] / sizes[used], compute_uv=False)
    assert np.sum(values > 1e-9 * values[0]) == base.count


def test_a_robot_whose_rank_is_not_clear_is_refused():
    assert dynamics.base_parameters(planar_arm(1e-3), friction=False).count > 6
    with pytest.raises(
        dynamics.ModelError, match=r"the rank of the regressor is not clear: .* nearly parallel"
    ):
        dynamics.base_parameters(planar_arm(2e-8), friction=False)
