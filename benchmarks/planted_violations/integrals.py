"""Bounds of integrals of bumps, hats and waves near their values, and costs that are integrals of bumps.

As in `peaks`, every function states one thing. Integrands are traced, so that Taylor models enclose them, or
blocks of NumPy, of which only samples tell: then what is shorter than the stated resolution may be missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import trajopt
from benchmarks.planted_violations import motions
from benchmarks.planted_violations.peaks import OF_RANGE, Planted, Rng
from trajopt.checks.integral_checks import NEGLIGIBLE_COST

STEPS = 2_000_000
ROUNDING = 1.0 + 5e-5  # of integrals with corners by the trapezoidal rule with so many steps

Profile = Callable[[Any, Any], Any]  # of x and a module with exp, fabs, sin and fmax


def bump(x: Any, by: Any) -> Any:
    return by.exp(-x * x)


def hat(x: Any, by: Any) -> Any:
    return by.fmax(1.0 - by.fabs(x), 0.0)


def wave(x: Any, by: Any) -> Any:
    return by.fabs(by.sin(3.0 * x)) - 0.2


HALF_WAVE = np.pi / 3.0


class ProfileBlock:
    """y = profile((q / length - middle) / width), by NumPy."""

    def __init__(self, profile: Profile, length: float, middle: float, width: float) -> None:
        self.inputs, self.outputs = {"q": 1}, {"planted_profile": 1}
        self._profile, self._length, self._middle, self._width = profile, length, middle, width

    def value(self, u: Any) -> Any:
        return {"planted_profile": self._profile(self._argument(u["q"]), np)}

    def partials(self, u: Any) -> Any:
        x, step = self._argument(u["q"]), 1e-6
        slope = (self._profile(x + step, np) - self._profile(x - step, np)) / (2.0 * step)
        return {("planted_profile", "q"): (slope / (self._length * self._width))[:, :, None]}

    def _argument(self, q: np.ndarray) -> np.ndarray:
        return (q / self._length - self._middle) / self._width


def bounded_integral(rng: Rng) -> Planted:
    """An integral of a bump or of an absolute value, near its bound: to a hundredth of its size."""
    import casadi

    solution = motions.slider(rng)
    profile = bump if rng.integers(2) else wave
    middle, width = float(rng.uniform(0.1, 0.9)), 10.0 ** rng.uniform(-3.0, -0.5)
    length = float(np.abs(solution.q(solution.duration)[0]))

    @trajopt.term
    def planted_integrand(node):
        return profile((node.q / length - middle) / width, casadi)

    return _bounded(rng, solution, planted_integrand, profile, (length, middle, width))


def sampled_integral(rng: Rng) -> Planted:
    """The same of a block of NumPy, narrower than samples or wider: bumps, hats and waves."""
    solution = motions.slider(rng)
    profile = (bump, hat, wave)[int(rng.integers(3))]
    middle, width = float(rng.uniform(0.1, 0.9)), 10.0 ** rng.uniform(-3.5, -0.5)
    length = float(np.abs(solution.q(solution.duration)[0]))
    term = trajopt.block_term(ProfileBlock(profile, length, middle, width))
    return _bounded(rng, solution, term, profile, (length, middle, width))


def sharp_cost(rng: Rng) -> Planted:
    """A cost with a bump, narrower or wider than the distance of nodes: what nodes integrate is stated."""
    middle, width = float(rng.uniform(0.1, 0.9)), 10.0 ** rng.uniform(-3.5, -0.5)

    @trajopt.term
    def planted_cost(node):
        return np.exp(-(((node.q - middle) / width) ** 2))

    solution = motions.with_more(rng, lambda problem: problem.minimize(planted_cost, name="planted"))
    q = solution.q(np.linspace(0.0, solution.duration, STEPS + 1))[:, 0]
    integral = _integral(np.exp(-(((q - middle) / width) ** 2)), solution.duration)
    miss = abs(integral - float(solution.cost_terms["planted"]))
    most = OF_RANGE * max(integral, NEGLIGIBLE_COST * abs(solution.objective)) * ROUNDING
    return Planted(
        solution,
        lambda t: np.full(t.size, miss),
        0.0,
        0.0,
        (),
        most,
        name="cost 'planted'",
        lasts=float((np.abs(q - middle) < width).mean()) * solution.duration,
    )


def _bounded(
    rng: Rng, solution: trajopt.Solution, term: Any, profile: Profile, of: tuple[float, float, float]
) -> Planted:
    """An upper bound near the integral of a profile of q; of : length of the motion, middle, width."""
    T, (length, middle, width) = solution.duration, of
    t = np.linspace(0.0, T, STEPS + 1)
    x = (solution.q(t)[:, 0] / length - middle) / width
    found = profile(x, np)
    whole, size = _integral(found, T), _integral(np.abs(found), T)
    bound = whole + size * float(rng.choice([-0.1, -0.012, 0.1]))
    solution.problem.subject_to(trajopt.integral(term), upper=bound, name="planted")
    within = float((np.abs(x) < 1.0).mean()) * T  # where a bump is above 1/e, and a hat above 0
    fastest = float(np.abs(np.diff(x)).max()) * STEPS / T
    scale = max(abs(bound), size) * ROUNDING
    return Planted(
        solution,
        lambda t: np.full(t.size, whole - bound),
        0.0,
        0.0,
        (),
        OF_RANGE * scale,
        scale,
        lasts=HALF_WAVE / fastest if profile is wave else within,
    )


def _integral(values: np.ndarray, duration: float) -> float:
    return float(0.5 * (values[1:] + values[:-1]).sum() * duration / STEPS)
