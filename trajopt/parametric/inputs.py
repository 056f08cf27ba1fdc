"""Inputs of a compiled program: the values of a problem that may be others in every solve.

An input knows how its value is written, which numbers of the problem it stands for, and what of it is
structure: which components are fixed, which limits are finite. It sets a new value in a copy of the problem,
or raises StructureError where the value would need another program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from trajopt.base.arguments import number, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError, StructureError, TrajoptError
from trajopt.graph.data import data_of
from trajopt.problem.costs_and_constraints import Cost
from trajopt.problem.input_checks import bounds_or_value, equal_to
from trajopt.terms.nonsmooth import exact_of, with_slacks

UNKNOWNS = ("parameters", "extras")  # tables of a problem whose entries have a guess
Owner: TypeAlias = Any  # the problem that an input belongs to, or phases: as its class says
Value: TypeAlias = Any  # as a user writes it: a number, an array, limits, a list with None, data
COMPILE_AGAIN = "compile the problem again with this value"


@dataclass(frozen=True, eq=False)
class Input(ABC):
    """One input of a problem, or of phases, which methods take as `problem`.

    name : under which the problem lists it
    keyword : the argument of `CompiledProgram.solve` that sets it
    """

    name: str
    keyword: str

    @property
    def names(self) -> tuple[str, ...]:
        """Its names in `solve`."""
        return self.keyword, self.name

    @property
    def short_names(self) -> tuple[str, ...]:
        """Further names, where no other input has them."""
        return ()

    @property
    @abstractmethod
    def form(self) -> str:
        """The form in which its value is written."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers of its value, as `numbers` lists them; OptionError for data."""
        raise self._no_derivative()

    def numbers(self, problem: Owner) -> Array:
        """The numbers that its value has in a problem, one after the other."""
        raise self._no_derivative()

    def put_numbers(self, problem: Owner, numbers: Array) -> None:
        """Give a problem, an independent copy, a value by its numbers."""
        raise self._no_derivative()

    def _no_derivative(self) -> OptionError:
        return OptionError(
            f"there are no derivatives by data: bound '{self.name}' as a parameter, or solve again"
        )

    @abstractmethod
    def put(self, problem: Owner, value: Value) -> None:
        """Give a problem, an independent copy, the value.

        Raises ShapeError or NotFiniteError for what is no such value, StructureError for one that needs
        another program.
        """


@dataclass(frozen=True, eq=False)
class LimitPattern:
    """Masks (width,) of the components with a finite lower limit, a finite upper limit, and two equal limits.

    The finite limits as one vector are the fixed values, the lower limits and the upper limits of the others.
    """

    has_lower: Array
    has_upper: Array
    equal: Array

    @classmethod
    def of(cls, lower: Array, upper: Array) -> LimitPattern:
        return cls(np.isfinite(lower), np.isfinite(upper), lower == upper)

    @property
    def width(self) -> int:
        return self.equal.size

    @property
    def is_value(self) -> bool:
        """True if every component is fixed or free, so that a value says all."""
        return bool(np.array_equal(self.has_lower | self.has_upper, self.equal))

    def numbers(self, lower: Array, upper: Array) -> Array:
        """The finite limits as one vector."""
        return np.concatenate([lower[self.equal], lower[self._only_lower], upper[self._only_upper]])

    def limits(self, numbers: Array) -> tuple[Array, Array]:
        """Lower and upper limits (width,) from `numbers`."""
        lower, upper = np.full(self.width, -np.inf), np.full(self.width, np.inf)
        ends = np.cumsum([self.equal.sum(), self._only_lower.sum()])
        lower[self.equal], lower[self._only_lower], upper[self._only_upper] = np.split(numbers, ends)
        upper[self.equal] = lower[self.equal]
        return lower, upper

    def labels(self, components: Sequence[str]) -> tuple[str, ...]:
        """Names of the `numbers`."""
        names = np.array(components, dtype=object)
        found = list(names[self.equal])
        for side, which in (("lower", self._only_lower), ("upper", self._only_upper)):
            found += [f"{name}, {side}".lstrip(", ") for name in names[which]]
        return tuple(found)

    def check(self, name: str, lower: Array, upper: Array, components: Sequence[str]) -> None:
        """StructureError where these limits have another pattern."""
        now = LimitPattern.of(lower, upper)
        for is_now, was, finite in (
            (now.has_lower, self.has_lower, "a lower limit"),
            (now.has_upper, self.has_upper, "an upper limit"),
            (now.equal, self.equal, "equal limits"),
        ):
            wrong = np.flatnonzero(is_now != was)
            if wrong.size:
                i = int(wrong[0])
                where = f", component {components[i] or i}," if self.width > 1 else ""
                has, had = ("has", "had none") if is_now[i] else ("lacks", "had one")
                raise StructureError(
                    f"'{name}'{where} {has} {finite} but {had} when the problem was compiled: {COMPILE_AGAIN}"
                )

    @property
    def _only_lower(self) -> Array:
        return self.has_lower & ~self.equal

    @property
    def _only_upper(self) -> Array:
        return self.has_upper & ~self.equal


