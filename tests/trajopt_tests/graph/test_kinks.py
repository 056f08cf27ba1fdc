"""Kinks of traced terms: shown with both sides where there are some, not where pieces fit together."""

import casadi
import numpy as np
import pytest

from trajopt.graph.kinks import kink_of
from trajopt.graph.trace import trace

RNG = np.random.default_rng(4)
VALUES = {"x": RNG.uniform(-1.0, 1.0, (40, 2)), "t": np.linspace(0.0, 1.0, 40)[:, None]}
WIDTH = {"x": 2, "t": 1}


def found(function, fixed=()):
    block = trace(function, "term:own", WIDTH.__getitem__)
    return kink_of(block, {name: VALUES[name] for name in block.inputs}, set(fixed))


@pytest.mark.parametrize(
    ("function", "operation", "what", "sides"),
    [
        (lambda n: casadi.fabs(n.x[0] - 0.3), "absolute value", "slope", {-1.0, 1.0}),
        (lambda n: 2.0 * np.maximum(n.x[0], 0.3), "maximum or minimum", "slope", {0.0, 2.0}),
        (lambda n: casadi.fmin(n.x[0], 0.3), "maximum or minimum", "slope", {0.0, 1.0}),
        (lambda n: casadi.if_else(n.x[0] < 0.3, 5.0, 7.0), "comparison", "value", {5.0, 7.0}),
        (lambda n: casadi.if_else(n.x[0] < 0.3, 0.3, n.x[0]), "comparison", "slope", {0.0, 1.0}),
        (lambda n: 3.0 * casadi.sign(n.x[0] - 0.3), "comparison", "value", {-3.0, 3.0}),
        (lambda n: n.x[1] + 1e4 * casadi.fabs(1e-4 * n.x[0] - 3e-5), "absolute value", "slope", {-1.0, 1.0}),
    ],
)
def test_a_kink_is_found_where_it_is_with_its_two_sides(function, operation, what, sides):
    kink = found(function)
    assert (kink.operation, kink.what) == (operation, what)
    assert sorted((kink.before, kink.after)) == pytest.approx(sorted(sides), rel=1e-9)
    name, component, value = kink.where
    assert (name, component) == ("x", 0) and value == pytest.approx(0.3, rel=1e-12)
    assert kink.what == "value" or kink.by == ("x", 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda n: casadi.sin(n.x[0]) / (2.0 + n.x[1]),
        lambda n: casadi.fmax(n.x[0], 0.0) ** 2,
        lambda n: casadi.fmax(n.x[0], 0.0) - casadi.fmax(-n.x[0], 0.0),  # x in two halves
        lambda n: n.x[0] * casadi.fabs(n.x[0]),
        lambda n: casadi.if_else(n.x[0] > 0.1, (n.x[0] - 0.1) ** 3 + n.x[0], n.x[0]),
        lambda n: casadi.if_else(n.x[0] > 0.0, casadi.exp(n.x[0]), 1.0 + n.x[0]),
        lambda n: casadi.fabs(n.x[0] - 1e9),  # no motion of this size comes near
    ],
)
def test_pieces_that_fit_with_their_slopes_are_no_kink(function):
    assert found(function) is None


def test_a_kink_at_a_given_time_is_none_and_one_at_a_free_time_is():
    reference = lambda n: (n.x[0] - np.maximum(0.0, n.t - 0.5)) ** 2  # noqa: E731
    assert found(reference, fixed={"t"}) is None
    kink = found(reference)
    assert kink.by == ("t", 0) and kink.where[:2] == ("t", 0)
    assert kink.where[2] == pytest.approx(0.5, rel=1e-12)
