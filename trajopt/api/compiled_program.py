"""`compile`: builds the program of a problem, or of phases, once, to be solved again with other values."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from trajopt.api.solve import Progress
from trajopt.base.arguments import check_count, check_instance, check_positive, short_repr
from trajopt.base.arrays import one_blas_thread
from trajopt.base.errors import EvaluationError, NotFiniteError, OptionError, ProblemError
from trajopt.embedded.exported_step import StepExport
from trajopt.parametric.input_table import InputTable, input_table, rows_for
from trajopt.parametric.plan_shift import PlanShifts
from trajopt.parametric.replanning import (
    TOLERANCE,
    WORST,
    ComposedSteps,
    Step,
    first_step,
    next_step,
    split_state,
)
from trajopt.parametric.warm_start import warm_program
from trajopt.problem.measured_start import MeasuredStart, with_measured_start
from trajopt.problem.phases import Asked, Phases, checked_asked
from trajopt.problem.problem import Problem
from trajopt.solution.answers import answer_at
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import RunRecord
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.interior.interior_point import InteriorSteps
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.matrices import Matrices
from trajopt.solvers.monitor import iteration_callback
from trajopt.solvers.newton.newton import MOST_STEPS, ActiveSetNewton, RealTimeIteration, few_changes
from trajopt.solvers.run import Fallback, check_solver, create, run_solver, takes_hessian
from trajopt.solvers.solver import Run, Solver, Status, WarmStart
from trajopt.transcription.linked_program import AskedStructure, LinkedProgram
from trajopt.transcription.nlp import NLP

Inputs = Mapping[str, object]  # input -> value: numbers, limits, data ...
AnswerT = TypeVar("AnswerT", bound=Answer)


@dataclass(frozen=True, eq=False)
class CompiledProgram(Generic[AnswerT]):
    """The program of a problem, or of phases, built once by `trajopt.compile` for many values of its inputs.

    Several threads may solve it at once: every solve has functions and starting point of its own. It can be
    pickled, for other processes.

    problem : or phases, as it was when it was compiled; what is added to the original later has no effect
    structure : all that no input changes
    inputs : what may change; printed, it shows how every value is written
    """

    problem: Asked
    structure: AskedStructure
    inputs: InputTable
    solver: Solver | None = None

    @cached_property
    def _matrices(self) -> list[Matrices]:
        """Matrices of Newton's steps, which solves of this program share."""
        return []

    @cached_property
    def _starts(self) -> list[MeasuredStart | None]:
        """The rows of every part that a measured state decides."""
        return [MeasuredStart.of(part) for part in self.problem.parts]

    @property
    def _one_problem(self) -> Problem:
        """The problem; OptionError for phases."""
        if isinstance(self.problem, Phases):
            raise OptionError("phases have no step of replanning: compile one problem with several arcs")
        return self.problem

    @cached_property
    def _shifts(self) -> PlanShifts:
        """The maps from plans to the starts of steps of the program, of one problem."""
        (structure,) = self.structure.parts
        return PlanShifts(structure)

    @cached_property
    def _composed(self) -> ComposedSteps | None:
        """The steps by composed maps of the program, of one problem; None where the state decides rows."""
        asked = self.problem
        if isinstance(asked, Phases) or any(self._starts):
            return None
        return ComposedSteps(asked, self._shifts, self.inputs)

    def problem_with(self, values: Inputs | None = None, /, **inputs: object) -> Asked:
        """The problem, or the phases, with other values of its inputs.

        Raises UnknownNameError for what is no input, StructureError for a value that needs another program,
        ShapeError or NotFiniteError for what is no value of the input.
        """
        problem = self.inputs.applied(self.problem, self._together(values, inputs))
        return with_measured_start(problem, self._starts)

    def program(
        self,
        values: Inputs | None = None,
        /,
        *,
        start: Answer | None = None,
        **inputs: object,
    ) -> tuple[NLP | LinkedProgram, WarmStart | None]:
        """The program with these values, and where it starts if that is not its own guess; see `solve`."""
        return self._program(self.problem_with(values, **inputs), start)

    def solve(
        self,
        values: Inputs | None = None,
        /,
        *,
        start: Answer | None = None,
        solver: Solver | None = None,
        progress: Progress = "silent",
        **inputs: object,
    ) -> AnswerT:
        """Solve with other values of some inputs; those that are not named have the values of the problem.

            compiled.solve(q_end=(1.1, -1.0), start=previous)

        values : the same by name, for inputs whose names are no Python names, or the names of arguments here
        start : a solution of this problem for other values. Its motion and its multipliers are the start,
            from which a few steps of Newton's method lead to the new optimum. None: the guess
        solver : that of the compilation, or the one that the problem recommends, or IPOPT

        It is one solve, on the problem's own mesh, without further starts and without refinement.
        Raises what `problem_with` raises, and InfeasibleBoundsError or DegreesOfFreedomError where the values
        contradict each other. Not converging raises nothing.
        """
        if solver is not None:
            check_solver(solver)
        with one_blas_thread():
            problem = self.problem_with(values, **inputs)
            return self.solve_problem(problem, start, self._together(values, inputs), solver, progress)

    def solve_problem(
        self,
        problem: Asked,
        start: Answer | None,
        inputs: Inputs,
        solver: Solver | None = None,
        progress: Progress = "silent",
    ) -> AnswerT:
        """Solve a copy of the problem that has other values of its inputs, which the run records."""
        chosen = solver or self.solver or self.problem.solver or create()
        run = RunRecord.of(chosen, {"compiled": True, **inputs})
        with one_blas_thread(), iteration_callback(progress) as callback, np.errstate(all="ignore"):
            nlp, point = self._program(problem, start)
            tol = getattr(chosen, "tol", None)
            if point is not None and tol is not None and takes_hessian(chosen):
                newton = ActiveSetNewton(tol, most_changes=few_changes(nlp), matrices=self._matrices)
                chosen = Fallback(newton, _from_multipliers(chosen))
            result = run_solver(chosen, nlp, point, Run(callback=callback))
            return replace(answer_at(problem, nlp, result), run=run)

    def step(
        self,
        state: ArrayLike,
        values: Inputs | None = None,
        /,
        *,
        before: Step | None = None,
        elapsed: float = 0.0,
        iterations: int = 1,
        seconds: float | None = None,
        strict: bool = False,
        **inputs: object,
    ) -> Step:
        """Replan from a measured state, in bounded time: one step of a receding horizon.

            step = compiled.step(state)                                    # solved to the end
            while running:
                torques = step.u(0.0)
                step = compiled.step(measured_state(), before=step, elapsed=0.02, q_end=goal)

        state : (n,) of a system, (2 n,) q and v of a robot. What of it contradicts feet and limits gives way,
            as for `start_at(measured=True)`: `step.relaxations`
        before : the step before, whose plan is the start; None: solved from the guess, to the end
        elapsed : seconds since the state of `before`
        iterations : steps of Newton's method, with the active set that changes on the way; one is the
            real-time iteration, whose plan is optimal to second order in what is new. After a large
            disturbance up to eight more follow, until rows are violated by less than 1 % of their scale
        seconds : at which the step ends; None: no limit. A plan that is late is not taken
        values, inputs : as of `solve`, goals for instance

        A state or input that is not finite, limits that cannot be met, a deadline that is missed: the plan
        before goes on, and the step's `status` and `reason` say why. `strict` raises the error of a state, an
        input or limits that contradict each other instead. Without a step before, these are raised as by
        `solve`, and a step of which nothing came has `is_new` False, too.
        Raises ShapeError for a state of another size, UnknownNameError for what is no input, OptionError for
        an input that is the state, or a step before of other unknowns.
        """
        asked = self._one_problem
        check_positive("seconds", seconds, optional=True)
        check_positive("elapsed", elapsed, or_zero=True)
        check_count("iterations", iterations, 1, MOST_STEPS)
        if before is not None:
            check_instance("before", before, Step, "the step before, or None for a plan from the guess")
        measured, given = split_state(asked.dynamics, state), self._together(values, inputs)
        twice = {self.inputs.find(name) for name in measured} & {self.inputs.find(name) for name in given}
        if twice:
            raise OptionError(f"{twice.pop().keyword} is given besides the state, which it is: leave it out")
        run, shifts, composed = Run().within(seconds), self._shifts, self._composed
        try:
            with one_blas_thread(), np.errstate(all="ignore"):
                if before is not None and iterations == 1 and composed is not None:
                    step = composed.next(before, elapsed, {**measured, **given})
                    if step is not None and not run.expired:
                        return step
                (problem,) = self.inputs.applied(asked, {**measured, **given}).parts
                problem.measured = True
                problem = with_measured_start(problem, self._starts)
                if before is None:
                    solver = self.solver or problem.solver or create()
                    step = first_step(problem, shifts.structure, solver, run)
                    if composed is not None:  # makes the maps and compiles their loops before the loop begins
                        composed.next(step, 0.0, {**measured, **given})
                    return step
                steps = RealTimeIteration(TOLERANCE, matrices=self._matrices, steps=iterations, worst=WORST)
                return next_step(problem, shifts, before, elapsed, steps, run)
        except (NotFiniteError, EvaluationError, ProblemError) as error:
            if strict or before is None:
                raise
            refused = isinstance(error, ProblemError)
            status = Status.INFEASIBLE if refused else Status.EVALUATION_ERROR
            return before.held(elapsed, status, str(error))

    def to_c(
        self,
        folder: str | Path,
        step: Step,
        *,
        elapsed: float,
        inputs: Sequence[str] = (),
        times: ArrayLike = 0.0,
        most_samples: int = 3,
        name: str = "replanning",
        overwrite: bool = False,
    ) -> Path:
        """Write the step of replanning, of a system or an arm, as C without dependencies; gives the folder.

            compiled.to_c("embedded", compiled.step(state), elapsed=0.02, inputs=["goal"], name="arm")

        Files: arm.h, the interface with names, sizes and units of all inputs and outputs; arm_step.c,
        arm_terms.c and arm_tables.h. `gcc -O2 -c arm_step.c arm_terms.c` builds them. Nothing is allocated,
        and every plan is a struct of its own. A step is that of `step` with one iteration, up to rounding,
        from the plan before or, at first, from `step`. It differs in what follows where it fails: no
        interior-point method, no limit eased for a state beyond it, no deadline. Then its status says so, and
        the plan before goes on. Terms that rest at a kink, as absolute values at zero do, make more
        constraints active than there are unknowns: with them most steps fail.

        step : the first plan, whose scaling stays
        elapsed : seconds of one sample; the step is called with the number of samples since the last one
        inputs : names of values and limits that change, beside the state; all others are constant
        times : seconds after the measured state, (k,), of the states and controls that are given
        most_samples : after which a plan that goes on starts the next step as if it were not older
        name : with which files and functions begin
        overwrite : whether files of these names may be replaced in a folder that is not empty

        Raises OptionError, naming it, for a term that is computed by Python functions or reads a table, for
        phases, robots on feet, free durations, and an input that changes the program otherwise than linearly;
        UnknownNameError for what is no input; ResultFolderError for a folder that is not empty.
        """
        problem = self._one_problem
        given = StepExport(step, elapsed, inputs, times, most_samples, name, overwrite)
        with one_blas_thread():
            return given.write(folder, problem, self.inputs, self._shifts)

    def _program(self, problem: Asked, start: Answer | None) -> tuple[NLP | LinkedProgram, WarmStart | None]:
        values = self.structure.values_of(problem, guessed=start is None)
        if start is None:
            return self.structure.cold_program(values), None
        kind = PhasesSolution if isinstance(problem, Phases) else Solution
        if not isinstance(start, kind) or len(start.parts) != len(problem.parts):
            named = any("start" in each.names for each in self.inputs)
            of_phases = f"a PhasesSolution of these {len(problem.parts)} phases"
            what = of_phases if isinstance(problem, Phases) else "a Solution of this problem"
            raise OptionError(
                f"start is {short_repr(start)}: give {what}, or None for the guess"
                + "; the input of this name is set by solve({'start': value})" * named
            )
        return warm_program(self.structure, values, start)

    def _together(self, values: Inputs | None, inputs: Inputs) -> dict[str, object]:
        given: Mapping[str, object] = {} if values is None else values
        check_instance("values", given, Mapping, "a dictionary, input -> value, or keywords")
        return {**given, **inputs}

    def __str__(self) -> str:
        return f"{self.problem.name}, compiled for other values of\n{self.inputs}"


def _from_multipliers(solver: Solver) -> Solver:
    """A solver from the multipliers of an optimum for other values: before IPOPT the interior-point method.

    It takes half as many steps with them, IPOPT more than without.
    """
    if not isinstance(solver, Ipopt):
        return solver
    own = InteriorSteps(solver.tol, solver.max_iterations, solver.time_limit, solver.feasibility)
    return Fallback(own, solver)


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
    own = checked_asked(problem).independent_copy()
    if solver is not None:
        check_solver(solver)
    table = input_table(own)
    rows: Sequence[Collection[int]] = [()] * len(own.parts)
    if inputs is not None:
        if isinstance(inputs, str) or not isinstance(inputs, Collection):
            raise OptionError(f"inputs is {short_repr(inputs)}: give a list of their names, or None for all")
        rows = rows_for(own, table.chosen(inputs))
        table = input_table(own, rows).chosen(inputs)
    with np.errstate(all="ignore"):
        return CompiledProgram(own, AskedStructure.of(own, rows, check=True), table, solver)
