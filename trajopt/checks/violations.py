"""The violations that a verification reports: the checks of a motion, compared with relative tolerances.

At nodes and between them violations are compared with the size of a limit or the scale of an equation. NaN
counts as a violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trajopt.base.tolerances import AT_TIMES, BETWEEN
from trajopt.checks.check_result import CheckResult, OfComponent
from trajopt.checks.constraint_checks import ConstraintChecks, end_checks
from trajopt.checks.integral_checks import integral_checks
from trajopt.checks.interval_residuals import interval_errors
from trajopt.checks.path_equations import torque_equations
from trajopt.checks.peaks_between_nodes import CHECK_DENSITY, dense_samples, node_samples, sample_times
from trajopt.checks.proofs import suprema
from trajopt.checks.residual_forces import UNIT, residual_forces
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.taylor_models.suprema import Supremum

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
