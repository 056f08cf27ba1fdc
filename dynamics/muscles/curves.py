"""Force curves of De Groote, Kinney, Rao and Fregly (2016) for fibres and tendons, with derivatives.

Lengths are in optimal fibre lengths or tendon slack lengths, speeds in largest speeds, forces in largest
isometric forces. Constants are those of OpenSim's DeGrooteFregly2016Muscle: active force over length passes
through (1, 1), force over speed through (-1, 0) and (0, 1).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Array = np.ndarray
Derivatives = tuple[Array, Array, Array]  # value, first and second derivative

BELLS = (  # height, centre, width and its slope of the three parts of active force over length
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
SPEED = (-0.3211346127989808, -8.149, -0.374, 0.8825327733249912)  # d1 to d4
PASSIVE_SHAPE = 4.0
SHORTEST, LONGEST = 0.2, 1.8  # optimal lengths between which the curves describe fibres
TENDON_OFFSET = 0.2  # of the largest force: the tendon's curve is 0.2 exp(k (l - 1)) - 0.2


def active_force(length: Array, width_scale: float = 1.0) -> Derivatives:
    """Active force over fibre length, sum of b1 exp(-(x - b2)^2 / (2 (b3 + b4 x)^2)), x = (l - 1) / w + 1."""
    x = (length - 1.0) / width_scale + 1.0
    value, slope, bend = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for part in _bells(x):
        value, slope, bend = value + part[0], slope + part[1], bend + part[2]
    return value, slope / width_scale, bend / width_scale**2


def _bells(x: Array) -> Iterator[Derivatives]:
    for b1, b2, b3, b4 in BELLS:
        width = b3 + b4 * x
        z = (x - b2) / width
        rate = (b3 + b4 * b2) / width**2  # dz / dx
        value = b1 * np.exp(-0.5 * z**2)
        slope = -z * rate
        yield value, value * slope, value * (slope**2 - rate**2 + 2.0 * b4 * z * rate / width)


def force_at_speed(speed: Array) -> Derivatives:
    """Force over fibre speed, d1 asinh(d2 v + d3) + d4; v > 0 lengthens."""
    d1, d2, d3, d4 = SPEED
    x = d2 * speed + d3
    root = np.sqrt(x**2 + 1.0)
    return d1 * np.arcsinh(x) + d4, d1 * d2 / root, -d1 * d2**2 * x / root**3


def speed_at_force(force: Array) -> Array:
    """The inverse of `force_at_speed`, (sinh((f - d4) / d1) - d3) / d2."""
    d1, d2, d3, d4 = SPEED
    return (np.sinh((force - d4) / d1) - d3) / d2


def passive_force(length: Array, strain: Array | float = 0.6) -> Derivatives:
    """Passive force over fibre length, (exp(4 (l - 1) / e) - o) / (exp(4) - o), zero at l = 0.2.

    strain : e, at which the force is one
    """
    rate = PASSIVE_SHAPE / strain
    offset = np.exp(rate * (SHORTEST - 1.0))
    scale = 1.0 / (np.exp(PASSIVE_SHAPE) - offset)
    grown = np.exp(rate * (length - 1.0))
    return scale * (grown - offset), scale * rate * grown, scale * rate**2 * grown


def tendon_stiffness(strain: Array | float = 0.049) -> Array | float:
    """k of the tendon's curve, so that its force is one at this strain: ln(6) / strain."""
    return np.log((1.0 + TENDON_OFFSET) / TENDON_OFFSET) / strain


def tendon_force(length: Array, strain: Array | float = 0.049) -> Derivatives:
    """Force over tendon length, 0.2 exp(k (l - 1)) - 0.2."""
    k = tendon_stiffness(strain)
    grown = TENDON_OFFSET * np.exp(k * (length - 1.0))
    return grown - TENDON_OFFSET, k * grown, k**2 * grown


def tendon_length(force: Array, strain: Array | float = 0.049) -> Derivatives:
    """The inverse of `tendon_force`, 1 + ln((F + 0.2) / 0.2) / k, and its derivatives by the force."""
    k = tendon_stiffness(strain)
    above = force + TENDON_OFFSET
    return 1.0 + np.log(above / TENDON_OFFSET) / k, 1.0 / (k * above), -1.0 / (k * above**2)
