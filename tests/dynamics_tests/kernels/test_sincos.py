"""Sine and cosine within kernels, seen through the rotation of a joint about an axis of its frame."""

import numpy as np
import pytest

import dynamics
from dynamics.kernels.sincos import sincos


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 100.0, 1e6])
def test_angles_are_turned_as_by_the_library(size):
    robot = dynamics.from_dh([{"a": 1.0, "mass": 1.0}])
    angles = np.random.default_rng(3).uniform(-size, size, 1000)
    angles[:9] = 0.25 * np.pi * np.arange(-4, 5)
    rotation = dynamics.forward_kinematics(robot, angles[:, None], "joint1").rotation[:, 0]
    cosine, sine = np.cos(angles), np.sin(angles)
    np.testing.assert_allclose(rotation[:, 0, :2], np.stack([cosine, -sine], axis=1), rtol=0.0, atol=4e-16)
    np.testing.assert_allclose(rotation[:, 1, :2], np.stack([sine, cosine], axis=1), rtol=0.0, atol=4e-16)


def test_sincos_of_a_complex_number_is_that_of_the_library():
    s, c = sincos(0.3 + 0.1j)
    assert s**2 + c**2 == pytest.approx(1.0)
