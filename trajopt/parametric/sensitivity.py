"""The derivative of an optimum by an input: of its motion, its duration, its parameters and its objective.

At an optimum (y, mu) with active constraints W, Hessian H of the Lagrangian L and Jacobian A_W, a change
dp of the input moves it by

    [H  A_W'] [dy  ]     [d/dp grad_y L       ]
    [A_W  0 ] [dmu ] = - [d/dp (g_W - limit_W)] dp

as long as the same constraints stay active (Fiacco, Introduction to Sensitivity and Stability Analysis in
Nonlinear Programming, 1983, theorem 2.4.4). The objective changes by dL/dp. What an input changes in the
program is linear in it, or goes by the constants c of x = N y + c, by which all is differentiated exactly.
Of phases the system is that of all together; c, linear rows and weights change in each phase's own program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from trajopt.base.arguments import list_names
from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError, OptionError, ProblemError
from trajopt.parametric.input_table import input_table, rows_for
from trajopt.parametric.inputs import DurationInput, Input, PhaseInput
from trajopt.parametric.optimality_system import OptimalitySystem, check_converged, system_at
from trajopt.problem.phases import Asked
from trajopt.solution.solution import Answer, Solution
from trajopt.splines.basis import Curve
from trajopt.transcription.derivative_check import STEP
from trajopt.transcription.leaf_map import LeafMap
from trajopt.transcription.linked_program import AskedStructure, LinkedProgram
from trajopt.transcription.nlp import NLP, ProgramStructure
from trajopt.transcription.program_functions import ProgramFunctions, program_maps
from trajopt.transcription.unknowns import Label, Layout, UnknownLabels


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of an optimum by the m numbers of an input, one-sided where a limit is just reached.

    labels : (m,) of the input's numbers: component, and the side of a limit
    objective, duration : (m,), of phases those of all together
    parameters : name -> (width, m)
    phases : those of every phase, whose motions `q` evaluates; empty for a single problem
    one_sided : (m,) in which direction alone a derivative holds, and the limit that the optimum just reaches;
        "" where it holds in both
    """

    keyword: str
    labels: tuple[str, ...]
    objective: NDArray[np.float64]
    duration: NDArray[np.float64]
    parameters: Mapping[str, NDArray[np.float64]]
    curves: tuple[Curve, ...]  # one per number: derivatives of control points, over a unit of time
    n: int
    phases: tuple[Sensitivity, ...] = ()
    one_sided: tuple[str, ...] = ()

    def q(self, s: ArrayLike) -> NDArray[np.float64]:
        """Derivatives of positions at normalised times s (...,) of the motion, (..., n, m)."""
        if self.phases:
            raise OptionError("every phase has its own 'q': ask one, sensitivity.phases[0].q(s)")
        return np.stack([curve.at_progress(s)[..., : self.n] for curve in self.curves], axis=-1)

    def __str__(self) -> str:
        rows = [f"d (objective, duration) / d {self.keyword}"]
        numbers = zip(self.labels, self.objective, self.duration, self.one_sided, strict=True)
        for label, objective, duration, one_sided in numbers:
            side = f"; {one_sided}" if one_sided else ""
            rows.append(f"  {label or self.keyword}: {objective:.6g}, {duration:.6g}{side}")
        return "\n".join(rows)


def sensitivity(solution: Answer, name: str) -> Sensitivity:
    """See `Solution.sensitivity`."""
    check_converged(solution)
    asked = solution.asked
    rows = rows_for(asked, [input_table(asked).find(name)])
    chosen = input_table(asked, rows).find(name)
    structure = AskedStructure.of(asked, rows)
    return _derivatives(chosen, structure, system_at(structure, solution), solution)


@dataclass(frozen=True, eq=False)
class UnknownsDerivative:
    """All unknowns of an optimum, and their derivatives by the m numbers of several inputs together.

    x : (X,) as `layout` has them;  dx : (X, m);  objective : (m,)
    """

    layout: Layout
    x: NDArray[np.float64]
    dx: NDArray[np.float64]
    objective: NDArray[np.float64]


