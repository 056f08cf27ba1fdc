"""Limits of the joints on a motion: speed, acceleration, jerk and torque, constant or over segments."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import finite_numbers, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError, UnboundedError
from trajopt.base.tolerances import AGREEMENT

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

ORDERS = "position", "speed", "acceleration", "jerk"  # names of q and its rates in certificates
TOOL_SPEED = "tool speed"  # of frames, likewise
OF_FRAME = "tool_speed of "  # names of speeds that are given, in errors
NO_SPEED = 1e9  # m/s, that nothing reaches: a higher limit is none


@dataclass(frozen=True, eq=False)
class OverSegments:
    """Limits of one kind that change along the way, made by `moves.over_segments`.

    values : of every segment, as a limit that holds everywhere
    shares : of the path, increasing, at which the next value begins; None: at waypoints, or goals
    """

    values: tuple[ArrayLike, ...]
    shares: Array | None = None

    def borders(self, name: str, places: Array) -> Array:
        """Places at which the limit changes, among those of waypoints."""
        if self.shares is not None:
            return places[0] + self.shares * (places[-1] - places[0])
        if len(self.values) != len(places) - 1:
            raise ShapeError(
                f"{name} has {len(self.values)} values over segments, and there are {len(places) - 1}: give "
                "one each"
            )
        return places[1:-1]


def over_segments(values: Sequence[ArrayLike], shares: ArrayLike | None = None) -> OverSegments:
    """Limits of speed, acceleration, torque or jerk that change along the way, each constant on its segments.

        motion = moves.retime(robot, waypoints, velocity=moves.over_segments([2.0, 0.3, 2.0]))

    values : one per segment, each as the limit would be given for the whole way; infinity: none there
    shares : of the path's coordinate, (len(values) - 1,) increasing within 0 and 1, at which the next value
        begins; None: at waypoints, of a path that is a spline at its breakpoints, in a `Task` at goals

    Where the limit changes, speeds and, with a limit of jerk, accelerations keep both sides.
    Raises ShapeError or OptionError for no values, or shares that do not fit them.
    """
    is_list = isinstance(values, Sequence) or (isinstance(values, np.ndarray) and values.ndim > 0)
    if isinstance(values, str) or not is_list or len(values) < 1:
        raise OptionError(f"values are {short_repr(values)}: give a list of limits, one per segment")
    if any(isinstance(value, OverSegments) for value in values):
        raise OptionError("a value of over_segments is given over segments itself: give one list")
    if shares is None:
        return OverSegments(tuple(values))
    at = finite_numbers(shares, "shares")
    if at.shape != (len(values) - 1,):
        raise ShapeError(f"shares have shape {at.shape}: give ({len(values) - 1},), one less than values")
    if not np.all(np.diff(np.concatenate([[0.0], at, [1.0]])) > 0.0):
        raise OptionError(f"shares are {short_repr(at.tolist())}: give increasing ones between 0 and 1")
    return OverSegments(tuple(values), at)


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """|v| <= velocity, |a| <= acceleration, torque_lower <= tau <= torque_upper, |jerk| <= jerk, (n,).

    Infinity: no limit. The origins of `frames` have speeds of `tool_speed`, (frames,) m/s, at most. Where
    limits change along the way these are the widest, and

    borders : (k + 1,) places where they change and both ends, in s of a path, in a task numbers of goals
    segments : (k,) those between; empty where they are the same everywhere
    """

    velocity: Array
    acceleration: Array
    torque_lower: Array
    torque_upper: Array
    jerk: Array = field(default_factory=lambda: np.array(np.inf))
    borders: Array = field(default_factory=lambda: np.zeros(0))
    segments: tuple[MotionLimits, ...] = ()
    frames: tuple[str, ...] = ()
    tool_speed: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def has_torque(self) -> bool:
        """True if the torque of any joint is limited anywhere."""
        every = [(each.torque_lower, each.torque_upper) for each in self.parts]
        return bool(np.any(np.isfinite(every)))

    @property
    def parts(self) -> tuple[MotionLimits, ...]:
        """The segments; these limits alone where they are the same everywhere."""
        return self.segments or (self,)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Velocity, acceleration, lower and upper torque, jerk, speeds of frames."""
        torques = self.torque_lower, self.torque_upper
        return self.velocity, self.acceleration, *torques, self.jerk, self.tool_speed

    def by_name(self, position: tuple[Array, Array]) -> dict[str, tuple[Array, Array]]:
        """Lower and upper limits of what is limited: of position, given here, speed, acceleration, ..."""
        every = {
            "position": position,
            "speed": (-self.velocity, self.velocity),
            "acceleration": (-self.acceleration, self.acceleration),
            "jerk": (-self.jerk, self.jerk),
            "torque": (self.torque_lower, self.torque_upper),
            TOOL_SPEED: (-self.tool_speed, self.tool_speed),
        }
        return {name: ends for name, ends in every.items() if np.any(np.isfinite(ends))}

    def columns(self, name: str, joints: tuple[str, ...]) -> tuple[str, ...]:
        """Names of what a kind of limit is of: frames, or joints."""
        return self.frames if name == TOOL_SPEED else joints

    def of(self, number: int) -> MotionLimits:
        """The limits of a segment by its number; those that are the same everywhere, for any."""
        return self.segments[number] if self.segments else self

    def at(self, places: ArrayLike) -> MotionLimits:
        """The limits at places (...,), of arrays (..., n), of both sides of a border the wider.

        Those that are the same everywhere stay (n,).
        """
        if not self.segments:
            return self
        aside = AGREEMENT * (self.borders[-1] - self.borders[0])
        sides = [self._rows(np.asarray(places) + off) for off in (-aside, aside)]
        return widest(sides)

    def _rows(self, places: Array) -> MotionLimits:
        every = zip(*(each.arrays for each in self.segments), strict=True)
        at = np.searchsorted(self.borders[1:-1], places, side="right")
        return self.with_arrays(np.stack(arrays)[at] for arrays in every)

    def with_arrays(self, arrays: Iterable[Array]) -> MotionLimits:
        """Limits of `arrays`, the same everywhere."""
        v, a, torque_lower, torque_upper, jerk, tool_speed = arrays
        return MotionLimits(v, a, torque_lower, torque_upper, jerk, frames=self.frames, tool_speed=tool_speed)


