"""When adding inertia to the diagonal is good enough for geared motors, and when it is not."""

import numpy as np
import pytest
from random_trees import random_state, random_tree

import dynamics


def two_links(ratio):
    """A planar arm whose elbow motor sits on the first link, geared by `ratio`."""
    rotor = dynamics.Rotor(
        gear_ratio=ratio, mass=0.2, inertia=np.diag([1e-4, 1e-4, 2e-4]), position=[0.4, 0, 0]
    )
    rod = {"a": 0.4, "mass": 0.5, "centre_of_mass": (-0.2, 0, 0), "inertia": np.diag([0.0, 0.1, 0.1])}
    rows = [{**rod, "name": "shoulder"}, {**rod, "name": "elbow", "rotor": rotor}]
    return dynamics.from_dh(rows, gravity=(0.0, 0.0, 0.0))


def test_the_difference_is_the_cross_inertia_of_the_rotor_and_its_spin_with_the_parent():
    """In the plane tau_exact - tau_armature = r J (a_elbow, a_shoulder) + J a_shoulder for the shoulder."""
    model, ratio, J = two_links(50.0), 50.0, 2e-4
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 40, 2))
    found = dynamics.armature_error(model, (q, v, a))
    shoulder = ratio * J * a[:, 1] + J * a[:, 0]
    elbow = ratio * J * a[:, 0]
    assert np.allclose(found.largest, [np.abs(shoulder).max(), np.abs(elbow).max()], rtol=1e-9)
    assert found.sample.tolist() == [np.abs(shoulder).argmax(), np.abs(elbow).argmax()]
    assert 0.0 < found.worst < 1.0
    assert "shoulder" in str(found)


def test_without_rotors_nothing_is_off():
    model = random_tree(1)
    q, v, a = random_state(model, 5)
    assert dynamics.armature_error(model, (q, v, a)).worst == 0.0


def test_an_object_with_curves_is_sampled():
    class Swing:
        duration = 2.0

        def q(self, t):
            return np.stack([np.sin(t), np.cos(t)], axis=-1)

        def v(self, t):
            return np.stack([np.cos(t), -np.sin(t)], axis=-1)

        def a(self, t):
            return -self.q(t)

    assert dynamics.armature_error(two_links(100.0), Swing()).worst > 0.0


def test_anything_else_is_refused():
    with pytest.raises(dynamics.ShapeError, match="the trajectory is a dict"):
        dynamics.armature_error(two_links(10.0), {})
