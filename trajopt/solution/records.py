"""Records of how an answer came about: its run, the iterations and meshes of its solves, its refinement.

The same command with the same versions on the same processor gives the same control points, bit for bit, as
long as no limit of wall-clock time ends a solve: those stand in `solver` and `arguments` of the run.

The tolerances that a run was asked for stand in its record, beside those that a certificate has.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import pluralize
from trajopt.base.files import ArrayFile
from trajopt.base.tolerances import SAME_OPTIMUM
from trajopt.base.version import __version__
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.solvers.kkt import KKT
from trajopt.solvers.solver import Program, Result

if TYPE_CHECKING:
    from trajopt.solution.solution import Answer

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "casadi", "cyipopt-wheels")
BLAS_SETTINGS = ("OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "OMP_NUM_THREADS")
COLUMNS = ("solve", "iteration", "objective", "violation")  # of the table of solves that a file holds
HEADER = f"{'spans':>6} {'objective':>16} {'iter.':>6} {'seconds':>9}  outcome"
LEVELS, STARTS, RETRIES, OTHER_SOLVERS = "levels", "starts", "retries", "other solvers"
OF_STARTS = (LEVELS, STARTS, RETRIES, OTHER_SOLVERS)  # policies whose solves are those of starts
NO_STRUCTURE = "switching structures are searched for in single problems"


@dataclass(frozen=True)
class RunRecord:
    """The part of every saved solution that its `id`, in all files of the run, belongs to.

    id : 32 hexadecimal digits, new for every call of `solve`
    started : UTC, by the clock of the machine
    solver, arguments : as Python would write them, limits of time in seconds among them
    seed : of everything random: perturbed starts, sampled derivative checks
    """

    id: str
    started: str
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    solver: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0

    @staticmethod
    def of(solver: object, arguments: Mapping[str, object]) -> RunRecord:
        """The record of a run that begins now."""
        return RunRecord(
            id=uuid.uuid4().hex,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=dict(installed_versions()),
            machine=dict(_machine()),
            solver=repr(solver),
            arguments={name: _written(value) for name, value in arguments.items()},
        )


def _written(value: object) -> str:
    """A value as Python would write it; short arrays with all digits of their numbers."""
    if isinstance(value, np.ndarray) and value.size <= 100:  # longer arrays are shortened
        return f"array({value.tolist()!r})"
    return repr(value)


@cache
def installed_versions() -> dict[str, str]:
    """Versions of trajopt, Python and the packages; reading them takes 2 ms, so once per process."""
    packages = {name: _version(name) for name in PACKAGES}
    return {"trajopt": __version__, "python": platform.python_version(), **packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _machine() -> dict[str, str]:
    """Read once per process, as BLAS reads its settings."""
    settings = {name: os.environ[name] for name in BLAS_SETTINGS if name in os.environ}
    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "system": f"{sys.platform} {platform.release()}",
        "cores": str(os.cpu_count()),
        **settings,
    }


@cache
def _processor() -> str:
    """The model of the processor, where it is known: kernels and BLAS choose their instructions by it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


@dataclass(frozen=True, eq=False)
class SolveHistory:
    """Iterations of one solve, (k, 3): number, objective of the problem, largest scaled violation."""

    iterations: NDArray[np.float64]

    @staticmethod
    def of(program: Program, result: Result) -> SolveHistory:
        """The iterations of a result, empty where the solver does not record them."""
        number, objective, violation = result.history.T
        unscaled = objective / getattr(program, "objective_scale", 1.0)
        return SolveHistory(np.column_stack([number, unscaled, violation]))


def table_of(histories: Sequence[SolveHistory]) -> NDArray[np.float64]:
    """All iterations as one array, (k, 4), with the `COLUMNS`."""
    numbered = [
        np.column_stack([np.full(len(history.iterations), number), history.iterations])
        for number, history in enumerate(histories)
    ]
    return np.concatenate(numbered) if numbered else np.empty((0, len(COLUMNS)))


def histories_of(file: ArrayFile) -> tuple[SolveHistory, ...]:
    """The table of the solves before, as a file contains it; empty in files of former versions."""
    if "solves" not in file:
        return ()
    table = file.numbers("solves", (None, len(COLUMNS)), finite=False)
    if not np.all(np.diff(table[:, 0], prepend=0.0) >= 0.0):
        file.refuse("the numbers of solves do not rise")
    borders = np.flatnonzero(np.diff(table[:, 0])) + 1
    return tuple(SolveHistory(part[:, 1:]) for part in np.split(table, borders) if len(part))