def widest(limits: Sequence[MotionLimits]) -> MotionLimits:
    """The limits of which all of these are a part."""
    v, a, lower, *others = zip(*(each.arrays for each in limits), strict=True)
    widest_of = [np.max(arrays, axis=0) for arrays in (v, a, *others)]
    return limits[0].with_arrays([*widest_of[:2], np.min(lower, axis=0), *widest_of[2:]])


def limits_of(
    model: KinematicTree,
    velocity: Any,
    acceleration: Any,
    torque: Any,
    jerk: Any = None,
    places: Array | None = None,
    tool_speed: Mapping[str, float | OverSegments] | None = None,
) -> MotionLimits:
    """The limits given, and those of the model for None; see `retime`, also for errors.

    places : (k,) increasing, of waypoints, where limits may be given over segments
    tool_speed : frame -> m/s
    """
    if not isinstance(tool_speed, Mapping | None):
        raise OptionError(
            f"tool_speed is {short_repr(tool_speed)}: give speeds by frame, {{'tool0': 0.25}}, m/s"
        )
    given: dict[str, Any] = {
        "velocity": velocity,
        "acceleration": acceleration,
        "torque": torque,
        "jerk": jerk,
    }
    for frame in tool_speed or {}:
        model.frame(frame)  # finding it is its check
    given |= {f"{OF_FRAME}{frame}": speed for frame, speed in (tool_speed or {}).items()}
    varied = {name: each for name, each in given.items() if isinstance(each, OverSegments)}
    if not varied:
        return _constant_limits(model, given, {})
    if places is None:
        raise OptionError(f"{next(iter(varied))} is given over segments: give a limit of the whole motion")
    borders = {name: each.borders(name, places) for name, each in varied.items()}
    inner = np.unique(np.concatenate(list(borders.values())))
    least = AGREEMENT * (places[-1] - places[0])
    apart = (np.diff(inner, prepend=places[0]) > least) & (places[-1] - inner > least)
    inner = inner[apart]  # borders that differ by rounding are one, and none is at an end
    ends = np.concatenate([places[:1], inner, places[-1:]])
    segments: list[MotionLimits] = []
    for middle in 0.5 * (ends[1:] + ends[:-1]):
        number = {name: int(np.searchsorted(borders[name], float(middle))) for name in varied}
        here = {name: each.values[number[name]] for name, each in varied.items()}
        where = {name: f" over segment {number[name]}" for name in varied}
        segments.append(_constant_limits(model, given | here, where))
    return replace(widest(segments), borders=ends, segments=tuple(segments))


