"""Components of quantities over a motion, with names, units and bounds, for figures, cards, pages, tables and
CSV.

Files and data frames hold the motion sampled at a fixed rate, as columns.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from trajopt.base.arguments import check_known, check_positive, list_names
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, TrajoptError, printable_name
from trajopt.base.files import check_ending, write_text
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.quantities import EXTRA, SPLINE_LEAVES, TORQUES, extra_leaf
from trajopt.problem.constraints.coordinate_bounds import sprung_joints
from trajopt.problem.costs_and_constraints import limits_over_path
from trajopt.problem.systems.robot_on_path import RobotOnPath
from trajopt.problem.systems.system import System
from trajopt.solution.solution import Answer, Solution
from trajopt.terms.term import Quantity, components_read

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Component:
    """One component of a quantity over a motion: values (K,), unit ("" where none is known) and bounds."""

    name: str
    values: Array
    unit: str = ""
    lower: float = -np.inf
    upper: float = np.inf


def problem_of(solution: Solution) -> Problem | None:
    """The problem, or None for a loaded solution that cannot build it."""
    try:
        return solution.problem
    except TrajoptError:
        return None


def unknown_curves(problem: Problem) -> list[str]:
    """Names of the curves that the user added to a problem."""
    return [name for name in problem.extras if name not in problem.slacks]


def driving_torque(problem: Problem) -> str:
    """The quantity that the robot's torque limits hold for: "motor_torque" beside springs and dampers."""
    dynamics = problem.dynamics
    robot = dynamics.robot if isinstance(dynamics, RobotOnPath) else dynamics
    return "motor_torque" if sprung_joints(robot, problem.designs) else "tau"


def kinds_of(problem: Problem) -> dict[str, str]:
    """The quantities that describe a motion, each with what its components are, in words."""
    robot = {"q": "positions", "v": "velocities", "a": "accelerations"}
    kinds = {"q": "states"} if isinstance(problem.dynamics, System) else robot
    if problem.quantities.knows("tau"):
        kinds["tau"] = "torques and forces"
        if driving_torque(problem) == "motor_torque":
            kinds["motor_torque"] = "torques and forces of motors"
    return kinds | {extra_leaf(name): f"{name}, an unknown curve" for name in unknown_curves(problem)}


def curves_of(solution: Solution, quantities: Iterable[str], t: Array) -> dict[str, list[Component]]:
    """The components of every quantity at times t (K,); without the problem those of q, v, a and jerk."""
    problem = problem_of(solution)
    if problem is None:
        each = {quantity: getattr(solution, quantity)(t).T for quantity in quantities}
        return {quantity: list(map(Component, solution.joint_names, rows)) for quantity, rows in each.items()}
    values = solution.values([Quantity(quantity) for quantity in quantities], t)
    return {quantity: _of_quantity(problem, quantity, values[quantity]) for quantity in quantities}


def _of_quantity(problem: Problem, quantity: str, values: Array) -> list[Component]:
    width = values.shape[1]
    names, units = problem.figure_labels(quantity, width), problem.quantity_units(quantity, width)
    lower, upper = bounds_of(problem, quantity, width)
    return list(map(Component, names, values.T, units, lower.tolist(), upper.tolist()))


def bounds_of(problem: Problem, quantity: str, width: int) -> tuple[Array, Array]:
    """The narrowest bounds (width,) that the robot and the problem have over the path."""
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    limits = problem.dynamics.limits
    has_torques = problem.quantities.knows("tau")
    if has_torques and quantity in TORQUES and quantity == driving_torque(problem):
        limits = problem.dynamics.robot.limits if isinstance(problem.dynamics, RobotOnPath) else limits
        lower, upper = limits.torque_lower, limits.torque_upper
    elif quantity in SPLINE_LEAVES[:2] and limits is not None:
        lower, upper = (
            (limits.q_lower, limits.q_upper) if quantity == "q" else (-limits.velocity, limits.velocity)
        )
    for name in problem.extras:
        if quantity == extra_leaf(name):
            lower, upper = problem.extras[name].lower, problem.extras[name].upper
    least, most = limits_over_path(problem.constraints, quantity, width)
    return np.maximum(lower, least), np.minimum(upper, most)


