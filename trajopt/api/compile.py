"""`compile`: builds the program of a problem, or of phases, once, to be solved again with other values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from trajopt.api.compiled_program import CompiledProgram, compiled_program
from trajopt.api.phases_solution import PhasesSolution
from trajopt.api.problem import Problem
from trajopt.api.solution import Solution
from trajopt.problem.links.phases import Phases
from trajopt.solvers.solver import Solver


@overload
def compile(
    problem: Problem, inputs: Sequence[str] | None = None, *, solver: Solver | None = None
) -> CompiledProgram[Solution]: ...
@overload
def compile(
    problem: Phases, inputs: Sequence[str] | None = None, *, solver: Solver | None = None
) -> CompiledProgram[PhasesSolution]: ...
def compile(
    problem: Problem | Phases, inputs: Sequence[str] | None = None, *, solver: Solver | None = None
) -> CompiledProgram[Any]:
    """The program of a problem, or of phases, to be solved again with other boundary values, limits, data.

        compiled = trajopt.compile(problem)
        print(compiled)                                # its inputs, and how their values are written
        solution = compiled.solve()
        moved = compiled.solve(q_end=(1.1, -1.0), start=solution)

    Terms are traced, equations eliminated and sparsity found once; a solve then takes the solver's own time.
    Inputs are found: q_start, q_end, v_start ... by `start_at` and `end_at`; limits and other constraints
    by their names, "torque limits" as torque_limits=(lower, upper); bounds of parameters, which hold what
    terms take from `node.parameter` (payloads, places of obstacles), and data by their names; duration;
    weights of costs as weight_NAME. What decides which unknowns, rows and entries there are must stay: which
    components are fixed and which limits are finite.

    Inputs of `trajopt.Phases` begin with the name of their phase, second_q_end, which may be left out where
    one phase alone has such an input. Parameters of the same name and bounds in several phases are one input;
    values and bounds of links have the name of their link, weights of linked costs weight_NAME.

    A solve is one solve on the nodes of the problem: limits hold there, and `solution.limit_excess` is by how
    much they are exceeded between them. Those that `trajopt.solve` added for limits are the nodes of
    `solution.problem`: compile that for a program that holds limits between the nodes of its mesh, too, near
    that solution.

    inputs : names of those that will change; None: all. Where durations are free, velocities and
        accelerations at an end can change only if they are named here: they become rows of the program
    solver : for all solves; None: the one that the problem recommends, else IPOPT with its defaults

    Raises what `trajopt.solve` raises for a problem that contradicts itself, UnknownNameError for a name that
    is no input.
    """
    return compiled_program(problem, inputs, solver)
