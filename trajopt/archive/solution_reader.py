"""Reads a saved solution: every array of the kind and shape that its header names, all numbers finite.

What a file holds more than once must agree: a difference is kept as `Solution.altered`, and the report of
`verify` names it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.archive.solution_header import (
    ADDED_NODES,
    VERSION,
    FileKind,
    HeaderT,
    PhasesHeader,
    SavedSolve,
    SolutionHeader,
)
from trajopt.base.errors import OptionError, ShapeError, SolutionFileError
from trajopt.base.files.array_file import ArrayFile
from trajopt.base.tolerances import AGREEMENT, NOT_ZERO
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records import FormerTables, histories_of
from trajopt.solution.solution import SolutionData
from trajopt.solvers.solver import Status, WarmStart
from trajopt.splines.basis import SplineBasis
from trajopt.splines.curve import Curve, CurveGroup
from trajopt.splines.trajectory import MOST_NODES_PER_SPAN
from trajopt.transcription.nlp import Scaling

POINT = ("y", "row_multipliers", "lower_multipliers", "upper_multipliers")
SAMPLES = {"q": 0, "v": 1, "a": 2}  # array of samples -> order of the derivative
MOST_NODES = MOST_NODES_PER_SPAN + 2  # of a span: a Gauss rule has its ends besides


def header_of(file: ArrayFile, kind: type[HeaderT]) -> HeaderT:
    """The header; SolutionFileError unless the file has its format, in this version or an earlier one."""
    found = file.record(FileKind)
    if found.format != kind.FORMAT:
        raise SolutionFileError(f"{file.path} is a '{found.format}', not a '{kind.FORMAT}'")
    if found.version < 1:
        file.refuse(f"version {found.version}, expected 1 to {VERSION}")
    if found.version > VERSION:
        raise SolutionFileError(
            f"{file.path} has version {found.version} but this one reads up to {VERSION}: upgrade trajopt"
        )
    return file.record(kind)


def solve_of(file: ArrayFile, header: SavedSolve, *shape: None) -> dict[str, Any]:
    """The attributes that solutions of one motion and of phases have in common, but for those of the header.

    shape : of the arrays of multipliers, None for any length
    """
    if header.kkt.dual_scale <= 0.0 or header.kkt.complementarity_scale <= 0.0:
        file.refuse("kkt: scales of residuals that are not positive")
    counts = header.iterations, header.n_variables, header.n_constraints
    if min(*counts, *dataclasses.astuple(header.kkt)) < 0.0 or not 0.0 <= header.seconds < np.inf:
        file.refuse("numbers of iterations, variables or constraints, seconds or residuals below zero")
    if header.status not in Status.__members__:
        file.refuse(f"status '{header.status}' is none of {', '.join(Status.__members__)}")
    return {
        "status": Status[header.status],
        "multipliers": {
            name: file.numbers(f"multipliers_{i}", shape, finite=False)
            for i, name in enumerate(header.multipliers)
        },
        "history": file.numbers("history", (None, 3), finite=False),
        "journal": dataclasses.replace(
            header.journal or file.record(FormerTables).journal, histories=histories_of(file)
        ),
        "point": _warm_start(file) if header.has_point else None,
        "scaling": _scaling(file),
    }


def solution_of(file: ArrayFile, header: SolutionHeader, problem: Any) -> SolutionData:
    """The solution of an open file, without its certificate."""
    curve = _curve(file, header)
    added: dict[str, Any] = {name: _added_nodes(file, header, name) for name in ADDED_NODES}
    return SolutionData(
        **header.shared("degrees", "apart_degrees", "certificate", "parameters", *ADDED_NODES),
        **solve_of(file, header, None, None),
        **added,
        parameters={
            name: file.numbers(f"parameter_{i}", (None,)) for i, name in enumerate(header.parameters)
        },
        curve=curve,
        node_times=_node_times(file, curve, sum(len(arc) for arcs in added.values() for arc in arcs)),
        known_problem=problem,
        altered=tuple(_altered_samples(file, curve, len(header.joint_names))),
    )


def phases_of(file: ArrayFile) -> PhasesSolutionData:
    """The solution of phases of an open file."""
    header = header_of(file, PhasesHeader)
    if not header.names:
        file.refuse("0 phases")
    parts = [file.part(phase_prefix(k)) for k in range(len(header.names))]
    phases = [solution_of(part, header_of(part, SolutionHeader), None) for part in parts]
    return PhasesSolutionData(**header.shared(), **solve_of(file, header, None), phases=tuple(phases))


def phase_prefix(k: int) -> str:
    """The beginning of the names of the arrays of phase k."""
    return f"phase_{k}_"


def group_prefix(group: int) -> str:
    """The beginning of the names of the arrays of a group of curves; the first group has the joints."""
    return f"apart_{group - 1}_" if group else ""


def _curve(file: ArrayFile, header: SolutionHeader) -> Curve:
    arcs = len(header.degrees)
    if not arcs or not header.joint_names:
        file.refuse(f"{arcs} arcs of {len(header.joint_names)} joints")
    degrees = (header.degrees, *header.apart_degrees)
    own, *apart = (_group(file, group_prefix(g), degree, arcs) for g, degree in enumerate(degrees))
    if own.n < len(header.joint_names):
        file.refuse(f"control points of {own.n} curves for {len(header.joint_names)} joints")
    durations = file.numbers("durations", (arcs,))
    if not np.all(durations > 0.0):
        file.refuse(f"durations are {durations}, expected positive seconds")
    return Curve(own.bases, own.control_points, durations, tuple(apart))


def _group(file: ArrayFile, prefix: str, degrees: Sequence[int], arcs: int) -> CurveGroup:
    """Curves with common bases, on the breakpoints of the arcs."""
    if len(degrees) != arcs:
        file.refuse(f"{len(degrees)} degrees of a control for {arcs} arcs")
    parts = [_arc(file, prefix, index, degree) for index, degree in enumerate(degrees)]
    if len({points.shape[1] for _, points in parts}) > 1:
        file.refuse(f"{prefix}control_points differ in number from arc to arc")
    return CurveGroup(*zip(*parts, strict=True))


def _arc(file: ArrayFile, prefix: str, index: int, degree: int) -> tuple[SplineBasis, NDArray[np.float64]]:
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
        file.refuse(f"{prefix}control_points_{index} has {len(points)} rows, its knots need {basis.count}")
    return basis, points


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


def _warm_start(file: ArrayFile) -> WarmStart:
    """The solver's own unknowns and multipliers."""
    y = file.numbers("point_y", (None,))
    each = zip(POINT[1:], (None, y.size, y.size), strict=True)
    return WarmStart(y, *(file.numbers(f"point_{name}", (n,), finite=False) for name, n in each))


