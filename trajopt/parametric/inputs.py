"""Inputs of a compiled program: the values of a problem that may be others in every solve.

An input knows how its value is written, which numbers of the problem it stands for, and what of it is
structure: which components are fixed, which limits are finite. It sets a new value in a copy of the problem,
or raises StructureError where the value would need another program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.base.arguments import short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError, StructureError
from trajopt.graph.data import data_of
from trajopt.parametric.limit_pattern import COMPILE_AGAIN, LimitPattern
from trajopt.problem.input_checks import bounds_or_value, equal_to, finite_number
from trajopt.problem.problem import ProblemData


@dataclass(frozen=True, eq=False)
class Input(ABC):
    """One input.

    name : under which the problem lists it
    keyword : the argument of `CompiledProgram.solve` that sets it
    """

    name: str
    keyword: str

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called in `solve`."""
        return self.keyword, self.name

    @property
    @abstractmethod
    def form(self) -> str:
        """How its value is written."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers of its value, as `numbers` lists them."""

    @abstractmethod
    def numbers(self, problem: ProblemData) -> Array:
        """The numbers that its value has in a problem, one after the other."""

    @abstractmethod
    def put_numbers(self, problem: ProblemData, numbers: Array) -> None:
        """Give a problem, an independent copy, a value by its numbers."""

    @abstractmethod
    def put(self, problem: ProblemData, value: Any) -> None:
        """Give a problem, an independent copy, the value.

        Raises ShapeError or NotFiniteError for what is no such value, StructureError for one that needs
        another program.
        """


@dataclass(frozen=True, eq=False)
class LimitInput(Input):
    """The limits of a constraint or an integral, or its value where its components are fixed.

    table, number : the list of the problem that it stands in, and its place there
    components : names of the components
    unchanging : (width,) components whose value stands in the eliminated equations
    """

    table: str
    number: int
    components: tuple[str, ...]
    pattern: LimitPattern
    unchanging: Array

    @property
    def form(self) -> str:
        width = self.pattern.width
        one = "a number" if width == 1 else f"a number or ({width},)"
        if not self.pattern.is_value:
            return f"(lower, upper), each {one}"
        return one if self.pattern.equal.all() else f"{one}, None where free"

    def put(self, problem: ProblemData, value: Any) -> None:
        rows = getattr(problem, self.table)
        before = rows[self.number]
        lower, upper = self._value(value) if self.pattern.is_value else self._limits(value)
        moved = self.unchanging & ((lower != before.lower) | (upper != before.upper))
        if moved.any():
            raise StructureError(
                f"'{self.name}'{self._where(moved)} stands in equations that were eliminated, as durations "
                "are free: name it when compiling, and it becomes rows of the program, "
                f"trajopt.compile(problem, inputs=['{self.keyword}', ...])"
            )
        rows[self.number] = replace(before, lower=lower, upper=upper)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.pattern.labels(self.components)

    def numbers(self, problem: ProblemData) -> Array:
        stated = getattr(problem, self.table)[self.number]
        return self.pattern.numbers(stated.lower, stated.upper)

    def put_numbers(self, problem: ProblemData, numbers: Array) -> None:
        rows = getattr(problem, self.table)
        lower, upper = self.pattern.limits(numbers)
        rows[self.number] = replace(rows[self.number], lower=lower, upper=upper)

    def _value(self, value: Any) -> tuple[Array, Array]:
        """Bounds of a value: one number for all fixed components, or one per component."""
        equal = self.pattern.equal
        listed = isinstance(value, list | tuple)
        entries = list(value) if listed else value
        if listed and len(entries) == equal.size:
            given = np.array([each is not None for each in entries])
            wrong = given != equal
            if wrong.any():
                was = "free" if given[int(np.argmax(wrong))] else "fixed"
                raise StructureError(
                    f"'{self.name}'{self._where(wrong)} was {was} when the problem was compiled: "
                    f"{COMPILE_AGAIN}"
                )
            entries = [0.0 if each is None else each for each in entries]
        elif np.ndim(value) and not equal.all():
            raise ShapeError(
                f"'{self.name}' leaves components free: give a list with None for "
                f"{', '.join(self._names(~equal))}"
            )
        wanted = equal_to(entries, equal.size, self.name, self.components)
        return np.where(equal, wanted, -np.inf), np.where(equal, wanted, np.inf)

    def _limits(self, value: Any) -> tuple[Array, Array]:
        lower, upper = pair(value, self.name)
        bounds = bounds_or_value(lower, upper, None, self.pattern.width, self.name, self.components)
        self.pattern.check(self.name, *bounds, self.components)
        return bounds

    def _names(self, which: Array) -> list[str]:
        return [self.components[i] or str(i) for i in np.flatnonzero(which)]

    def _where(self, which: Array) -> str:
        return f", component {self._names(which)[0]}," if which.size > 1 else ""


