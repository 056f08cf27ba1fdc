"""Sine and cosine of kernels, by the turn of one joint, beside those of NumPy."""

import numpy as np
import pytest

import dynamics
from dynamics.kernels.sincos import sincos


@pytest.mark.parametrize("largest", [0.8, 7.0, 1e3, 1e6])
def test_lanes_are_exact_to_the_error_that_they_state(largest):
    """3e-16 up to a million radians, and NumPy's own rounding."""
    joint = dynamics.Joint("turn", "revolute", axis=(0.0, 0.0, 1.0))
    arm = dynamics.RigidBodyModel((dynamics.Body("arm", joint, mass=1.0, centre_of_mass=(0.1, 0.0, 0.0)),))
    q = np.random.default_rng(0).uniform(-largest, largest, 4001)
    R = dynamics.forward_kinematics(arm, q[:, None]).rotation[:, 0]
    np.testing.assert_allclose(R[:, 0, 0], np.cos(q), rtol=0.0, atol=4e-16)
    np.testing.assert_allclose(R[:, 1, 0], np.sin(q), rtol=0.0, atol=4e-16)


def test_sincos_of_a_complex_number_is_that_of_the_library():
    s, c = sincos(0.3 + 0.1j)
    assert s**2 + c**2 == pytest.approx(1.0)