def _scaling(file: ArrayFile) -> Scaling | None:
    """Positive factors; None in files of former versions."""
    if "scaling_rows" not in file:
        return None
    rows, objective = file.numbers("scaling_rows", (None,)), file.numbers("scaling_objective", (1,))
    if not (np.all(rows > 0.0) and objective[0] > 0.0):
        file.refuse("factors of rows or of the objective that are not positive")
    return Scaling(rows, float(objective[0]))


def _near(times: NDArray, places: NDArray, slack: float) -> NDArray[np.bool_]:
    """Mask of the times that lie within `slack` of one of the places, which rise."""
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
    inside = np.clip(times, 0.0, curve.duration)
    at_knot = _near(times, curve.knot_times[1:-1], slack)
    motion = Curve(curve.bases, tuple(points[:, :joints] for points in curve.control_points), curve.durations)
    for name, order in SAMPLES.items():
        claimed = file.numbers(name, (times.size, joints))
        found = motion(inside, order)
        miss, step = np.abs(claimed - found), 2.0 * slack
        for way in (-step, step):  # where it jumps, both sides are right, up to what a step aside changes
            side, further = (motion(inside[at_knot] + each, order) for each in (way, 2.0 * way))
            beside = np.maximum(np.abs(claimed[at_knot] - side) - 2.0 * np.abs(further - side), 0.0)
            miss[at_knot] = np.minimum(miss[at_knot], beside)
        if miss.max(initial=0.0) > AGREEMENT * max(np.abs(found).max(initial=0.0), NOT_ZERO):
            yield f"its samples of {name} differ from its control points by up to {miss.max():.3g}"
