"""Reads a saved solution: every array in the kind and shape that its header tells, all numbers finite.

What a file tells more than once must agree: a difference is kept as `Solution.altered`, and the report of
`verify` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.archive.solution_header import ADDED_NODES, SolutionHeader
from trajopt.base.errors import OptionError, ShapeError
from trajopt.base.files.array_file import ArrayFile
from trajopt.base.rounding import AGREEMENT
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.solution.records import histories_of
from trajopt.solvers.optimality.kkt import KKT
from trajopt.solvers.solver import Status, WarmStart
from trajopt.splines.basis import SplineBasis
from trajopt.splines.curve import Curve, CurveGroup
from trajopt.splines.trajectory import MOST_NODES_PER_SPAN
from trajopt.transcription.nlp import Scaling

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

SAMPLES = {"q": 0, "v": 1, "a": 2}  # array of samples -> order of the derivative
MOST_NODES = MOST_NODES_PER_SPAN + 2  # of a span: a Gauss rule has its ends besides
TINY = float(np.finfo(float).tiny)


def solution_of(file: ArrayFile, header: SolutionHeader, problem: Any) -> SolutionData:
    """The solution of an open file, without its certificate."""
    from trajopt.solution.solution import SolutionData

    curve, recipe = _curve(file, header), header.recipe
    added: dict[str, Any] = {name: _added_nodes(file, header, name) for name in ADDED_NODES}
    same = ("objective", "cost_terms", "iterations", "seconds", "n_variables", "n_constraints", "name")
    same += ("timings", "detail", "joint_names", "levels", "starts", "refinement", "run")
    return SolutionData(
        **{key: getattr(header, key) for key in same},
        curve=curve,
        parameters={
            name: file.numbers(f"parameter_{i}", (None,)) for i, name in enumerate(header.parameters)
        },
        status=status_of(file, header.status),
        kkt=_kkt(file, header),
        multipliers={
            name: file.numbers(f"multipliers_{i}", (None, None), finite=False)
            for i, name in enumerate(header.multipliers)
        },
        node_times=_node_times(file, curve, sum(len(arc) for arcs in added.values() for arc in arcs)),
        recipe=None if recipe is None else Recipe(recipe.problem, recipe.parameters),
        history=file.numbers("history", (None, 3), finite=False),
        solves=histories_of(file),
        known_problem=problem,
        **added,
        point=warm_start_of(file) if header.has_point else None,
        scaling=scaling_of(file),
        altered=tuple(_altered_samples(file, curve, len(header.joint_names))),
    )


def _curve(file: ArrayFile, header: SolutionHeader) -> Curve:
    arcs = len(header.degrees)
    if not arcs or not header.joint_names:
        file.refuse(f"{arcs} arcs of {len(header.joint_names)} joints")
    parts = [_arc(file, index, degree) for index, degree in enumerate(header.degrees)]
    widths = {points.shape[1] for _, points in parts}
    if len(widths) > 1 or min(widths) < len(header.joint_names):
        file.refuse(f"control points of {sorted(widths)} curves for {len(header.joint_names)} joints")
    durations = file.numbers("durations", (arcs,))
    if not np.all(durations > 0.0):
        file.refuse(f"durations are {durations}, expected positive seconds")
    apart = tuple(_apart(file, g, degrees, arcs) for g, degrees in enumerate(header.apart_degrees))
    bases, points = zip(*parts, strict=True)
    return Curve(bases, points, durations, apart)


def _apart(file: ArrayFile, group: int, degrees: Sequence[int], arcs: int) -> CurveGroup:
    """Curves with a basis of their own, on the breakpoints of the arcs."""
    if len(degrees) != arcs:
        file.refuse(f"{len(degrees)} degrees of a control for {arcs} arcs")
    parts = [_arc(file, index, degree, f"apart_{group}_") for index, degree in enumerate(degrees)]
    if len({points.shape[1] for _, points in parts}) > 1:
        file.refuse(f"the curves of group {group} differ in number from arc to arc")
    bases, points = zip(*parts, strict=True)
    return CurveGroup(bases, points)


def _arc(
    file: ArrayFile, index: int, degree: int, prefix: str = ""
) -> tuple[SplineBasis, NDArray[np.float64]]:
    """Basis and control points of an arc; a degree that the control points cannot have is never built."""
    points = file.numbers(f"{prefix}control_points_{index}", (None, None))
    breakpoints = file.numbers(f"breakpoints_{index}", (None,))
    multiplicities = file.whole_numbers(f"{prefix}multiplicities_{index}", (None,))
    if not 0 <= degree < len(points):
        file.refuse(f"degree {degree} with {len(points)} control points")
    try:
        basis = SplineBasis.of_any_degree(breakpoints, degree, multiplicities)
    except (OptionError, ShapeError) as error:
        file.refuse(f"arc {index}: {error}", error)
    if len(points) != basis.count:
        file.refuse(f"{prefix}control_points_{index} has {len(points)} rows, its knots tell {basis.count}")
    return basis, points


def status_of(file: ArrayFile, name: str) -> Status:
    """The status of this name; refuses the file where there is none."""
    if name not in Status.__members__:
        file.refuse(f"status '{name}' is none of {', '.join(Status.__members__)}")
    return Status[name]


def _kkt(file: ArrayFile, header: SolutionHeader) -> KKT:
    if header.kkt.dual_scale <= 0.0 or header.kkt.complementarity_scale <= 0.0:
        file.refuse("kkt: scales of residuals that are not positive")
    return header.kkt


def _node_times(file: ArrayFile, curve: Curve, added: int) -> NDArray[np.float64]:
    times = file.numbers("node_times", (None,))
    slack = AGREEMENT * curve.duration
    if (
        not times.size
        or times[0] < -slack
        or times[-1] > curve.duration + slack
        or np.any(np.diff(times) < 0)
    ):
        file.refuse(f"node_times do not rise within [0, {curve.duration:.6g}] s")
    spans = sum(basis.span_count for basis in curve.bases)
    if times.size > MOST_NODES * spans + added:
        file.refuse(f"{times.size} node_times in {spans} spans, to which {added} were added")
    return times


def _added_nodes(file: ArrayFile, header: SolutionHeader, name: str) -> tuple[tuple[float, ...], ...]:
    arrays = getattr(header, name)
    if arrays not in (0, len(header.degrees)):
        file.refuse(f"{arrays} arrays of added nodes for {len(header.degrees)} arcs")
    added = [file.numbers(f"{name}_{i}", (None,)) for i in range(arrays)]
    if any(np.any((points < 0.0) | (points > 1.0)) for points in added):
        file.refuse("added nodes outside of normalised time, 0 to 1")
    return tuple(tuple(points.tolist()) for points in added)


def warm_start_of(file: ArrayFile) -> WarmStart:
    """The solver's own unknowns and multipliers."""
    y = file.numbers("point_y", (None,))
    lengths = {"row_multipliers": None, "lower_multipliers": y.size, "upper_multipliers": y.size}
    others = (file.numbers(f"point_{name}", (n,), finite=False) for name, n in lengths.items())
    return WarmStart(y, *others)


