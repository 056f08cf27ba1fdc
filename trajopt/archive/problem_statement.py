"""Problems as data: what a script stated, in values of JSON, from which a saved solution builds it again.

Costs, constraints and unknowns are dataclasses of plain values and terms; a term that is a function is saved
as the operations that it was traced to. What has no such form, a term by a NumPy class or a table for
instance, is left out, and the problem that is built again names it as `unsaved`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, get_args, get_type_hints

import numpy as np

from trajopt.base.errors import OptionError, SolutionFileError, TrajoptError
from trajopt.graph.data import Data
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.protocols import Block, Term
from trajopt.graph.saved_expression import MOST_STEPS, SavedExpression, saved_expression
from trajopt.problem.constraints.coordinate_bounds import LowerContinuity
from trajopt.problem.constraints.designs import design_of
from trajopt.problem.constraints.slacks import IntegralConstraint, Slack
from trajopt.problem.contacts.closure import Closure
from trajopt.problem.contacts.contact import Contact
from trajopt.problem.contacts.ground import Ground
from trajopt.problem.costs_and_constraints import (
    AdditionalCurve,
    Constraint,
    Cost,
    Easing,
    NodeValues,
    Parameter,
    Periodicity,
    PiecewisePolynomial,
    Relaxation,
)
from trajopt.problem.problem import Problem
from trajopt.problem.systems.system import System
from trajopt.splines.basis import SplineBasis
from trajopt.splines.node_sets import (
    ArcNodes,
    Instants,
    MotionEnd,
    Neighbours,
    NodeSet,
    TimeWindow,
    WholePath,
)
from trajopt.splines.quadrature import Collocation
from trajopt.splines.trajectory import Arc, Trajectory
from trajopt.terms.arithmetic import Combination, FunctionOf, Product, Squared
from trajopt.terms.nonsmooth import Maximum, Norm, Slacked, SlackedNorm, SumOfSquares
from trajopt.terms.term import Capsule, ComponentTerm, ExpressionTerm, Quantity, SliceTerm, StateTerm, Target
from trajopt.transcription.transcribe import transcribe

Json: TypeAlias = Any  # a value of JSON
T = TypeVar("T")
FIELDS, KIND, LIST, MAP, ARRAY, TRACED, PART = "fields", "kind", "list", "map", "array", "traced", "part"
_KINDS = (
    *(Arc, ArcNodes, AdditionalCurve, Capsule, Closure, Collocation, Combination, Constraint, Contact, Cost),
    *(Data, Easing, FunctionOf, Ground, Instants, IntegralConstraint, LowerContinuity, Maximum, MotionEnd),
    *(Neighbours, NodeValues, Parameter, Periodicity, PiecewisePolynomial, Product, Quantity, Relaxation),
    *(Norm, Slack, Slacked, SlackedNorm, SplineBasis, Squared, StateTerm, SumOfSquares, System, Target),
    *(TimeWindow, Trajectory, WholePath),
)
KINDS: Mapping[str, type] = {kind.__name__: kind for kind in _KINDS}
#: What annotations of fields mean; those of terms are protocols, and are met where the program is made.
TYPES: Mapping[str, type | tuple[type, ...]] = {
    **{"NDArray": np.ndarray, "Array": np.ndarray, "str": str, "bool": bool, "int": int, "Mapping": Mapping},
    **{"float": (int, float), "tuple": tuple, "NodeSet": NodeSet, "Parts": tuple},
    **{"Maximum": Maximum, "Norm": Norm, "Kinked": (Maximum, Norm)},
}
#: Fields of terms, and the terms in each.
TERMS: Mapping[str, Callable[[Any], Iterable[object]]] = {
    "term": lambda value: [value],
    "base": lambda value: [value],
    "operands": tuple,
    "parts": lambda value: [term for _, term in value],
}
LISTS = ("costs", "constraints", "periodicities", "integrals", "lower_continuities")
TABLES = ("extras", "slacks", "loads", "parameters", "datasets", "passive_joints", "contacts", "closures")
NEEDED = TABLES[:6]  # without one of these the quantities of the problem would be others


class NoData(Exception):
    """A value has no form in a file; the message says what it is."""


def statement_of(problem: Problem) -> dict[str, Json] | None:
    """The problem as values of JSON; None where the robot or system, a load or an unknown is no data."""
    writer = _Writer(problem)
    try:
        robot = getattr(problem.dynamics, "to_json", None)
        dynamics = {"robot": robot()} if robot is not None else writer.value(problem.dynamics)
        found = {"name": problem.name, "dynamics": dynamics, "trajectory": writer.value(problem.trajectory)}
        found["designs"] = {name: writer.value(design.term) for name, design in problem.designs.items()}
        found |= {name: writer.value(getattr(problem, name)) for name in NEEDED}
        found["start_time"] = problem.start_time
    except (NoData, TrajoptError):
        return None
    unsaved: dict[str, str] = {}
    for name in LISTS:
        found[name] = list(writer.kept(name, getattr(problem, name), unsaved))
    for name in set(TABLES) - set(NEEDED):
        table: Mapping[str, object] = getattr(problem, name, {})
        found[name] = {MAP: [pair[LIST] for pair in writer.kept(name, table.items(), unsaved)]}
    relaxations = writer.value(problem.relaxations)
    return found | {"unsaved": unsaved, "measured": problem.measured, "relaxations": relaxations}


def fill(problem: Problem, statement: Mapping[str, Json]) -> None:
    """Give a problem on its dynamics and trajectory the rest of what was stated.

    Raises SolutionFileError for a statement that `statement_of` does not write.
    """
    with _refused():
        start = statement.get("start_time", 0.0)
        problem.start_time = None if start is None else float(start)
        for name in LISTS:
            setattr(problem, name, [_read(each) for each in statement[name]])
        for name in TABLES:
            if hasattr(problem, name):
                setattr(problem, name, _read(statement[name]))
        for name, term in statement["designs"].items():
            problem.designs[name] = design_of(problem, name, _read(term))
        problem.measured = bool(statement.get("measured", False))  # earlier files have no such keys
        problem.relaxations = _read(statement.get("relaxations", {LIST: []}))
        problem.unsaved = {str(name): str(reason) for name, reason in statement["unsaved"].items()}
        transcribe(problem)  # whatever of a foreign statement makes no program is met here


def trajectory_in(statement: Mapping[str, Json]) -> Trajectory:
    """The trajectory of a statement; SolutionFileError where there is none."""
    return _of_kind(statement, "trajectory", Trajectory)


def system_in(statement: Mapping[str, Json]) -> System:
    """The system x' = f of a statement; SolutionFileError where there is none."""
    return _of_kind(statement, "dynamics", System)