@dataclass(frozen=True)
class MeshSolve:
    """One solve on one mesh, a row of `solution.journal`.

    spans : knot spans over all arcs, 0 where there is no answer
    status : how it ended, or the message of what it raised
    policy : what asked for it, "levels", "starts" or "limit nodes" for instance
    number : of the start that it belongs to; 0 is the problem's own guess
    final_mesh : whether it solved the problem on the user's own mesh, before refinements
    same_as : number of the earlier start that found the same optimum, None where none did
    """

    spans: int
    status: str
    converged: bool
    objective: float
    iterations: int
    seconds: float
    policy: str = ""
    number: int = 0
    final_mesh: bool = False
    same_as: int | None = None

    @staticmethod
    def of(answer: Answer) -> MeshSolve:
        """The line of an answer."""
        spans = sum(basis.span_count for part in answer.parts for basis in part.curve.bases)
        figures = float(answer.objective), int(answer.iterations), float(answer.seconds)
        return MeshSolve(spans, str(answer.status.value), answer.converged, *figures)

    def __str__(self) -> str:
        figures = f"{self.spans:>6} {self.objective:>16.9g} {self.iterations:>6} {self.seconds:>9.3f}"
        return f"{figures}  {self.status}"


@dataclass(frozen=True)
class StartSolves:
    """One start: its solves from the coarsest mesh to the finest that it was carried to.

    number : 0 is the problem's own guess; every other one was searched for, or perturbs that guess or the
        best optimum of those before, seeded by its number; the last may stand for that guess without its
        duration, and for other solvers
    same_as : number of the earlier start that found the same optimum on the same mesh, None where none did
    finished : whether it was carried to the problem's own mesh
    """

    number: int
    solves: tuple[MeshSolve, ...]
    same_as: int | None = None
    finished: bool = False

    def __str__(self) -> str:
        note = f", as start {self.same_as}" if self.same_as is not None else ""
        return f"{self.number:>5} {self.solves[-1]}{note}"


@dataclass(frozen=True, repr=False)
class StartTable:
    """All starts of an answer; what is known of it: a local optimum, the best of so many starts.

    chosen : number of the start whose solution was returned, the best once its limits hold between nodes
    """

    starts: tuple[StartSolves, ...]
    chosen: int

    @property
    def converged_count(self) -> int:
        """Number of starts that converged on the last mesh that they were solved on."""
        return sum(start.solves[-1].converged for start in self.starts)

    @property
    def known(self) -> str:
        """The knowledge of the answer, in a sentence."""
        finished = [start for start in self.starts if start.finished]
        different = sum(start.same_as is None for start in finished)
        optima = "optimum" if different == 1 else "optima"
        if self.converged_count == 0:
            return f"none of {len(self.starts)} starts converged"
        own = self.starts[0].solves[-1]
        last = {start.number: start.solves[-1] for start in finished}
        value = last[self.chosen].objective if self.chosen in last else float("nan")
        below = value - SAME_OPTIMUM * abs(value)
        lower = [number for number, each in last.items() if each.converged and each.objective < below]
        ranked = f"; start {lower[0]} was lower before its limits held between nodes" if lower else ""
        failed = "" if own.converged else f"; the problem's own guess did not ({own.status})"
        return (
            f"a local optimum, the best of {len(self.starts)} starts: {self.converged_count} converged, "
            f"{len(finished)} were carried to the final mesh and ended in {different} different {optima}"
            f"{ranked}{failed}"
        )

    def __str__(self) -> str:
        return "\n".join([f"{'start':>5} {HEADER}", *map(str, self.starts), self.known])

    __repr__ = __str__


@dataclass(frozen=True)
class RefinementRound:
    """One mesh of a refinement.

    spans : how many there are, over all arcs
    equation_error : largest residual of a path equation between nodes, relative to its scale
    optimality_error : what finer knots could gain, relative to the objective
    kept : whether this answer replaced the one before
    note : why it did not
    """

    spans: int
    objective: float
    equation_error: float
    optimality_error: float
    kept: bool = True
    note: str = ""

    @property
    def error(self) -> float:
        """The larger one of the two relative errors."""
        return max(self.equation_error, self.optimality_error)