def scaling_of(file: ArrayFile) -> Scaling | None:
    """Positive factors; None in files of former versions."""
    if "scaling_rows" not in file:
        return None
    rows, objective = file.numbers("scaling_rows", (None,)), file.numbers("scaling_objective", (1,))
    if not (np.all(rows > 0.0) and objective[0] > 0.0):
        file.refuse("factors of rows or of the objective that are not positive")
    return Scaling(rows, float(objective[0]))


def _near(times: NDArray, places: NDArray, slack: float) -> NDArray[np.bool_]:
    """Which times lie within `slack` of one of the places, which rise."""
    return np.searchsorted(places, times + slack, "right") > np.searchsorted(places, times - slack, "left")


def _altered_samples(file: ArrayFile, curve: Curve, joints: int) -> Iterator[str]:
    """Samples for readers that know no splines, where they are not those of the control points."""
    if not all(name in file for name in ("t", *SAMPLES)):
        return
    times = file.numbers("t", (None,))
    slack = AGREEMENT * curve.duration
    if times.size and not (times.min() >= -slack and times.max() <= curve.duration + slack):
        span = f"from {times.min():.9g} to {times.max():.9g} s"
        yield f"its samples are {span}, its duration is {curve.duration:.9g} s"
        return
    at_knot, inside = _near(times, curve.knot_times[1:-1], slack), np.clip(times, 0.0, curve.duration)
    motion = Curve(curve.bases, tuple(points[:, :joints] for points in curve.control_points), curve.durations)
    for name, order in SAMPLES.items():
        claimed = file.numbers(name, (times.size, joints))
        found = motion(inside, order)
        miss = np.abs(claimed - found)[~at_knot]  # where it jumps, both sides are right
        if miss.max(initial=0.0) > AGREEMENT * max(np.abs(found).max(initial=0.0), TINY):
            yield f"its samples of {name} differ from its control points by up to {miss.max():.3g}"
