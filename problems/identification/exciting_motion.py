"""A periodic motion that excites the parameters of a robot, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics
from problems.identification.criterion import condition_number
from problems.identification.information import RegressorWeights
from problems.moves.certificate import TOLERANCE, LimitLine, MotionCertificate
from problems.moves.contact_proof import least_clearance_bound
from problems.moves.motion import Motion
from problems.moves.motion_limits import MotionLimits
from problems.moves.path_quantities import motor_torques
from problems.moves.spline_limits import proved_lines, sampled_clearance
from problems.moves.view.surroundings import Surroundings
from trajopt.base.arguments import check_positive
from trajopt.base.arrays import Array
from trajopt.display.samples import times_at_rate
from trajopt.splines.curve import Curve

if TYPE_CHECKING:
    from dynamics.quantities.clearances import Clearances

SAMPLES = 16  # of every interval of the spline, of torques


@dataclass(frozen=True, eq=False)
class ExcitingMotion(Motion):
    """q(t) over one period, made by `excite`; it may be run several times without a stop between.

    curve : the spline; regressor : the parameters that it is to show
    clearances : distances that are kept, at least `clearance`, m; None: none
    """

    model: dynamics.RigidBodyModel
    limits: MotionLimits
    curve: Curve
    regressor: RegressorWeights
    clearances: Clearances | None
    clearance: float

    @property
    def duration(self) -> float:
        return self.curve.duration

    @property
    def breakpoints(self) -> Array:
        return self.curve.knot_times

    @property
    def base(self) -> dynamics.BaseParameters:
        """The parameters that the motion is to show."""
        return self.regressor.base

    def q(self, t: Any) -> Array:
        return self.curve(t)

    def v(self, t: Any) -> Array:
        return self.curve(t, 1)

    def a(self, t: Any) -> Array:
        return self.curve(t, 2)

    def jerk(self, t: Any) -> Array:
        return self.curve(t, 3)

    def tau(self, t: Any) -> Array:
        """Torques of the motors as the robot's own parameters have them, (..., n) N m or N."""
        return motor_torques(self.model, self.q(t), self.v(t), np.array(1.0), self.a(t))

    def q_of_share(self, share: Any) -> Array:
        """Positions at shares of the duration, from 0 to 1."""
        return self.q(np.clip(np.asarray(share, dtype=float), 0.0, 1.0) * self.duration)

    def information(self, rate: float = 100.0) -> Array:
        """G, (count, count), of one period sampled at `rate` Hz, torques weighted as in `excite`."""
        check_positive("rate", rate)
        t = times_at_rate(self.duration, rate)[:-1]
        rows = self.regressor.rows(self.q(t), self.v(t), self.a(t))
        return self.regressor.information(rows, np.ones(len(t)))

    @cached_property
    def condition(self) -> float:
        """Condition number of the regressor at 100 Hz, rows weighted, columns scaled to one."""
        return condition_number(self.information())

    @cached_property
    def certificate(self) -> MotionCertificate:  # type: ignore[override]
        """Positions, speeds, accelerations, jerks and clearance for all times; torques at samples."""
        lines = proved_lines(self.curve, self.model, self.limits)
        sampled = [line for line in self.sampled_limits(self._times(SAMPLES)) if line.name == "torque"]
        return MotionCertificate((*lines, *sampled, *self._clearance_line()))

    def verify(self) -> MotionCertificate:
        """All limits again at other and more times, from the curves alone."""
        return MotionCertificate((*self.sampled_limits(self._times(SAMPLES + 3)), *self._sampled_clearance()))

    @property
    def surroundings(self) -> Surroundings:
        """The robot and the scene, for a view."""
        around = super().surroundings
        return around if self.clearances is None else replace(around, scene=self.clearances.scene)

    def _times(self, count: int) -> Array:
        knots = self.curve.knot_times
        return np.clip(np.linspace(knots[:-1], knots[1:], count, axis=1).ravel(), 0.0, self.duration)

    def _clearance_line(self) -> list[LimitLine]:
        if self.clearances is None:
            return []
        bound = least_clearance_bound(self.clearances, self.curve, self.clearance - TOLERANCE)
        if not bound.proved:
            return self._sampled_clearance()
        return [LimitLine("clearance", "proved", self.clearance - bound.value, bound.pair, bound.time)]

    def _sampled_clearance(self) -> list[LimitLine]:
        if self.clearances is None:
            return []
        return [sampled_clearance(self.clearances, self.curve, self.clearance)]

    def __str__(self) -> str:
        head = (
            f"exciting motion of {self.duration:.4g} s for {self.base.count} base parameters, condition "
            f"number {self.condition:.4g}"
        )
        return f"{head}\n{self.certificate}"
