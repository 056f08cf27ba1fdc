"""Reads a saved solution: every array of the kind and shape that its header names, all numbers finite.

What a file holds more than once must agree: a difference is kept as `Solution.altered`, and the report of
`verify` names it.

The header is JSON: names of its keys, and the kind of value that each must hold.

Keys without a default stood in the first version of the format; those with one were added since. A key that
is also an attribute of the solution holds the same value.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajopt.base.errors import OptionError, ShapeError, SolutionFileError, warn_user
from trajopt.base.files import ArrayFile
from trajopt.base.tolerances import AGREEMENT, NOT_ZERO
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.problem import Problem
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import Certification, JournalTable, SolveRecord, histories_of
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.solver import Status, WarmStart
from trajopt.splines.basis import Curve, CurveGroup, SplineBasis
from trajopt.splines.trajectory import MOST_NODES_PER_SPAN
from trajopt.transcription.nlp import Scaling

VERSION = 2  # up to 1 certificates held violations, which are computed from the motion now
ADDED_NODES = ("extra_points", "limit_points")  # each an array of normalised times for every arc

Record: TypeAlias = Mapping[str, Any]  # values of JSON
HeaderT = TypeVar("HeaderT", bound="SavedSolve")


@dataclass(frozen=True)
class FileKind:
    """The kind of a file and the version of its format, which a reader looks at first."""

    format: str
    version: int


@dataclass(frozen=True, kw_only=True)
class SavedSolve(SolveRecord):
    """The fields of a solve that files hold, of one motion or of phases.

    multipliers : names of what has multipliers, in the order of their arrays
    has_point : whether the solver's own unknowns are there
    journal : without histories, which are an array
    """

    FORMAT: ClassVar[str]

    multipliers: tuple[str, ...]
    status: str
    has_point: bool
    journal: JournalTable = dataclasses.field(default_factory=JournalTable)

    @classmethod
    def of(cls: type[HeaderT], answer: Answer, **others: Any) -> HeaderT:
        """The header of an answer; others : values of the keys that are none of its attributes."""
        others |= {
            "recipe": _recorded_recipe(answer.recipe),
            "multipliers": tuple(answer.multipliers),
            "status": answer.status.name,
            "has_point": answer.point is not None,
            "journal": dataclasses.replace(answer.journal, histories=()),
        }
        names = (key.name for key in dataclasses.fields(cls))
        return cls(**{name: others[name] if name in others else getattr(answer, name) for name in names})

    def shared(self, *others: str) -> dict[str, Any]:
        """The attributes of the solution that stand in the header as they are, but for `others`."""
        names = {key.name for key in dataclasses.fields(self)}
        names -= {"multipliers", "status", "has_point", "journal", *others}
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class SolutionHeader(SavedSolve):
    """All of a solution but its arrays; `Solution` says what each means.

    degrees : of the spline, one per arc
    apart_degrees : of the curves with a basis of their own: one per arc for every group of them
    extra_points, limit_points : number of arrays of added nodes: one per arc, or none
    """

    FORMAT = "trajopt solution"

    degrees: tuple[int, ...]
    joint_names: tuple[str, ...]
    parameters: tuple[str, ...]
    objective: float
    cost_terms: dict[str, float]
    extra_points: int = 0
    limit_points: int = 0
    apart_degrees: tuple[tuple[int, ...], ...] = ()
    certificate: Record | None = None
    statement: Record | None = None


@dataclass(frozen=True, kw_only=True)
class PhasesHeader(SavedSolve):
    """All of a solution of phases but the phases and arrays; `PhasesSolution` says what each means."""

    FORMAT = "trajopt solution of phases"

    names: tuple[str, ...]
    certification: Certification | None = None


def check_savable(recipe: Recipe | None) -> None:
    """OptionError for a parameter that a file cannot hold: better known before a solve than after."""
    for name, value in ({} if recipe is None else recipe.parameters).items():
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            raise OptionError(
                f"parameter '{name}' of {recipe.problem if recipe else ''} is {value!r}, which a file cannot "
                "hold: use numbers, texts, and lists of them, and build the rest from those"
            ) from None


def _recorded_recipe(recipe: Recipe | None) -> Recipe | None:
    """A recipe as a header holds it, or None, with a warning, where a file cannot hold it."""
    try:
        check_savable(recipe)
    except OptionError as error:
        warn_user(f"saved without its recipe, to load it pass problem=...: {error}")
        return None
    return None if recipe is None else Recipe(recipe.problem, dict(recipe.parameters))


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
        "journal": dataclasses.replace(header.journal, histories=histories_of(file)),
        "point": _warm_start(file) if header.has_point else None,
        "scaling": _scaling(file),
    }


def solution_of(file: ArrayFile, header: SolutionHeader, problem: Problem | None) -> Solution:
    """The solution of an open file, without its certificate."""
    curve = _curve(file, header)
    added: dict[str, Any] = {name: _added_nodes(file, header, name) for name in ADDED_NODES}
    return Solution(
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


def phases_of(file: ArrayFile) -> PhasesSolution:
    """The solution of phases of an open file."""
    header = header_of(file, PhasesHeader)
    if not header.names:
        file.refuse("0 phases")
    parts = [file.part(phase_prefix(k)) for k in range(len(header.names))]
    phases = [solution_of(part, header_of(part, SolutionHeader), None) for part in parts]
    return PhasesSolution(**header.shared(), **solve_of(file, header, None), phases=tuple(phases))


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
    knots = curve.knot_times[1:-1]
    at_knot = np.searchsorted(knots, times + slack, "right") > np.searchsorted(knots, times - slack, "left")
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
