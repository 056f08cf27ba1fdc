"""One step of replanning: the plan from a measured state, in bounded time, from the plan before.

The start is the plan before, later by the time that went by: its motion moves along, its multipliers with it
by whole intervals, or by contact and arc. A given number of steps of Newton's method follows
(`RealTimeIteration`) and, where these lead to no plan, some of the interior-point method. Where that finds
none either, the plan before goes on, and the step says why: nothing is raised for numbers of a sensor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import implements, numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ProblemError, ShapeError
from trajopt.graph.protocols import Dynamics, SymbolicBlock
from trajopt.parametric.affine_program import put_numbers
from trajopt.parametric.composed_step import MOST_KEPT, Composition
from trajopt.parametric.input_table import InputTable
from trajopt.parametric.inputs import LimitInput
from trajopt.parametric.optimality_system import OptimalitySystem
from trajopt.parametric.plan_shift import PlanShifts, last_kept
from trajopt.problem.costs_and_constraints import Relaxation
from trajopt.problem.problem import Problem
from trajopt.problem.systems.system import System
from trajopt.solution.answers import solution_at
from trajopt.solution.solution import Solution
from trajopt.solvers.interior.interior_point import InteriorPoint
from trajopt.solvers.matrices import sparse_steps_pay
from trajopt.solvers.newton.newton import FURTHER, RealTimeIteration
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Result, Run, Solver, Status, WarmStart
from trajopt.splines.basis import Curve
from trajopt.splines.node_sets import START
from trajopt.transcription.leaf_map import nearest_point
from trajopt.transcription.nlp import NLP, ProgramStructure, ProgramValues
from trajopt.transcription.program_functions import ProgramFunctions
from trajopt.transcription.transcribe import cold_program, program_at, program_like, values_of
from trajopt.transcription.unknowns import Layout, Unknowns

ENDED = (Status.CONVERGED, Status.ITERATION_LIMIT)
WORST = 1e-2  # of a row's scale: the largest violation of a plan that is taken in place of the one before
TOLERANCE = 1e-6  # of the KKT error, at which further steps are left out
PROBE = 1e-6  # of a state, by which derivatives by it are differenced


@dataclass(frozen=True, eq=False)
class Step:
    """The plan after one step of replanning; times t count in seconds from the state that it was made for.

    status : of the steps. TIME_LIMIT: the deadline was missed; EVALUATION_ERROR: a state or an input that is
        not finite; INFEASIBLE: rows are violated by more than a hundredth of their scale. In these cases, and
        where else no plan was found, `is_new` is False and the plan is the one before, `age` seconds old;
        the last iterate, to be used for nothing but a look at it, where there was none before
    reason : "" or a sentence on what was wrong
    result : the point that the steps led to;  unknowns : the map from it to the plan
    program : one of the structure and the scaling of the plan's own, which may have other values
    stated : makes the problem and its program, which few callers ask for
    """

    structure: ProgramStructure
    program: NLP
    unknowns: Unknowns
    result: Result
    status: Status
    dynamics: Dynamics
    stated: Callable[[], tuple[Problem, NLP]]
    age: float = 0.0
    is_new: bool = True
    reason: str = ""

    @staticmethod
    def of(problem: Problem, structure: ProgramStructure, nlp: NLP, result: Result, reason: str = "") -> Step:
        """The step to a point of a problem's program; no plan where there is a reason."""
        return Step(
            structure,
            nlp,
            nlp.unknowns,
            result,
            result.status,
            problem.dynamics,
            partial(_both, problem, nlp),
            is_new=not reason,
            reason=reason,
        )

    @cached_property
    def _stated(self) -> tuple[Problem, NLP]:
        return self.stated()

    @property
    def problem(self) -> Problem:
        return self._stated[0]

    @property
    def nlp(self) -> NLP:
        """The program of the plan."""
        return self._stated[1]

    @property
    def violation(self) -> float:
        """Largest violation of rows and bounds of the plan, in multiples of their scales."""
        return self.result.infeasibility

    @property
    def relaxations(self) -> tuple[Relaxation, ...]:
        """Parts of the problem that gave way to the measured state."""
        return self.problem.relaxations

    @cached_property
    def solution(self) -> Solution:
        """The plan as a solution, whose times count from its own start."""
        return solution_at(self.problem, self.nlp, self.result)

    @cached_property
    def curve(self) -> Curve:
        return self.unknowns.curve(self.result.y)

    def x(self, t: ArrayLike) -> NDArray[np.float64]:
        """The planned state at times t (...,), (..., n) of a system, (..., 2 n) q and v of a robot."""
        time, n = self._times(t), self.dynamics.n
        orders = (0,) if isinstance(self.dynamics, System) else (0, 1)
        found = self.curve.derivatives(time, orders)
        return np.concatenate([found[order][..., :n] for order in orders], axis=-1)

    def u(self, t: ArrayLike) -> NDArray[np.float64]:
        """The controls at times t (...,): all of a system, one after the other; of a robot its torques."""
        time, n = self._times(t), self.dynamics.n
        if isinstance(self.dynamics, System):
            return self.curve(time)[..., n:]
        return self.solution.tau(time)

    def control(self, t: ArrayLike, state: ArrayLike) -> NDArray[np.float64]:
        """u* + K (x - x*) for a state (n_x,) measured at t, in the first interval of the plan.

        Raises ShapeError for a state of another size.
        """
        measured = np.concatenate(list(split_state(self.dynamics, state).values()))
        return self.u(t) + self.gains @ (measured - self.x(t))

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """K (n_u, n_x), the derivative of the optimum's first controls by the state that it starts from.

        With K u* + K (x - x*) is the optimum for a state x near the planned x*, to first order, as long as
        the same limits are active: valid in the first interval. Of the last iterate where that is no optimum.
        Raises EvaluationError where the optimum is not strict.
        """
        return _gains(self)

    def held(self, elapsed: float, status: Status, reason: str) -> Step:
        """This plan, so many seconds older, in place of a new one."""
        return replace(self, age=self.age + elapsed, status=status, is_new=False, reason=reason)

    def _times(self, t: ArrayLike) -> Array:
        return np.clip(numbers(t, "the times") + self.age, 0.0, self.curve.duration)


