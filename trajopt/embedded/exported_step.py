"""A step of replanning, of a system or an arm, as C without dependencies: `CompiledProgram.to_c`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import check_count, check_instance, check_positive, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ResultFolderError
from trajopt.base.files import file_path, refused, write_text
from trajopt.embedded.c_files import Named, Names, check_prefix, header, step_source, tables_source
from trajopt.embedded.step_tables import step_tables
from trajopt.graph.quantities import extra_leaf
from trajopt.parametric.input_table import InputTable
from trajopt.parametric.inputs import Input, LimitInput
from trajopt.parametric.node_terms import c_source, expression_function, expressions_of, node_terms
from trajopt.parametric.plan_shift import PlanShifts
from trajopt.parametric.replanning import Step, split_state
from trajopt.problem.problem import Problem
from trajopt.problem.systems.system import System
from trajopt.splines.basis import Curve


@dataclass(frozen=True, eq=False)
class StepExport:
    """The step that is written, with the arguments of `CompiledProgram.to_c`."""

    step: Step
    elapsed: float
    inputs: Sequence[str]
    times: ArrayLike
    most_samples: int
    name: str
    overwrite: bool

    def write(self, folder: str | Path, problem: Problem, table: InputTable, shifts: PlanShifts) -> Path:
        """Write the files of a program of the problem and return their folder."""
        name, step = self.name, self.step
        check_prefix(name)
        check_instance("step", step, Step, "the first plan, compiled.step(state)")
        check_positive("elapsed", self.elapsed)
        check_count("most_samples", self.most_samples, 1)
        times = np.atleast_1d(numbers(self.times, "the times"))
        if times.ndim != 1 or not times.size or not (times.min() >= 0.0 and times.max() < np.inf):
            raise OptionError("times are seconds after the measured state, from 0 on: give one or several")
        if step.structure is not shifts.structure or not step.is_new:
            raise OptionError(
                "step is no new plan of this program: give one that compiled.step(state) has made"
                + f" ({step.reason})" * bool(step.reason)
            )
        if isinstance(self.inputs, str) or not isinstance(self.inputs, Sequence):
            raise OptionError(f"inputs is {short_repr(self.inputs)}: give a list of names")
        inputs = [table.find(each) for each in dict.fromkeys((*_state_inputs(problem), *self.inputs))]
        target = _checked_folder(folder, self.overwrite)
        named = tuple(_named(problem, each) for each in inputs)
        terms, plant = node_terms(step.nlp, name), _plant(problem, name)
        tables = step_tables(
            problem, shifts, inputs, step, self.elapsed, self.most_samples, times, terms, plant.of_curve
        )
        functions = (*terms.functions, plant.controls_at)
        names = Names(name, named, plant.states, plant.controls, tuple(times.tolist()), functions)
        texts = {
            f"{name}.h": header(tables, terms, names, self.elapsed),
            f"{name}_tables.h": tables_source(tables, terms, names),
            f"{name}_terms.c": c_source(functions, f"{name}_terms"),
            f"{name}_step.c": step_source(name),
        }
        with refused(f"{target} cannot be written", "give another folder"):
            target.mkdir(parents=True, exist_ok=True)
            for file, text in texts.items():
                write_text(target / file, text)
        return target


@dataclass(frozen=True, eq=False)
class _Plant:
    """States and controls of a plant at a time.

    of_curve : times (k,) and a curve -> numbers (k, count) of which the first ones are the state
    controls_at : CasADi's function of these numbers that gives the controls
    """

    states: Named
    controls: Named
    of_curve: Callable[[Array, Curve], Array]
    controls_at: Any


def _plant(problem: Problem, name: str) -> _Plant:
    """A system's, or those of a robot whose torques follow from q, v and a; OptionError for others."""
    dynamics, n = problem.dynamics, problem.dynamics.n
    joints, units = tuple(dynamics.joint_names), problem.quantity_units

    title = f"{name}_controls_at"
    if isinstance(dynamics, System):
        names, own = [], []
        for key, curve in problem.extras.items():
            width = curve.lower.size
            parts = problem.component_names(extra_leaf(key), width)
            names += [f"{key} {part}".rstrip() for part in parts]
            own += units(extra_leaf(key), width)
        states = Named("states", joints, tuple(units("q", n)))
        controls = Named("controls", tuple(names), tuple(own))
        taken = expression_function(title, {"x": n, "u": len(names)}, lambda seen: seen["u"])
        return _Plant(states, controls, lambda times, curve: curve(times), taken)
    block = dynamics.block(("tau",))
    others = problem.contacts, problem.closures, problem.loads, problem.passive_joints, problem.designs
    if any(others) or problem.extras or not {*block.inputs} <= {"q", "v", "a"}:
        raise OptionError(
            f"'{problem.name}' has contacts, loads, passive joints or further curves: to_c writes steps of "
            "systems, and of arms whose torques follow from q, v and a"
        )
    torques = expression_function(
        title, {"q": n, "v": n, "a": n}, lambda seen: expressions_of(block, seen)["tau"]
    )

    def of_curve(times: Array, curve: Curve) -> Array:
        return np.concatenate([each[:, :n] for each in curve.derivatives(times, (0, 1, 2)).values()], axis=1)

    states = Named(
        "states",
        (*(f"q {j}" for j in joints), *(f"v {j}" for j in joints)),
        tuple(units("q", n) + units("v", n)),
    )
    return _Plant(states, Named("controls", joints, tuple(units("tau", n))), of_curve, torques)


