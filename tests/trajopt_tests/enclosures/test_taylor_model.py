"""Taylor models enclose what they stand for, rounding included: against fifty digits."""

from collections.abc import Callable
from decimal import Decimal, getcontext

import numpy as np
import pytest
from tiers import every

from trajopt.taylor_models.taylor_model import ORDER, TaylorModel

DIGITS, POINTS = 50, 9
PIECES = 40
FACTOR = -0.7  # not exact in binary


def polynomial(coefficients, s):
    """The value at s, all numbers exact."""
    total = Decimal(0)
    for c in reversed(coefficients):
        total = total * s + Decimal(float(c))
    return total


def sine(x):
    """By its series, in the precision of the context."""
    term = total = x
    for n in range(1, 80):
        term *= -x * x / ((2 * n) * (2 * n + 1))
        total += term
    return total


def cosine(x):
    term = total = Decimal(1)
    for n in range(1, 80):
        term *= -x * x / ((2 * n - 1) * (2 * n))
        total += term
    return total


def arctangent(x):
    """Halved four times, atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), then its series."""
    for _ in range(4):
        x = x / (1 + (1 + x * x).sqrt())
    total, power = Decimal(0), x
    for n in range(40):
        total += power / (2 * n + 1)
        power *= -x * x
    return 16 * total


def hyperbolic_tangent(x):
    return 1 - 2 / ((2 * x).exp() + 1)


def angle(y, x):
    """atan2 for x < 0 and any y but zero."""
    half_turn = 4 * arctangent(Decimal(1))
    return arctangent(y / x) + (half_turn if y > 0 else -half_turn)


#: Function on models, the same on exact numbers, and the values where it is tried.
FUNCTIONS: dict[str, tuple[Callable, Callable, float]] = {
    "sum": (lambda x, y: x + y + FACTOR, lambda x, y: x + y + Decimal(FACTOR), 0.0),
    "difference": (lambda x, y: 1.0 - (x - y), lambda x, y: 1 - (x - y), 0.0),
    "product": (lambda x, y: x * y * FACTOR, lambda x, y: x * y * Decimal(FACTOR), 0.0),
    "power": (lambda x, y: x**5, lambda x, y: x**5, 0.0),
    "quotient": (lambda x, y: y / x, lambda x, y: y / x, 3.0),
    "root": (lambda x, y: x.sqrt(), lambda x, y: x.sqrt(), 3.0),
    "real power": (lambda x, y: x**FACTOR, lambda x, y: (x.ln() * Decimal(FACTOR)).exp(), 3.0),
    "sine": (lambda x, y: x.sin(), lambda x, y: sine(x), 1.0),
    "cosine": (lambda x, y: x.cos() * y, lambda x, y: cosine(x) * y, -2.0),
    "exponential": (lambda x, y: x.exp(), lambda x, y: x.exp(), -1.0),
    "logarithm": (lambda x, y: x.log(), lambda x, y: x.ln(), 3.0),
    "arctangent": (lambda x, y: x.atan(), lambda x, y: arctangent(x), 1.0),
    "steep arctangent": (lambda x, y: (20.0 * x).atan(), lambda x, y: arctangent(20 * x), 0.0),
    "hyperbolic tangent": (lambda x, y: x.tanh(), lambda x, y: hyperbolic_tangent(x), 1.0),
    "steep hyperbolic tangent": (
        lambda x, y: (20.0 * x).tanh(),
        lambda x, y: hyperbolic_tangent(20 * x),
        0.0,
    ),
    "angle": (lambda x, y: y.atan2(x), lambda x, y: angle(y, x), -2.0),
    "absolute value": (lambda x, y: abs(x), lambda x, y: abs(x), 0.0),
    "larger one": (lambda x, y: x.maximum(y), lambda x, y: max(x, y), 0.0),
    "clamped pole": (
        lambda x, y: -(-((y / x).maximum(0.0))).maximum(-1.0),
        lambda x, y: min(max(y / x, Decimal(0)), Decimal(1)),
        0.0,
    ),
    "indicator": (lambda x, y: x.positive() - y.zero(), lambda x, y: Decimal((x > 0) - (y == 0)), 0.0),
}
LINEAR = ("sum", "difference")
BROKEN = ("absolute value", "larger one", "clamped pole", "indicator", "angle")
STEEP = (
    "steep arctangent",
    "steep hyperbolic tangent",
)  # bounded by their largest value alone on long pieces


@pytest.fixture(autouse=True)
def fifty_digits():
    before, getcontext().prec = getcontext().prec, DIGITS
    yield
    getcontext().prec = before