def split_state(dynamics: Dynamics, state: ArrayLike) -> dict[str, Array]:
    """Input -> values of a measured state: x_start of a system, q_start and v_start of a robot.

    Raises ShapeError for another number of components.
    """
    n, given = dynamics.n, numbers(state, "the state").ravel()
    if isinstance(dynamics, System):
        if given.size != n:
            raise ShapeError(f"the state has {given.size} components: give all {n} of the system")
        return {"x at the start": given}
    if given.size != 2 * n:
        raise ShapeError(f"the state has {given.size} components: give q and v, 2 x {n} = {2 * n}")
    return {"q at the start": given[:n], "v at the start": given[n:]}


def shifted_unknowns(shifts: PlanShifts, values: ProgramValues, before: Step, elapsed: float) -> Array:
    """The unknowns from which a step begins: those of the plan before, later by `elapsed` seconds."""
    structure, elimination = shifts.structure, values.unknowns.elimination
    x = before.unknowns.elimination.expand(before.result.y)
    if elapsed or structure is not before.structure:
        durations = elimination.expand(elimination.reduce(x))[values.unknowns.layout.durations]
        x = shifts.unknowns(before.structure, x, elapsed, durations)
    y = nearest_point(elimination, structure.nearest_change, structure.solution.fixed, x)
    return values.bounds.clipped(y)


def _both(problem: Problem, nlp: NLP) -> tuple[Problem, NLP]:
    return problem, nlp


def _shape(layout: Layout) -> Hashable:
    """The same for layouts with as many arcs, curves, control points of each, and the same parameters."""
    counts = tuple(
        (group.curve_count, tuple(basis.count for basis in group.bases)) for group in layout.groups
    )
    return counts, tuple((name, place.start, place.stop) for name, place in layout.parameters.items())


