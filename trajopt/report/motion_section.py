"""Section of a page about the motion: the robot, its curves with limits, and a table of limits."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.palette import PALETTE
from trajopt.base.rounding import AGREEMENT
from trajopt.graph.protocols.dynamics import SkeletonDynamics
from trajopt.plot.bounds import held_at_zero, joint_bounds, path_bounds, torque_bounds
from trajopt.plot.canvas import svg_of
from trajopt.plot.snapshots import motion, scene_of_motion
from trajopt.plot.style import SAMPLES
from trajopt.problem.systems.system import System
from trajopt.problem.units import units_of_quantity
from trajopt.report.chart import HEIGHT, Chart
from trajopt.report.turning_plot import turning_plot
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

SNAPSHOTS = 9
COLUMN = 580  # pixels of a chart
PIXELS = 96  # of an inch, in a browser


@dataclass(frozen=True, eq=False)
class ComponentCurve:
    """One component of a quantity over the motion: values (SAMPLES,), bounds, unit."""

    kind: str
    name: str
    values: NDArray
    unit: str
    lower: float
    upper: float


def picture(solution: SolutionData, script: bool) -> Iterator[str]:
    """The robot in snapshots, where its dynamics can draw it; with scripts a spatial motion can be turned."""
    if not isinstance(solution.as_built.dynamics, SkeletonDynamics):
        return
    scene = scene_of_motion(solution, SNAPSHOTS)
    if script and len(scene.planes) > 1:
        plot = escape(json.dumps(turning_plot(scene), separators=(",", ":")), quote=True)
        yield f'<div class="plot tall" data-plot="{plot}"></div>'
        return
    content, (width, height) = svg_of(motion(solution))
    data = b64encode(content).decode("ascii")
    rows = ceil(height / width * min(COLUMN, PIXELS * width) / HEIGHT)
    image = f'<img alt="the robot in snapshots" src="data:image/svg+xml;base64,{data}"/>'
    yield f'<figure style="grid-row: span {rows}">{image}</figure>'


def curves_of(solution: SolutionData) -> list[ComponentCurve]:
    """Positions, their rates, torques or states, and additional curves, with bounds and units.

    Torques that the problem holds at zero, of joints without motors, are left out.
    """
    problem, t = solution.problem, np.linspace(0.0, solution.duration, SAMPLES)
    is_system = isinstance(problem.dynamics, System)
    shown = {"states": "q"} if is_system else {"positions": "q", "velocities": "v", "accelerations": "a"}
    if not is_system and np.isfinite(joint_bounds(solution, 3)[1]).any():
        shown["jerks"] = "jerk"
    if problem.quantities.knows("tau"):
        shown["torques and forces"] = "tau"
    for name in problem.extras:
        if name not in problem.slacks:
            shown[f"{name}, an unknown curve"] = terms.extra(name).quantity
    return [curve for kind, quantity in shown.items() for curve in _components(solution, kind, quantity, t)]


def _components(solution: SolutionData, kind: str, quantity: str, t: NDArray) -> Iterator[ComponentCurve]:
    problem = solution.problem
    values = solution.value(terms.Quantity(quantity), t).T
    lower, upper = _bounds(solution, quantity, len(values))
    units = units_of_quantity(problem, quantity, len(values))
    names = problem.labels(quantity, len(values))
    left_out = held_at_zero(solution) if quantity == "tau" else np.zeros(len(values), dtype=bool)
    for i in np.flatnonzero(~left_out):
        yield ComponentCurve(kind, names[i], values[i], units[i], float(lower[i]), float(upper[i]))


def _bounds(solution: SolutionData, quantity: str, width: int) -> tuple[Any, Any]:
    """Limits of the robot and of the problem over the path, (width,) each."""
    problem = solution.problem
    if isinstance(problem.dynamics, System) or quantity not in ("q", "v", "a", "jerk", "tau"):
        return path_bounds(problem, quantity, width)
    if quantity == "tau":
        stated, own = path_bounds(problem, quantity, width), torque_bounds(solution)
        return np.maximum(stated[0], own[0]), np.minimum(stated[1], own[1])
    return joint_bounds(solution, ("q", "v", "a", "jerk").index(quantity))


def motion_charts(curves: Sequence[ComponentCurve], duration: float) -> Iterator[Chart]:
    """Charts of curves of one kind and unit, as many in each as there are colours; zeros left out."""
    t = np.linspace(0.0, duration, SAMPLES)
    for kind in dict.fromkeys(curve.kind for curve in curves):
        those = [curve for curve in curves if curve.kind == kind]
        largest = max(float(np.abs(curve.values).max(initial=0.0)) for curve in those)
        moving = [c for c in those if float(np.abs(c.values).max()) > AGREEMENT * largest] or those
        for unit in dict.fromkeys(curve.unit for curve in moving):
            yield from _grouped(t, [curve for curve in moving if curve.unit == unit], kind, unit)


def _grouped(t: NDArray, curves: Sequence[ComponentCurve], kind: str, unit: str) -> Iterator[Chart]:
    label, count = f"{kind} [{unit}]" if unit else kind, -(-len(curves) // len(PALETTE))
    for number in range(count):
        some = curves[number * len(PALETTE) : (number + 1) * len(PALETTE)]
        yield Chart(
            t,
            {curve.name: curve.values for curve in some},
            "t [s]",
            label if count == 1 else f"{label}, {number + 1} of {count}:",
            unit,
            limits={curve.name: (curve.lower, curve.upper) for curve in some},
        )


def limit_rows(curves: Iterable[ComponentCurve]) -> Iterator[tuple[str, ...]]:
    """Every curve that has a limit: its bounds, the least and the largest value, its unit."""
    for curve in curves:
        if np.isfinite(curve.lower) or np.isfinite(curve.upper):
            numbers = (curve.lower, curve.upper, float(curve.values.min()), float(curve.values.max()))
            texts = (f"{number:.5g}" if np.isfinite(number) else "none" for number in numbers)
            yield curve.kind, curve.name, *texts, curve.unit
