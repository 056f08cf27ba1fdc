"""Several starts in one process: guesses on a coarse mesh, the best optima carried to finer and finer ones.

Start 0 is the problem's own guess, solved as without further starts, so that several are never worse than
one. Every other one is a guess that was searched for (`guess_search`), or perturbs the best optimum that
earlier starts found or, narrowly or widely, the problem's guess, seeded by its number; a guess of the user's
own, and what was found from it, are perturbed the least. They are solved on the coarsest mesh; half as many
different optima are carried to the next finer mesh, half of those to the one after it, and so on. The lowest
objective of a converged solve on the problem's own mesh comes first. Where none converged there, or start 0
alone, further guesses are solved on it, swings first.

How many starts there are by default follows from the problem. Three kinds of motions are known to have
several optima that differ by more than a percent: those of many joints with free durations, those of joints
without motors, which may swing to either side, and long turns with free durations, on which an arm may fold
in or not. Of systems with bounded controls, which switch at unknown times, and of motors too weak to hold
their load, which swing it up, the same is true. A user's guess chooses the optimum. Where every velocity has
a limit as well, one start found the best optimum known in all moves that `python -m benchmarks.robustness`
draws, and is all that is solved. A problem may recommend its own number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.errors import TrajoptError
from trajopt.checks.path_equations import contains_torques
from trajopt.graph.protocols import ForwardDynamics, GravityField
from trajopt.graph.quantities import described_joints
from trajopt.problem.costs_and_constraints import limits_over_path
from trajopt.problem.driven_states import bounds_of_inputs
from trajopt.problem.phases import Asked, Phases
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.problem.systems.system import System
from trajopt.refinement.guess_search import (
    Guess,
    guessed_curves,
    perturbed_from,
    searched_guesses,
    simulated_guesses,
    swinging_guess,
)
from trajopt.refinement.mesh_levels import (
    FINE,
    Mesh,
    is_fine,
    is_guessed,
    may_be_solved_again,
    mesh_levels,
    on_coarse,
    own_mesh,
    through_meshes,
)
from trajopt.solution.answers import program_of
from trajopt.solution.journal import LEAST_ITERATIONS, Attempt, Entry, Journal, Policy, same_optimum
from trajopt.solution.records import LEVELS, STARTS
from trajopt.solution.records import RETRIES as AGAIN
from trajopt.solvers.run import create
from trajopt.solvers.solver import Run, Solver, Status
from trajopt.splines.basis import Curve
from trajopt.terms import term as terms
from trajopt.transcription.initial_point import fixed_ends
from trajopt.transcription.nlp import NLP

MANY_JOINTS = 4  # from which on a motion with free durations has many optima
LONG_TURN = 0.5 * math.pi  # rad between the ends of a motion: beyond, the inertia of an arm changes most

MOST_ITERATIONS = 200  # of a start on the coarse mesh, and fewer after a first one that is quickly solved
# Sizes of perturbations, as a part of each joint's travel, and those of a guess that is the user's own: of
# nine walks that begin 0.3 or 1.0 beside a measured one, four are found, of those 0.1 beside it seven.
NEAR, WIDE, GUESSED = 0.3, 1.0, 0.1

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
AGREED = 3  # starts, at least, that must have found the lowest optimum before the others are left out
# What start 1, 2, ... is, in turn: found by the search for guesses, or a perturbation of the best optimum of
# the starts before. Where nothing is searched, or not so many are found, the own guess is perturbed, narrowly
# and widely in turn.
START_KINDS = ("search", "best", "search", "best", "search", "search", "best")


@dataclass(frozen=True)
class StartRule:
    """Up to eight starts on a coarse mesh until three agree, and what differs from that.

    count : starts, the problem's own guess among them
    agreed : starts that must have found the lowest optimum before the others are left out
    carried : optima that are carried to the second mesh
    after_failure : whether the others are tried, too, where the first finds no optimum
    on_own_mesh : whether they are solved on the own mesh and not on coarse ones
    most_iterations : of a start on the first mesh; None: those of the solver
    turns : what the starts are, in turn
    """

    count: int = 8
    agreed: int = AGREED
    carried: int = 2
    after_failure: bool = True
    on_own_mesh: bool = False
    most_iterations: int | None = MOST_ITERATIONS
    turns: tuple[str, ...] = START_KINDS


ONE = StartRule(1, 1, 1)
UP_TO_EIGHT = StartRule()
# Two optima carried miss a motion of `benchmarks.robustness` by 4 % that four find, in the same seconds. With
# three that agree, pair 31 of the UR5 under torque limits alone on 40 intervals ends 1.4 % above the sixth.
SEARCHED = StartRule(agreed=5, carried=4)
# Of eight guesses that were simulated, six find the F-8's 3.78 s and five the robot's 7.70 of
# `benchmarks.published`, where perturbed guesses find 5.76 and 7.92 alone. Three of the F-8's agree on 5.76.
SIMULATED = StartRule(agreed=4, turns=("search",))
# Where the own guess leads nowhere, or alone somewhere, until two agree: a motion that is hard to find has
# none on coarse meshes.
RETRIES = StartRule(9, 2, 1, on_own_mesh=True, turns=("swing", "swing", *START_KINDS))
# On one of six meshes the weak pendulum of `benchmarks.robustness` ends more than 0.1 % above the best known
# optimum, where perturbed guesses and swings left it there on three. Coarse meshes hold no swings.
WEAK_MOTORS = StartRule(carried=1, on_own_mesh=True, turns=("swing", "search", "search", "best"))


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

    def of_start(self, number: int, starts: Sequence[_Start]) -> Asked:
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
    if not journal.best.converged:
        return np.inf
    spans = sum(arc.basis.span_count for trajectory in mesh for arc in trajectory.arcs)
    solved = [each for each in journal.entries if each.attempt.policy == LEVELS and each.converged]
    return min((each.value for each in solved if each.rows[0].spans == spans), default=np.inf)


def given_rule(asked: Asked, count: int) -> StartRule:
    """The rule for a number of starts that the user gives; those of phases all perturb the own guess."""
    if isinstance(asked, Phases):
        never = count + 1
        return StartRule(count, never, on_own_mesh=True, most_iterations=None, turns=("search",))
    if not (searching(asked) and can_be_simulated(asked)):
        return _rule_of(count)
    known = SIMULATED if isinstance(asked.dynamics, System) else WEAK_MOTORS
    return _rule_of(count, turns=known.turns, on_own_mesh=known.on_own_mesh)


def _rule_of(count: int, **others: Any) -> StartRule:
    """So many starts of which more than half, or three, have to agree and half are carried on."""
    return StartRule(count, max(AGREED, 1 + count // 2), count // 2, **others)


def start_rule(problem: Asked, solver: Solver) -> StartRule:
    """The starts where the user gives none."""
    if not may_be_solved_again(problem, solver):
        return ONE
    if problem.starts > 1:
        return _rule_of(problem.starts, after_failure=False)
    if is_guessed(problem):
        return ONE
    if can_be_simulated(problem):
        return SIMULATED if isinstance(problem.dynamics, System) else WEAK_MOTORS
    of_velocities = limits_over_path(problem.constraints, terms.v.quantity, problem.dynamics.n)
    limited = np.isfinite(of_velocities).all()  # both ways, every joint
    loose = problem.trajectory.has_free_duration and not limited
    if loose and problem.dynamics.n >= MANY_JOINTS:
        return SEARCHED
    undriven = any(c.is_path_equation and contains_torques(problem, c) for c in problem.constraints)
    return UP_TO_EIGHT if undriven or (loose and _turns_far(problem)) else ONE


def worth_retrying(journal: Journal) -> bool:
    """True if other guesses are tried: none but the own one found a motion, if any, and a solve is short."""
    answer, asked = journal.best.answer, journal.asked
    further = [entry for entry in journal.entries if entry.attempt.number]
    alone = bool(further) and not any(each.converged for each in further)
    missed = answer.status in MISSED or (answer.converged and alone)
    if not missed or not may_be_solved_again(asked, journal.solver):
        return False
    # Up to 1000 joints times nodes another solve takes seconds, not a minute
    return not journal.stopped and asked.dynamics.n * answer.node_times.size <= 1000


def duration_may_mislead(journal: Journal) -> bool:
    """True if the solve from a guess with a free duration found nothing, or met the default iteration limit.

    Another limit of iterations is the user's, who has the last word.
    """
    asked, status = journal.asked, journal.best.answer.status
    if isinstance(asked, Phases) or asked.guessed_durations is None or journal.stopped:
        return False
    missed = status in MISSED or (status is Status.ITERATION_LIMIT and journal.solver == create())
    return missed and asked.trajectory.has_free_duration


def searching(problem: Asked) -> bool:
    """True if guesses are sought: no phases, no guess; many joints in a free duration, or a simulation."""
    if isinstance(problem, Phases) or is_guessed(problem):
        return False
    many = problem.dynamics.n >= MANY_JOINTS
    return can_be_simulated(problem) or (many and problem.trajectory.has_free_duration)


def can_be_simulated(problem: Problem) -> bool:
    """True if states follow from controls bounded on both sides, on one arc: of x' = f, or of weak motors."""
    dynamics = problem.dynamics
    if len(problem.trajectory.arcs) > 1:
        return False
    if not isinstance(dynamics, System):
        return _torque_exceeds_limit_on_line(problem)
    bounds = bounds_of_inputs(problem)
    bounded = bool(bounds) and all(bool(np.isfinite(bound).all()) for bound in bounds.values())
    return bounded and dynamics.rates is not None


