"""Results of `estimate`: parameters with their uncertainty, the robot of them, a report, predictions."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri

import dynamics
from problems.identification.fitted_curve import fitted_motion
from problems.identification.measurements import Measurements, recordings
from problems.moves.path_quantities import spring_torques
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.base.files import write_text

LEVEL = 0.95
CORRELATED = 0.3  # of residuals one sample apart, beyond noise of positions: intervals are too narrow
SHOWN = 58  # characters of a combination in the report


@dataclass(frozen=True, eq=False)
class Validation:
    """Torques of the identified robot beside measured ones of another motion.

    error : (n,) root mean square of measured less predicted, N m or N; noise : (n,) of the estimate
    """

    joint_names: tuple[str, ...]
    error: Array
    noise: Array

    @property
    def ratio(self) -> Array:
        """(n,) error by noise: 1 where nothing but noise is left."""
        return self.error / self.noise

    def __str__(self) -> str:
        rows = zip(self.joint_names, self.error, self.ratio, strict=True)
        lines = [f"{name:<28}{error:>12.4g}{ratio:>12.3f}" for name, error, ratio in rows]
        return "\n".join([f"{'torque of another motion':<28}{'error, rms':>12}{'by noise':>12}", *lines])


@dataclass(frozen=True, eq=False)
class Estimate:
    """Base parameters beta of a robot with their covariance, and the robot of them; `str` is the report.

    model : the robot that can exist whose base parameters are nearest to `values`
    base : which combinations they are; values : (count,) beta, by least squares
    root_information : R, (count, count), R'R the inverse of the covariance
    noise : (n,) standard deviation of torques, N m or N; correlation : (n,) of residuals one sample apart
    explained : (n,) share of the squared residuals that noise of positions explains
    condition : of the regressor weighted by noise, columns scaled to one
    position_noise : the largest share that noise of positions has in what shows a combination
    distance : |R (beta - C pi)| of the model, see `ConsistentRobot`
    samples : used; bandwidths : Hz, of the splines; position_residual : (n,) of them, rad or m
    smoothing : rad/s or m/s, of Coulomb friction
    """

    model: dynamics.RigidBodyModel
    base: dynamics.BaseParameters
    values: Array
    root_information: Array
    noise: Array
    correlation: Array
    explained: Array
    condition: float
    position_noise: float
    distance: float
    samples: int
    bandwidths: tuple[float, ...]
    smoothing: float
    position_residual: Array

    @cached_property
    def covariance(self) -> Array:
        """(count, count) of the base parameters; noise of torques and positions is white and independent."""
        inverse = solve_triangular(self.root_information, np.eye(self.base.count))
        return inverse @ inverse.T

    @property
    def standard_deviations(self) -> Array:
        """(count,) of the base parameters."""
        return np.sqrt(np.diag(self.covariance))

    def intervals(self, level: float = LEVEL) -> Array:
        """(count, 2) lower and upper ends of confidence intervals; OptionError for a level outside (0, 1)."""
        if not 0.0 < level < 1.0:
            raise OptionError(f"level is {level}: give a number between 0 and 1, 0.95 for instance")
        half = float(ndtri(0.5 + 0.5 * level)) * self.standard_deviations
        return np.stack([self.values - half, self.values + half], axis=1)

    @property
    def is_significant(self) -> Array:
        """(count,) bool, whether zero lies outside the interval of 95 %."""
        ends = self.intervals()
        return (ends[:, 0] > 0.0) | (ends[:, 1] < 0.0)

    @property
    def identifiability(self) -> dict[str, str]:
        """Every parameter -> "alone", "in combination", or "not at all", as torques show it."""
        combinations = self.base.combinations
        found = {}
        for column, name in enumerate(self.base.parameter_names):
            rows = np.flatnonzero(combinations[:, column])
            alone = any(np.count_nonzero(combinations[row]) == 1 for row in rows)
            found[name] = "alone" if alone else "in combination" if rows.size else "not at all"
        return found

    def torques(self, q: Any, v: Any, a: Any) -> Array:
        """Torques of the motors of the identified robot, (..., n) N m or N, with springs and friction."""
        friction = dynamics.friction(self.model, v, self.smoothing).force
        return dynamics.rnea(self.model, q, v, a) - friction + spring_torques(self.model, np.asarray(q))

    def validate(self, data: Measurements, bandwidth: float | None = None) -> Validation:
        """Predicted torques beside those of measurements that were not used; arguments as of `estimate`."""
        (checked,) = recordings([data], self.model.joint_names)
        motion = fitted_motion(checked, bandwidth)
        error = motion.tau - self.torques(motion.q, motion.v, motion.a)
        return Validation(data.joint_names, np.sqrt(np.mean(error**2, axis=0)), self.noise)

    def __str__(self) -> str:
        lines = [f"{'base parameter':<{SHOWN}}{'estimate':>13}{'std. dev.':>12}  significant"]
        each = zip(self.base.names, self.values, self.standard_deviations, self.is_significant, strict=True)
        for name, value, deviation, significant in each:
            text = name if len(name) < SHOWN else name[: SHOWN - 5] + " ..."
            lines.append(f"{text:<{SHOWN}}{value:>13.5g}{deviation:>12.2g}  {'yes' if significant else 'no'}")
        return "\n".join([*self._head(), "", *lines, "", *self._parameter_table()])

    def _head(self) -> list[str]:
        names, every = self.model.joint_names, len(self.base.parameter_names)
        away = self.distance / np.sqrt(self.base.count)
        width = max(map(len, names))
        lines = [
            f"{self.base.count} base parameters of {every}, from {self.samples} samples",
            f"condition number {self.condition:.4g}, columns scaled to one and rows weighted by noise",
            f"noise of positions is at most {100.0 * self.position_noise:.2g} % of what shows a combination",
            f"splines of {', '.join(f'{bandwidth:.3g}' for bandwidth in self.bandwidths)} Hz",
            f"the model is {away:.3g} standard deviations from the estimate, root mean square",
        ]
        joints = zip(names, self.noise, self.correlation, self.explained, strict=True)
        for name, noise, correlation, explained in joints:
            line = (
                f"  {name:<{width}}  noise of torque {noise:.3g}, correlation of residuals {correlation:+.2f}"
            )
            if abs(correlation - explained) > CORRELATED:
                line += ": not white, so intervals are too narrow"
            lines.append(line)
        return lines

    def _parameter_table(self) -> list[str]:
        lines = [f"{'parameter':<{SHOWN}}{'of the model':>13}{'identifiable':>18}"]
        values = dynamics.dynamic_parameters(self.model)
        for (name, how), value in zip(self.identifiability.items(), values, strict=True):
            lines.append(f"{name:<{SHOWN}}{value:>13.5g}{how:>18}")
        return lines

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write base parameters, a line each: combination, estimate, standard deviation, interval of 95 %."""
        text = StringIO()
        writer = csv.writer(text)
        writer.writerow(["base parameter", "estimate", "standard deviation", "lower 95 %", "upper 95 %"])
        each = zip(self.base.names, self.values, self.standard_deviations, self.intervals(), strict=True)
        for name, value, deviation, ends in each:
            writer.writerow([name, *(repr(float(number)) for number in (value, deviation, *ends))])
        write_text(path, text.getvalue())