def _constant_limits(
    model: KinematicTree, given: Mapping[str, Any], where: Mapping[str, str]
) -> MotionLimits:
    """where : kind -> words after its name in errors."""
    own, torque = model.limits, given["torque"]
    called = {name: f"{name}{where.get(name, '')}" for name in given}
    defaults = {"velocity": own.velocity, "acceleration": np.inf, "jerk": np.inf}
    v, a, j = (
        positive_of_joints(default if given[name] is None else given[name], called[name], model)
        for name, default in defaults.items()
    )
    if torque is None and model.has_no_mass:  # what the file says of them cannot be checked
        upper = np.full(model.n, np.inf)
        lower = -upper
    elif torque is None:
        lower, upper = own.torque_lower, own.torque_upper
    elif numbers(torque, called["torque"]).ndim == 2:
        lower, upper = _pairs(torque, called["torque"], model)
    else:
        upper = positive_of_joints(torque, called["torque"], model)
        lower = -upper
    of_frames = {name: each for name, each in given.items() if name.startswith(OF_FRAME)}
    speeds = [_positive(each, called[name]) for name, each in of_frames.items()]
    frames = tuple(name.removeprefix(OF_FRAME) for name in of_frames)
    found = MotionLimits(v, a, lower, upper, j, frames=frames, tool_speed=np.array(speeds))
    if found.has_torque:
        model.check_mass("a limit of torque")
    if not (found.has_torque or np.any(np.isfinite([v, a, j])) or np.any(np.isfinite(speeds))):
        raise UnboundedError(
            f"no joint has a limit of speed, acceleration or torque{next(iter(where.values()), '')}, so that "
            "the motion takes no time: give velocity=, acceleration= or torque="
        )
    return found


def positive_of_joints(given: Any, what: str, model: KinematicTree) -> Array:
    """A number, or one per joint, above zero, (n,)."""
    found = numbers(given, what)
    if found.shape not in ((), (model.n,)):
        raise ShapeError(f"{what} has shape {found.shape}: give one number or ({model.n},), one per joint")
    found = np.array(np.broadcast_to(found, (model.n,)))
    if not np.all(found > 0.0):  # of NaN, too
        joint = int(np.argmin(found > 0.0))
        raise OptionError(
            f"{what} of joint {model.joint_names[joint]!r} is {found[joint]}: give a number above zero"
        )
    return found


def _positive(given: ArrayLike, what: str) -> float:
    """A number above zero; infinity above `NO_SPEED`, whose squares may overflow."""
    found = numbers(given, what)
    if found.shape != () or not found > 0.0:
        raise OptionError(f"{what} is {short_repr(given)}: give a number above zero, m/s")
    return float(found) if found <= NO_SPEED else np.inf


def _pairs(given: Any, what: str, model: KinematicTree) -> tuple[Array, Array]:
    found = numbers(given, what)
    if found.shape != (model.n, 2):
        raise ShapeError(f"{what} has shape {found.shape}: give one number, ({model.n},) or ({model.n}, 2)")
    ordered = found[:, 0] < found[:, 1]
    if not np.all(ordered):
        joint = int(np.argmin(ordered))
        raise OptionError(
            f"{what} of joint {model.joint_names[joint]!r} is {found[joint]}: give the lower limit, then the "
            "upper one"
        )
    return found[:, 0], found[:, 1]
