"""Motions past obstacles: clearances as limits of a problem, and further nodes where they are missed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics
import trajopt
from problems.moves.clearance_rows import clearance_term
from trajopt.base.arguments import check_count, check_positive
from trajopt.base.arrays import Array
from trajopt.checks.constraint_checks import LimitPeaks, at_nodes_alone, limit_peaks
from trajopt.display.curves import times_at_rate
from trajopt.refinement.refinements import asked_with_limit_nodes

if TYPE_CHECKING:
    from dynamics.quantities.clearances import Clearances

CLOSER = 2e-4  # m, by which programs keep farther away than is asked for
POSES, NEARLY_ALL = 200, 0.95  # poses drawn within the joints' ranges, and in how many of them links are near
REACH = 0.05  # m beyond the clearance asked for: pairs within it have rows
FEWEST, MOST = 16, 64  # rows of a node
NAME = "clearance"  # of the rows
RATE = 1000.0  # Hz, of the check between nodes
SOLVER = trajopt.TrustRegionSqp(tol=1e-4, max_iterations=60)
LEAST_SECONDS = 1e-3  # of a solve that has no time left
NEAR = 0.05  # rad or m: first steps from a motion that was found before
STOPPED = trajopt.Status.INTERRUPTED, trajopt.Status.TIME_LIMIT


def clearances_of(
    model: dynamics.RigidBodyModel, scene: dynamics.Scene, clearance: float
) -> Clearances | None:
    """The distances of a robot to a scene and to itself; None where there is nothing to touch.

    Links that touch, or stay within the clearance, in nearly all poses are left out, and named as such.
    Raises DynamicsError for a robot without shapes in a scene that has some.
    """
    if not model.shapes and not scene.shapes:
        return None
    near = always_near(model, clearance)
    apart = model.with_shapes(model.shapes, (*model.allowed_pairs, *near)) if near else model
    found = dynamics.Clearances(apart, scene, within=clearance + CLOSER + REACH)
    if not len(found):  # of a robot that can reach nothing the distances say how far away it stays
        found = dynamics.Clearances(apart, scene)
    return found if len(found) else None


def poses_around(model: dynamics.RigidBodyModel, near: Array, count: int) -> Array:
    """(count, n) poses drawn evenly within the joints' ranges, at most half a turn from one."""
    centre = np.clip(near, model.limits.q_lower, model.limits.q_upper)
    lower = np.maximum(model.limits.q_lower, centre - np.pi)
    upper = np.minimum(model.limits.q_upper, centre + np.pi)
    return lower + (upper - lower) * np.random.default_rng(0).random((count, model.n))


def always_near(model: dynamics.RigidBodyModel, clearance: float = 0.0) -> list[tuple[str, str, str]]:
    """Pairs of links that are within a clearance, m, in nearly all of seeded poses, and that as a reason.

    Nothing that a motion does takes them apart, mostly as the shapes that cover them are too large.
    """
    clearances = dynamics.Clearances(model, dynamics.Scene())
    q = poses_around(model, np.zeros(model.n), POSES)
    within = clearance + CLOSER if clearance > 0.0 else 0.0
    reason = f"stay within {1e3 * clearance:g} mm" if clearance > 0.0 else "touch"
    near = clearances.distances(q, within + REACH) < within
    carriers, together = clearances.robot.carriers, dict[tuple[str, str], list[int]]()
    for pair, (i, j) in enumerate(clearances.pairs.tolist()):
        together.setdefault((carriers[i], carriers[-1 - j]), []).append(pair)
    found = sorted(
        names for names, pairs in together.items() if near[:, pairs].any(axis=1).mean() > NEARLY_ALL
    )
    return [(first, second, f"{reason} in nearly all poses") for first, second in found if first and second]