def _state_inputs(problem: Problem) -> list[str]:
    n = problem.dynamics.n
    return list(split_state(problem.dynamics, np.zeros(n if isinstance(problem.dynamics, System) else 2 * n)))


def _named(problem: Problem, each: Input) -> Named:
    """The names and units of an input's numbers; OptionError for one that is no values or limits."""
    if not isinstance(each, LimitInput):
        raise OptionError(
            f"'{each.keyword}' can be no input of a step in C: values of states, goals and limits can"
        )
    if each.table == "constraints":
        _check_alone(problem, each)
    units: Sequence[str] = ()
    if each.table == "constraints" and isinstance(each.key, int) and each.is_value:
        term = problem.constraints[each.key].term
        units = np.array(problem.term_units(term, each.pattern.width))[each.pattern.equal].tolist()
    elif each.table == "parameters" and isinstance(each.key, str) and each.is_value:
        units = [problem.parameters[each.key].unit] * each.pattern.width
    return Named(each.keyword, each.labels, tuple(units))


def _check_alone(problem: Problem, each: LimitInput) -> None:
    """OptionError where the tighter one of two limits bounds the control points of positions."""
    hulls = {k: c for k, c in enumerate(problem.constraints) if c.hold == "hull" and c.term.quantity == "q"}
    limit = hulls.pop(each.key, None) if isinstance(each.key, int) else None
    if limit is None:
        return
    for other in hulls.values():
        sides = zip((limit.lower, limit.upper), (other.lower, other.upper), strict=True)
        if any(np.any(np.isfinite(one) & np.isfinite(another)) for one, another in sides):
            raise OptionError(
                f"'{each.keyword}' bounds positions as '{other.name}' does, and the tighter one counts: it "
                "can be no input of a step in C, state one limit instead"
            )


def _checked_folder(folder: str | Path, overwrite: bool) -> Path:
    """The folder; ResultFolderError where it is a file, or not empty although nothing may be overwritten."""
    target = file_path(folder)
    if target.exists() and not target.is_dir():
        raise ResultFolderError(f"{target} is a file: give a folder")
    if target.is_dir() and any(target.iterdir()) and not overwrite:
        raise ResultFolderError(f"{target} is not empty: give another folder, or overwrite=True")
    return target
