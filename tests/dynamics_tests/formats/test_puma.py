"""One robot from three descriptions: standard DH, modified DH and URDF."""

import math

import numpy as np
import pytest
from urdf_text import joint, link, robot

import dynamics
from dynamics import DhRow, from_dh, from_modified_dh, load_urdf
from dynamics.model.checks.mass_check import mass_matrix
from dynamics.model.rotation import about_x

# Puma 560: theta, d, a, alpha; mass, centre and principal moments in the frames of the table (Corke,
# Armstrong-Helouvry). Two published tensors are none that a body can have: of the first link only the
# moment about the axis is known, here with half of it across; 0.086 of the third is lowered to the sum of
# the others.
PUMA = (
    (0.0, 0.0, 0.0, math.pi / 2, 0.0, (0, 0, 0), (0.175, 0.35, 0.175)),
    (0.0, 0.0, 0.4318, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    (0.0, 0.15005, 0.0203, -math.pi / 2, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.0785, 0.0125)),
    (0.0, 0.4318, 0.0, math.pi / 2, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.0, 0.0, 0.0, -math.pi / 2, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.0, 0.0, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)


def puma_rows():
    for theta, d, a, alpha, mass, centre, moments in PUMA:
        yield DhRow(theta, d, a, alpha, mass=mass, centre_of_mass=centre, inertia=np.diag(moments))


def puma_modified_rows():
    alpha = a = 0.0
    for row in puma_rows():
        turn = about_x(row.alpha)
        centre = np.array([row.a, 0, 0]) + turn @ row.centre_of_mass
        inertia = turn @ row.inertia @ turn.T
        yield DhRow(row.theta, row.d, a, alpha, mass=row.mass, centre_of_mass=centre, inertia=inertia)
        alpha, a = row.alpha, row.a


def puma_urdf():
    """Links with axes of the modified frames, the matter in its own axes through rpy."""
    parts, before = [link("base", "")], "base"
    for i, (row, standard) in enumerate(zip(puma_modified_rows(), puma_rows(), strict=True)):
        xx, yy, zz = (float(moment) for moment in np.diag(standard.inertia))
        centre = " ".join(str(float(x)) for x in row.centre_of_mass)
        inertial = (
            f'<inertial><origin xyz="{centre}" rpy="{standard.alpha} 0 0"/><mass value="{row.mass}"/>'
            f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
        )
        y, z = -row.d * math.sin(row.alpha), row.d * math.cos(row.alpha)
        origin = f'<origin xyz="{row.a} {y} {z}" rpy="{row.alpha} 0 0"/><axis xyz="0 0 1"/>'
        parts += [link(f"l{i}", inertial), joint(f"j{i}", before, f"l{i}", "revolute", origin)]
        before = f"l{i}"
    return robot(*parts)


@pytest.fixture(scope="module")
def pumas():
    return from_dh(puma_rows()), from_modified_dh(puma_modified_rows()), load_urdf(puma_urdf())


def test_the_puma_from_dh_from_modified_dh_and_from_urdf_has_one_mass_matrix(pumas):
    for q in np.random.default_rng(560).uniform(-3, 3, (5, 6)):
        matrices = [mass_matrix(model, q) for model in pumas]
        np.testing.assert_allclose(matrices[1], matrices[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(matrices[2], matrices[0], rtol=1e-12, atol=1e-14)


def test_the_puma_from_dh_from_modified_dh_and_from_urdf_has_one_set_of_torques(pumas):
    motion = np.random.default_rng(561).uniform(-3, 3, (3, 5, 6))
    torques = [dynamics.rnea(model, *motion) for model in pumas]
    np.testing.assert_allclose(torques[1], torques[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(torques[2], torques[0], rtol=1e-11, atol=1e-12)