@dataclass(frozen=True, eq=False)
class PatternInput(Input):
    """Lower and upper limits of some components, of which a pattern stays: which are finite, which are equal.

    components : names of the components
    """

    pattern: LimitPattern
    components: tuple[str, ...]

    @abstractmethod
    def limits(self, problem: Owner) -> tuple[Array, Array]:
        """Lower and upper limits in a problem, (width,) each."""

    @abstractmethod
    def put_limits(self, problem: Owner, lower: Array, upper: Array) -> None:
        """Give a problem, an independent copy, limits of this pattern."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.pattern.labels(self.components)

    def numbers(self, problem: Owner) -> Array:
        return self.pattern.numbers(*self.limits(problem))

    def put_numbers(self, problem: Owner, numbers: Array) -> None:
        self.put_limits(problem, *self.pattern.limits(numbers))


@dataclass(frozen=True, eq=False)
class LimitInput(PatternInput):
    """The limits of a constraint, an integral, a link, a parameter or an additional curve, or its value.

    table, key : the list or the dictionary of the problem that it stands in, and its place there
    unchanging : (width,) components whose value stands in the eliminated equations
    """

    table: str
    key: Any
    unchanging: Array

    @cached_property
    def is_value(self) -> bool:
        """True if a value says all: of an unknown that of all components, else of those that are not free."""
        is_unknown = self.table in UNKNOWNS
        return bool(self.pattern.equal.all()) if is_unknown else self.pattern.is_value

    @property
    def form(self) -> str:
        width = self.pattern.width
        one = "a number" if width == 1 else f"a number or ({width},)"
        if not self.is_value:
            return f"(lower, upper), each {one}"
        return one if self.pattern.equal.all() else f"{one}, None where free"

    def put(self, problem: Owner, value: Value) -> None:
        lower, upper = self._value(value) if self.is_value else self._limits(value)
        before = self.limits(problem)
        moved = self.unchanging & ((lower != before[0]) | (upper != before[1]))
        if moved.any():
            raise StructureError(
                f"'{self.name}'{self._where(moved)} stands in equations that were eliminated, as durations "
                "are free: name it when compiling, and it becomes rows of the program, "
                f"trajopt.compile(problem, inputs=['{self.keyword}', ...])"
            )
        self.put_limits(problem, lower, upper)

    def numbers_of(self, value: Value) -> Array:
        """The numbers of what `put` takes."""
        equal = self.pattern.equal
        plain = isinstance(value, np.ndarray) and value.dtype == float and value.shape == equal.shape
        if plain and self.is_value:
            return value[equal]
        return self.pattern.numbers(*(self._value(value) if self.is_value else self._limits(value)))

    def limits(self, problem: Owner) -> tuple[Array, Array]:
        stated = getattr(problem, self.table)[self.key]
        return stated.lower, stated.upper

    def put_limits(self, problem: Owner, lower: Array, upper: Array) -> None:
        table = getattr(problem, self.table)
        stated = replace(table[self.key], lower=lower, upper=upper)
        if self.table in UNKNOWNS:
            stated = replace(stated, guess=np.clip(stated.guess, lower, upper))
        table[self.key] = stated

    def _value(self, value: Value) -> tuple[Array, Array]:
        """Bounds of a value: one number for all fixed components, or one per component."""
        equal = self.pattern.equal
        listed = isinstance(value, list | tuple)
        entries = list(value) if listed else value
        if listed and len(entries) == equal.size:
            given = np.array([entry is not None for entry in entries])
            wrong = given != equal
            if wrong.any():
                was = "free" if given[int(np.argmax(wrong))] else "fixed"
                raise StructureError(
                    f"'{self.name}'{self._where(wrong)} was {was} when the problem was compiled: "
                    f"{COMPILE_AGAIN}"
                )
            entries = [0.0 if entry is None else entry for entry in entries]
        elif np.ndim(value) and not equal.all():
            raise ShapeError(
                f"'{self.name}' leaves components free: give a list with None for "
                f"{', '.join(self._names(~equal))}"
            )
        wanted = equal_to(entries, equal.size, self.name, self.components)
        return np.where(equal, wanted, -np.inf), np.where(equal, wanted, np.inf)

    def _limits(self, value: Value) -> tuple[Array, Array]:
        if not isinstance(value, list | tuple | np.ndarray) or len(value) != 2:
            raise ShapeError(
                f"the value of '{self.name}' is {short_repr(value)}: give (lower, upper), None where there "
                "is none"
            )
        lower, upper = value
        bounds = bounds_or_value(lower, upper, None, self.pattern.width, self.name, self.components)
        self.pattern.check(self.name, *bounds, self.components)
        return bounds

    def _names(self, which: Array) -> list[str]:
        return [self.components[i] or str(i) for i in np.flatnonzero(which)]

    def _where(self, which: Array) -> str:
        return f", component {self._names(which)[0]}," if which.size > 1 else ""


@dataclass(frozen=True, eq=False)
class WeightInput(Input):
    """The weight of a cost; `number` is its place among the costs, None: of the total duration of phases."""

    number: int | None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.keyword,)  # the term's name is that of its limits

    @property
    def form(self) -> str:
        return "a number"

    def put(self, problem: Owner, value: Value) -> None:
        weight = number(value, f"the weight of '{self.name}'")
        if self.number is None:
            problem.duration_weight = weight
        else:
            cost = problem.costs[self.number]
            if isinstance(cost, Cost):
                with_slacks(exact_of(cost.term), weight, lambda kinked: kinked)  # raises if it is not convex
            problem.costs[self.number] = replace(cost, weight=weight)

    @property
    def labels(self) -> tuple[str, ...]:
        return ("",)

    def numbers(self, problem: Owner) -> Array:
        return np.array(
            [problem.duration_weight if self.number is None else problem.costs[self.number].weight]
        )

    def put_numbers(self, problem: Owner, numbers: Array) -> None:
        self.put(problem, float(numbers[0]))


@dataclass(frozen=True, eq=False)
class DataInput(Input):
    """Samples of given curves; there may be more or fewer of them, but as many columns."""

    width: int

    @property
    def form(self) -> str:
        return f"values (k, {self.width}) at the same times, or (times, values)"

    def put(self, problem: Owner, value: Value) -> None:
        before = problem.datasets[self.name]
        times, values = value if isinstance(value, tuple) and len(value) == 2 else (before.times, value)
        found = data_of(self.name, times, values, before.clock, before.unit, before.interpolation)
        if found.width != self.width:
            raise StructureError(
                f"data '{self.name}' have {found.width} columns but had {self.width} when the problem was "
                f"compiled: {COMPILE_AGAIN}"
            )
        problem.datasets[self.name] = found


@dataclass(frozen=True, eq=False)
class DurationInput(PatternInput):
    """The duration of every arc, where it is fixed, or its bounds."""

    @property
    def form(self) -> str:
        one = "seconds" if self.pattern.equal.all() else "(shortest, longest)"
        return one if self.pattern.width == 1 else f"{one} for each of {self.pattern.width} arcs"

    def put(self, problem: Owner, value: Value) -> None:
        arcs = self.pattern.width
        given = [value] if arcs == 1 else value
        if not isinstance(given, list | tuple | np.ndarray) or len(given) != arcs:
            raise ShapeError(
                f"the duration is {short_repr(value)} but there are {arcs} arcs: give one for each"
            )
        trajectory = problem.trajectory.with_durations(tuple(given))
        lower, upper = trajectory.duration_bounds
        self.pattern.check(self.name, lower, upper, self.components)
        problem.trajectory = trajectory

    def limits(self, problem: Owner) -> tuple[Array, Array]:
        return problem.trajectory.duration_bounds

    def put_limits(self, problem: Owner, lower: Array, upper: Array) -> None:
        bounds = list(zip(lower.tolist(), upper.tolist(), strict=True))
        problem.trajectory = problem.trajectory.with_durations(bounds)


@dataclass(frozen=True, eq=False)
class PhaseInput(Input):
    """An input of one phase, or a parameter of several, which then get the same value.

    own : as it is of a phase's problem
    """

    own: Input
    phases: tuple[int, ...]

    @property
    def short_names(self) -> tuple[str, ...]:
        return self.own.names

    @property
    def form(self) -> str:
        return self.own.form

    @property
    def labels(self) -> tuple[str, ...]:
        return self.own.labels

    def numbers(self, problem: Owner) -> Array:
        return self.own.numbers(problem.problems[self.phases[0]])

    def put(self, problem: Owner, value: Value) -> None:
        for k in self.phases:
            try:
                self.own.put(problem.problems[k], value)
            except TrajoptError as error:
                raise type(error)(f"in phase '{problem.phase_names[k]}' {error}") from None

    def put_numbers(self, problem: Owner, numbers: Array) -> None:
        for k in self.phases:
            self.own.put_numbers(problem.problems[k], numbers)
