"""The ground's axes are orthonormal, its normal is that of the surface."""

import casadi
import numpy as np
import pytest

import trajopt
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError


def hill(x, y):
    return 0.1 * casadi.sin(3.0 * x) + 0.05 * x * y


@pytest.mark.parametrize(
    "ground", [trajopt.Ground(), trajopt.Ground(0.2, (0.3, -0.1)), trajopt.Ground(shape=hill)]
)
def test_axes_are_orthonormal_and_the_normal_is_that_of_the_surface(ground):
    x, y = 0.4, -0.7
    axes = np.array([[float(each) for each in axis] for axis in ground.axes_at(casadi.DM(x), casadi.DM(y))])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    step = 1e-6
    rise = [
        (float(ground.height_at(x + step, y)) - float(ground.height_at(x - step, y))) / (2 * step),
        (float(ground.height_at(x, y + step)) - float(ground.height_at(x, y - step))) / (2 * step),
    ]
    np.testing.assert_allclose(axes[2] / axes[2, 2], [-rise[0], -rise[1], 1.0], atol=1e-9)


@pytest.mark.parametrize("ground", [{"height": 0.2, "slope": (0.3, -0.1)}, {"shape": hill}])
def test_a_world_whose_y_axis_is_up_has_the_same_ground_turned(ground):
    """The ground's x and y are the world's z and x: heights, tangents and normals turn along."""
    upright, turned = trajopt.Ground(**ground), trajopt.Ground(**ground, up="y")
    place = [0.4, -0.7, 0.9]
    seen = place[1:] + place[:1]  # (x, y, z) of the ground's axes in a world of (z, x, y)
    assert float(turned.gap(seen)) == pytest.approx(float(upright.gap(place)), abs=1e-15)
    axes = [[float(each) for each in axis] for axis in upright.world_axes_at(casadi.DM(place).elements())]
    found = [[float(each) for each in axis] for axis in turned.world_axes_at(casadi.DM(seen).elements())]
    np.testing.assert_allclose(np.roll(axes, -1, axis=1), found, atol=1e-15)
    assert np.linalg.det(found) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"up": "x"},
        {"height": np.nan},
        {"height": "low"},
        {"slope": (0.1,)},
        {"slope": 0.1},
        {"shape": 0.3},
        {"x": (0.2, 0.1)},
        {"y": ("left", "right")},
    ],
)
def test_what_is_no_ground_is_refused(wrong):
    with pytest.raises((OptionError, ShapeError, NotFiniteError), match=r"ground|up is"):
        trajopt.Ground(**wrong)