def held_at_zero(solution: Solution) -> Array:
    """Mask of the torques (n,) held at zero throughout: of joints without motors, of a free base.

    Between nodes a spline leaves a residual of such an equation, which is no torque that acts. The ends of
    arcs do not count, as they are single instants.
    """
    problem, names = solution.problem, solution.driven_joints
    nodes = problem.trajectory.nodes
    held = np.zeros((nodes.count, len(names)), dtype=bool)
    for joint, parts in problem.passive_joints.items():
        for part in parts if joint in names else ():
            held[part.nodes(problem.trajectory), names.index(joint)] = True
    for constraint in problem.constraints:
        quantity, own = components_read(constraint.term, len(names))
        if quantity == "tau" and not constraint.over.is_difference:
            zero = (constraint.lower == 0.0) & (constraint.upper == 0.0)
            held[np.ix_(constraint.over.nodes(problem.trajectory), own[zero])] = True
    return np.all(held[(nodes.s > 0.0) & (nodes.s < 1.0)], axis=0)


MOST_SAMPLES = 10_000_000


@dataclass(frozen=True, eq=False)
class Samples:
    """Times and curves of a motion: `samples["q elbow"]` is an array, one value per time.

    columns : name -> (K,), "t" first, then "q JOINT", "v JOINT", "a JOINT", "tau JOINT", then every
        additional curve, then "quaternion LINK x", y, z, w of links that a rotation vector turns; of a system
        x' = f(x, u) its states and controls by their own names; of phases "phase" behind "t"
    units : name -> unit; "" where none is known
    """

    columns: Mapping[str, Array]
    units: Mapping[str, str]

    @property
    def t(self) -> Array:
        """Times in seconds, (K,)."""
        return self.columns["t"]

    def __getitem__(self, name: str) -> Array:
        check_known("column", name, self.columns)
        return self.columns[name]

    def __len__(self) -> int:
        return self.t.size

    def __repr__(self) -> str:
        last = float(self.t[-1])
        return f"Samples: {len(self)} rows from 0 to {last:g} s; columns {list_names(self.columns)}"

    def csv(self) -> str:
        """Comma-separated values: a line of names with units in brackets, then a line per time."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = (f"{name} [{self.units[name]}]" if self.units[name] else name for name in self.columns)
        writer.writerow(map(printable_name, names))
        rows = np.column_stack(list(self.columns.values())).tolist()  # Python's floats print all their digits
        writer.writerows(rows)
        return text.getvalue()

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `csv()`; the file appears whole or not at all."""
        check_ending(Path(path), ".csv", "a table")
        write_text(path, self.csv())

    def to_dataframe(self) -> Any:
        """A `pandas.DataFrame` with the same columns; `frame.attrs["units"]` has the units.

        Raises OptionError where pandas is not installed.
        """
        try:
            pandas: Any = import_module("pandas")
        except ImportError as error:
            raise OptionError(
                "a data frame needs pandas, which is not installed: pip install 'trajopt-splines[pandas]', "
                "or write a file, solution.to_csv(path)"
            ) from error
        frame = pandas.DataFrame(dict(self.columns))
        frame.attrs["units"] = dict(self.units)
        return frame