def derivative_of_unknowns(
    solution: Solution, structure: AskedStructure, inputs: Sequence[Input]
) -> UnknownsDerivative:
    """The unknowns of a single problem's solution by inputs that the structure lets change.

    Raises OptionError for a solution that is not converged or inputs without derivatives, EvaluationError
    where the optimum has none.
    """
    check_converged(solution)
    system = system_at(structure, solution)
    steps = [_step(each, structure, system, solution) for each in inputs]
    unknowns = system.parts[0][0].unknowns
    return UnknownsDerivative(
        unknowns.layout,
        unknowns.elimination.expand(system.point.y),
        np.concatenate([step.unknowns[0] for step in steps], axis=1),
        np.concatenate([step.objective for step in steps]),
    )


@dataclass(frozen=True, eq=False)
class _Change:
    """The programs for two values of one number of an input, `width` apart."""

    low: NLP | LinkedProgram
    high: NLP | LinkedProgram
    width: float

    def limits(self, side: str) -> Array:
        """Change per unit of all lower or upper limits of rows, then of y."""
        one, other = (
            np.concatenate([getattr(each, f"row_{side}"), getattr(each, side)])
            for each in (self.low, self.high)
        )
        finite, change = np.isfinite(one), np.zeros(one.size)
        change[finite] = (other[finite] - one[finite]) / self.width
        return change

    def of_part(self, k: int, value: Callable[[NLP], Array]) -> Array:
        """Change per unit of what stands in the program of a part."""
        return (value(self.high.programs[k]) - value(self.low.programs[k])) / self.width


def _change(
    chosen: Input, asked: Asked, structure: AskedStructure, system: OptimalitySystem, i: int
) -> _Change:
    numbers = chosen.numbers(asked)
    size = abs(float(numbers[i]))
    own = chosen.own if isinstance(chosen, PhaseInput) else chosen
    # Nearly all is linear in it; a jerk that is given at a fixed duration T stands in its equation times T^3.
    step = STEP * (size if isinstance(own, DurationInput) else 1.0 + size)
    sides = []
    for signed in (-step, step):
        other = asked.independent_copy()
        chosen.put_numbers(other, numbers + signed * (np.arange(numbers.size) == i))
        try:
            values = structure.values_of(other, guessed=False)
            sides.append(structure.program_at(values, system.starts, system.scalings))
        except ProblemError as error:
            raise EvaluationError(
                f"there is no derivative by '{chosen.keyword}': changed by {signed:.2g} it contradicts other "
                f"conditions ({error})"
            ) from None
    low, high = sides
    return _Change(low, high, 2.0 * step)


@dataclass(frozen=True, eq=False)
class _Explicit:
    """Derivatives of a part by all numbers of the input at fixed y, scaled as its program is.

    objective : (m,);   gradient : of the Lagrangian by y, (variables, m);   rows : (rows, m)
    """

    objective: Array
    gradient: Array
    rows: Array


