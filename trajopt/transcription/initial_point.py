"""Where the solver starts: a straight line between the boundary values, at a speed the limits allow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trajopt.arrays import Array
from trajopt.errors import NotFiniteError, ShapeError
from trajopt.problem.problem import Problem
from trajopt.splines.curve import Curve
from trajopt.splines.node_sets import END, START, NodeSet
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.unknowns import Unknowns

DURATIONS_TRIED = np.geomspace(0.05, 50.0, 31)  # seconds; robots and people move within these
FALLBACK_DURATION = 1.0
SIDE = 1e-12  # of an arc: how far inside it its ends are looked at, as curves may jump between arcs


def first_guess(problem: Problem) -> tuple[Curve, dict[str, Array]]:
    """The user's curve, or a straight line in joint space between the boundary positions; the parameters."""
    trajectory, n = problem.trajectory, problem.dynamics.n
    curves = n + sum(extra.lower.size for extra in problem.extras.values())
    arcs = len(trajectory.arcs)
    points, durations = [], np.empty(arcs)
    for index, arc in enumerate(trajectory.arcs):
        within = arc.basis.greville if arcs == 1 else np.clip(arc.basis.greville, SIDE, 1.0 - SIDE)
        values = _guessed_values(problem, (index + within) / arcs, curves)
        if problem.guessed_curve is not None:
            values = arc.basis.interpolate(values)
        if values.shape[1] < curves:
            constants = [np.tile(extra.guess, (len(values), 1)) for extra in problem.extras.values()]
            values = np.concatenate([values, *constants], axis=1)
        points.append(values)
        shortest, longest = arc.duration_bounds
        wanted = FALLBACK_DURATION / arcs
        if problem.guessed_durations is not None:
            wanted = problem.guessed_durations[index]
        durations[index] = np.clip(wanted, shortest, longest)
    curve = Curve(tuple(arc.basis for arc in trajectory.arcs), tuple(points), durations)
    return curve, {name: parameter.guess for name, parameter in problem.parameters.items()}


def _guessed_values(problem: Problem, at: Array, curves: int) -> Array:
    """The guess at normalised times (k,), (k, n) or, with the additional curves, (k, curves)."""
    curve, n = problem.guessed_curve or _straight_line(problem), problem.dynamics.n
    values = np.asarray(curve(at), dtype=float)
    if values.shape not in ((at.size, n), (at.size, curves)):
        more = f", or ({at.size}, {curves}) with the additional curves" if curves > n else ""
        raise ShapeError(
            f"the guessed curve returned shape {values.shape} for {at.size} times: "
            f"it must give ({at.size}, {n}){more}"
        )
    if not np.all(np.isfinite(values)):
        raise NotFiniteError("the guessed curve contains NaN or infinity: let it give finite numbers")
    return values


def with_guessed_duration(
    problem: Problem, unknowns: Unknowns, y: Array, bounds: Bounds, violation: Callable[[Array], float]
) -> Array:
    """Give free durations of y the shortest tried value at which the rows are violated least.

    violation : y -> the largest violation of a row
    """
    places = unknowns.durations
    if problem.guessed_durations is not None or places.size == 0:
        return y
    best, least = y, np.inf
    for duration in DURATIONS_TRIED:
        trial = y.copy()
        trial[places] = duration / places.size
        trial = bounds.clipped(trial)
        now = violation(trial)
        if now < least * (1.0 - 1e-6):
            best, least = trial, now
        if least == 0.0:
            break
    return best


def _straight_line(problem: Problem):
    """From the fixed start to the fixed end; a free end stays at the other one, or amid the limits."""
    limits = problem.dynamics.limits
    bounded = np.isfinite(limits.q_lower) & np.isfinite(limits.q_upper)
    middle = np.zeros(problem.dynamics.n)
    middle[bounded] = 0.5 * (limits.q_lower[bounded] + limits.q_upper[bounded])
    ends: dict[NodeSet, Array] = {}
    for constraint in problem.constraints:
        fixed = constraint.term.quantity == "q" and np.all(constraint.lower == constraint.upper)
        if fixed and constraint.over in (START, END):
            ends[constraint.over] = constraint.lower
    first = ends.get(START, ends.get(END, middle))
    last = ends.get(END, first)
    return lambda s: first + np.asarray(s)[:, None] * (last - first)
