"""A periodic motion that excites the parameters of a robot, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics
from problems.identification.criterion import condition_number
from problems.identification.information import RegressorWeights
from problems.moves.certificate import LimitLine, MotionCertificate
from problems.moves.motion import SplineMotion
from problems.moves.motion_limits import MotionLimits
from problems.moves.path_quantities import motor_torques
from problems.moves.spline_limits import clearance_line, proved_lines, sampled_clearance
from problems.moves.view.surroundings import Surroundings
from trajopt.base.arguments import check_positive
from trajopt.base.arrays import Array
from trajopt.display.curves import times_at_rate
from trajopt.splines.basis import Curve

if TYPE_CHECKING:
    from dynamics.quantities.clearances import Clearances

SAMPLES = 16  # of every interval of the spline, of torques


@dataclass(frozen=True, eq=False)
class ExcitingMotion(SplineMotion):
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
    def base(self) -> dynamics.BaseParameters:
        """The parameters that the motion is to show."""
        return self.regressor.base

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
        sampled = [line for line in self._sampled_limits(SAMPLES) if line.name == "torque"]
        return MotionCertificate((*lines, *sampled, *self._clearance_lines(clearance_line)))

    def verify(self) -> MotionCertificate:
        """All limits again at other and more times, from the curves alone."""
        clear = self._clearance_lines(sampled_clearance)
        return MotionCertificate((*self._sampled_limits(SAMPLES + 3), *clear))

    @property
    def surroundings(self) -> Surroundings:
        """The robot and the scene, for a view."""
        around = super().surroundings
        return around if self.clearances is None else replace(around, scene=self.clearances.scene)

    def _sampled_limits(self, count: int) -> list[LimitLine]:
        return self.sampled_limits(self.times_of_intervals(count)[0])

    def _clearance_lines(self, line_of: Callable[..., LimitLine]) -> list[LimitLine]:
        """Lines by `clearance_line` or `sampled_clearance`; none without obstacles."""
        return [] if self.clearances is None else [line_of(self.clearances, self.curve, self.clearance)]

    def __str__(self) -> str:
        head = (
            f"exciting motion of {self.duration:.4g} s for {self.base.count} base parameters, condition "
            f"number {self.condition:.4g}"
        )
        return f"{head}\n{self.certificate}"