def keep_clear(
    problem: Any, clearances: Clearances, clearance: float, path: Array, ends: Array | None = None
) -> None:
    """Add d >= clearance, m, for all pairs of shapes; a node's rows are those of pairs within 5 cm of it.

    path : (k, n), configurations near which the motion begins; how many pairs are close there says how many
        rows a node gets, half as many more, from 16 to 64
    ends : (k, n), configurations that stay; with them 0.2 mm more are kept, by a pair that is nearer at one
        of them half of what it has there
    Between nodes a clearance may be missed by 0.05 mm, as
    violations are compared with the 5 cm. Raises OptionError for a clearance of zero or less.
    """
    check_positive("clearance", clearance)
    more, relief = 0.0 if ends is None else CLOSER, None
    reach = clearance + more + REACH
    if ends is not None:
        room = clearances.distances(ends, reach).min(axis=0) - clearance
        relief = np.where(room < more, more - 0.5 * np.maximum(room, 0.0), 0.0)
    close = int((clearances.distances(path, reach) < reach).sum(axis=1).max(initial=0))
    width = min(max(FEWEST, close + close // 2), MOST)
    term = clearance_term(clearances, reach, width, relief)
    problem.subject_to(term, lower=clearance + more, scale=REACH, name=NAME)


def least_clearances(clearances: Clearances, motion: Any, reach: float = REACH) -> tuple[Array, Array]:
    """Times at 1 kHz, (k,) s, and the least clearance at each, (k,) m, `reach` where all are larger."""
    times = times_at_rate(motion.duration, RATE)
    return times, clearances.distances(motion.q(times), reach).min(axis=1, initial=reach)


def solve_clear(
    problem: Any,
    clearances: Clearances | Sequence[Clearances],
    clearance: float,
    solver: Any = None,
    rounds: int = 10,
    accuracy: float | None = None,
    patient: bool = True,
    time_limit: float | None = None,
) -> Any:
    """Solve a problem, or phases, with `keep_clear`; checks between nodes add nodes where limits are missed.

    clearances : of the problem, or of every phase
    solver : `TrustRegionSqp` by default, some ten times faster than others where few rows of many bind
    rounds : most solves; each later one starts from the motion before it, with nodes for limits at the
        deepest time of every interval of violation and half-way to its ends
    accuracy : of the other limits between nodes, relative to them, where all of the clearance is asked for at
        1 kHz; None: they are not looked at, and half of the clearance is enough
    patient : whether a solve that finds no optimum is followed by others
    time_limit : wall seconds of all of them
    The solution that comes closest is returned: look at `least_clearances`. Raises OptionError.
    """
    check_count("rounds", rounds, 1)
    check_positive("time_limit", time_limit, optional=True)
    ends = None if time_limit is None else time.monotonic() + time_limit
    wanted = 0.5 * clearance if accuracy is None else clearance
    asked, own, best, closest = problem, SOLVER if solver is None else solver, None, (False, -np.inf, -np.inf)
    of_parts = clearances if isinstance(clearances, Sequence) else (clearances,)
    for _ in range(rounds):
        left = None if ends is None else max(ends - time.monotonic(), LEAST_SECONDS)
        solution: Any = trajopt.solve(
            asked, own, refine=None, starts=1, coarse_to_fine=False, time_limit=left
        )
        checks = [least_clearances(*pair) for pair in zip(of_parts, solution.parts, strict=True)]
        deepest = float(np.min([0.0, *(least.min() - wanted for _, least in checks)]))
        peaks = [_other_peaks(part, accuracy) for part in solution.parts]
        beyond = float(np.max([0.0, *(peak.largest - (accuracy or 0.0) for peak in peaks)]))
        reached = (solution.converged, *np.where(np.isnan([deepest, beyond]), -np.inf, [deepest, -beyond]))
        if best is None or reached > closest:
            best, closest = solution, reached
        is_done = deepest == beyond == 0.0 if solution.converged else not patient
        if is_done or solution.status in STOPPED:
            break
        times = [
            np.concatenate([missed_times(times, least - wanted), peak.above(0.5 * (accuracy or 0.0))])
            for (times, least), peak in zip(checks, peaks, strict=True)
        ]
        asked = asked_with_limit_nodes(solution, times)
        own = replace(own, radius=NEAR) if isinstance(own, trajopt.TrustRegionSqp) else own
    return best


def _other_peaks(solution: Any, accuracy: float | None) -> LimitPeaks:
    """Peaks between nodes of the limits other than clearances; none where no accuracy is asked for."""
    if accuracy is None:
        return limit_peaks(solution, limits=())
    others = [
        constraint
        for constraint in solution.problem.constraints
        if constraint.name != NAME and at_nodes_alone(constraint)
    ]
    return limit_peaks(solution, 0.5 * accuracy, limits=others)


def missed_times(times: Array, excess: Array) -> Array:
    """Time of the least excess of every interval with one below zero, and those half-way to its ends."""
    below, found = np.flatnonzero(excess < 0.0), []
    for run in np.split(below, np.flatnonzero(np.diff(below) > 1) + 1):
        if run.size:
            deepest = run[np.argmin(excess[run])]
            found += [deepest, (run[0] + deepest) // 2, (run[-1] + deepest + 1) // 2]
    return times[np.unique(found).astype(int)]
