"""Defaults of `solve`: the number of starts, and the refinement of the answer.

Three kinds of motions are known to have several optima that differ by more than a percent: those of many
joints with free durations, those of joints without motors, which may swing to either side, and long turns
with free durations, on which an arm may fold in or not. Of systems with bounded controls, which switch at
unknown times, and of motors too weak to hold their load, which swing it up, the same is true. A user's guess
chooses the optimum. Where every velocity has a limit as well, one start found the best optimum known in all
moves that `python -m benchmarks.robustness` draws, and is all that is solved. A problem may recommend its own
number, and its own refinement; else answers are refined to what `verify` asks for between the nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks.path_equations import contains_torques
from trajopt.graph.protocols import ForwardDynamics, GravityField
from trajopt.graph.quantities import described_joints
from trajopt.problem.costs_and_constraints import limits_over_path
from trajopt.problem.driven_states import bounds_of_inputs
from trajopt.problem.phases import Asked, Phases
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.problem.problem_parts import Refinement
from trajopt.problem.systems.system import System
from trajopt.refinement.limit_nodes import LimitNodes
from trajopt.refinement.mesh_levels import is_guessed, may_be_solved_again
from trajopt.refinement.refined import RefinedUntilVerified
from trajopt.solution.journal import Journal
from trajopt.solvers.run import create
from trajopt.solvers.solver import Solver, Status
from trajopt.terms import term as terms
from trajopt.transcription.initial_point import fixed_ends

MANY_JOINTS = 4  # from which on a motion with free durations has many optima
LONG_TURN = 0.5 * math.pi  # rad between the ends of a motion: beyond, the inertia of an arm changes most

MOST_ITERATIONS = 200  # of a start on the coarse mesh, and fewer after a first one that is quickly solved
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
TURNS = ("search", "best", "search", "best", "search", "search", "best")


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
    turns: tuple[str, ...] = TURNS


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
RETRIES = StartRule(9, 2, 1, on_own_mesh=True, turns=("swing", "swing", *TURNS))
# On one of six meshes the weak pendulum of `benchmarks.robustness` ends more than 0.1 % above the best known
# optimum, where perturbed guesses and swings left it there on three. Coarse meshes hold no swings.
WEAK_MOTORS = StartRule(carried=1, on_own_mesh=True, turns=("swing", "search", "search", "best"))


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
        return _too_weak(problem)
    bounds = bounds_of_inputs(problem)
    bounded = bool(bounds) and all(bool(np.isfinite(bound).all()) for bound in bounds.values())
    return bounded and dynamics.rates is not None


def _too_weak(problem: Problem) -> bool:
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


def default_refinement(asked: Asked) -> Refinement:
    """The recommendation of a problem; else nodes for limits, after halved spans with path equations."""
    if asked.refinement is not None:
        return asked.refinement
    equations = any(c.is_path_equation for part in asked.parts for c in part.constraints)
    return RefinedUntilVerified() if equations else LimitNodes()
