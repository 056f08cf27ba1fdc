"""Several starts in one process: guesses on a coarse mesh, the best optima carried to finer and finer ones.

Start 0 is the problem's own guess, solved as without further starts, so that several are never worse than
one. Every other one is a guess that was searched for (`guess_search`), or perturbs the best optimum that
earlier starts found or, narrowly or widely, the problem's guess, seeded by its number; a guess of the user's
own, and what was found from it, are perturbed the least. They are solved on the coarsest mesh; half as many
different optima are carried to the next finer mesh, half of those to the one after it, and so on. The lowest
objective of a converged solve on the problem's own mesh comes first. Where none converged there, or start 0
alone, further guesses are solved on it, swings first.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.errors import TrajoptError
from trajopt.problem.phases import Asked, Phases
from trajopt.refinement.mesh_levels import (
    FINE,
    Mesh,
    is_fine,
    mesh_levels,
    on_coarse,
    own_mesh,
    through_meshes,
)
from trajopt.refinement.starts.guess_search import (
    Guess,
    guessed_curves,
    perturbed_from,
    searched_guesses,
    simulated_guesses,
    swinging_guess,
)
from trajopt.refinement.starts.start_rules import (
    MOST_ITERATIONS,
    ONE,
    RETRIES,
    StartRule,
    can_be_simulated,
    duration_may_mislead,
    given_rule,
    searching,
    start_rule,
    worth_retrying,
)
from trajopt.solution.answers import program_of
from trajopt.solution.journal import LEAST_ITERATIONS, Attempt, Entry, Journal, Policy, same_optimum
from trajopt.solution.records import LEVELS, STARTS
from trajopt.solution.records import RETRIES as AGAIN
from trajopt.solvers.solver import Run
from trajopt.splines.curve import Curve
from trajopt.transcription.nlp import NLP

# Sizes of perturbations, as a part of each joint's travel, and those of a guess that is the user's own: of
# nine walks that begin 0.3 or 1.0 beside a measured one, four are found, of those 0.1 beside it seven.
NEAR, WIDE, GUESSED = 0.3, 1.0, 0.1


@dataclass
class _Start:
    """A start with its last answer, on the finest mesh that it was carried to, if it has one."""

    number: int
    entry: Entry | None = None

    @property
    def value(self) -> float:
        return np.inf if self.entry is None else self.entry.value


def several_starts(journal: Journal, count: int | str, coarse: bool | str) -> Policy[None]:
    """Guesses solved on a coarse mesh, the best different optima carried on to finer ones.

    count, coarse : as `solve` is given `starts` and `coarse_to_fine`
    """
    if isinstance(count, int):
        rule = given_rule(journal.asked, count)
    else:
        rule = start_rule(journal.asked, journal.solver) if coarse else ONE
    if rule.count > 1 and (journal.best.converged or rule.after_failure):
        yield from _solved_starts(journal, rule, STARTS)


def retries(journal: Journal, count: int | str) -> Policy[None]:
    """Other guesses where the own one alone led somewhere, or none.

    A user's guess without its duration first, through coarse meshes where the own one is fine; then swings
    and others on the own mesh.
    """
    if count != 1 and duration_may_mislead(journal):
        other = on_coarse(journal.asked, own_mesh(journal.asked))
        other.guessed_durations = None
        meshes = mesh_levels(other) if is_fine(other) else (own_mesh(other),)
        # A start of its own, behind those that may follow: rows of one number are of one start.
        number = max(RETRIES.count, 1 + max(each.attempt.number for each in journal.entries))
        run = Run(max_iterations=MOST_ITERATIONS)
        with suppress(TrajoptError):  # at a duration at which a term is not finite, for instance
            yield from through_meshes(journal, other, meshes, AGAIN, number, run)
    if count != 1 and worth_retrying(journal):
        yield from _solved_starts(journal, RETRIES, AGAIN)


def _solved_starts(journal: Journal, rule: StartRule, policy: str) -> Policy[None]:
    """Starts 1, 2, ... on the first mesh until they agree, then the best of them on the others."""
    asked, journal.several = journal.asked, True
    if journal.stopped:
        return
    searched = searching(asked)
    meshes = (own_mesh(asked),) if rule.on_own_mesh else _levels(asked, searched)
    all_starts, known = [_Start(0, journal.best)], _value_on(meshes[0], journal)
    try:
        guesses = _Guesses.of(on_coarse(asked, meshes[0]), searched, rule, known)
    except TrajoptError as error:
        journal.entries.append(Entry(Attempt(asked, policy=policy, number=1), error=str(error)))
        return
    run = Run(max_iterations=_most_iterations(rule, journal))
    for number in range(1, rule.count):
        start = _Start(number)
        all_starts.append(start)
        with suppress(TrajoptError):  # at a guess at which a term is not finite, for instance
            guess = guesses.of_start(number, all_starts)
            on_own = len(meshes) == 1
            start.entry = yield Attempt(guess, run=run, policy=policy, number=number, own_mesh=on_own)
        _mark_repeated(journal, all_starts, known)
        values = [known, *(all_start.value for all_start in all_starts[1:])]
        if sum(same_optimum(value, min(values)) for value in values) >= rule.agreed:
            break
    carried, places = all_starts[1:], rule.carried
    for mesh in meshes[1:]:
        carried = _most_promising(journal, carried, known, places)
        last = all(one is own for one, own in zip(mesh, own_mesh(asked), strict=True))
        for start in carried:
            assert start.entry is not None
            finer = asked if last else asked.on(*mesh)
            try:
                entry = yield Attempt(
                    finer, start.entry.answer, policy=policy, number=start.number, own_mesh=last
                )
            except TrajoptError:  # it keeps what it has
                continue
            if last or entry.converged:
                start.entry = entry
        places, known = places // 2, np.inf
        _mark_repeated(journal, [all_starts[0], *carried])


def _most_iterations(rule: StartRule, journal: Journal) -> int | None:
    """The most iterations of a start on a coarse mesh: twice the longest of the own guess, 100 at least.

    What has found nothing by then seldom does: of 77 starts of many joints three did, and none of
    these led to the lowest optimum. Those of the rule where the own guess failed or meshes are not coarse.
    """
    solves = [each.answer.iterations for each in journal.entries if each.answer is not None]
    if rule.most_iterations is None or rule.on_own_mesh or not journal.best.converged:
        return rule.most_iterations
    return min(rule.most_iterations, 2 * max(LEAST_ITERATIONS // 2, *solves))


def _levels(asked: Asked, searched: bool) -> tuple[Mesh, ...]:
    """The meshes of several starts, from a coarse one to the own one.

    Where guesses are searched for, the first is the finest of at most `FINE` spans: fewer would not
    distinguish the optima of many joints.
    """
    levels = mesh_levels(asked, 7)  # spans of the coarsest mesh, in the arc with the most
    while searched and len(levels) > 2:
        if max(arc.basis.span_count for trajectory in levels[1] for arc in trajectory.arcs) > FINE:
            break
        levels = levels[1:]
    return levels


@dataclass(frozen=True, eq=False)
class _Guesses:
    """The guesses of starts 1, 2, ... on their mesh.

    asked : the problem, or the phases, with the own guess;  base : its curves, one for every part
    searched : those that were searched for, or simulated, the best first
    known : objective of start 0 on this mesh
    """

    asked: Any
    base: Sequence[Curve]
    searched: Sequence[Guess]
    known: float
    rule: StartRule

    @staticmethod
    def of(asked: Any, searched: bool, rule: StartRule, known: float) -> _Guesses:
        """Raises TrajoptError where there is no program on this mesh."""
        program, guesses = program_of(asked), []
        if searched and isinstance(program, NLP):
            if can_be_simulated(asked):
                guesses = simulated_guesses(asked, program, rule.count)
            else:
                guesses = searched_guesses(program, asked.dynamics.n, rule.count)
        return _Guesses(asked, guessed_curves(program), guesses, known, rule)

    def of_start(self, number: int, starts: Sequence[_Start]) -> Any:
        """A copy of the problem or phases with the guess of a start, after those before it."""
        asked, turns = self.asked, self.rule.turns
        turns = [turns[turn % len(turns)] for turn in range(number)]
        place = turns.count("search") - 1
        values = [self.known, *(start.value for start in starts[1:])]
        best = starts[int(np.argmin(values))]
        if turns[-1] == "swing":
            other = asked.on(*own_mesh(asked))
            for part, curve in zip(other.parts, self.base, strict=True):
                part.guess(*swinging_guess(curve, part.dynamics.n, turns.count("swing")))
            return other
        if turns[-1] == "search" and place < len(self.searched):
            other = asked.on(*own_mesh(asked))
            other.guess(*self.searched[place])
            return other
        own_guess = not isinstance(asked, Phases) and asked.guessed_curve is not None
        sizes = (GUESSED, GUESSED) if own_guess else (NEAR, WIDE)
        if turns[-1] == "best" and best.entry is not None and np.isfinite(best.value):
            return perturbed_from(
                asked, [part.curve for part in best.entry.answer.parts], [0, number], sizes[0]
            )
        return perturbed_from(asked, self.base, [0, number], sizes[place % 2])


def _most_promising(journal: Journal, starts: Sequence[_Start], known: float, places: int) -> list[_Start]:
    """Different optima that are not far above the lowest, in order; one at least, if there is one.

    places : how many, start 0 with its known value, if it is among them, included
    """
    different = [s for s in starts if np.isfinite(s.value) and journal.same_as.get(s.number) is None]
    different.sort(key=lambda start: (start.value, start.number))
    best = min([known, *(start.value for start in different)])
    # Starts a tenth worse than the best one are not carried on
    near = [start for start in different if start.value <= best + 0.1 * abs(best)]
    places -= known <= max([start.value for start in near[:places]], default=np.inf)
    return near[: max(places, 1)]


def _mark_repeated(journal: Journal, starts: Sequence[_Start], first: float | None = None) -> None:
    """Note of every start which earlier one found the same optimum, if any.

    first : objective of start 0 where it is to be taken on another mesh than its last one
    """
    known: list[tuple[int, float]] = []
    for start in starts:
        value = first if first is not None and start.number == 0 else start.value
        repeated = next((number for number, other in known if same_optimum(other, value)), None)
        journal.same_as[start.number] = repeated
        if repeated is None:
            known.append((start.number, value))


def _value_on(mesh: Mesh, journal: Journal) -> float:
    """The objective of start 0 on the mesh of the other starts; infinity where it was not solved there."""
    spans = sum(arc.basis.span_count for trajectory in mesh for arc in trajectory.arcs)
    solved = (
        [e for e in journal.entries if e.attempt.policy == LEVELS and e.converged]
        if journal.best.converged
        else []
    )
    return min((each.value for each in solved if each.rows[0].spans == spans), default=np.inf)