def samples_of(answer: Answer, rate: float) -> Samples:
    """The motion at 0, 1/rate, 2/rate, ... and at its end, whatever is left of the last step.

    Every phase is sampled so from its own start; "t" goes on from phase to phase, the column "phase" has the
    phase's number, and what a phase does not have is NaN in it. Where phases meet there are two rows.

    Torques, additional curves and units need the problem: of a solution read from a file without it there
    are q, v and a alone. Raises OptionError for a rate that is no positive number, or too high a one.
    """
    check_positive("rate", rate)
    if answer.duration * rate > MOST_SAMPLES:
        raise OptionError(
            f"rate is {rate:g} Hz, which makes more than {MOST_SAMPLES:.0e} samples of "
            f"{answer.duration:.3g} s: give a lower one"
        )
    named = answer.named_parts
    tables = [_samples_of_one(part, rate) for _, part in named]
    if len(named) == 1 and not named[0][0]:
        return tables[0]
    joined = _joined([name for name, _ in named], tables)
    columns = dict(joined.columns)
    links = [_quaternion_columns(part) for _, part in named]
    for names in dict(item for link in links for item in link.items()).values():
        each = np.stack([columns[name] for name in names], axis=1)
        columns |= zip(names, _of_one_sign(each).T, strict=True)
    return Samples(columns, joined.units)


def _samples_of_one(solution: Solution, rate: float) -> Samples:
    t = times_at_rate(solution.duration, rate)
    columns, units = {"t": t}, {"t": "s"}
    problem = problem_of(solution)
    is_system = problem is not None and isinstance(problem.dynamics, System)
    quantities = SPLINE_LEAVES[:-1] if problem is None else tuple(kinds_of(problem))
    for quantity, curves in curves_of(solution, quantities, t).items():
        prefix = "" if is_system or quantity.startswith(EXTRA) else f"{quantity} "
        for curve in curves:
            columns[f"{prefix}{curve.name}"], units[f"{prefix}{curve.name}"] = curve.values, curve.unit
    for link, named in _quaternion_columns(solution).items():
        columns |= zip(named, quaternions(solution.rotation(link)(t)).T, strict=True)
        units |= dict.fromkeys(named, "")
    return Samples(columns, units)


def _quaternion_columns(solution: Solution) -> dict[str, list[str]]:
    """Links that a rotation vector turns, and the columns of their quaternions."""
    problem = problem_of(solution)
    links = [joint.link for joint in getattr(problem and problem.dynamics, "rotation_joints", ())]
    return {link: [f"quaternion {link} {axis}" for axis in "xyzw"] for link in links}


def quaternions(rotations: Array) -> Array:
    """Unit quaternions x, y, z, w (K, 4) of rotation matrices over time, without changes of sign."""
    return _of_one_sign(Rotation.from_matrix(rotations).as_quat())


def _of_one_sign(each: Array) -> Array:
    """Quaternions over time (K, 4) without changes of sign; Q and -Q are one rotation."""
    turned = np.sum(each[1:] * each[:-1], axis=1) < 0.0
    return each * np.cumprod(np.append(1.0, np.where(turned, -1.0, 1.0)))[:, None]


def _joined(names: Sequence[str], tables: Sequence[Samples]) -> Samples:
    """The tables of phases below each other; a column with other units than before begins with its phase."""
    start, units = 0.0, {"t": "s", "phase": ""}
    parts = []
    for number, (name, table) in enumerate(zip(names, tables, strict=True)):
        own = {"t": table.t + start, "phase": np.full(len(table), float(number))}
        for column, values in list(table.columns.items())[1:]:
            unit = table.units[column]
            new = column if units.setdefault(column, unit) == unit else f"{name}: {column}"
            own[new], units[new] = values, unit
        parts.append(own)
        start += table.t[-1]
    columns = dict.fromkeys(column for own in parts for column in own)
    missing = [np.full(len(table), np.nan) for table in tables]
    joined = {
        column: np.concatenate([own.get(column, none) for own, none in zip(parts, missing, strict=True)])
        for column in columns
    }
    return Samples(joined, {column: units[column] for column in columns})


def times_at_rate(duration: float, rate: float) -> Array:
    """0, 1/rate, ... below the duration, and the duration itself."""
    whole = int(np.ceil(duration * rate * (1.0 - AGREEMENT)))  # the end is then a sample of the rate
    return np.append(np.arange(whole) / rate, duration)