def random_pair(rng, width, centre):
    """Two models of random polynomials on pieces of this half-width; x stays near `centre`."""
    powers = width ** np.arange(ORDER)[:, None]
    x, y = (rng.normal(size=(ORDER, PIECES)) * powers for _ in range(2))
    x[0] = centre + 0.1 * x[0]
    return TaylorModel(x, np.zeros(PIECES)), TaylorModel(y[: ORDER // 2], np.zeros(PIECES))


WIDTHS = [(name, width) for width in (0.05, 0.4, 1e-3) for name in FUNCTIONS]


@every("name, width", sorted(WIDTHS, key=lambda case: WIDTHS.index(case) % 7), fast=9)
def test_no_value_leaves_the_enclosure(name, width):
    on_models, exactly, centre = FUNCTIONS[name]
    rng = np.random.default_rng(sorted(FUNCTIONS).index(name))
    x, y = random_pair(rng, width, centre)
    with np.errstate(all="ignore"):  # as in every search: what is nowhere defined has an infinite radius
        found = on_models(x, y)
    for piece in range(PIECES):
        if not np.isfinite(found.radius[piece]):
            continue
        for s in map(Decimal, np.linspace(-1.0, 1.0, POINTS).tolist()):
            value = exactly(polynomial(x.coefficients[:, piece], s), polynomial(y.coefficients[:, piece], s))
            miss = abs(value - polynomial(found.coefficients[:, piece], s))
            assert miss <= Decimal(float(found.radius[piece])), (piece, s)


@every("name", [name for name in FUNCTIONS if name not in BROKEN + STEEP])
def test_radii_fall_with_the_order_of_the_models(name):
    """Halving a piece divides what is left out by 2^ORDER, until rounding is all that is left."""
    on_models, _, centre = FUNCTIONS[name]
    radii = []
    for width in (0.2, 0.1, 0.001):
        x, y = random_pair(np.random.default_rng(1), width, centre)
        radii.append(np.median(on_models(x, y).radius))
    if name not in LINEAR:
        assert 0.5 <= np.log2(radii[0] / radii[1]) / ORDER <= 1.5
    assert radii[2] <= 1e-12


def test_a_corner_inside_a_piece_is_followed_by_a_line_to_an_eighth_of_its_length():
    """|s| on [-1, 1]: the line 1/2 with radius 1/2; on halves it is followed exactly."""
    s = TaylorModel(np.array([[0.0, 0.5, -0.5], [1.0, 0.5, 0.5]]), np.zeros(3))
    found = abs(s)
    assert np.allclose(found.radius, [0.5, 0.0, 0.0], rtol=0.0, atol=1e-9)
    assert np.allclose(found.coefficients, [[0.5, 0.5, 0.5], [0.0, 0.5, -0.5]], rtol=0.0, atol=1e-9)
    off_centre = TaylorModel(np.array([[0.5], [1.0]]), np.zeros(1))  # from -0.5 to 1.5
    assert np.isclose(abs(off_centre).radius[0], 0.375)  # half the gap of the chord at the corner


def test_what_is_nowhere_defined_is_not_bounded_by_a_bounded_function():
    """The logarithm of a negative number has no tangent, although no tanh is above one."""
    negative = TaylorModel(np.array([[-1.0]]), np.zeros(1))
    for function in (TaylorModel.tanh, TaylorModel.atan, abs, lambda x: x.atan2(1.0)):
        with np.errstate(invalid="ignore"):
            assert not np.isfinite(function(negative.log()).radius[0])


def test_what_is_unknown_stays_within_the_radius():
    """Radii of the factors enter the product: with both at their ends it is still enclosed."""
    x, y = TaylorModel(np.array([[2.0]]), np.array([0.5])), TaylorModel(np.array([[-3.0]]), np.array([0.25]))
    product = x * y
    assert product.coefficients[0, 0] == -6.0
    assert 2.5 * 3.25 - 6.0 <= product.radius[0] <= (2.5 * 3.25 - 6.0) * (1.0 + 1e-9)
    waves = x.sin()
    for end in (1.5, 2.5):
        assert abs(np.sin(end) - waves.coefficients[0, 0]) <= waves.radius[0]


def test_constants_that_are_exact_stay_floats():
    assert [TaylorModel.constant(value) for value in (0.0, 1.0, -1.0)] == [0.0, 1.0, -1.0]
    model = TaylorModel(np.array([[2.0], [1.0]]), np.zeros(1))
    assert model * 1.0 is model and model * 0.0 == 0.0 and 0.0 + model is model
