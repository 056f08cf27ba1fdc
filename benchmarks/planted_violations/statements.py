"""Equations, bounds of derivatives, differences, ends and durations that are planted on a motion.

As in `peaks`, every function states one thing, and its violation is known by NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dynamics
import trajopt
from benchmarks.planted_violations import enclosures, integrals, motions, peaks
from benchmarks.planted_violations.peaks import OF_RANGE, TOLERANCE, Planted, Rng, middle_of
from trajopt.terms.term import Quantity


def phantom_force(rng: Rng) -> Planted:
    """An equation for the force that a bump breaks somewhere, or everywhere by rounding only."""
    solution = motions.slider(rng)
    along, width = float(rng.uniform(0.05, 0.95)), 10.0 ** rng.uniform(-4.0, -1.0)
    middle, slow = middle_of(solution, along)
    force = float(rng.choice([0.0, 1e-9, 1e-3, 1.0]))
    mass = float(solution.tau(0.0)[0] / solution.a(0.0)[0])

    @trajopt.term
    def phantom(node):
        return node.tau + force * np.exp(-(((node.q - middle) / width) ** 2)) - mass * node.a

    solution.problem.subject_to(phantom, equals=0.0, name="planted")
    t = np.linspace(0.0, solution.duration, 20001)
    slope = force * np.sqrt(2.0 / np.e) / width * np.ptp(solution.q(t))
    return Planted(
        solution,
        lambda t: force * np.exp(-(((solution.q(t)[:, 0] - middle) / width) ** 2)),
        0.0,
        solution.duration,
        ((slow[0], width / slow[1]),),
        3.0 * TOLERANCE * (2.0 * float(np.abs(solution.tau(t)).max()) + slope),
    )


def undriven_joint(rng: Rng) -> Planted:
    """The torque between nodes at a joint that has no motor."""
    solution = motions.undriven(rng)
    name = next(c.name for c in solution.problem.constraints if c.name.startswith("no motor"))
    t = np.linspace(0.0, solution.duration, 2001)
    M = np.abs(dynamics.crba(solution.problem.dynamics, solution.q(t)))  # type: ignore[arg-type]
    inertial = float((M @ np.abs(solution.a(t))[:, :, None]).max())
    size = inertial + float(np.abs(solution.tau(t)).max())
    return Planted(
        solution,
        lambda t: np.abs(solution.tau(t)[:, 1]),
        0.0,
        solution.duration,
        (),
        30.0 * TOLERANCE * size,
        name=name,
    )


def additional_curve(rng: Rng) -> Planted:
    """An additional curve that equals a term at nodes only."""
    solution, w = motions.with_extra(rng), Quantity("extra:w")
    size = float(np.square(solution.v(np.linspace(0.0, 1.0, 2001))).max())
    return Planted(
        solution,
        lambda t: np.abs(solution.value(w, t)[:, 0] - solution.v(t)[:, 0] ** 2),
        0.0,
        1.0,
        (),
        30.0 * TOLERANCE * size,
    )


def bound_of_a_derivative(rng: Rng) -> Planted:
    """A bound of q, v, a or the jerk near its largest or smallest value: proved or refused."""
    several = (motions.slider, motions.scaled_slider, motions.arcs, motions.arm)
    solution, order = several[int(rng.integers(len(several)))](rng), int(rng.integers(4))
    first, last = sorted(map(float, rng.uniform(0.0, 1.0, 2))) if rng.integers(2) else (0.0, 1.0)
    if len(solution.curve.bases) > 1:
        first, last = 0.0, 1.0
    over = "path" if (first, last) == (0.0, 1.0) else (first, last)
    first, last = first * solution.duration, last * solution.duration
    inner = np.linspace(first, last, 400_001)[1:-1]
    values = solution.curve(inner, order)[:, 0]
    smooth = order < 3 or not _jumps(solution, 2)
    side = float(rng.choice([-1.0, 1.0]))
    largest, span = float((side * values).max()), float(np.ptp(values)) or 1.0
    bound = largest + span * float(rng.choice([-0.1, -1e-4, 1e-4, 0.1]))
    term = (trajopt.q, trajopt.v, trajopt.a, trajopt.jerk)[order]
    n = solution.problem.dynamics.n
    bounds = np.full(n, np.inf)
    bounds[0] = bound
    lower, upper = (None, bounds) if side > 0.0 else (-bounds, None)
    solution.problem.subject_to(term, lower, upper, over=over, name="planted")

    def violation(t: np.ndarray) -> np.ndarray:
        broken = np.inf if not smooth else -np.inf
        return np.maximum(side * solution.curve(t, order)[:, 0] - bound, broken)

    return Planted(solution, violation, first, last, (), min(TOLERANCE, OF_RANGE * abs(bound)))


def jerk_across_jumps(rng: Rng) -> Planted:
    """A bound of the jerk, alone or inside a term, on motions whose acceleration jumps, or does not."""
    several = (motions.rough_slider, motions.arcs)
    solution = several[int(rng.integers(2))](rng)
    t = np.linspace(0.0, solution.duration, 20001)
    bound = 2.0 * float(np.abs(solution.curve(t, 3)).max()) + 1.0

    @trajopt.term
    def own(node):
        return 1.0 * node.jerk

    solution.problem.subject_to(
        own if rng.integers(2) else trajopt.jerk, lower=-bound, upper=bound, name="planted"
    )
    broken = np.inf if _jumps(solution, 2) else -bound
    return Planted(solution, lambda t: np.full(t.size, broken), 0.0, 0.0)


def neighbours(rng: Rng) -> Planted:
    """Differences of neighbouring nodes, near their largest value."""
    solution = motions.arcs(rng) if rng.integers(2) else motions.slider(rng)
    difference = np.diff(solution.v(solution.node_times)[:, 0])
    span = float(np.ptp(difference))
    bound = float(difference.max()) + span * float(rng.choice([-0.1, -1e-4, 1e-4, 0.1]))

    @trajopt.term
    def planted_speed(node):
        return 1.0 * node.v

    solution.problem.subject_to(planted_speed, upper=bound, over=trajopt.Neighbours(), name="planted")
    worst = float(difference.max()) - bound
    return Planted(solution, lambda t: np.full(t.size, worst), 0.0, 0.0)


def at_an_end(rng: Rng) -> Planted:
    """A bound, or an equation, of the torque at an end of the motion."""
    solution = motions.arm(rng)
    place = ("start", "end")[int(rng.integers(2))]
    time = 0.0 if place == "start" else solution.duration
    value = solution.tau(time)
    size = float(np.abs(solution.tau(np.linspace(0.0, solution.duration, 2001))).max())
    off = size * float(rng.choice([0.0, 1e-8, 1e-4, 0.1]))
    if rng.integers(2):
        solution.problem.subject_to(trajopt.tau, equals=value + off, over=place, name="planted")
        return Planted(solution, lambda t: np.full(t.size, off), time, time, (), 30.0 * TOLERANCE * size)
    sign = float(rng.choice([-1.0, 1.0]))
    solution.problem.subject_to(trajopt.tau, upper=value + sign * off, over=place, name="planted")
    return Planted(solution, lambda t: np.full(t.size, -sign * off), time, time)


def repetition(rng: Rng) -> Planted:
    """A periodic motion whose acceleration, or a term of it, repeats itself or does not."""
    solution = motions.periodic(rng)
    order = int(rng.integers(3))
    term = (trajopt.q, trajopt.v, trajopt.a)[order]
    first, last = (float(solution.curve(np.array([t]), order)[0, 0]) for t in (0.0, solution.duration))
    size = float(np.abs(solution.curve(np.linspace(0.0, 1.0, 2001), order)).max())
    off = float(rng.choice([0.0, 1e-8, 1e-4, 0.1])) * size

    @trajopt.term
    def planted_term(node):
        return 1.0 * (node.q, node.v, node.a)[order]

    chosen = planted_term if rng.integers(2) else term
    solution.problem.subject_to_periodic(chosen, offset=last - first + off, name="planted")
    return Planted(solution, lambda t: np.full(t.size, off), 0.0, 0.0, (), 30.0 * TOLERANCE * size)


def whole_duration(rng: Rng) -> Planted:
    """A bound of the duration of the motion, near it."""
    solution = motions.slider(rng)
    bound = solution.duration * (1.0 + float(rng.choice([-0.1, -1e-4, 1e-4, 0.1])))
    solution.problem.subject_to(trajopt.duration, upper=bound, over="end", name="planted")
    worst = solution.duration - bound
    return Planted(solution, lambda t: np.full(t.size, worst), solution.duration, solution.duration)


KINDS: tuple[Callable[[Rng], Planted], ...] = (
    peaks.peak,
    peaks.peak_in_a_window,
    peaks.peak_at_a_knot,
    peaks.peak_on_an_arc,
    peaks.peak_in_time,
    peaks.step,
    peaks.hole,
    peaks.sharp_pole,
    peaks.oscillation,
    peaks.any_scale,
    phantom_force,
    undriven_joint,
    additional_curve,
    bound_of_a_derivative,
    jerk_across_jumps,
    neighbours,
    at_an_end,
    repetition,
    whole_duration,
    integrals.sharp_cost,
    enclosures.corner,
    enclosures.curved,
    enclosures.place,
    enclosures.load,
    integrals.bounded_integral,
    integrals.sampled_integral,
)


def _jumps(solution: trajopt.Solution, order: int) -> bool:
    """True where a derivative of the curve jumps at a knot, by more than 1e-5 of its largest value."""
    T, knots = solution.duration, solution.knot_times[1:-1]
    t = np.linspace(0.0, T, 20001)
    largest = float(np.abs(solution.curve(t, order)).max())
    side = 1e-9 * T
    jumps = np.abs(solution.curve(knots + side, order) - solution.curve(knots - side, order))
    return bool(np.any(jumps > 1e-5 * largest))
