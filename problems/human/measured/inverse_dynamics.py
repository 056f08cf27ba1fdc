"""Joint moments of a measured motion with measured forces: inverse dynamics.

    tau = M(q) a + C(q, v) v + g(q) - sum over forces of J' [p x F + M; F]

Coordinates are filtered by a Butterworth filter of third order that runs forwards and backwards, and
interpolated by a spline of degree five, whose derivatives are v and a, as OpenSim's tool does. Forces at the
coordinates between ground and pelvis are residuals: what measurement and model do not explain (Hicks and
others, Journal of Biomechanical Engineering 137(2), 2015).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline

from dynamics import OsimModel
from problems.human.measured.external_loads import MeasuredForce, wrenches_on_links
from problems.human.measured.simbody_axes import moments_of_turned_axes
from problems.human.motions.motion_file import MotionTable
from problems.human.opensim.storage import Storage, write_storage
from trajopt.base.arguments import check_positive, list_names
from trajopt.base.errors import OptionError, ProblemError

DEGREE = 5  # of the spline
ORDER = 3  # of the filter, in each direction
CUTOFF = 6.0  # Hz
ROUNDED = 1e-3  # s, to which files of 60 or 120 Hz often round their times
LARGE_FORCE = 0.05  # of the largest measured force: residual forces above it are told


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Generalized forces of a measured motion.

    names : (n,) coordinates;  time : (k,) s;  q, v, a : (k, n) of the filtered motion, rad or m
    tau : (k, n) N m or N, what joints give; of `residuals` what nothing gives
    is_length : (n,) bool, coordinates in m;  residuals : names of the coordinates that no joint drives
    assumed : coordinates that the motion does not have, held at their default values
    largest_force : N, of the sum of the measured forces
    """

    names: tuple[str, ...]
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    is_length: np.ndarray
    residuals: tuple[str, ...]
    assumed: tuple[str, ...]
    largest_force: float

    def moment(self, name: str) -> np.ndarray:
        """(k,) of one coordinate, N m or N."""
        if name not in self.names:
            raise OptionError(f"there is no coordinate '{name}': there are {list_names(self.names)}")
        return self.tau[:, self.names.index(name)]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a .sto with OpenSim's labels: hip_flexion_r_moment, pelvis_tx_force."""
        columns = {
            f"{name}_{'force' if length else 'moment'}": values
            for name, length, values in zip(self.names, self.is_length, self.tau.T, strict=True)
        }
        write_storage(path, Storage("Inverse Dynamics Generalized Forces", self.time, columns))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        width = max(map(len, self.names))
        yield f"{'coordinate':<{width}}  {'rms':>9}  {'largest':>9}"
        for name, length, values in zip(self.names, self.is_length, self.tau.T, strict=True):
            unit, kind = "N" if length else "N m", ", residual" if name in self.residuals else ""
            rms, largest = np.sqrt(np.mean(values**2)), np.abs(values).max()
            yield f"{name:<{width}}  {rms:>9.4g}  {largest:>9.4g}  {unit}{kind}"
        yield from self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about coordinates that were not measured and residuals that are large."""
        return tuple(self._problems())

    def _problems(self) -> Iterator[str]:
        if self.assumed:
            yield f"not in the motion, held at their default values: {list_names(self.assumed)}"
        places = [i for i, name in enumerate(self.names) if name in self.residuals and self.is_length[i]]
        forces = np.linalg.norm(self.tau[:, places], axis=1)
        worst = int(forces.argmax())
        if self.largest_force > 0.0 and forces[worst] > LARGE_FORCE * self.largest_force:
            yield (
                f"the residual force reaches {forces[worst]:.4g} N at {self.time[worst]:.4g} s, above 5 % of "
                f"the largest measured force, {self.largest_force:.4g} N: check masses, times and units of "
                "the files; next to an end of the motion a narrower window is enough"
            )


def joint_moments(
    model: OsimModel,
    motion: MotionTable,
    forces: tuple[MeasuredForce, ...] = (),
    *,
    cutoff: float | None = CUTOFF,
    window: tuple[float, float] | None = None,
    as_opensim: bool = False,
) -> JointMoments:
    """Joint moments of a measured motion, as OpenSim's inverse dynamics tool computes them.

    model : from `dynamics.load_osim`;  motion : from `read_motion`;  forces : from `read_external_loads`
    cutoff : Hz, of the filter of coordinates; None: they are not filtered. Forces are not filtered.
        Times that were rounded to milliseconds count as those of a fixed rate.
    window : s, times of the answer; the whole motion is filtered and differentiated before it is cut
    as_opensim : whether joints that one coordinate turns about three axes, as Rajagopal's knee, accelerate as
        they do in OpenSim (`moments_of_turned_axes`). Its table moreover has the force of a dependent
        coordinate (`model.coupled`) by itself, which is part here of that of the one that it follows.
    Raises ProblemError where the motion has none of the model's coordinates, rows too few or at uneven times
    for the filter, and forces that were not measured for the whole window; UnknownNameError for a force on a
    body that the model does not have; OptionError for a cutoff above half the sampling rate.
    """
    robot = model.robot
    names = tuple(robot.joint_names)
    assumed = tuple(name for name in names if name not in motion.columns)
    if len(assumed) == len(names):
        raise ProblemError(
            f"the motion has none of the model's coordinates {list_names(names)}: it has "
            f"{list_names(list(motion.columns))}"
        )
    at_rest = dict(zip(names, model.default_pose, strict=True))
    q = np.stack(
        [motion.columns.get(name, np.full(motion.time.size, at_rest[name])) for name in names], axis=1
    )
    degree, time = _degree(motion), _even(motion.time)
    spline = make_interp_spline(time, _filtered(time, q, cutoff), degree)
    if window is not None:
        time = time[(time >= window[0]) & (time <= window[1])]
        if time.size == 0:
            raise ProblemError(
                f"no time of the motion is in the window {window[0]:g} to {window[1]:g} s: it has "
                f"{motion.time[0]:g} to {motion.time[-1]:g} s"
            )
    q, v, a = (spline(time, order) for order in range(3))
    external = wrenches_on_links(robot, q, time, forces)
    tau = robot.inverse_dynamics(q, v, a, external)
    if as_opensim:
        tau += moments_of_turned_axes(robot, q, v, a)
    largest = float(np.linalg.norm(external[:, :, 3:].sum(axis=1), axis=1).max(initial=0.0))
    lengths = _lengths(model)
    is_length = np.array([name in lengths for name in names])
    return JointMoments(names, time, q, v, a, tau, is_length, _residuals(model, lengths), assumed, largest)


def _degree(motion: MotionTable) -> int:
    if motion.time.size <= DEGREE:
        raise ProblemError(f"the motion has {motion.time.size} rows: give more than {DEGREE}")
    return DEGREE


def _even(time: np.ndarray) -> np.ndarray:
    """Times of a fixed rate where those of a file were rounded from them to milliseconds, else the same.

    The rate is below 250 Hz: a row that is missing is further off then than rounding moves times.
    """
    even, step = np.linspace(time[0], time[-1], time.size, retstep=True)
    off = [np.abs(time - other).max() for other in (even, ROUNDED * np.round(time / ROUNDED))]
    rounded = 1e-4 * step < off[0] <= ROUNDED and off[1] < 1e-3 * ROUNDED and step > 4.0 * ROUNDED
    return even if rounded else time


def _filtered(time: np.ndarray, q: np.ndarray, cutoff: float | None) -> np.ndarray:
    """q (k, n) through the filter, continued at both ends by its mirror image about the end's value."""
    if cutoff is None:
        return q
    check_positive("cutoff", cutoff)
    steps = np.diff(time)
    rate = (time.size - 1) / (time[-1] - time[0])
    if np.abs(steps * rate - 1.0).max() > 1e-3:
        raise ProblemError(
            f"times are {steps.min():.6g} to {steps.max():.6g} s apart: the filter needs a fixed rate, or "
            "write cutoff=None"
        )
    if cutoff >= 0.5 * rate:
        raise OptionError(f"cutoff is {cutoff:g} Hz: below half of the {rate:g} rows per second, or None")
    from scipy.signal import butter, filtfilt  # imports scipy.stats, a second

    numerator, denominator = butter(ORDER, 2.0 * cutoff / rate)
    return filtfilt(numerator, denominator, q, axis=0, padtype="odd", padlen=time.size // 2)


def _lengths(model: OsimModel) -> set[str]:
    """Names of the coordinates in m."""
    tree = getattr(model.robot, "tree", model.robot)
    return {body.joint.name for body in tree.bodies if body.joint.kind == "prismatic"}


def _residuals(model: OsimModel, lengths: set[str]) -> tuple[str, ...]:
    """Coordinates from the ground to the first link with a mass: where it can slide nothing drives them."""
    tree = getattr(model.robot, "tree", model.robot)
    of_base = []
    for body in tree.bodies:
        of_base.append(body.joint.name)
        if body.mass > 0.0:
            break
    return tuple(of_base) if lengths.intersection(of_base) else ()
