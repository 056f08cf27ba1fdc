"""Adaptive quadrature against closed forms: corners, jumps, spikes, what is not finite, too few times."""

import numpy as np
import pytest

from trajopt.splines import quadrature
from trajopt.splines.quadrature import adaptive_integral

SHARP, ZERO = (1e-5, 1e-3), np.zeros(1)


def integral(function, edges=(0.0, 1.0)):
    return adaptive_integral(lambda t: function(t)[:, None], np.array(edges), SHARP, ZERO)


@pytest.mark.parametrize(
    ("function", "value", "size"),
    [
        (lambda t: t**9 - 0.1, 0.0, 1.8 * 0.1 ** (10.0 / 9.0)),
        (lambda t: np.abs(np.sin(50.0 * np.pi * t)), 2.0 / np.pi, 2.0 / np.pi),
        (lambda t: np.sin(200.0 * np.pi * t), 0.0, 2.0 / np.pi),
        (lambda t: np.where(t < 0.3, 1.0, -1.0), -0.4, 1.0),
        (lambda t: np.sqrt(t), 2.0 / 3.0, 2.0 / 3.0),
    ],
    ids=["polynomial", "corners", "wave", "jump", "root"],
)
def test_integrals_and_sizes_are_within_their_estimated_errors(function, value, size):
    found = integral(function)
    assert found.error[0] <= SHARP[0] * size and found.size_error[0] <= SHARP[1] * size
    assert abs(found.value[0] - value) <= found.error[0] + 1e-14
    assert abs(found.size[0] - size) <= found.size_error[0] + 1e-14


@pytest.mark.long
def test_a_spike_as_wide_as_the_resolution_is_met_anywhere():
    width = integral(np.ones_like).resolution  # of a hat, both sides together
    assert width < 1.0 / 2000.0
    for middle in np.random.default_rng(0).uniform(0.01, 0.99, 50):

        def hat(t, at=middle):
            return np.maximum(1.0 - np.abs(t - at) / (0.5 * width), 0.0)

        found = integral(hat)
        assert found.value[0] == pytest.approx(0.5 * width, rel=1e-5)


def test_a_jump_at_an_edge_costs_no_times():
    count = []

    def step(t):
        count.append(t.size)
        return np.where(t < 0.3, 1.0, -1.0)

    found = integral(step, (0.0, 0.3, 1.0))
    assert found.value[0] == pytest.approx(-0.4, rel=1e-14) and len(count) == 2


def test_the_first_time_at_which_a_component_is_not_finite_is_told():
    def values(t):
        return np.stack([t, np.where(t < 0.7, t, np.nan)], axis=1)

    found = adaptive_integral(values, np.array([0.0, 1.0]), SHARP, np.zeros(2))
    assert found.value[0] == pytest.approx(0.5) and np.isnan(found.first_bad[0])
    assert np.isnan(found.value[1]) and 0.7 <= found.first_bad[1] < 0.701


def test_where_the_times_run_out_the_estimated_error_says_so(monkeypatch):
    monkeypatch.setattr(quadrature, "MOST_TIMES", 6000)
    found = integral(lambda t: np.abs(np.sin(700.0 * np.pi * t)))
    assert abs(found.value[0] - 2.0 / np.pi) <= found.error[0]
    assert found.error[0] > SHARP[0] * found.size[0]
