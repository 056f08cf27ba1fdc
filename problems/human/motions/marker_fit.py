"""Coordinates of a robot from measured markers, by least squares at every time: inverse kinematics.

minimize  sum over markers seen of w_m |p_m(q) - measured_m|^2  over q within its limits
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from problems.human.motions.marker_file import Markers
from trajopt.base.arguments import check_positive, list_names
from trajopt.base.errors import OptionError, ProblemError

FARTHEST = 10.0  # rad or m, where a coordinate has no limit
DAMPING, LEAST_DAMPING = 1.0, 1e-9  # m^2, beside H: coordinates that no marker shows stay where they are
STILL, RELATIVE, ITERATIONS = 1e-10, 1e-12, 200  # a step, rad or m; a part of the sum; steps at most

Sum = tuple[float, np.ndarray, np.ndarray]  # of squares, and half of it by q: (n,), (n, n)


@dataclass(frozen=True, eq=False)
class FittedMotion:
    """q (K, n) rad or m at time (K,) s, and the root of the mean squared distance of seen markers, (K,) m."""

    joint_names: tuple[str, ...]
    time: np.ndarray
    q: np.ndarray
    distance: np.ndarray


def fit_markers(
    robot: Any,
    markers: Markers,
    start: Sequence[float] | np.ndarray,
    weights: Mapping[str, float] | None = None,
    frames: Mapping[str, str] | None = None,
) -> FittedMotion:
    """The motion of a robot whose frames follow the markers best, one time after the other.

    robot : such as that of `dynamics.load_osim`, whose frames are named like markers
    frames : marker of the file -> frame of the robot; a marker that is left out is the frame of its own name
    start : (n,) q from which the first time is searched;  weights : of markers, 1 where they are left out
    Raises ProblemError where no marker has a frame, one is infinitely far, or a time has fewer than three;
    OptionError for frames or weights of what is not there, weights that are not positive and a start of
    another length.
    """
    known = {frame.name for frame in robot.frames}
    _check_options(markers, known, frames or {}, weights or {})
    at = {name: (frames or {}).get(name, name) for name in markers.places}
    names = [name for name, frame in at.items() if frame in known]
    if not names:
        raise ProblemError(f"no marker is a frame of the robot: the file has {list_names(markers.places)}")
    quantities = [f"position:{at[name]}" for name in names]
    block = robot.block(quantities)
    weight = np.repeat([(weights or {}).get(name, 1.0) for name in names], 3)
    measured = np.concatenate([markers.places[name] for name in names], axis=1)
    _check_seen(names, markers.time, measured)
    lower, upper = (np.clip(x, -FARTHEST, FARTHEST) for x in (robot.limits.q_lower, robot.limits.q_upper))
    found = np.asarray(start, dtype=float)
    if found.shape != (lower.size,) or not np.isfinite(found).all():
        raise OptionError(f"start has shape {found.shape}: give {lower.size} finite numbers, rad or m")
    pose = np.clip(found, lower, upper)
    seen, wanted = ~np.isnan(measured), np.nan_to_num(measured)

    def error(x: np.ndarray, k: int) -> np.ndarray:
        values = block.value({"q": x[None]})
        return (np.concatenate([values[key][0] for key in quantities]) - wanted[k]) * seen[k]

    def derived(x: np.ndarray, k: int) -> Sum:
        missed, partials = error(x, k), block.partials({"q": x[None]})
        slope = np.concatenate([partials[key, "q"][0] for key in quantities])
        pull = weight * missed
        pulls = {key: pull[None, 3 * i : 3 * i + 3] for i, key in enumerate(quantities)}
        bent = block.curvature({"q": x[None]}, pulls).get(("q", "q"), np.zeros((1, x.size, x.size)))[0]
        return float(pull @ missed), slope.T @ pull, slope.T @ ((weight * seen[k])[:, None] * slope) + bent

    q = np.empty((markers.time.size, lower.size))
    for k in range(len(q)):
        pose = q[k] = _nearest(lambda x, k=k: derived(x, k), pose, lower, upper)
    missed = np.array([np.square(error(x, k)).sum() for k, x in enumerate(q)])
    distance = np.sqrt(3.0 * missed / seen.sum(axis=1))
    return FittedMotion(tuple(robot.joint_names), markers.time, q, distance)


def _nearest(
    at: Callable[[np.ndarray], Sum], start: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """The pose (n,) of the least sum that is found downhill from a start.

    Newton's steps p = -(H + d I)^-1 g of the coordinates that are not held at a limit, cut at the limits; g
    and H are the derivatives of half the sum. A step that raises the sum is not taken, and damped ten times
    more (Levenberg and Marquardt). Without the second derivatives of places in H, or with limits as barriers
    (Branch, Coleman and Li), a fit that misses by centimetres took hundreds to thousands of steps.
    """
    q, (least, gradient, curvature), damping = start, at(start), DAMPING
    for _ in range(ITERATIONS):
        free = ~(((q <= lower) & (gradient > 0.0)) | ((q >= upper) & (gradient < 0.0)))
        # Negative curvatures are taken as positive ones, so that every step leads downwards
        sizes, axes = np.linalg.eigh(curvature[np.ix_(free, free)])
        step = np.zeros(q.size)
        step[free] = -axes @ ((axes.T @ gradient[free]) / (np.abs(sizes) + damping))
        tried = np.clip(q + step, lower, upper)
        moved, (found, *derivatives) = np.abs(tried - q).max(), at(tried)
        gained, lower_now = least - found, found <= least
        damping = max(damping * (0.1 if lower_now else 10.0), LEAST_DAMPING)
        if lower_now:
            q, least, (gradient, curvature) = tried, found, derivatives
        if moved <= STILL or (lower_now and gained <= RELATIVE * least):
            break
    return q


def _check_seen(names: Sequence[str], times: np.ndarray, measured: np.ndarray) -> None:
    for time, row in zip(times, measured, strict=True):
        if np.isinf(row).any():
            name = names[int(np.argmax(np.isinf(row))) // 3]
            raise ProblemError(f"marker '{name}' is infinitely far at {time:g} s: NaN means one not seen")
        count = (~np.isnan(row)).sum() // 3
        if count < 3:
            raise ProblemError(f"at {time:g} s {count} markers are seen: three are needed")


def _check_options(
    markers: Markers, known: Collection[str], frames: Mapping[str, str], weights: Mapping[str, float]
) -> None:
    for what, names in (("frames", frames), ("weights", weights)):
        for name in names:
            if name not in markers.places:
                raise OptionError(f"{what} has '{name}', no marker: there are {list_names(markers.places)}")
    for name, frame in frames.items():
        if frame not in known:
            raise OptionError(
                f"frames has '{frame}' for '{name}', no frame: there are {list_names(sorted(known))}"
            )
    for name, weight in weights.items():
        check_positive(f"the weight of '{name}'", weight)
