"""Several starts in one process: guesses on a coarse mesh, the best optima carried to finer and finer ones.

Start 0 is the problem's own guess, solved as without further starts, so that several are never worse than
one. Every other one is a guess that was searched for (`guess_search`), or perturbs the best optimum that
earlier starts found or, narrowly or widely, the problem's guess, seeded by its number; a guess of the user's
own, and what was found from it, are perturbed the least. They are solved on the coarsest mesh; half as many
different optima are carried to the next finer mesh, half of those to the one after it, and so on. Where the
problem's own mesh is the only one, more than two further starts are ranked on it, if the solver can, and the
best of them solved. The lowest objective of a converged solve on the problem's own mesh wins. Where none
converged there, further guesses are solved on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.errors import TrajoptError
from trajopt.problem.problem import ProblemData
from trajopt.refinement.mesh_levels import mesh_levels, on_coarse, solve_of, solved_on_mesh, summed
from trajopt.refinement.starts.guess_search import Guess, searched_guesses
from trajopt.refinement.starts.perturbed_guess import perturbed_guess
from trajopt.refinement.starts.start_rules import searching
from trajopt.solution.solution import SolutionData
from trajopt.solution.solve_table import MeshSolve, StartSolves, StartTable
from trajopt.solvers.run import TimedSolver, without_checkpoints
from trajopt.solvers.solver import StartKind, Status
from trajopt.splines.curve import Curve
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.transcribe import transcribe

FEWEST_SPANS = 7  # of the mesh that starts are solved on, in the arc with the most
SEARCH_SPANS = 20  # of that mesh where guesses are searched for, if the problem's own has twice as many
MOST_ITERATIONS = 200  # of a start on the coarse mesh
RANKED = 2  # further starts, at most, that are solved to the end where all are on one mesh; more are ranked
WITHIN = 0.1  # relative distance to the best one on a mesh beyond which none is carried on
EQUAL = 1e-6  # relative difference of objectives of one and the same optimum
AGREED = 3  # starts, at least, that must have found the lowest optimum before the others are left out
CONFIRMED = 2  # as many, where the problem's own guess leads nowhere
RETRIES = 8  # further starts, at most, where the problem's own guess leads nowhere
RETRIED = 1000  # joints times nodes up to which that is the default: a start takes seconds, not a minute
MISSED = frozenset(
    {
        Status.INFEASIBLE,
        Status.INCOMPATIBLE,
        Status.DIVERGING,
        Status.RESTORATION_FAILED,
        Status.STEP_TOO_SMALL,
        Status.STEP_FAILED,
        Status.EVALUATION_ERROR,
    }
)  # ends of a solve that another guess may do better than; limits of time and iterations are the user's
# What start 1, 2, ... is, in turn: found by the search for guesses, or a perturbation of the best optimum of
# the starts before. Where nothing is searched, or not so many are found, the problem's guess is perturbed,
# narrowly and widely in turn.
TURNS = ("search", "best", "search", "best", "search", "search", "best")
# Sizes of perturbations, as a part of each joint's travel, and those of a guess that is the user's own: of
# nine walks that begin 0.3 or 1.0 beside a measured one, four are found, of those 0.1 beside it seven.
NEAR, WIDE, GUESSED = 0.3, 1.0, 0.1


def worth_retrying(solution: SolutionData, timed: TimedSolver) -> bool:
    """Whether other guesses are tried: the solve found no solution by itself, and a solve is a short one."""
    resumed = without_checkpoints(timed.solver) is not timed.solver
    size = solution.problem.dynamics.n * solution.node_times.size
    return solution.status in MISSED and size <= RETRIED and not resumed and not timed.run.expired


def retried(problem: ProblemData, timed: TimedSolver, failed: SolutionData) -> SolutionData:
    """The best solution from further guesses, until two agree, or what the guesses before led to.

    `failed` is start 0 of the table. The others are solved on the problem's own mesh: where a motion is hard
    to find, coarse ones have none. What the starts of `failed` found on coarse meshes stays in the table.
    """
    own = (problem.trajectory,)
    found = best_of_starts(problem, timed, failed, 1 + RETRIES, CONFIRMED, levels=own)
    return found if failed.starts is None else _with_earlier(found, failed.starts.starts[1:])


def _with_earlier(found: SolutionData, earlier: Sequence[StartSolves]) -> SolutionData:
    """A solution whose table, iterations and seconds also tell the solves of starts 1, 2, ... before."""
    assert found.starts is not None
    rows = {start.number: start for start in earlier}
    for start in found.starts.starts:
        before = rows[start.number].solves if start.number in rows else ()
        rows[start.number] = replace(start, solves=(*before, *start.solves))
    table = replace(found.starts, starts=tuple(rows[number] for number in sorted(rows)))
    solves = [solve for start in earlier for solve in start.solves]
    return replace(
        found,
        starts=table,
        iterations=found.iterations + sum(solve.iterations for solve in solves),
        seconds=found.seconds + sum(solve.seconds for solve in solves),
    )


@dataclass
class _Start:
    """A start while the table is filled.

    finished : whether it was solved on the problem's own mesh
    """

    number: int
    solution: SolutionData | None
    error: str = ""
    same_as: int | None = None
    finished: bool = False
    interrupted: bool = False

    def add(self, solution: SolutionData, keep: bool = False) -> None:
        """Note a further solve; with `keep` the motion stays, and only seconds and iterations are added."""
        solution = replace(solution, levels=(solve_of(solution),))
        self.interrupted = solution.status is Status.INTERRUPTED
        before = [] if self.solution is None else [self.solution]
        self.solution = summed(before[0] if keep else solution, *before, solution)

    @property
    def value(self) -> float:
        usable = self.solution is not None and self.solution.converged
        return self.solution.objective if usable else np.inf  # type: ignore[union-attr]

    def row(self) -> StartSolves:
        failed = MeshSolve(0, self.error, False, float("nan"), 0, 0.0)
        solves = (failed,) if self.solution is None else self.solution.levels
        return StartSolves(self.number, solves, self.same_as, self.finished)


def best_of_starts(
    problem: ProblemData,
    timed: TimedSolver,
    first: SolutionData,
    count: int,
    agreed: int | None = None,
    carried: int | None = None,
    levels: tuple[Trajectory, ...] | None = None,
) -> SolutionData:
    """The best solution of `count` starts, with the table of all; seconds and iterations are those of all.

    first : what start 0 led to, as without further starts
    agreed : starts that must have found the lowest optimum before the others are left out; None: three, or
        more than half
    carried : optima that are carried to the second mesh, None: half as many as starts; then half of those
    levels : the meshes, of which the last is the problem's own; None: from a coarse one on
    """
    ranking = False
    if levels is None:
        levels = _levels(problem)
        able = getattr(timed.solver, "can_rank", False)
        ranking = able and len(levels) == 1 and count > 1 + RANKED
    carried = count // 2 if carried is None else carried
    if ranking:
        levels, carried = (*levels, *levels), min(carried, RANKED)
    starts = [_Start(0, first, finished=True)]
    if not _stopped(starts[0], timed):
        agreed = max(AGREED, 1 + count // 2) if agreed is None else agreed
        coarse = timed.asking(ranking=True) if ranking else timed
        near = timed.asking(start_kind=StartKind.SAME_MOTION) if ranking else timed
        _solve_coarse(problem, starts, levels[0], coarse, count, agreed)
        _carry_best(problem, starts, levels, near, carried)
    finished = [start for start in starts if start.finished]
    lowest = min(start.value for start in finished)
    chosen = next((start for start in finished if _equal(start.value, lowest)), finished[0])
    assert chosen.solution is not None
    table = StartTable(tuple(start.row() for start in starts), chosen.number)
    every = summed(chosen.solution, *(start.solution for start in starts if start.solution is not None))
    return replace(every, levels=chosen.solution.levels, starts=table, known_problem=problem)


def _levels(problem: ProblemData) -> tuple[Trajectory, ...]:
    """The meshes of several starts: the coarsest has more spans where guesses are searched for, as many
    joints need them to tell their optima apart.
    """
    levels = mesh_levels(problem.trajectory, FEWEST_SPANS)
    while searching(problem) and len(levels) > 2:
        if max(arc.basis.span_count for arc in levels[1].arcs) > SEARCH_SPANS:
            break
        levels = levels[1:]
    return levels


def _solve_coarse(
    problem: ProblemData,
    starts: list[_Start],
    trajectory: Trajectory,
    timed: TimedSolver,
    count: int,
    agreed: int,
) -> None:
    """Solve the missing starts on the coarse trajectory, until the time, the user or agreement ends them."""
    guessed = on_coarse(problem, trajectory)
    limited = timed.asking(max_iterations=MOST_ITERATIONS)
    try:
        nlp = transcribe(guessed)
    except TrajoptError as error:
        starts += [_Start(number, None, str(error)) for number in range(len(starts), count)]
        return
    base, known = nlp.unknowns.curve(nlp.start), _value_on(trajectory, starts[0])
    searched: list[Guess] = []
    if searching(problem):
        searched = searched_guesses(nlp, problem.dynamics.n, count)
    for number in range(1, count):
        start = guessed.on(guessed.trajectory)
        sizes = (NEAR, WIDE) if problem.guessed_curve is None else (GUESSED, GUESSED)
        start.guess(*_guess_of(number, base, problem.dynamics.n, starts, searched, known, sizes))
        starts.append(_solved_start(number, start, limited))
        if _stopped(starts[-1], timed):
            break
        _mark_repeated(starts, known)
        if _finders([known, *(start.value for start in starts[1:])]) >= agreed:
            break


def _guess_of(
    number: int,
    base: Curve,
    joints: int,
    starts: Sequence[_Start],
    searched: Sequence[Guess],
    known: float,
    sizes: tuple[float, float],
) -> Guess:
    """The guess of a start.

    base : the problem's own guess;  known : objective of start 0 on the mesh of the others
    sizes : of narrow and wide perturbations
    """
    turns = [TURNS[turn % len(TURNS)] for turn in range(number)]
    place = turns.count("search") - 1
    values = [known, *(start.value for start in starts[1:])]
    rng, best = np.random.default_rng([0, number]), starts[int(np.argmin(values))]
    if turns[-1] == "search" and place < len(searched):
        return searched[place]
    if turns[-1] == "best" and best.solution is not None and np.isfinite(best.value):
        return perturbed_guess(best.solution.curve, joints, rng, sizes[0])
    return perturbed_guess(base, joints, rng, sizes[place % 2])


def _solved_start(number: int, problem: ProblemData, timed: TimedSolver) -> _Start:
    start = _Start(number, None)
    try:
        start.add(solved_on_mesh(problem, timed, last=False))
    except TrajoptError as error:
        start.error = str(error)
    return start


def _carry_best(
    problem: ProblemData, starts: list[_Start], levels: Sequence[Trajectory], timed: TimedSolver, places: int
) -> None:
    """Solve the best different optima of every trajectory on the next finer one, half as many each time."""
    first, carried = starts[0], starts[1:]
    if len(levels) == 1:
        for start in carried:
            start.finished = start.solution is not None
        return
    known = _value_on(levels[0], first)
    for trajectory in levels[1:]:
        if any(start.interrupted for start in starts):
            return
        carried = _most_promising(carried, known, places)
        _carry(problem, carried, trajectory, timed)
        places, known = places // 2, np.inf
        _mark_repeated([first, *carried])


def _most_promising(starts: Sequence[_Start], known: float, places: int) -> list[_Start]:
    """Different optima that are not far above the lowest, in order; one at least, if there is one.

    places : how many, start 0 with its known value, if it is among them, included
    """
    different = sorted((s for s in starts if np.isfinite(s.value) and s.same_as is None), key=_rank)
    best = min([known, *(start.value for start in different)])
    near = [start for start in different if start.value <= best + WITHIN * abs(best)]
    places -= known <= max([start.value for start in near[:places]], default=np.inf)
    return near[: max(places, 1)]


def _carry(
    problem: ProblemData, starts: Sequence[_Start], trajectory: Trajectory, timed: TimedSolver
) -> None:
    """Solve starts on a finer trajectory; one that fails on a mesh between keeps what it has."""
    last = trajectory is problem.trajectory
    for start in starts:
        if timed.run.expired and not last:
            return
        try:
            finer = solved_on_mesh(
                problem if last else problem.on(trajectory), timed, start.solution, last=last
            )
        except TrajoptError as error:
            start.error = str(error)
            continue
        start.add(finer, keep=not (last or finer.converged))
        start.finished = last
        if _stopped(start, timed):
            return


def _mark_repeated(starts: Sequence[_Start], first: float | None = None) -> None:
    """Note of every start which earlier one found the same optimum, if any.

    first : objective of start 0 where it is to be taken on another mesh than its last one
    """
    known: list[tuple[int, float]] = []
    for start in starts:
        value = first if first is not None and start.number == 0 else start.value
        start.same_as = next((number for number, other in known if _equal(other, value)), None)
        if start.same_as is None:
            known.append((start.number, value))


def _finders(values: Sequence[float]) -> int:
    """How many of the objectives are the lowest one."""
    return sum(_equal(value, min(values)) for value in values)


def _value_on(trajectory: Trajectory, default: _Start) -> float:
    """The objective of start 0 on the mesh of the other starts; infinity where it was not solved there."""
    if default.solution is None or not np.isfinite(default.value):
        return np.inf
    spans = sum(arc.basis.span_count for arc in trajectory.arcs)
    found = (level.objective for level in default.solution.levels if level.spans == spans and level.converged)
    return next(found, np.inf)


def _rank(start: _Start) -> tuple[float, int]:
    return start.value, start.number


def _stopped(start: _Start, timed: TimedSolver) -> bool:
    return timed.run.expired or start.interrupted


def _equal(one: float, other: float) -> bool:
    return bool(np.isfinite(one) and abs(one - other) <= EQUAL * max(abs(one), 1e-300))
