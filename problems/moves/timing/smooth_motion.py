"""A motion along a given path whose coordinate has a continuous second rate, and the proof of its limits.

On every span positions, speeds, accelerations, jerks and torques are bounded by Taylor models of the path's
coordinate (`trajopt.taylor_models`), spans being divided where that is not sharp enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.certificate import TOLERANCE, LimitLine, MotionCertificate, largest
from problems.moves.limit_excess import limit_size, relative_excess, with_peaks, worst_line
from problems.moves.motion_limits import TOOL_SPEED, MotionLimits
from problems.moves.path_quantities import coulomb_friction, motor_torques
from problems.moves.spline_path import SplinePath
from problems.moves.timing.end_states import EndStates
from problems.moves.timing.path_models import PathModels
from problems.moves.timing.path_motion import PathMotion
from problems.moves.timing.smooth_path import SmoothPath
from problems.moves.timing.smooth_speed import SmoothSpeed
from problems.moves.timing.tube import Tube
from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT
from trajopt.taylor_models.suprema import Supremum, find_suprema

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

SAMPLES = 8  # in every span
SHARP = 2e-5  # of a limit: by how much a bound may exceed what is reached

AT_LIMIT = 0.2 * TOLERANCE  # likewise, where a motion begins or ends at the limit


@dataclass(frozen=True, eq=False)
class SmoothMotion(PathMotion):
    """q(t) = p(s(t)) with a continuous acceleration, made by `moves.retime` with `jerk=`.

    along : the path over a coordinate w; speed : the squared rate of w
    ends : how it was to begin and to end; None: at rest
    tube : around the path that was given, where there is one
    certificate : of all limits for all times, where the robot has models; else of torques at samples
    """

    model: RigidBodyModel
    along: SmoothPath
    limits: MotionLimits
    speed: SmoothSpeed
    certificate: MotionCertificate
    ends: EndStates | None = None
    tube: Tube | None = None

    @property
    def path(self) -> SplinePath:  # type: ignore[override]
        """The path of the joints."""
        return self.along.path

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.speed.times[-1])

    @property
    def breakpoints(self) -> Array:
        """Times at which the jerk jumps."""
        return self.speed.times

    def s(self, t: Any, order: int = 0) -> Array:
        """The path's coordinate, or a rate of it, at times in [0, duration]."""
        w = self.speed.w(t)
        if order == 0:
            return self.along.s(w)
        s1, s2, s3 = (self.along.s(w, k) for k in (1, 2, 3))
        rates = [self.speed.w(t, k) for k in range(1, order + 1)]
        if order == 1:
            return s1 * rates[0]
        if order == 2:
            return s1 * rates[1] + s2 * rates[0] ** 2
        return s1 * rates[2] + 3.0 * s2 * rates[0] * rates[1] + s3 * rates[0] ** 3

    def bounds(self, limits: MotionLimits) -> dict[str, tuple[Array, Array]]:
        """Lower and upper limits of every kind that has one.

        Those of torque are without Coulomb friction, those of frames' speeds of their squares.
        """
        found = limits.by_name(self.position_limits)
        if TOOL_SPEED in found:
            found[TOOL_SPEED] = -(limits.tool_speed**2), limits.tool_speed**2
        return found | ({"torque": friction_free(self.model, limits)} if "torque" in found else {})

    def slower(self, factor: float) -> SmoothMotion:
        """The same with all times multiplied by a factor, with a certificate of its own."""
        ends = self.ends and EndStates(self.ends.v / factor, self.ends.a / factor**2)
        return replace(self, speed=self.speed.slower(factor), ends=ends).certified()

    def verify(self) -> MotionCertificate:
        """All limits again, at samples, from q(t), v(t), a(t), jerk(t) and tau(t) alone.

        Beside the limits "ends" is the largest error of speeds and accelerations there, relative to the
        largest.
        """
        lines = self.sampled_limits(self.sample_times(SAMPLES + 3))
        v, a = (None, None) if self.ends is None else (self.ends.v, self.ends.a)
        missed = np.maximum(self.end_errors(self.v, v), self.end_errors(self.a, a))
        lines.append(worst_line("ends", self.joint_names, missed, self.breakpoints[[0, -1]]))
        return MotionCertificate((*lines, *self.tube_lines()))

    def sample_times(self, count: int) -> Array:
        """`count` times in every span, both ends among them, the last before jumps of jerks and limits."""
        part = np.linspace(0.0, 1.0 - AGREEMENT, count)
        return (self.breakpoints[:-1, None] + np.diff(self.breakpoints)[:, None] * part).ravel()

    def limits_on_spans(self, count: int) -> MotionLimits:
        """The limits at `sample_times`, on either side of a border those of the span."""
        return self.limits_at(np.repeat(self.breakpoints[:-1] + 0.5 * np.diff(self.breakpoints), count))

    def excess_at(self, t: Array, limits: MotionLimits) -> dict[str, Array]:
        """Excess over all limits but those of position, relative to them, at times (k,): kind -> (k, n)."""
        return {
            name: relative_excess(self._curves[name](t), *ends)
            for name, ends in self.bounds(limits).items()
            if name in self._curves
        }

    @property
    def _curves(self) -> Mapping[str, Callable[[Array], Array]]:
        """All limited quantities but positions."""
        curves = {"speed": self.v, "acceleration": self.a, "jerk": self.jerk, "torque": self.tau_without_dry}
        return {**curves, TOOL_SPEED: lambda t: self.tool_speeds(t) ** 2}

    def excess_on_spans(self) -> dict[str, Array]:
        """The largest of it on every span, from samples and parabolas through them: kind -> (spans, n)."""
        found = self.excess_at(self.sample_times(SAMPLES), self.limits_on_spans(SAMPLES))
        return {
            name: with_peaks(np.maximum(each, -1.0).reshape(-1, SAMPLES, each.shape[-1]))
            for name, each in found.items()
        }

    def tau_without_dry(self, t: Any) -> Array:
        """Torques without Coulomb friction, whose size is taken from their limits."""
        return self.tau(t) - coulomb_friction(self.model) * np.sign(self.path(self.s(t), 1))

    def time_scale(self, excess: Mapping[str, Array]) -> float:
        """Factor by which times must be longer to leave `SHARP` of limits beside an excess; at least 1.

        Speeds, accelerations and jerks fall with its first, second and third power, torques beyond those at
        rest with the second, but for viscous friction.
        """
        powers = {"speed": 1.0, TOOL_SPEED: 2.0, "acceleration": 2.0, "jerk": 3.0}
        found = [
            ((1.0 + float(excess[name].max())) / (1.0 - SHARP)) ** (1.0 / power)
            for name, power in powers.items()
            if name in excess
        ]
        if "torque" in excess:
            found.append(self._torque_time_scale())
        return float(np.max([1.0, *found]))

    def _torque_time_scale(self) -> float:
        """The same of torques at samples; one leaves half of what rest leaves, if that is less."""
        t = self.sample_times(SAMPLES)
        lower, upper = friction_free(self.model, self.limits_on_spans(SAMPLES))
        q = self.q(t)
        zero, room = np.zeros_like(q), SHARP * limit_size(lower, upper)
        rest = motor_torques(self.model, q, zero, zero, zero)
        moving = self.tau_without_dry(t) - rest
        above = np.maximum(upper - room, 0.5 * (upper + rest)) - rest
        below = np.minimum(lower + room, 0.5 * (lower + rest)) - rest
        return float(np.sqrt(np.maximum(moving / above, moving / below).max()))

    def certified(self) -> SmoothMotion:
        """The same motion with its certificate."""
        models = PathModels(self.model, self.along, self.speed, self.limits.frames)
        pieces = models.pieces
        lines: dict[str, list[LimitLine]] = {}
        for here, limits in self._segments():
            bounds = self.bounds(limits)
            if "torque" in bounds and not models.has_torques:
                del bounds["torque"]
            asked = {name: self._asked(name, *ends) for name, ends in bounds.items()}
            every = [each for kind in asked.values() for each in kind]
            find_suprema(pieces.chosen(here), models.of(list(bounds)), every)
            for name, ends in bounds.items():
                lines.setdefault(name, []).append(self._proved(name, asked[name], limit_size(*ends)))
        if self.limits.has_torque and not models.has_torques:
            sampled = self.sampled_limits(self.sample_times(SAMPLES))
            lines |= {line.name: [line] for line in sampled if line.name == "torque"}
        return replace(self, certificate=MotionCertificate(tuple(map(largest, lines.values()))))

    def _segments(self) -> Iterator[tuple[Array, MotionLimits]]:
        """The spans of every segment with limits of its own, and these."""
        knots, borders = self.speed.knots, self.limits.borders[1:-1]
        at = np.searchsorted(borders, self.along.s(0.5 * (knots[1:] + knots[:-1])))
        for number, limits in enumerate(self.limits.parts):
            yield np.flatnonzero(at == number), limits

    def _proved(self, name: str, suprema: list[Supremum], size: Array) -> LimitLine:
        excess = [each.value / size[each.component] for each in suprema]
        worst = int(np.argmax(excess))  # NaN where one has no bound
        time, column = float(self.speed.time_at(suprema[worst].time)), suprema[worst].component
        value = float(excess[worst])
        value = np.sqrt(1.0 + value) - 1.0 if name == TOOL_SPEED else value  # of a square
        columns = self.limits.columns(name, self.joint_names)
        return LimitLine(name, "proved", float(value), columns[column], time)

    def _asked(self, name: str, lower: Array, upper: Array) -> list[Supremum]:
        """The suprema of a kind; those of joints without a limit are of no interest.

        Where the motion begins or ends at a limit, they are as sharp as a certificate.
        """
        size, sharp = limit_size(lower, upper), np.full(len(lower), 0.5 * SHARP)
        if self.ends is not None and np.any(self.ends.in_motion) and name in self._curves:
            value = self._curves[name](np.array([0.0, self.duration]))
            sharp[relative_excess(value, lower, upper).max(axis=0) > -SHARP] = AT_LIMIT
        return [
            Supremum(name, k, lower[k], upper[k], -np.inf, sharp[k] * size[k], np.inf, 0.0)
            for k in range(len(lower))
            if np.any(np.isfinite([lower[k], upper[k]]))
        ]

    def __repr__(self) -> str:
        return f"SmoothMotion of {self.duration:.6g} s\n{self.certificate}{self.jumps()}"


def friction_free(model: Any, limits: MotionLimits) -> tuple[Array, Array]:
    """Limits of torque narrowed by Coulomb friction, whose sign is that of the speed."""
    dry = coulomb_friction(model)
    return limits.torque_lower + dry, limits.torque_upper - dry
