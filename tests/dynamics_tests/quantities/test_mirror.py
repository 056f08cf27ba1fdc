"""Mirror images of postures: joints whose axes and places differ by what files are rounded to, and more."""

import numpy as np
import pytest

import dynamics


def two_legs(turned=0.0, away=0.0):
    """A slide upwards and two legs of a hinge, 1 m apart; the right one's axis turned, and moved upwards."""
    lift = dynamics.Joint("lift", "prismatic", np.array([0.0, 0.0, 1.0]))
    links = [dynamics.Body("trunk", lift, None, 1.0, (0.0, 0.0, 0.0), np.eye(3))]
    for name, y, angle, height in (("left", 0.5, 0.0, 0.0), ("right", -0.5, turned, away)):
        axis = np.array([0.0, np.cos(angle), np.sin(angle)])
        hinge = dynamics.Joint(name, "revolute", axis, position=(0.0, y, height))
        links.append(dynamics.Body(f"{name} leg", hinge, "trunk", 1.0, (0.0, 0.0, -0.2), 0.1 * np.eye(3)))
    return dynamics.RigidBodyModel(links)


def test_a_hinge_across_the_plane_keeps_its_sign_and_changes_places():
    signs, order = two_legs().mirrored({"left": "right"})
    np.testing.assert_array_equal(signs, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(order, [0, 2, 1])


@pytest.mark.parametrize("turned", [3.7e-6, -5e-4])  # 1.5708 in place of pi / 2 is 3.7e-6 rad off
def test_axes_of_rounded_numbers_are_mirror_images(turned):
    signs, _ = two_legs(turned).mirrored({"left": "right"})
    np.testing.assert_array_equal(signs, [1.0, 1.0, 1.0])


def test_places_of_rounded_numbers_are_mirror_images():
    two_legs(away=5e-4).mirrored({"left": "right"})  # of 1 m


@pytest.mark.parametrize("off", [{"turned": 2e-3}, {"turned": -0.5}, {"turned": np.pi / 2}, {"away": 2e-3}])
def test_axes_and_places_that_differ_by_more_are_refused(off):
    with pytest.raises(dynamics.ModelError, match="'left' is no mirror image of 'right'"):
        two_legs(**off).mirrored({"left": "right"})