def _gains(step: Step) -> Array:
    """Derivatives as those of `sensitivity`, by the state alone, by differences at fixed unknowns."""
    nlp, point, size = step.nlp, step.result.warm_start, step.x(0.0).size
    system = OptimalitySystem(nlp, point)
    lower = system.side < 0
    C, gradients, gaps = [], [], []
    for i in range(size):
        sides = [_at_other_state(step, sign * PROBE * (np.arange(size) == i)) for sign in (-1.0, 1.0)]
        (low, c_low, limits_low), (high, c_high, limits_high) = sides
        values = [np.concatenate([each.rows(point.y), np.zeros(point.y.size)]) for each in (low, high)]
        limits = [np.where(lower, *each) for each in (limits_low, limits_high)]
        moved = [
            value - np.where(np.isfinite(limit), limit, 0.0)
            for value, limit in zip(values, limits, strict=True)
        ]
        C.append((c_high - c_low) / (2.0 * PROBE))
        gradients.append((_slope(high, point) - _slope(low, point)) / (2.0 * PROBE))
        gaps.append((moved[1] - moved[0]) / (2.0 * PROBE))
    dy, _ = system.step(np.transpose(gradients), np.transpose(gaps))
    dx = nlp.unknowns.elimination.N @ dy + np.transpose(C)
    x, layout = nlp.unknowns.elimination.expand(step.result.y), nlp.unknowns.layout
    first = [
        [_controls_of(step, layout.curve(x + sign * PROBE * column)) for sign in (-1.0, 1.0)]
        for column in dx.T
    ]
    return np.transpose([(high - low) / (2.0 * PROBE) for low, high in first])


def _slope(functions: ProgramFunctions, point: WarmStart) -> Array:
    """The gradient by y of the Lagrangian without bounds."""
    slope = np.array(functions.gradient(point.y))
    assert point.row_multipliers is not None
    entries = functions.jacobian(point.y) * point.row_multipliers[functions.jacobian_rows]
    np.add.at(slope, functions.jacobian_columns, entries)
    return slope


def _at_other_state(step: Step, change: Array) -> tuple[ProgramFunctions, Array, tuple[Array, Array]]:
    """The functions of the program from another state, the constants c, and limits of rows and bounds."""
    nlp, structure, problem = step.nlp, step.structure, step.problem.independent_copy()
    problem.measured = True
    for name, own in split_state(problem.dynamics, change).items():
        for number, each in enumerate(problem.constraints):
            if each.name == name and each.over == START:
                moved = each.lower + own
                problem.constraints[number] = replace(each, lower=moved, upper=moved)
    values = values_of(structure, problem)
    linear, c = values.linear, values.unknowns.elimination.c
    functions = structure.maps.functions(nlp.chain, c, nlp.objectives, linear.A, linear.b)
    rows = values.row_bounds(structure.groups).scaled(nlp.row_scale)
    lower = np.concatenate([rows.lower, values.bounds.lower])
    upper = np.concatenate([rows.upper, values.bounds.upper])
    return functions.scaled(nlp.row_scale, nlp.objective_scale), c, (lower, upper)


def _controls_of(step: Step, curve: Curve) -> Array:
    """The first controls of a motion near that of the plan."""
    if isinstance(step.dynamics, System):
        return curve(0.0)[step.dynamics.n :]
    return replace(step.solution, curve=curve).tau(0.0)


def first_step(problem: Problem, structure: ProgramStructure, solver: Solver, run: Run) -> Step:
    """The plan of a problem from its guess, solved to the end; of its last iterate where that is none."""
    nlp = cold_program(structure, values_of(structure, problem), problem)
    result = run_solver(solver, nlp, None, run)
    return Step.of(problem, structure, nlp, result, _reason(result))


def _reason(result: Result) -> str:
    """The reason why the point of a result is no plan; "" where it is one."""
    if result.status not in ENDED:
        return result.detail or result.status.value
    if not result.infeasibility <= WORST:
        return f"rows are violated by {result.infeasibility:.2g} of their scale"
    return ""