def _torque_exceeds_limit_on_line(problem: Problem) -> bool:
    """True if a few joints, driven by torques alone, are not held by these on the line between fixed ends."""
    robot = problem.dynamics
    weightless = isinstance(robot, GravityField) and not np.any(robot.gravity)
    if weightless or robot.n >= MANY_JOINTS or not isinstance(robot, ForwardDynamics):
        return False
    lower, upper = limits_over_path(problem.constraints, terms.tau.quantity, robot.n)
    if not np.isfinite([lower, upper]).all():
        return False
    graph = graph_of(problem, [terms.tau])
    searched = graph.inputs & graph.leaves.keys() - {"q", "v", "a"}  # masses, for instance
    if searched or problem.loads or problem.extras or any(c.is_path_equation for c in problem.constraints):
        return False
    start, end = fixed_ends(problem)
    q = start + problem.trajectory.arcs[0].basis.greville[:, None] * (end - start)
    if not np.isfinite(q).all():
        return False
    at_rest = np.zeros_like(q)
    torques = graph.values({"q": q, "v": at_rest, "a": at_rest})[terms.tau.quantity]
    return bool(((torques < lower) | (torques > upper)).any())


def _turns_far(problem: Problem) -> bool:
    """True if a revolute joint has more than a quarter of a turn to go between fixed ends."""
    turning = {joint.name for joint in described_joints(problem.dynamics) if joint.kind == "revolute"}
    start, end = fixed_ends(problem)
    turns = [name in turning for name in problem.dynamics.joint_names]
    return bool(np.any(np.abs(end - start)[turns] > LONG_TURN))
