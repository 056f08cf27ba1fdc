"""A start that was measured: what of it contradicts the problem gives way, by the least change, and is told.

    feet that stand            held where they are: their height at the start is the measured one
    v, of a robot              v + dv,  dv = - M^-1 J' (J M^-1 J')^+ (J v - r),  the least in dv' M dv with
                               J (v + dv) = r for all rows that are equations of v: feet do not slip
    other equations            start where they are and return to their value within two intervals
    limits that are exceeded   wider by as much at the start, and by less up to the end of two intervals; or
                               longer and by more where bounded inputs cannot lead back at once: as much as
                               a simulation under nine tenths of them needs

So a motion can start from an estimate with noise, or from a state of its own plan, of which feet are on the
ground to the order of the scheme. M is the mass matrix, the identity where the dynamics has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
from scipy import linalg

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.graph import ChainRule, Graph, fused
from trajopt.graph.quantities import parameter_leaf
from trajopt.problem.contacts.contact_rows import above, lands, stands, stays, touches
from trajopt.problem.contacts.loop_poses import NEARLY, fixed_at
from trajopt.problem.costs_and_constraints import Constraint, Easing, Relaxation
from trajopt.problem.driven_states import (
    DrivenStates,
    RobotRates,
    SystemRates,
    bounds_of_inputs,
    rates_of,
)
from trajopt.problem.phases import Asked
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.solvers.solver import DEPENDENT
from trajopt.splines.node_sets import START

INTERVALS = 2  # within which what a measured state exceeds returns to its limit

P = TypeVar("P", bound=Problem)
A = TypeVar("A", bound=Asked)


@dataclass(frozen=True, eq=False)
class StartRow:
    """A constraint over the start whose components follow from the measured state, those of the mask alone.

    single : True where it holds at the start and nowhere else
    of_v : (width,) components that depend on the velocities
    names, units : of the components, in reports
    """

    number: int
    known: Array
    of_v: Array
    single: bool
    names: Sequence[str]
    units: Sequence[str]


@dataclass(frozen=True, eq=False)
class MeasuredStart:
    """The rows of a problem at its start that a measured state decides, for states that are given later."""

    rows: tuple[StartRow, ...]
    graph: Graph
    rates: SystemRates | RobotRates | None = None

    @staticmethod
    def of(problem: Problem) -> MeasuredStart | None:
        """The rows of a problem; None where its start is not given or decides nothing."""
        given = [name for name in "qv" if fixed_at(problem, name, START)[0].all()]
        at_start = [
            (number, each)
            for number, each in enumerate(problem.constraints)
            if not each.over.is_difference and 0 in each.over.nodes(problem.trajectory)
            if not _states(each, "qv")
        ]
        if "q" not in given or not at_start:
            return None
        graph = graph_of(problem.independent_copy(), [each.term for _, each in at_start])
        known = {*given, "t", *_fixed_parameters(problem)}
        rows = [_start_row(problem, graph, number, each, known) for number, each in at_start]
        decided = tuple(row for row in rows if row.known.any())
        if not decided:
            return None
        several = [problem.constraints[row.number].term for row in decided]
        rates = rates_of(problem) if problem.measured else None
        graph = graph_of(problem.independent_copy(), several)
        return MeasuredStart(decided, fused(graph, [term.quantity for term in several]), rates)

    @cached_property
    def _chain(self) -> ChainRule:
        names = {name for block in self.graph.blocks for name in block.outputs}
        return ChainRule(self.graph, names | {"q", "v"} & set(self.graph.leaves), [], list(self.graph.leaves))

    def applied(self, problem: P, *, all_rows: bool) -> P:
        """A copy of a problem with these rows whose start, limits and contacts fit each other.

        all_rows : whether everything gives way; else contacts alone, within a millimetre, and a problem that
            contradicts itself by more stays as it is, to be refused
        """
        other = problem.independent_copy()
        other.relaxations = ()
        at = StartState(self, other)
        feet = [frame for frame, own in other.contacts.items() if 0 in own.arcs]
        contacts = {name(frame, 0) for frame in feet for name in (touches, lands, stands)}
        if not all_rows:
            own = [row for row in self.rows if other.constraints[row.number].name in contacts]
            if any(np.abs(at.misfit(row)).max(initial=0.0) > NEARLY for row in own):
                return problem
        told = at.change_velocity(other, None if all_rows else contacts)
        for row in self.rows:
            own = other.constraints[row.number]
            if not all_rows and own.name not in contacts and own.hold != "implied":
                continue
            changed, by, change = at.relaxed(row, own)
            if changed is not own:
                other.constraints[row.number] = changed
                told += _told(row, changed, by, change)
        _lift_from_measured_places(other)
        other.relaxations = tuple(told)
        return other


class StartState:
    """Values and derivatives of the rows at the start of one problem."""

    def __init__(self, rows: MeasuredStart, problem: Problem) -> None:
        self.rows, self.problem = rows, problem
        self.q, self.v = (fixed_at(problem, name, START)[1] for name in "qv")
        self.leaves = {leaf: np.zeros((1, width)) for leaf, width in rows.graph.leaves.items()}
        for name, own in problem.parameters.items():
            self.leaves[parameter_leaf(name)] = own.lower[None]
        lower, upper = problem.trajectory.duration_bounds
        self.duration = float(lower[0]) if lower[0] == upper[0] else 0.0
        self.leaves |= {"q": self.q[None], "v": self.v[None]}
        self.values, partials = rows.graph.values_and_partials(self.leaves)
        self.D = rows._chain.jacobian(partials, 1, np.dtype(float))[0]

    def value(self, row: StartRow) -> Array:
        return self.values[self.problem.constraints[row.number].term.quantity][0]

    def slope(self, row: StartRow, by: str) -> Array:
        """(width, n) the derivative by "q", "v" or "t", (width, 1)."""
        chain = self.rows._chain
        rows = chain.rows[self.problem.constraints[row.number].term.quantity]
        if by in chain.columns:
            return self.D[rows, chain.columns[by]]
        return np.zeros((rows.stop - rows.start, 1 if by == "t" else self.q.size))

    def misfit(self, row: StartRow) -> Array:
        """(width,) of its equations, by how much they do not hold; zero for other components."""
        own = self.problem.constraints[row.number]
        equation = row.known & (own.lower == own.upper)
        return np.where(equation, self.value(row) - np.where(equation, own.lower, 0.0), 0.0)

    def change_velocity(self, problem: Problem, only: set[str] | None) -> list[Relaxation]:
        """Give a problem the nearest velocities that meet all equations of v; returns what did not hold.

        only : names of the constraints that count; None: all
        """
        pairs = []
        for row in self.rows.rows:
            own = problem.constraints[row.number]
            mask = row.of_v & row.known & _is_equation(own)
            if mask.any() and own.hold != "implied" and (only is None or own.name in only):
                pairs.append((row, mask))
        if not pairs:
            return []
        miss = np.concatenate([self.misfit(row)[mask] for row, mask in pairs])
        if np.abs(miss).max() <= AGREEMENT * max(1.0, float(np.abs(self.v).max())):
            return []
        told: dict[tuple[str, str], Relaxation] = {}
        for row, mask in pairs:
            own = problem.constraints[row.number]
            for each in _told(row, own, np.where(mask, self.misfit(row), 0.0), "velocity changed"):
                told.setdefault((_foot_of(problem, each.constraint), each.component), each)
        J = np.concatenate([self.slope(row, "v")[mask] for row, mask in pairs])
        mass = getattr(problem.dynamics, "mass_matrix", None)
        M = np.eye(self.v.size) if mass is None else np.asarray(mass(self.q))
        L = np.linalg.cholesky(M)
        A = linalg.solve_triangular(L, J.T, lower=True).T
        change = linalg.solve_triangular(L, np.linalg.pinv(A, rcond=DEPENDENT) @ miss, lower=True, trans=1)
        self.v = self.v - change
        for number, each in enumerate(problem.constraints):
            if _states(each, "v"):
                problem.constraints[number] = replace(each, lower=self.v.copy(), upper=self.v.copy())
        # D stays as it was: later, slopes are asked for only of components that do not depend on v
        self.leaves["v"] = self.v[None]
        self.values = self.rows.graph.values(self.leaves)
        return list(told.values())

    def relaxed(self, row: StartRow, own: Constraint) -> tuple[Constraint, Array, str]:
        """The constraint with what the state contradicts relaxed, and by how much, (width,)."""
        value, own = self.value(row), replace(own, easing=None) if own.easing is not None else own
        slack = AGREEMENT * np.maximum(1.0, np.abs(value))
        equal = _is_equation(own)
        off = np.where(equal & row.known, value - np.where(equal, own.lower, 0.0), 0.0)
        off[np.abs(off) <= slack] = 0.0
        if own.hold == "implied" or row.single:
            below = row.known & (value < own.lower - slack)
            above = row.known & (value > own.upper + slack)
            by = np.where(below, value - own.lower, np.where(above, value - own.upper, 0.0))
            low = np.where(below | (above & equal), value, own.lower)
            high = np.where(above | (below & equal), value, own.upper)
            change = "held there" if (below | above)[equal].any() else "limit widened"
            return (replace(own, lower=low, upper=high) if by.any() else own), by, change
        return self._eased(row, own, value, off, slack)

    def _eased(
        self, row: StartRow, own: Constraint, value: Array, off: Array, slack: Array
    ) -> tuple[Constraint, Array, str]:
        basis = self.problem.trajectory.arcs[0].basis
        rate = (self.slope(row, "q") @ self.v + self.slope(row, "t")[:, 0]) * self.duration
        rate = np.where(row.of_v, 0.0, rate)  # that of velocities follows from accelerations, too
        near = float(basis.greville[1])
        ahead = value + rate * near  # the next control point of a curve, given as well
        limit = row.known & ~_is_equation(own)
        below = limit & (np.minimum(value, ahead) < own.lower - slack)
        above = limit & (np.maximum(value, ahead) > own.upper + slack)
        forced = self._forced(own, limit, below, above)
        below |= (forced < -slack).any(axis=0)
        above |= (forced > slack).any(axis=0)
        low = np.where(below, np.minimum(value - own.lower, 0.0), off)
        high = np.where(above, np.maximum(value - own.upper, 0.0), off)
        if not (below.any() or above.any() or off.any()):
            return own, off, ""
        end = float(basis.breakpoints[min(INTERVALS, basis.breakpoints.size - 1)])
        # A quarter more than the time after which inputs within their bounds lead back to a limit
        last = 1.25 * float(self._ahead[forced.any(axis=1)].max(initial=0.0))
        if last > end:
            end = float(np.append(basis.breakpoints, last)[np.searchsorted(basis.breakpoints, last)])
        excess = needed = np.stack([low, high])
        # With these slopes the eased limit lets the next control point pass, whose rate the state decides.
        # On a single span of degree one that point is at the end, where no slope eases.
        if near < end:
            needed = np.stack([ahead - own.lower, ahead - own.upper]) / (1.0 - near / end)
        to_lower, to_upper = np.where(row.of_v, 0.0, (needed - excess) / near)
        # They let pass what inputs cannot prevent, too.
        for s, most in zip(self._ahead[1:], forced[1:], strict=True):
            if most.any():
                lower, upper = (most / (1.0 - s / end) - excess) / s
                to_lower, to_upper = np.minimum(to_lower, lower), np.maximum(to_upper, upper)
        slopes = (
            np.where(below, np.minimum(to_lower, 0.0), 0.0),
            np.where(above, np.maximum(to_upper, 0.0), 0.0),
        )
        easing = Easing(0, end, excess, np.stack(slopes))
        now = np.minimum(low, 0.0) + np.maximum(high, 0.0)
        later = np.where(below, np.minimum(ahead - own.lower, forced.min(axis=0)), ahead - own.upper)
        later = np.where(above, np.maximum(later, forced.max(axis=0)), later)
        beyond = np.where(np.abs(now) > slack, now, later)
        by = np.where(below | above, beyond, off)
        return replace(own, easing=easing), by, "held there" if off.any() else "limit widened"

    def _forced(self, own: Constraint, limit: Array, below: Array, above: Array) -> Array:
        """Excess of terms over their limits `_ahead` though inputs lead them back, (times, width).

        Terms that are within their limit count where they would leave it by the end; 0 elsewhere.

        limit, below, above : masks of the components that are limits, and of those known to be beyond
        """
        none, rates = np.zeros((self._ahead.size, limit.size)), self.rows.rates
        x = self.q if isinstance(rates, SystemRates) else np.concatenate([self.q, self.v])
        if rates is None or not self.duration or not limit.any():
            return none
        known = {leaf: self.leaves[leaf] for leaf in _fixed_parameters(self.problem)}
        known["arc_duration"] = np.array([[self.duration]])
        lower, upper = self.problem.trajectory.duration_bounds
        if np.array_equal(lower, upper):
            known["duration"] = np.array([[lower.sum()]])
        if not rates.needed <= {*known, *bounds_of_inputs(self.problem), "q", "v", "t"}:
            return none
        driven, graph, n = DrivenStates(self.problem, rates, known), self.rows.graph, self.q.size

        def value(states: Array, time: float) -> Array:
            at = {leaf: np.repeat(each, len(states), axis=0) for leaf, each in self.leaves.items()}
            at |= {"q": states[:, :n]} | ({"v": states[:, n:]} if states.shape[1] > n else {})
            return graph.values(at | {"t": np.full((len(states), 1), time)})[own.term.quantity]

        now, times = value(x[None], 0.0)[0], self._ahead * self.duration
        with np.errstate(all="ignore"):
            soon = driven.after(x[None], driven.middle[None], 0.0, times[1])
            rate = (value(soon, times[1])[0] - now) / times[1]
            up = above | (~below & (rate > 0.0))
            bound, end = np.where(up, own.upper, own.lower), now + rate * self.duration
            led = limit & np.isfinite(bound) & (below | above | np.where(up, end > bound, end < bound))
            if not led.any():
                return none
            bound, sign = np.where(led, bound, now), np.where(led, np.where(up, 1.0, -1.0), 0.0)
            beyond = driven.led_back(x, lambda states, time: value(states, time) - bound, sign, times)
        trajectory = self.problem.trajectory
        last = (trajectory.nodes.arc + trajectory.nodes.s)[own.over.nodes(trajectory)].max()
        beyond[self._ahead > last + AGREEMENT] = 0.0
        left = np.maximum.accumulate(beyond > 0.0)
        back = np.maximum.accumulate(left & ~(beyond > 0.0))
        return np.where(led & left & ~back, sign * beyond, 0.0)

    @cached_property
    def _ahead(self) -> Array:
        """Times ahead at which simulated states are looked at, as parts of the duration."""
        # States are simulated in four steps an interval
        step = float(np.diff(self.problem.trajectory.arcs[0].basis.breakpoints).min()) / 4
        # The first, short step gives their rates
        return np.concatenate([[0.0, 1e-3 * step], step * np.arange(1, round(1.0 / step) + 1)])


def with_measured_start(asked: A, starts: Sequence[MeasuredStart | None] | None = None) -> A:
    """A problem, or phases, as they are where no start contradicts them, else a copy that starts as measured.

    starts : of every part, where they are known
    """
    parts = list(asked.parts)
    for k, part in enumerate(parts):
        stands = any(0 in each.arcs for each in part.contacts.values())
        if not (part.measured or stands or (starts is not None and part.closures)):
            continue  # without a measurement, or a foot that stands, nothing gives way
        start = MeasuredStart.of(part) if starts is None else starts[k]
        if start is not None:
            other = start.applied(part, all_rows=part.measured)
            parts[k] = other if other.relaxations else part
    if all(one is other for one, other in zip(parts, asked.parts, strict=True)):
        return asked
    whole: Asked = asked
    return cast(A, whole.with_problems(tuple(parts)))


def _start_row(problem: Problem, graph: Graph, number: int, own: Constraint, known: set[str]) -> StartRow:
    width = own.lower.size
    depends, of_q, of_v = np.zeros((3, width), bool)
    for leaf, pattern in graph.leaf_pattern(own.term.quantity).items():
        by = np.any(pattern, axis=1)
        if leaf not in known:
            depends |= by
        if leaf == "q":
            of_q |= by
        if leaf == "v":
            of_v |= by
    single = own.over.nodes(problem.trajectory).size == 1
    names = problem.component_names(own.term.quantity, width)
    units = problem.term_units(own.term, width)
    return StartRow(number, ~depends & (of_q | of_v), of_v, single, names, units)


def _fixed_parameters(problem: Problem) -> list[str]:
    """Leaves of the parameters that have one value."""
    given = problem.parameters.items()
    return [parameter_leaf(name) for name, own in given if np.array_equal(own.lower, own.upper)]


def _foot_of(problem: Problem, constraint: str) -> str:
    """The foot of a row of its velocity, which is stated at the start and over the arc."""
    return next((frame for frame in problem.contacts if constraint.startswith(f"{frame} ")), constraint)


def _states(own: Constraint, names: str) -> bool:
    """True if it says what q or v is at the start, of components that are not free."""
    if own.term.quantity not in names:
        return False
    free = np.isinf(own.lower) & np.isinf(own.upper)
    return own.over == START and bool((_is_equation(own) | free).all())


def _is_equation(own: Constraint) -> Array:
    return own.lower == own.upper


def _told(row: StartRow, own: Constraint, by: Array, change: str) -> list[Relaxation]:
    if own.hold == "implied":  # told by the row at the start
        return []
    changed = np.flatnonzero(by).tolist()
    return [Relaxation(own.name, row.names[i], float(by[i]), row.units[i], change) for i in changed]


def _lift_from_measured_places(problem: Problem) -> None:
    """Feet that stand on where arcs meet stay at their measured height, and lift from there."""
    contacts = problem.contacts
    by_name = {each.name: number for number, each in enumerate(problem.constraints)}
    for frame, own in contacts.items():
        if 0 not in own.arcs or stays(frame, 0) not in by_name:
            continue
        height, arc = problem.constraints[by_name[stays(frame, 0)]].lower, 1
        while arc in own.arcs and not own.touches_down(arc):
            number = by_name[stays(frame, arc)]
            problem.constraints[number] = replace(problem.constraints[number], lower=height, upper=height)
            arc += 1
        number = by_name.get(above(frame, arc))
        if number is not None and height.min() < -AGREEMENT:
            each, basis = problem.constraints[number], problem.trajectory.arcs[arc].basis
            end = float(basis.breakpoints[min(INTERVALS, basis.breakpoints.size - 1)])
            low = np.stack([np.minimum(height, 0.0), np.zeros_like(height)])
            problem.constraints[number] = replace(each, easing=Easing(arc, end, low, np.zeros_like(low)))