class ComposedSteps:
    """Steps of a program by maps that are composed once, for inputs that are given together and each scaling.

    Plans from several guesses have scalings of their own, and loops from them in turns all keep their maps.
    """

    def __init__(self, problem: Problem, shifts: PlanShifts, table: InputTable) -> None:
        self.problem, self.shifts, self.table = problem, shifts, table
        self._kept: dict[Hashable, tuple[Composition | None]] = {}

    def prepare(self, plan: Step, names: Sequence[str]) -> Composition | None:
        """The maps for inputs of these names and the scaling of a plan, made at the first call."""
        scaling = plan.program.scaling
        key = tuple(names), scaling.objective, scaling.rows.tobytes()
        (maps,) = last_kept(self._kept, key, MOST_KEPT, lambda: (self._composed(plan, names),))
        return maps

    def next(self, before: Step, elapsed: float, given: Mapping[str, object]) -> Step | None:
        """The next step, with the active set of the plan before; None where the general one is asked for."""
        same = before.structure is self.shifts.structure
        maps = self.prepare(before, tuple(given)) if same else None
        if maps is None:
            return None
        p = np.concatenate(
            [each.numbers_of(own) for each, own in zip(maps.inputs, given.values(), strict=True)]
        )
        if not np.isfinite(p).all():
            return None
        last = before.result
        multipliers = np.append(last.row_multipliers, last.upper_multipliers - last.lower_multipliers)
        x = before.unknowns.elimination.expand(last.y)
        with np.errstate(all="ignore"):
            found = maps.step(x, multipliers, before.age + elapsed, p, TOLERANCE, WORST)
        if found is None:
            return None
        unknowns, result = found
        stated = partial(self._stated, maps, p, result.y)
        return Step(
            self.shifts.structure, maps.nlp, unknowns, result, result.status, self.problem.dynamics, stated
        )

    def _composed(self, plan: Step, names: Sequence[str]) -> Composition | None:
        structure, inputs = self.shifts.structure, [self.table.find(name) for name in names]
        traced = all(implements(block, SymbolicBlock) for block in structure.maps.chain.graph.blocks)
        fitting = [each for each in inputs if isinstance(each, LimitInput) and not each.unchanging.any()]
        if not traced or self.problem.datasets or len(fitting) < len(inputs):
            return None
        base = self.problem.independent_copy()
        base.measured = True
        try:
            nlp = program_at(structure, values_of(structure, base), plan.result.y, plan.program.scaling)
            pays = nlp.has_hessian and sparse_steps_pay(nlp)
            return Composition.of(base, self.shifts, nlp, fitting) if pays else None
        except (OptionError, ProblemError):  # an input that changes the program otherwise than linearly
            return None

    def _stated(self, maps: Composition, p: Array, y: Array) -> tuple[Problem, NLP]:
        problem = self.problem.independent_copy()
        put_numbers(problem, maps.inputs, p)
        problem.measured = True
        structure = self.shifts.structure
        return problem, program_like(maps.nlp, structure, values_of(structure, problem), y)


def next_step(
    problem: Problem,
    shifts: PlanShifts,
    before: Step,
    elapsed: float,
    steps: RealTimeIteration,
    run: Run,
) -> Step:
    """The step for the values of a problem from the one before, which may have been another program's.

    Raises OptionError for a plan of other curves or parameters, or with other numbers of control points.
    """
    structure, elapsed_in_all = shifts.structure, before.age + elapsed
    values = values_of(structure, problem)
    is_other = structure is not before.structure
    if is_other and _shape(values.unknowns.layout) != _shape(before.unknowns.layout):
        raise OptionError(
            f"before is a plan of '{before.problem.name}', which has other unknowns than '{problem.name}': "
            "give one with as many intervals, the same curves and parameters"
        )
    y = shifted_unknowns(shifts, values, before, elapsed_in_all)
    nlp = program_at(structure, values, y) if is_other else program_like(before.program, structure, values, y)
    point = before.result.warm_start
    start = shifts.multipliers(nlp, before.program, before.structure, point, elapsed_in_all)
    result = _stepped(nlp, start, steps, run)
    if run.expired:
        return before.held(elapsed, Status.TIME_LIMIT, Status.TIME_LIMIT.value)
    reason = _reason(result)
    if not reason:
        return Step.of(problem, structure, nlp, result)
    return before.held(elapsed, Status.INFEASIBLE if result.status in ENDED else result.status, reason)


def _stepped(nlp: NLP, start: WarmStart, steps: RealTimeIteration, run: Run) -> Result:
    """The point that the steps lead to, or some of the interior-point method where they lead to no plan."""
    result = steps.solve(nlp, start, run)
    if run.expired or not _reason(result):
        return result
    interior, further = InteriorPoint(steps.tol).alone, replace(run, max_iterations=steps.steps + FURTHER)
    return interior.solve(nlp, start, further) if interior.suits(nlp, start, further) else result
