"""Several starts in one process: guesses on a coarse mesh, the best optima carried to finer and finer ones.

Start 0 is the problem's own guess, solved as without further starts, so that several are never worse than
one. Every other one is a guess that was searched for (`guess_search`), or perturbs the best optimum that
earlier starts found or, narrowly or widely, the problem's guess, seeded by its number; a guess of the user's
own, and what was found from it, are perturbed the least. They are solved on the coarsest mesh; half as many
different optima are carried to the next finer mesh, half of those to the one after it, and so on. Where the
problem's own mesh is the only one, more than two further starts are ranked on it, if the solver can, and the
best of them solved. The lowest objective of a converged solve on the problem's own mesh comes first. Where
none converged there, or start 0 alone, further guesses are solved on it, swings first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import NOT_ZERO, SAME_OPTIMUM
from trajopt.problem.links.phases import Asked, Phases
from trajopt.refinement.mesh_levels import FINE, Mesh, mesh_levels, on_coarse, own_mesh, summed
from trajopt.refinement.starts.guess_search import Guess, searched_guesses
from trajopt.refinement.starts.perturbed_guess import guessed_curves, perturbed_from, swinging_guess
from trajopt.refinement.starts.simulated_guess import simulated_guesses
from trajopt.refinement.starts.start_rules import StartRule, can_be_simulated, searching
from trajopt.solution.records import MeshSolve, StartSolves, StartTable
from trajopt.solution.solution import Answer
from trajopt.solution.solve_once import program_of, solved_on_mesh
from trajopt.solvers.run import TimedSolver
from trajopt.solvers.solver import StartKind, Status
from trajopt.splines.curve import Curve
from trajopt.transcription.nlp import NLP

FEWEST_SPANS = 7  # of the mesh that starts are solved on, in the arc with the most
RANKED = 2  # further starts, at most, that are solved to the end where all are on one mesh; more are ranked
WITHIN = 0.1  # relative distance to the best one on a mesh beyond which none is carried on
# Sizes of perturbations, as a part of each joint's travel, and those of a guess that is the user's own: of
# nine walks that begin 0.3 or 1.0 beside a measured one, four are found, of those 0.1 beside it seven.
NEAR, WIDE, GUESSED = 0.3, 1.0, 0.1


@dataclass
class _Start:
    """A start while the table is filled.

    finished : whether it was solved on the problem's own mesh
    """

    number: int
    answer: Any = None
    error: str = ""
    same_as: int | None = None
    finished: bool = False
    interrupted: bool = False

    def add(self, answer: Answer, keep: bool = False) -> None:
        """Note a further solve; with `keep` the motion stays, and only seconds and iterations are added."""
        self.interrupted = answer.status is Status.INTERRUPTED
        before = [] if self.answer is None else [self.answer]
        self.answer = summed(before[0] if keep else answer, *before, answer)

    @property
    def value(self) -> float:
        return self.answer.objective if self.answer is not None and self.answer.converged else np.inf

    def row(self) -> StartSolves:
        failed = MeshSolve(0, self.error, False, float("nan"), 0, 0.0)
        solves = (failed,) if self.answer is None else self.answer.levels
        return StartSolves(self.number, solves, self.same_as, self.finished)


def best_of_starts(asked: Asked, timed: TimedSolver, first: Any, rule: StartRule) -> list[Any]:
    """Different optima of several starts on the own mesh, the best first, each with the table of all.

    Seconds and iterations of each are those of all starts. Where none converged there is one answer.

    first : what start 0 led to, as without further starts; where it is the best of several starts, what
        these found on their meshes stays in the table
    """
    searched = searching(asked)
    levels = (own_mesh(asked),) if rule.on_own_mesh else _levels(asked, searched)
    several_on_one_mesh = len(levels) == 1 and not rule.on_own_mesh and rule.count > 1 + RANKED
    ranking = several_on_one_mesh and getattr(timed.solver, "can_rank", False)
    if ranking:
        levels = (*levels, *levels)
    starts = [_Start(0, first, finished=True, interrupted=first.status is Status.INTERRUPTED)]
    if not _stopped(starts[0], timed):
        coarse = timed.asking(ranking=True) if ranking else timed
        near = timed.asking(start_kind=StartKind.SAME_MOTION) if ranking else timed
        _solve_coarse(asked, starts, levels[0], coarse, rule, searched)
        _carry_best(asked, starts, levels, near, min(rule.carried, RANKED) if ranking else rule.carried)
    finished = [start for start in starts if start.finished]
    lowest = min(start.value for start in finished)
    chosen = next((start for start in finished if equal(start.value, lowest)), finished[0])
    others = [start for start in finished if np.isfinite(start.value) and not equal(start.value, lowest)]
    different = [start for start in others if start.same_as is None]
    rows = _rows(starts, first.starts)
    solves = [solve for row in rows for solve in row.solves]
    every = summed(chosen.answer, *(start.answer for start in starts if start.answer is not None))
    return [
        replace(
            start.answer,
            starts=StartTable(rows, start.number),
            iterations=sum(solve.iterations for solve in solves),
            seconds=sum(solve.seconds for solve in solves),
            timings=every.timings,
            **{"known_phases" if isinstance(asked, Phases) else "known_problem": asked},
        )
        for start in (chosen, *sorted(different, key=lambda start: start.value))
    ]


def _rows(starts: Sequence[_Start], earlier: StartTable | None) -> tuple[StartSolves, ...]:
    """The rows of a table, after the solves of starts 1, 2, ... of the table before."""
    rows = {start.number: start.row() for start in starts}
    for row in () if earlier is None else earlier.starts[1:]:
        now = rows.get(row.number)
        rows[row.number] = row if now is None else replace(now, solves=(*row.solves, *now.solves))
    return tuple(rows[number] for number in sorted(rows))


def _levels(asked: Asked, searched: bool) -> tuple[Mesh, ...]:
    """The meshes of several starts, from a coarse one to the own one.

    Where guesses are searched for, the first is the finest of at most `FINE` spans: fewer would not
    distinguish the optima of many joints.
    """
    levels = mesh_levels(asked, FEWEST_SPANS)
    while searched and len(levels) > 2:
        if max(arc.basis.span_count for trajectory in levels[1] for arc in trajectory.arcs) > FINE:
            break
        levels = levels[1:]
    return levels


def _solve_coarse(
    asked: Asked, starts: list[_Start], mesh: Mesh, timed: TimedSolver, rule: StartRule, searched: bool
) -> None:
    """Solve the missing starts on the coarse mesh, until the time, the user or agreement ends them.

    searched : whether guesses are searched for
    """
    guessed = on_coarse(asked, mesh)
    limited = timed.asking(max_iterations=rule.most_iterations)
    try:
        program = program_of(guessed)
    except TrajoptError as error:
        starts += [_Start(number, None, str(error)) for number in range(len(starts), rule.count)]
        return
    base, known = guessed_curves(program), _value_on(mesh, starts[0])
    guesses: list[Guess] = []
    if searched and isinstance(program, NLP):
        if can_be_simulated(guessed):
            guesses = simulated_guesses(guessed, program, rule.count)
        else:
            guesses = searched_guesses(program, guessed.dynamics.n, rule.count)
    for number in range(1, rule.count):
        start = _Start(number)
        try:
            guess = _guessed(guessed, number, base, starts, guesses, known, rule)
            start.add(solved_on_mesh(guess, limited, last=False))
        except TrajoptError as error:  # at a guess at which a term is not finite, for instance
            start.error = str(error)
        starts.append(start)
        if _stopped(start, timed):
            break
        _mark_repeated(starts, known)
        values = [known, *(start.value for start in starts[1:])]
        if sum(equal(value, min(values)) for value in values) >= rule.agreed:
            break


def _guessed(
    asked: Any,
    number: int,
    base: Sequence[Curve],
    starts: Sequence[_Start],
    searched: Sequence[Guess],
    known: float,
    rule: StartRule,
) -> Any:
    """A copy of the problem or phases with the guess of a start.

    base : the own guess, a curve for every part;  known : objective of start 0 on the mesh of the others
    """
    turns = [rule.turns[turn % len(rule.turns)] for turn in range(number)]
    place = turns.count("search") - 1
    values = [known, *(start.value for start in starts[1:])]
    best = starts[int(np.argmin(values))]
    if turns[-1] == "swing":
        other = asked.on(*own_mesh(asked))
        for part, curve in zip(other.parts, base, strict=True):
            part.guess(*swinging_guess(curve, part.dynamics.n, turns.count("swing")))
        return other
    if turns[-1] == "search" and place < len(searched):
        other = asked.on(*own_mesh(asked))
        other.guess(*searched[place])
        return other
    own_guess = not isinstance(asked, Phases) and asked.guessed_curve is not None
    sizes = (GUESSED, GUESSED) if own_guess else (NEAR, WIDE)
    if turns[-1] == "best" and best.answer is not None and np.isfinite(best.value):
        return perturbed_from(asked, [part.curve for part in best.answer.parts], [0, number], sizes[0])
    return perturbed_from(asked, base, [0, number], sizes[place % 2])


def _carry_best(
    asked: Asked, starts: list[_Start], levels: Sequence[Mesh], timed: TimedSolver, places: int
) -> None:
    """Solve the best different optima of every mesh on the next finer one, half as many each time."""
    first, carried = starts[0], starts[1:]
    if len(levels) == 1:
        for start in carried:
            start.finished = start.answer is not None
        return
    known = _value_on(levels[0], first)
    for mesh in levels[1:]:
        if any(start.interrupted for start in starts):
            return
        carried = _most_promising(carried, known, places)
        _carry(asked, carried, mesh, timed)
        places, known = places // 2, np.inf
        _mark_repeated([first, *carried])


def _most_promising(starts: Sequence[_Start], known: float, places: int) -> list[_Start]:
    """Different optima that are not far above the lowest, in order; one at least, if there is one.

    places : how many, start 0 with its known value, if it is among them, included
    """
    different = [start for start in starts if np.isfinite(start.value) and start.same_as is None]
    different.sort(key=lambda start: (start.value, start.number))
    best = min([known, *(start.value for start in different)])
    near = [start for start in different if start.value <= best + WITHIN * abs(best)]
    places -= known <= max([start.value for start in near[:places]], default=np.inf)
    return near[: max(places, 1)]


def _carry(asked: Any, starts: Sequence[_Start], mesh: Mesh, timed: TimedSolver) -> None:
    """Solve starts on a finer mesh; one that fails on a mesh between keeps what it has."""
    last = all(one is own for one, own in zip(mesh, own_mesh(asked), strict=True))
    for start in starts:
        if timed.run.expired and not last:
            return
        try:
            finer = solved_on_mesh(asked if last else asked.on(*mesh), timed, start.answer, last=last)
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
        start.same_as = next((number for number, other in known if equal(other, value)), None)
        if start.same_as is None:
            known.append((start.number, value))


def _value_on(mesh: Mesh, default: _Start) -> float:
    """The objective of start 0 on the mesh of the other starts; infinity where it was not solved there."""
    if default.answer is None or not np.isfinite(default.value):
        return np.inf
    spans = sum(arc.basis.span_count for trajectory in mesh for arc in trajectory.arcs)
    found = (level.objective for level in default.answer.levels if level.spans == spans and level.converged)
    return next(found, np.inf)


def _stopped(start: _Start, timed: TimedSolver) -> bool:
    return timed.run.expired or start.interrupted


def equal(one: float, other: float) -> bool:
    """Whether two objectives are those of one and the same optimum."""
    return bool(np.isfinite(one) and abs(one - other) <= SAME_OPTIMUM * max(abs(one), NOT_ZERO))