def _explicit(
    k: int, structure: ProgramStructure, system: OptimalitySystem, moved: Sequence[_Change], C: Array
) -> _Explicit:
    """Explicit change of part k, whose constants c change by C (x, m)."""
    nlp, place, rows, weight = system.parts[k]
    y, multipliers, linear = system.point.y[place], system.multipliers[rows], nlp.linear.count
    extended, wider = _by_constants(structure, nlp, C), np.concatenate([y, np.zeros(len(moved))])
    J = np.zeros((nlp.row_count - linear, wider.size))
    H = np.zeros((wider.size, wider.size))
    np.add.at(J, (extended.jacobian_rows, extended.jacobian_columns), extended.jacobian(wider))
    of_lagrangian = extended.hessian(wider, multipliers[linear:], weight)
    np.add.at(H, (extended.hessian_rows, extended.hessian_columns), of_lagrangian)
    others = [_by_values(k, structure, nlp, change) for change in moved]
    gradients = [weight * other.gradient(y) + other.A.T @ multipliers[:linear] for other in others]
    return _Explicit(
        extended.gradient(wider)[y.size :] + [other.objective(y) for other in others],
        H[y.size :, : y.size].T + np.transpose(gradients),
        np.concatenate([np.transpose([other.A @ y + other.b for other in others]), J[:, y.size :]]),
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """Change of an optimum per unit of all m numbers of an input.

    unknowns : x of every part, (x, m);  objective : (m,);  of_parts : objective of every part, (m,)
    """

    unknowns: list[Array]
    objective: Array
    of_parts: list[Array]
    one_sided: tuple[str, ...]


def _step(chosen: Input, structure: AskedStructure, system: OptimalitySystem, solution: Answer) -> _Step:
    nlp, y, parts = system.nlp, system.point.y, range(len(system.parts))
    numbers = chosen.numbers(solution.asked)
    moved = [_change(chosen, solution.asked, structure, system, i) for i in range(numbers.size)]
    C = [
        np.stack([each.of_part(k, lambda part: part.unknowns.elimination.c) for each in moved], axis=1)
        for k in parts
    ]
    found = [_explicit(k, structure.parts[k], system, moved, C[k]) for k in parts]
    gradient = np.concatenate([each.gradient for each in found])
    rows = np.concatenate([each.rows for each in found])
    fixed = np.zeros((nlp.row_count + y.size - len(rows), len(moved)))  # links, and y itself
    is_lower = system.side < 0
    limits = [np.where(is_lower, each.limits("lower"), each.limits("upper")) for each in moved]
    gap = np.concatenate([rows, fixed]) - np.transpose(limits)
    dy, dmu = system.step(gradient, gap)
    objective = system.multipliers[system.active] @ gap[system.active]
    # A derivative is to hold for a change of 1e-4 of an input's size and one
    reach = 1e-4 * (1.0 + np.abs(numbers).ravel())
    one_sided = _one_sided(system, solution, np.concatenate([rows, fixed]), moved, (dy, dmu), reach)
    unknowns, of_parts = [], []
    for k, (part, place, _, weight) in enumerate(system.parts):
        objective = objective + weight * found[k].objective
        along = part.gradient(y[place]) @ dy[place] + found[k].objective
        of_parts.append(along / part.objective_scale)
        unknowns.append(part.unknowns.elimination.N @ dy[place] + C[k])
    return _Step(unknowns, objective / nlp.objective_scale, of_parts, one_sided)


def _derivatives(
    chosen: Input, structure: AskedStructure, system: OptimalitySystem, solution: Answer
) -> Sensitivity:
    step = _step(chosen, structure, system, solution)
    motions = [
        _of_part(chosen, part.unknowns.layout, dx, along, len(motion.joint_names))
        for (part, *_), dx, along, motion in zip(
            system.parts, step.unknowns, step.of_parts, solution.parts, strict=True
        )
    ]
    if structure.links is None:
        return replace(motions[0], objective=step.objective, one_sided=step.one_sided)
    stated = {name for problem in solution.asked.parts for name in problem.parameters}
    every = {name: value for motion in motions for name, value in motion.parameters.items() if name in stated}
    duration, phases = np.sum([motion.duration for motion in motions], axis=0), tuple(motions)
    return Sensitivity(
        chosen.keyword, chosen.labels, step.objective, duration, every, (), 0, phases, step.one_sided
    )


def _one_sided(
    system: OptimalitySystem,
    solution: Answer,
    explicit: Array,
    moved: list[_Change],
    step: tuple[Array, Array],
    reach: Array,
) -> tuple[str, ...]:
    """The direction in which the active limits stay the same, for every number of the input, or "".

    They change where a step within reach (m,) brings a value to its limit, or a multiplier to zero.
    """
    dy, dmu = step
    changing: list[dict[bool, list[str]]] = [{True: [], False: []} for _ in moved]

    def note(index: int, margin: float, rates: Array) -> None:
        """Note a limit whose margin, zero at the change, falls at these rates (m,) as the input rises."""
        for names, rate, most in zip(changing, rates, reach, strict=True):
            if margin < abs(rate) * most:
                names[bool(rate > 0.0)].append(_label(system, solution, index))

    for limit in system.open_limits:
        bound = "upper" if limit.side > 0 else "lower"
        value = limit.gradient @ dy + explicit[limit.place]
        rates = limit.side * (value - [each.limits(bound)[limit.place] for each in moved])
        note(limit.place, limit.gap, rates)
    for index, rates in zip(system.solved, dmu, strict=True):
        if system.is_inequality[index]:
            side = system.side[index]
            note(int(index), float(side * system.multipliers[index]), -side * rates)
    return tuple(map(_sentence, changing))


def _sentence(changing: dict[bool, list[str]]) -> str:
    """The direction in which a derivative holds, where limits change as the input rises (True) or falls."""
    names = list(dict.fromkeys(changing[True] + changing[False]))
    if not names:
        return ""
    direction = "falls" if changing[True] else "rises"
    where = "in no direction" if all(changing.values()) else f"where it {direction}"
    return f"holds {where}: {list_names(names)} just reached"


def _label(system: OptimalitySystem, solution: Answer, index: int) -> str:
    """The constraint and component of a row or, beyond the rows, of a bound."""
    of_rows = index < system.nlp.row_count
    place = index if of_rows else index - system.nlp.row_count
    for (nlp, variables, rows, _), problem in zip(system.parts, solution.asked.parts, strict=True):
        own = rows if of_rows else variables
        if own.start <= place < own.stop:
            unknowns, within = nlp.unknowns, place - own.start
            label: Label
            if of_rows:
                label = nlp.row_labels[within]
            else:
                column = int(unknowns.elimination.free[within])
                label = UnknownLabels(problem, unknowns.layout).label(column)
            return f"limit '{label.constraint}'{' of ' * bool(label.component)}{label.component}"
    return "a link between phases"


def _of_part(chosen: Input, layout: Layout, dx: Array, objective: Array, n: int) -> Sensitivity:
    """The derivatives of one motion from those of its unknowns x, (x, m)."""
    return Sensitivity(
        chosen.keyword,
        chosen.labels,
        objective,
        dx[layout.durations].sum(axis=0),
        {name: dx[place] for name, place in layout.parameters.items()},
        tuple(
            replace(layout.curve(np.ascontiguousarray(each)), durations=np.ones(len(layout.bases)))
            for each in dx.T
        ),
        n,
    )


def _by_constants(structure: ProgramStructure, nlp: NLP, C: Array) -> ProgramFunctions:
    """The functions of all rows but the linear ones, by y and p, where x = N y + c + C p."""
    solution, maps, linear = structure.solution, structure.maps, nlp.linear.count
    wider = sparse.csr_array(sparse.hstack([solution.N, sparse.csr_array(C)], format="csr"))
    leaf_map = LeafMap(structure.spline_map, wider, maps.leaf_map.leaves, maps.leaf_map.kept)
    extended = program_maps(maps.chain.graph, leaf_map, nlp.objectives, structure.groups, 0)
    none, chain = sparse.csr_array((0, wider.shape[1])), extended.chain.on(nlp.chain.graph)
    functions = extended.functions(chain, nlp.unknowns.elimination.c, nlp.objectives, none, np.zeros(0))
    return functions.scaled(nlp.row_scale[linear:], nlp.objective_scale)


def _by_values(k: int, structure: ProgramStructure, nlp: NLP, change: _Change) -> ProgramFunctions:
    """The functions with the changes of weights and linear rows per unit in place of these themselves."""
    weights = change.of_part(k, lambda part: np.array([objective.weight for objective in part.objectives]))
    objectives = [
        replace(objective, weight=float(w)) for objective, w in zip(nlp.objectives, weights, strict=True)
    ]
    A, b = (change.of_part(k, value) for value in (lambda part: part.linear.A, lambda part: part.linear.b))
    functions = structure.maps.functions(nlp.chain, nlp.unknowns.elimination.c, objectives, A, b)
    return functions.scaled(nlp.row_scale, nlp.objective_scale)
