"""The benchmark of exciting motions: the published motion is read as its authors wrote it, and is beaten."""

import numpy as np
from tiers import fast_first

from benchmarks import identification


def test_a_motion_of_sines_cosines_and_a_polynomial_has_its_own_derivatives(tmp_path):
    rng = np.random.default_rng(0)
    for letter, count in (("a", 12), ("b", 12), ("c", 6)):
        numbers = 0.1 * rng.normal(size=(6, count)) * 0.01 ** (letter == "c")
        rows = [f"{letter}{i + 1} = [{','.join(map(str, row))}]" for i, row in enumerate(numbers.tolist())]
        (tmp_path / f"{letter}_coeffs.script").write_text("\n".join(rows))
    t = np.linspace(10.0, 10.2, 2001)
    q, v, a = identification.published(tmp_path, t)
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], v[1:-1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.gradient(v, t, axis=0)[1:-1], a[1:-1], rtol=1e-5, atol=1e-6)


@fast_first("iterations, highest", [(12, 6.5), (150, 4.5)], 0, 1)
def test_our_motion_has_a_lower_condition_number_than_the_published_one(iterations, highest):
    motion = identification.excited(identification.ur10e(), identification.RANGES, 1, iterations)
    t = np.arange(1000) / identification.RATE
    state = np.array([motion.q(t), motion.v(t), motion.a(t)])
    condition, count = identification.condition_of(identification.ur10e(), state)
    assert motion.converged, motion.certificate
    assert count == 52
    assert condition < highest  # the published motion has 7.35
