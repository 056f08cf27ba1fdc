"""Coordinates of a robot from measured markers, by least squares at every time: inverse kinematics.

minimize  sum over markers seen of w_m |p_m(q) - measured_m|^2  over q within its limits
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from problems.human.motions.marker_file import Markers
from trajopt.base.arguments import check_positive, list_names
from trajopt.base.errors import OptionError, ProblemError

FARTHEST = 10.0  # rad or m, where a coordinate has no limit


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
    start: Sequence[float],
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
    from scipy.optimize import least_squares

    known = {frame.name for frame in robot.frames}
    _check_options(markers, known, frames or {}, weights or {})
    at = {name: (frames or {}).get(name, name) for name in markers.places}
    names = [name for name, frame in at.items() if frame in known]
    if not names:
        raise ProblemError(f"no marker is a frame of the robot: the file has {list_names(markers.places)}")
    quantities = [f"position:{at[name]}" for name in names]
    block = robot.block(quantities)
    root = np.sqrt(np.repeat([(weights or {}).get(name, 1.0) for name in names], 3))
    measured = np.concatenate([markers.places[name] for name in names], axis=1)
    lower, upper = (np.clip(x, -FARTHEST, FARTHEST) for x in (robot.limits.q_lower, robot.limits.q_upper))
    q, found, distance = np.clip(_checked_start(start, lower.size), lower, upper), [], []
    for time, row in zip(markers.time, measured, strict=True):
        if np.isinf(row).any():
            name = names[int(np.argmax(np.isinf(row))) // 3]
            raise ProblemError(f"marker '{name}' is infinitely far at {time:g} s: NaN means one not seen")
        seen = ~np.isnan(row)
        if seen.sum() < 9:
            raise ProblemError(f"at {time:g} s {seen.sum() // 3} markers are seen: three are needed")

        def error(x: np.ndarray, seen: np.ndarray = seen, row: np.ndarray = row) -> np.ndarray:
            values = block.value({"q": x[None]})
            return (root * (np.concatenate([values[key][0] for key in quantities]) - row))[seen]

        def slope(x: np.ndarray, seen: np.ndarray = seen) -> np.ndarray:
            partials = block.partials({"q": x[None]})
            rows = np.concatenate([partials[key, "q"][0] for key in quantities])
            return (root[:, None] * rows)[seen]

        q = least_squares(error, q, slope, bounds=(lower, upper), x_scale=1.0, xtol=1e-12, ftol=1e-12).x
        found.append(q)
        distance.append(np.sqrt(np.mean(np.square(error(q) / root[seen])) * 3.0))
    return FittedMotion(tuple(robot.joint_names), markers.time, np.array(found), np.array(distance))


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


def _checked_start(start: Sequence[float], count: int) -> np.ndarray:
    """`start` as (count,) finite numbers; OptionError for anything else."""
    found = np.asarray(start, dtype=float)
    if found.shape != (count,) or not np.isfinite(found).all():
        raise OptionError(f"start has shape {found.shape}: give {count} finite numbers, rad or m")
    return found