def _of_kind(statement: Mapping[str, Json], name: str, kind: type[T]) -> T:
    with _refused():
        found = _read(statement[name])
        if not isinstance(found, kind):
            raise TypeError(f"{name} is {type(found).__name__}")
        return found


class _refused:
    """SolutionFileError for whatever building values of a foreign statement raises."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, _: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, SolutionFileError):
            raise SolutionFileError(f"the saved problem cannot be read: {error}") from error


class _Writer:
    """Values of a problem as values of JSON."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def kept(self, where: str, values: Iterable[object], unsaved: dict[str, str]) -> Iterator[Json]:
        """Values that have a form in a file; names of the others go to `unsaved`, with the reason."""
        for value in values:
            try:
                yield self.value(value)
            except (NoData, TrajoptError) as error:
                name = value[0] if isinstance(value, tuple) else getattr(value, "name", str(value))
                unsaved[name] = f"of the {where.replace('_', ' ')}, {error}"

    def value(self, value: Any) -> Json:
        """A value of JSON, a list or table of values, an array, a term, or a dataclass of ours."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return {ARRAY: value.ravel().tolist(), "shape": list(value.shape), "dtype": value.dtype.kind}
        if isinstance(value, tuple | list):
            return {LIST: [self.value(each) for each in value]}
        if isinstance(value, Mapping):
            return {MAP: [[self.value(key), self.value(each)] for key, each in value.items()]}
        if isinstance(value, ComponentTerm | SliceTerm):
            part = value.component if isinstance(value, ComponentTerm) else value.part
            return {PART: self.value(part), "base": value.base}
        if KINDS.get(type(value).__name__) is type(value):
            fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
            if isinstance(value, System):
                fields |= self._law(value)
            return {KIND: type(value).__name__, FIELDS: {k: self.value(v) for k, v in fields.items()}}
        if isinstance(value, SavedExpression):
            steps = [list(step) for step in value.steps]
            return {TRACED: steps, "inputs": [list(each) for each in value.inputs], "outputs": value.outputs}
        if isinstance(value, Term):
            return self._term(value)
        raise NoData(f"{type(value).__name__} is no data")

    def _term(self, term: Term) -> Json:
        """A term by the operations that it was traced to."""
        blocks = term.blocks(self.problem.quantities)
        components, unit = getattr(term, "components", ()), getattr(term, "unit", "")
        scene = getattr(term, "scene", None)
        saved = ExpressionTerm(_traced(blocks, term.quantity), term.name, tuple(components), unit, scene)
        if saved.quantity != term.quantity:
            raise NoData(f"{type(term).__name__} is no data")
        rest = {"name": saved.name, "components": saved.components, "unit": saved.unit, "scene": saved.scene}
        return self.value(saved.function) | {name: self.value(each) for name, each in rest.items()}

    def _law(self, system: System) -> dict[str, object]:
        """The functions of a system that give rates or residuals and its picture, by their operations.

        A picture that has no form in a file is left out: without it the motion is the same.
        """
        found: dict[str, object] = {"draw": None}
        for name in ("rates", "residuals", "draw"):
            law = getattr(system, name)
            if law is not None:
                term = ExpressionTerm(law, name) if callable(law) else None
                if term is None:
                    raise NoData("a block gives the rates")
                try:
                    found[name] = _traced(term.blocks(self.problem.quantities), term.quantity)
                except (NoData, TrajoptError):
                    if name != "draw":
                        raise
        return found


def _traced(blocks: Sequence[Block], quantity: str) -> SavedExpression:
    if len(blocks) != 1 or not isinstance(blocks[0], ExpressionBlock) or set(blocks[0].outputs) != {quantity}:
        raise NoData("it is computed by a class")
    try:
        return saved_expression(blocks[0])
    except NotImplementedError as error:
        raise NoData(f"it calls a table or a function ({error})") from None


def _read(value: Json) -> Any:
    """The value that `_Writer.value` wrote; whatever is raised says that it did not."""
    if not isinstance(value, dict):
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise TypeError(f"{type(value).__name__} where a value is expected")
    if LIST in value:
        return tuple(_read(each) for each in value[LIST])
    if MAP in value:
        return {_read(key): _read(each) for key, each in value[MAP]}
    if ARRAY in value:
        kinds = {"f": float, "i": np.int64, "b": bool}
        return np.array(value[ARRAY], dtype=kinds[value["dtype"]]).reshape(value["shape"])
    if PART in value:
        part, base = _read(value[PART]), Quantity(value["base"])
        return base[slice(*part)] if isinstance(part, tuple) else base[part]
    if TRACED in value:
        if len(value[TRACED]) > MOST_STEPS:
            raise OptionError(f"a saved term has {len(value[TRACED])} operations, {MOST_STEPS} at most")
        inputs = tuple((str(name), int(width)) for name, width in value["inputs"])
        function = SavedExpression(inputs, tuple(map(tuple, value[TRACED])), tuple(value["outputs"]))
        named = {key: _read(value[key]) for key in ("name", "components", "unit", "scene") if key in value}
        return ExpressionTerm(function, **named) if named else function
    return _checked(KINDS[value[KIND]], {name: _read(each) for name, each in value[FIELDS].items()})


def _checked(kind: Any, values: dict[str, Any]) -> object:
    """A dataclass of values that are of the plain types which its annotations name; TypeError otherwise."""
    for each in dataclasses.fields(kind):
        annotation, value = str(each.type), values.get(each.name)
        name = annotation.removesuffix(" | None").partition("[")[0]
        if each.name not in values or (value is None and annotation.endswith("| None")):
            continue
        is_fine = isinstance(value, TYPES.get(name, object)) and (value is not True or name == "bool")
        if name == "Literal":
            is_fine = value in get_args(get_type_hints(kind)[each.name])
        if each.name in TERMS:
            is_fine = all(isinstance(term, Term) for term in TERMS[each.name](value))
        if not is_fine:
            raise TypeError(f"{kind.__name__}.{each.name} is {value!r:.80}, expected {annotation}")
    bounds = {values[name].shape for name in ("lower", "upper", "guess") if name in values}
    if len(bounds) > 1 or any(len(shape) != 1 for shape in bounds):
        raise ValueError(f"{kind.__name__} has bounds and a guess of the shapes {sorted(bounds)}")
    return kind(**values)