@dataclass(frozen=True)
class RefinementRecord:
    """The rounds of a refinement; `print` gives the table.

    tolerance : relative error at which it ends
    rounds : the mesh it began with, then every further one in turn
    reason : why it ended
    """

    tolerance: float
    rounds: tuple[RefinementRound, ...]
    reason: str

    @property
    def before(self) -> RefinementRound:
        """The answer that was refined."""
        return self.rounds[0]

    @property
    def after(self) -> RefinementRound:
        """The answer that was returned."""
        return next(each for each in reversed(self.rounds) if each.kept)

    @property
    def reached(self) -> bool:
        """True if both estimated errors of the answer are below the tolerance."""
        return self.after.error <= self.tolerance

    def summary(self) -> dict[str, object]:
        """The numbers that files hold."""
        return asdict(self)

    def verdict(self) -> str:
        """One line: whether the tolerance was reached, the errors before and after, why it ended."""
        outcome = "reached" if self.reached else "NOT REACHED"
        rounds = pluralize(len(self.rounds) - 1, "round")
        return (
            f"refinement: tolerance {self.tolerance:.1e} {outcome}, {rounds}, "
            f"{self.before.spans} to {self.after.spans} spans, "
            f"largest relative error {self.before.error:.1e} to {self.after.error:.1e}; {self.reason}"
        )

    def __str__(self) -> str:
        lines = [self.verdict(), "", f"{'spans':>6}{'objective':>18}{'equations':>12}{'optimality':>12}"]
        for each in self.rounds:
            errors = f"{each.equation_error:>12.1e}{each.optimality_error:>12.1e}"
            note = "" if each.kept else f"  not kept: {each.note}"
            lines.append(f"{each.spans:>6}{each.objective:>18.10g}{errors}{note}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class JournalTable:
    """All solves that led to a solution, in their order; prints, and `trajopt.plot.journal` draws it.

    chosen : number of the start whose solution was returned
    several : whether several starts were asked for
    refinement : estimated errors of the rounds in which spans were halved, if any were
    histories : iterations of every solve of which they are known
    """

    rows: tuple[MeshSolve, ...] = ()
    chosen: int = 0
    several: bool = False
    refinement: RefinementRecord | None = None
    histories: tuple[SolveHistory, ...] = field(default=(), compare=False)

    @property
    def levels(self) -> tuple[MeshSolve, ...]:
        """The solves that led to the answer, from the coarsest mesh to the user's own, before refinements."""
        others = [row for row in self.rows if row.policy == OTHER_SOLVERS]
        number = 0 if others else self.chosen
        final = [row.policy for row in self.rows if row.final_mesh and row.number == number]
        way = (final[-1] if final else "", number)
        return (*(row for row in self.rows if (row.policy, row.number) == way and row.spans), *others)

    @property
    def starts(self) -> StartTable | None:
        """The table of all starts, where several were asked for; other solvers are one more."""
        solves: dict[int, list[MeshSolve]] = {}
        for row in self.rows:
            if row.policy in OF_STARTS:
                solves.setdefault(row.number, []).append(row)
        each = []
        for number, rows in sorted(solves.items()):
            answered = tuple(row for row in rows if row.spans) or tuple(rows[-1:])
            finished = any(row.final_mesh for row in answered)
            each.append(StartSolves(number, answered, rows[-1].same_as, finished))
        return StartTable(tuple(each), self.chosen) if self.several and each else None

    def __str__(self) -> str:
        width = max((len(row.policy) for row in self.rows), default=0)
        lines = [f"{'start':>5} {'':{width}} {HEADER}"]
        lines += [f"{row.number:>5} {row.policy:{width}} {row}" for row in self.rows]
        starts = self.starts
        lines += [] if starts is None else [starts.known]
        return "\n".join([*lines, *([] if self.refinement is None else [str(self.refinement)])])

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SolveRecord:
    """Fields that a solution has and its file holds as they are, of one motion or of phases.

    Those with a default were added after the first version of the format.

    recipe : the name of the problem in the library, and the values of its parameters
    iterations, seconds : of all solves that led here; with the checks of a certification
    run : versions, processor, solver and options of the call that found it; its id stands in all its files
    warning : which limit is exceeded between nodes where a refinement could not mend it, or which link turns
        further than its rotation vector holds; else empty
    """

    name: str
    recipe: Recipe | None
    detail: str
    kkt: KKT
    iterations: int
    seconds: float
    n_variables: int
    n_constraints: int
    timings: Mapping[str, float]
    run: RunRecord | None = None
    warning: str = ""


@dataclass(frozen=True)
class Certification:
    """The settings by which phases were certified; all else follows from their motions.

    tolerance : largest violation of a limit with which the certificate holds, in the limit's own unit
    equation_tolerance : of equations over an interval of time, relative to their scale; None: `tolerance`
    rounds : number of times that nodes were added
    reason : why there is no switching structure, and why no further nodes were added
    failed : the error with which the certification ended, or nothing; with one the certificate does not hold
    """

    tolerance: float
    equation_tolerance: float | None
    rounds: int
    reason: str = NO_STRUCTURE
    failed: str = ""


ASKED = {  # tolerances of a certificate as the arguments of a run have them
    "tolerance": re.compile(r"Certified\(tol=([^,)]+)"),
    "equation_tolerance": re.compile(r"Certified\(.*equation_tol=([^,)]+)"),
}


def looser_tolerances(certified: Any, run: RunRecord | None) -> Iterator[str]:
    """Tolerances of a certificate that are larger than those that its run was asked for, in words."""
    written = "" if run is None else run.arguments.get("refine", "")
    for name, pattern in ASKED.items():
        asked, given = pattern.search(written), getattr(certified, name)
        if asked and given is not None and not given <= _number(asked[1], certified.tolerance):
            yield f"certificate: its {name} is {given:g}, its run asked for {asked[1]}"


def _number(written: str, default: float) -> float:
    """A number as Python writes it; a default for None, NaN for what is no number."""
    try:
        return default if written == "None" else float(written)
    except ValueError:
        return np.nan
