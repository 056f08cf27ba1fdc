"""`compile`: builds the program of a problem once, to be solved again and again with other values."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.api.compiled_program import CompiledProgram, compiled_program
from trajopt.api.problem import Problem
from trajopt.solvers.solver import Solver


def compile(
    problem: Problem, inputs: Sequence[str] | None = None, *, solver: Solver | None = None
) -> CompiledProgram:
    """The program of a problem, to be solved again with other boundary values, limits, weights, data.

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

    inputs : names of those that will change; None: all. Where durations are free, velocities and
        accelerations at an end can change only if they are named here: they become rows of the program
    solver : for all solves; None: the one that the problem recommends, else IPOPT with its defaults

    Raises what `trajopt.solve` raises for a problem that contradicts itself, UnknownNameError for a name that
    is no input.
    """
    return compiled_program(problem, inputs, solver)