@dataclass(frozen=True, eq=False)
class BoundsInput(Input):
    """The bounds of a parameter or an additional curve; of a parameter whose bounds are equal, its value.

    table : the dictionary of the problem that it stands in
    """

    table: str
    pattern: LimitPattern

    @property
    def form(self) -> str:
        width = self.pattern.width
        one = "a number" if width == 1 else f"a number or ({width},)"
        return one if self.pattern.equal.all() else f"(lower, upper), each {one}"

    def put(self, problem: ProblemData, value: Any) -> None:
        known = getattr(problem, self.table)
        before, width = known[self.name], self.pattern.width
        components = [str(i) for i in range(width)]
        if self.pattern.equal.all():
            lower = upper = equal_to(value, width, self.name, components)
        else:
            lower, upper = bounds_or_value(*pair(value, self.name), None, width, self.name, components)
        self.pattern.check(self.name, lower, upper, components)
        guess = np.clip(before.guess, lower, upper)
        known[self.name] = replace(before, lower=lower, upper=upper, guess=guess)

    @property
    def labels(self) -> tuple[str, ...]:
        width = self.pattern.width
        return self.pattern.labels([str(i) if width > 1 else "" for i in range(width)])

    def numbers(self, problem: ProblemData) -> Array:
        unknown = getattr(problem, self.table)[self.name]
        return self.pattern.numbers(unknown.lower, unknown.upper)

    def put_numbers(self, problem: ProblemData, numbers: Array) -> None:
        known = getattr(problem, self.table)
        lower, upper = self.pattern.limits(numbers)
        known[self.name] = replace(known[self.name], lower=lower, upper=upper)


@dataclass(frozen=True, eq=False)
class WeightInput(Input):
    """The weight of a cost; `number` is its place among the problem's costs."""

    number: int

    @property
    def names(self) -> tuple[str, ...]:
        return (self.keyword,)  # the term's name is that of its limits

    @property
    def form(self) -> str:
        return "a number"

    def put(self, problem: ProblemData, value: Any) -> None:
        weight = finite_number(value, f"the weight of '{self.name}'")
        problem.costs[self.number] = replace(problem.costs[self.number], weight=weight)

    @property
    def labels(self) -> tuple[str, ...]:
        return ("",)

    def numbers(self, problem: ProblemData) -> Array:
        return np.array([problem.costs[self.number].weight])

    def put_numbers(self, problem: ProblemData, numbers: Array) -> None:
        self.put(problem, float(numbers[0]))


@dataclass(frozen=True, eq=False)
class DataInput(Input):
    """Samples of given curves; there may be more or fewer of them, but as many columns."""

    width: int

    @property
    def form(self) -> str:
        return f"values (k, {self.width}) at the same times, or (times, values)"

    def put(self, problem: ProblemData, value: Any) -> None:
        before = problem.datasets[self.name]
        times, values = value if isinstance(value, tuple) and len(value) == 2 else (before.times, value)
        found = data_of(self.name, times, values, before.clock, before.unit)
        if found.width != self.width:
            raise StructureError(
                f"data '{self.name}' have {found.width} columns but had {self.width} when the problem was "
                f"compiled: {COMPILE_AGAIN}"
            )
        problem.datasets[self.name] = found

    @property
    def labels(self) -> tuple[str, ...]:
        raise self._no_derivative()

    def numbers(self, problem: ProblemData) -> Array:
        raise self._no_derivative()

    def put_numbers(self, problem: ProblemData, numbers: Array) -> None:
        raise self._no_derivative()

    def _no_derivative(self) -> OptionError:
        return OptionError(
            f"there are no derivatives by data: bound '{self.name}' as a parameter, or solve again"
        )


@dataclass(frozen=True, eq=False)
class DurationInput(Input):
    """The duration of every arc, where it is fixed, or its bounds."""

    pattern: LimitPattern

    @property
    def form(self) -> str:
        one = "seconds" if self.pattern.equal.all() else "(shortest, longest)"
        return one if self.pattern.width == 1 else f"{one} for each of {self.pattern.width} arcs"

    def put(self, problem: ProblemData, value: Any) -> None:
        arcs = self.pattern.width
        given = [value] if arcs == 1 else value
        if not isinstance(given, list | tuple | np.ndarray) or len(given) != arcs:
            raise ShapeError(
                f"the duration is {short_repr(value)} but there are {arcs} arcs: give one for each"
            )
        trajectory = problem.trajectory.with_durations(tuple(given))
        bounds = np.array([arc.duration_bounds for arc in trajectory.arcs]).T
        self.pattern.check(self.name, bounds[0], bounds[1], [f"arc {i}" for i in range(arcs)])
        problem.trajectory = trajectory

    @property
    def labels(self) -> tuple[str, ...]:
        arcs = self.pattern.width
        return self.pattern.labels([f"arc {i}" if arcs > 1 else "" for i in range(arcs)])

    def numbers(self, problem: ProblemData) -> Array:
        bounds = np.array([arc.duration_bounds for arc in problem.trajectory.arcs]).T
        return self.pattern.numbers(bounds[0], bounds[1])

    def put_numbers(self, problem: ProblemData, numbers: Array) -> None:
        bounds = np.stack(self.pattern.limits(numbers), axis=1).tolist()
        problem.trajectory = problem.trajectory.with_durations([(low, high) for low, high in bounds])


def pair(value: Any, name: str) -> tuple[Any, Any]:
    """Lower and upper limit; ShapeError where two are not given."""
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 2:
        raise ShapeError(
            f"the value of '{name}' is {short_repr(value)}: give (lower, upper), None where there is none"
        )
    return value[0], value[1]
