"""The violations that a verification reports: the checks of a motion, compared with relative tolerances.

At nodes and between them violations are compared with the size of a limit or the scale of an equation. NaN
counts as a violation.

Also here: links between phases, and the parameters that they share, evaluated on their motions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AT_TIMES, BETWEEN
from trajopt.checks.check_result import CheckResult, OfComponent
from trajopt.checks.constraint_checks import ConstraintChecks, end_checks, suprema
from trajopt.checks.integral_checks import integral_checks
from trajopt.checks.path_equations import interval_errors, torque_equations
from trajopt.checks.peaks_between_nodes import (
    CHECK_DENSITY,
    dense_samples,
    interval_of,
    node_samples,
    sample_times,
)
from trajopt.checks.residual_forces import UNIT, residual_forces
from trajopt.problem.costs_and_constraints import Constraint, Parameter
from trajopt.problem.links.link import Link, PhaseInstant, TermLink, place
from trajopt.problem.links.phases import Phases
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import bound_violation
from trajopt.taylor_models.suprema import Supremum
from trajopt.terms import term as terms
from trajopt.transcription.links.link_constraints import LinkedProblems

# Of robots whose terms are enclosed: the inverse dynamics of larger ones takes seconds there.
MOST_JOINTS = 8


@dataclass(frozen=True)
class Violation(OfComponent):
    """Largest violation of a component of a constraint, at nodes and between them; 0 where it holds.

    scale : size of the limit or scale of the equation, in its unit
    node_relative, dense_relative : the violation largest for its scale, divided by it; NaN where a value is
    equation : whether the constraint is an equation
    nodes_only : it is stated for nodes, so that `dense_violation` is that at the nodes
    over_time : it is meant for all times of a part of the motion, and may be missed between nodes alone
    evidence : how what is reported of the times between nodes is known: "proved", by a bound no violation
        exceeds the accuracy at any time, "sampled", or "evaluated" where it is stated for single times;
        "integrated", by what residuals of rates change of the states (`interval_residuals`)
    pointwise : of these the largest residual at a single time
    """

    name: str
    component: str
    node_violation: float
    node_time: float
    dense_violation: float
    dense_time: float
    limit: float = 1.0  # the largest finite bound
    scale: float = 1.0
    unit: str = ""
    node_relative: float = 0.0
    dense_relative: float = 0.0
    equation: bool = False
    nodes_only: bool = False
    over_time: bool = False
    evidence: Literal["proved", "sampled", "evaluated", "integrated"] = "sampled"
    pointwise: float | None = None

    @staticmethod
    def of(result: CheckResult, accuracy: float = 0.0) -> Violation:
        """The violation of a check result; proved where a bound is within an accuracy of the scale."""
        node, node_scale = result.relative(result.at_nodes)
        dense, scale = result.relative(result.found)
        proved = result.evidence == "enclosure" or (result.over_time and result.bound is not None)
        value = result.worst.value if result.bound is None else result.bound.value
        at_nodes, at_any = (float(np.maximum(each.value, 0.0)) for each in (node, dense))
        bounds = np.abs([result.lower, result.upper])
        found = Violation(
            name=result.name,
            component=result.component,
            node_violation=at_nodes,
            node_time=node.time,
            dense_violation=at_any,
            dense_time=dense.time,
            limit=float(bounds[np.isfinite(bounds)].max(initial=0.0)),
            scale=scale,
            unit=result.unit,
            node_relative=at_nodes / node_scale,
            dense_relative=at_any / scale,
            equation=result.equation,
            nodes_only=result.between is None,
            over_time=result.over_time,
            evidence="evaluated" if result.evidence == "evaluated" else "sampled",
        )
        if result.jumps:  # whatever it is on both sides
            return replace(found, dense_violation=np.inf, dense_relative=np.inf, dense_time=result.jumps[0])
        if result.evidence == "enclosure":  # of an integral: a tolerance beside its bound proves nothing
            zero = 0.0 in (result.lower, result.upper)
            accuracy = AT_TIMES if zero else min(accuracy, BETWEEN)
        within = proved and value <= accuracy * result.scale
        return replace(found, evidence="proved") if within else found

    @property
    def is_limit_over_time(self) -> bool:
        """True if it is of a limit that is meant for all times of a part of the motion."""
        return self.over_time and not self.equation

    def with_supremum(self, supremum: Supremum, scale: float) -> Violation:
        """This violation with what a search for its bound over all times proved, or met between samples."""
        if supremum.reached > max(supremum.allowed, self.dense_violation):
            reached = supremum.reached
            met = {"dense_violation": reached, "dense_time": supremum.time, "dense_relative": reached / scale}
            return replace(self, **met, scale=scale)
        return replace(self, evidence="proved") if supremum.value <= supremum.allowed else self

    def integrated(self, relative: float) -> Violation:
        """This violation of rates with what its residual changes of the state, where that is less."""
        if not relative < self.dense_relative:
            return self
        changed = {"dense_violation": relative * self.scale, "dense_relative": relative}
        return replace(self, **changed, evidence="integrated", pointwise=self.dense_violation)

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"{self.label}: "
            f"{self.node_violation:.3g}{unit} at nodes (t = {self.node_time:.4f} s), "
            f"{self.dense_violation:.3g}{unit} between them (t = {self.dense_time:.4f} s)"
        )


def violations(
    solution: SolutionData, accuracy: float | None = None, of_limits: float | None = None
) -> list[Violation]:
    """One entry per bounded component of every constraint, in the order in which they were made.

    accuracy : relative, between nodes; where it is given, a proof is tried of what samples find within it
    of_limits : the same of limits over an interval of time; None: `accuracy`
    """
    results, provable = ConstraintChecks(solution).results(CHECK_DENSITY), False
    of_limits = accuracy if of_limits is None else of_limits
    allowed = [of_limits if each.over_time and not each.equation else accuracy for each in results]
    found = [Violation.of(result, own or 0.0) for result, own in zip(results, allowed, strict=True)]
    if accuracy is not None and solution.problem.dynamics.n <= MOST_JOINTS:
        each = zip(results, allowed, strict=True)
        provable, tolerances = True, [(own or 0.0) * result.scale for result, own in each]
        for i, supremum in enumerate(suprema(solution, results, tolerances)):
            if supremum is not None:
                found[i] = found[i].with_supremum(supremum, results[i].scale)
    _integrate_rates(solution, results, found, accuracy or 0.0)
    if torque_equations(solution.problem):
        found += _forces_together(solution)
    if solution.problem.integrals:
        integrals = integral_checks(solution, accuracy or BETWEEN, provable)
        found += [Violation.of(result, accuracy or 0.0) for result in integrals]
    return found + [Violation.of(result) for result in end_checks(solution)]


def _integrate_rates(
    solution: SolutionData, results: Sequence[CheckResult], found: list[Violation], accuracy: float
) -> None:
    """Measures residuals of rates that exceed an accuracy at single times by what they change of states."""
    missed: dict[Constraint, list[int]] = {}
    for i, (result, violation) in enumerate(zip(results, found, strict=True)):
        place = result.place
        if place is not None and place.constraint.of_rates and violation.dense_relative > accuracy:
            missed.setdefault(place.constraint, []).append(i)
    for constraint, several in missed.items():
        scale, peaks = np.ones(constraint.lower.size), [found[i].dense_time for i in several]
        for i in several:
            scale[results[i].place.component] = found[i].scale  # type: ignore[union-attr]
        times = np.unique([*sample_times(solution, CHECK_DENSITY), *peaks])
        values = solution.value(constraint.term, times)
        errors = interval_errors(solution, constraint, scale, times, values).max(axis=0)
        for i in several:
            place = results[i].place
            assert place is not None
            found[i] = found[i].integrated(float(errors[place.component]))


def _forces_together(solution: SolutionData) -> Iterator[Violation]:
    """The residuals of torque equations that hold together, as one force; at nodes each speaks for itself."""
    dense = dense_samples(solution)
    largest = {entry.owners: entry.largest for entry in residual_forces(solution, node_samples(solution))}
    for entry in residual_forces(solution, dense):
        worst, times = int(np.argmax(entry.missing)), dense.times[entry.at]
        miss, scale = float(entry.missing[worst]), max(entry.largest, largest.get(entry.owners, 0.0))
        yield Violation(
            name="residual forces",
            component=f"{times.min():.3g} to {times.max():.3g} s",
            node_violation=0.0,
            node_time=0.0,
            dense_violation=miss,
            dense_time=float(times[worst]),
            limit=0.0,
            scale=scale,
            unit=UNIT,
            node_relative=0.0,
            dense_relative=miss / scale,
            equation=True,
            over_time=True,
        )


OF_ALL = " of all phases"  # behind the name of what several phases share


@dataclass(frozen=True)
class LinkViolation(OfComponent):
    """The violation of one component of a link, in its unit.

    scale : the size of what it compares
    time : seconds, of its last instant, from the start of that instant's phase
    """

    name: str
    component: str
    value: float
    scale: float
    time: float = 0.0
    equation: bool = True

    @property
    def relative(self) -> float:
        """The violation as a part of its scale; NaN where it is."""
        return self.value / self.scale


def link_violations(motions: Sequence[SolutionData], phases: Phases) -> Iterator[LinkViolation]:
    """Every component of every link, from the motions of the phases alone; those that are met are zero."""
    for link in phases.links:
        equal = np.ones(1, dtype=bool)
        if isinstance(link, TermLink):
            miss, size = _of_term(motions, phases, link)
            last = link.instants[-1]
        else:
            miss, size = _of_link(motions, phases, link)
            last, equal = link.function.instants[-1], link.lower == link.upper
        time = float(_time(motions[last.phase], last))
        yield from _components(link.name, miss, size, time, np.broadcast_to(equal, miss.shape))


def _components(
    name: str, miss: Array, size: Array, time: float = 0.0, equation: Array | None = None
) -> Iterator[LinkViolation]:
    """One violation for every component (width,); a scale of one where the size is zero."""
    for i, value in enumerate(miss.tolist()):
        component, is_equation = str(i) if miss.size > 1 else "", equation is None or bool(equation[i])
        yield LinkViolation(name, component, value, float(size[i]) or 1.0, time, is_equation)


def disagreements(motions: Sequence[SolutionData], linked: LinkedProblems) -> Iterator[LinkViolation]:
    """Differences between phases in shared parameters and in copies of quantities."""
    for name, having in linked.shared.items():
        values = np.array([motions[k].parameters[name] for k in having])
        yield from _components(f"{name}{OF_ALL}", np.ptp(values, axis=0), np.abs(values).max(axis=0))


def beyond_bounds(motions: Sequence[SolutionData], linked: LinkedProblems) -> Iterator[LinkViolation]:
    """Violations of the bounds of shared parameters, in the phase where they are largest."""
    for name, having in linked.shared.items():
        bounded = [k for k in having if _is_bounded(linked.problems[k].parameters[name])]
        if not bounded:
            continue
        given = [linked.problems[k].parameters[name] for k in bounded]
        values = [motions[k].parameters[name] for k in bounded]
        each = [bound_violation(v, p.lower, p.upper) for v, p in zip(values, given, strict=True)]
        miss = np.maximum(np.max(each, axis=0), 0.0)
        bounds = np.abs([*(p.lower for p in given), *(p.upper for p in given), *values])
        scale = np.where(np.isfinite(bounds), bounds, 0.0).max(axis=0)
        yield from _components(f"bounds of {name}", miss, scale, equation=np.zeros(miss.size))


def _is_bounded(parameter: Parameter) -> bool:
    return bool(np.isfinite(parameter.lower).any() or np.isfinite(parameter.upper).any())


def _of_term(motions: Sequence[SolutionData], phases: Phases, link: TermLink) -> tuple[Array, Array]:
    """The gap between the two instants, and the largest size of the term in either phase."""
    values, sizes = [], []
    for instant in link.instants:
        own = motions[instant.phase]
        values.append(own.value(link.term, _time(own, instant)))
        sizes.append(np.abs(own.value(link.term, own.node_times)).max(axis=0))
    return np.abs(values[0] - values[1]), np.maximum(*sizes)


def _of_link(motions: Sequence[SolutionData], phases: Phases, link: Link) -> tuple[Array, Array]:
    """The violation of the bounds, and the size of the function's terms or of its bounds."""
    function = link.function
    values, sizes = {}, {}
    for i, (instant, used) in enumerate(zip(function.instants, function.used, strict=True)):
        own = motions[instant.phase]
        for quantity in used:
            term = terms.Quantity(quantity)
            values[place(i, quantity)] = own.value(term, _time(own, instant))
            sizes[place(i, quantity)] = np.abs(own.value(term, own.node_times)).max(axis=0)
    g, size = function.value(values, sizes)
    bounds = np.abs(np.stack([link.lower, link.upper]))
    bounds[~np.isfinite(bounds)] = 0.0
    miss = np.maximum(bound_violation(g, link.lower, link.upper), 0.0)
    return miss, np.maximum(size, bounds.max(axis=0))


def _time(solution: SolutionData, instant: PhaseInstant) -> Array:
    """Seconds; the end of an arc is looked at from its own side."""
    return np.array(interval_of(instant.over, solution.curve).first)
