"""Muscles on a moving robot: moments by hand, and derivatives of their block against differences."""

import numpy as np
import pytest
from block_derivatives import check_curvature, check_partials
from slopes import extrapolated

from dynamics.errors import MuscleError
from dynamics.muscles.fibres import Fibres
from dynamics.muscles.muscle_block import EQUILIBRIUM, FORCE, MOMENT, MuscleBlock
from dynamics.muscles.path_polynomials import PathSurrogate, all_exponents

JOINTS = ("hip", "knee", "ankle")
OWN = np.array([[0, 1], [1, -1], [1, 2]])


def surrogate():
    """Polynomials of the third and fourth order about a length of 0.3 m."""
    rng, exponents, weights, spans = np.random.default_rng(1), [], [], [0]
    for own in OWN:
        count = int((own >= 0).sum())
        e = all_exponents(count, 5 - count)
        exponents.append(np.hstack([e, np.zeros((len(e), 2 - count), int)]))
        weights.append(np.where(e.sum(axis=1) > 0, 0.01 * rng.normal(size=len(e)), 0.3))
        spans.append(spans[-1] + len(e))
    return PathSurrogate(
        ("one", "two", "three"), JOINTS, OWN, np.full((3, 2), 0.1), np.full((3, 2), 0.8), np.array(spans),
        np.vstack(exponents), np.concatenate(weights), np.zeros(3), np.zeros(3),
    )  # fmt: skip


def block_of(tendon):
    fibres = Fibres(
        ("one", "two", "three"), [900.0, 2500.0, 400.0], [0.09, 0.08, 0.07], [0.2, 0.22, 0.23],
        [0.0, 0.4, 0.2], 10.0,
    )  # fmt: skip
    return MuscleBlock(surrogate(), fibres, tendon)


def inputs_of(block):
    rng = np.random.default_rng(7)
    ranges = {"q": (-0.4, 0.4), "v": (-1.0, 1.0), "extra:tendon_rate": (-4.0, 4.0)}
    return {
        name: rng.uniform(*ranges.get(name, (0.1, 0.9)), (4, width)) for name, width in block.inputs.items()
    }


def slope(function, _):
    return extrapolated(function, 0.01)


@pytest.mark.parametrize("tendon", ["rigid", "compliant"])
def test_derivatives_of_the_block_are_exact_and_within_their_patterns(tendon):
    block = block_of(tendon)
    for check in (check_partials, check_curvature):
        check(block, slope, u=inputs_of(block), within=1e-9)


def test_moments_are_moment_arms_times_forces_and_power_is_conserved():
    block = block_of("rigid")
    u = inputs_of(block)
    found, arms = block.value(u), -block.paths.gradient(u["q"])
    np.testing.assert_allclose(found[MOMENT], np.einsum("kmn,km->kn", arms, found[FORCE]), rtol=1e-12)
    power = np.einsum("kn,kn->k", found[MOMENT], u["v"])
    speed = -np.einsum("kmn,kn->km", arms, u["v"])
    np.testing.assert_allclose(power, -(speed * found[FORCE]).sum(axis=1), rtol=1e-12)


def test_a_compliant_tendon_in_balance_gives_the_moments_of_its_force():
    block = block_of("compliant")
    u = inputs_of(block)
    found = block.value(u)
    assert found[EQUILIBRIUM].shape == (4, 3)
    np.testing.assert_allclose(found[FORCE], block.fibres.max_isometric_force * u["extra:tendon_force"])


def test_polynomials_of_other_muscles_are_refused():
    with pytest.raises(MuscleError, match="of other muscles"):
        MuscleBlock(surrogate().only(("two", "one", "three")), block_of("rigid").fibres, "rigid")
