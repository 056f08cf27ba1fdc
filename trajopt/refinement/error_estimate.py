"""Relative errors of a solution in every span: of its path equations between nodes, and of its optimality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import BETWEEN, NOT_ZERO
from trajopt.checks.integral_checks import cost_checks, integral_checks
from trajopt.checks.optimality import gains_of_limits
from trajopt.checks.path_equations import (
    costs_of_residuals,
    interval_errors,
    path_equations,
    quadrature,
)
from trajopt.checks.peaks_between_nodes import limits_over, node_samples
from trajopt.checks.residual_forces import equation_scales, residual_forces
from trajopt.checks.violations import missed_equations
from trajopt.refinement.optimality_error import gains_of_halving
from trajopt.solution.solution import Solution, confirmed_mesh_of
from trajopt.splines.basis import EQUAL, SAME_TIME
from trajopt.splines.node_sets import MotionSamples
from trajopt.splines.quadrature import GAUSS_POINTS
from trajopt.terms.nonsmooth import exact_of


@dataclass(frozen=True, eq=False)
class ErrorEstimate:
    """Errors of every span, (spans,) for every arc.

    equations : largest |value - bound| of a path equation over its scale, or size of the residual
        force over that of the largest real one (`checks/residual_forces.py`)
    optimality : what finer knots could gain in the span, relative to the objective
    pointwise : largest error of a path equation at a single time, where `equations` hold what residuals of
        rates change of states; else as `equations`
    """

    equations: tuple[Array, ...]
    optimality: tuple[Array, ...]
    pointwise: tuple[Array, ...]

    @property
    def of_equations(self) -> float:
        """The largest relative error of a path equation."""
        return max(float(values.max()) for values in self.equations)

    @property
    def of_optimality(self) -> float:
        """Possible gain of finer knots in all spans together, relative to the objective."""
        return float(sum(values.sum() for values in self.optimality))

    @property
    def largest(self) -> float:
        """The larger one of the two errors; infinite where one is not known."""
        worst = max(self.of_equations, self.of_optimality)
        return np.inf if np.isnan(worst) else worst

    @property
    def at_single_times(self) -> float:
        """The largest relative error of a path equation at a single time."""
        return max(float(values.max()) for values in self.pointwise)

    def marks(self, tol: float, share: float) -> list[Array]:
        """The spans to halve, one boolean per span and arc.

        Of each error that exceeds its tolerance, the spans with more than a share of the largest one. Where
        both are below tol, errors at single times count, and gains above `little_gain`.
        """
        marks = [np.zeros(values.size, dtype=bool) for values in self.equations]
        errors = [(self.equations, self.of_equations, tol), (self.optimality, self.of_optimality, tol)]
        if self.largest <= tol:
            errors = [
                (self.pointwise, self.at_single_times, tol),
                (self.optimality, self.of_optimality, little_gain(tol)),
            ]
        for of_spans, size, most in errors:
            if not size > most:
                continue
            largest = max(float(values.max()) for values in of_spans)
            for mark, values in zip(marks, of_spans, strict=True):
                mark |= values >= share * largest
        return marks


def little_gain(tol: float) -> float:
    """Gain of the objective, or change by a round, below which residuals at single times are no error."""
    return 0.1 * tol


def estimated(solution: Solution, optimality: bool = True) -> ErrorEstimate:
    """The error estimate of a solution on its own mesh; without `optimality` its gains count as zero."""
    equations = tuple(equation_errors(solution))
    if not optimality:
        return ErrorEstimate(equations, tuple(np.zeros_like(values) for values in equations), equations)
    limits, finer = gains_of_limits(solution), gains_of_halving(solution)
    gains = limits if finer is None else [a + b for a, b in zip(limits, finer, strict=True)]
    total = _size_of_costs(solution, gains)
    return ErrorEstimate(equations, tuple(values / total for values in gains), equations)


def estimated_between_nodes(solution: Solution) -> ErrorEstimate:
    """Errors that `verify` allows of equations and integrals, and the effect of residuals on the objective.

    The latter, to first order, stand in place of what finer knots could gain; zero where no multipliers are
    known.
    """
    missed, pointwise = _equation_errors(solution, integrated=True)
    if max(float(values.max()) for values in missed) <= BETWEEN:  # what samples nearer to each other see
        seen = _by_arc(missed_equations(solution, BETWEEN), solution.curve.knot_times_of_arcs)
        missed = [np.fmax(*errors) for errors in zip(missed, seen, strict=True)]
        pointwise = [np.fmax(*errors) for errors in zip(pointwise, seen, strict=True)]
    equations = [np.maximum(*errors) for errors in zip(missed, quadrature_errors(solution), strict=True)]
    changes = np.zeros(solution.knot_times.size - 1)
    for cost in costs_of_residuals(solution).values():
        if cost is not None:
            changes += np.where(np.isfinite(cost), np.abs(cost), 0.0).sum(axis=1)
    total = _size_of_costs(solution, [changes])
    by_arc = _by_arc(changes / total, solution.curve.knot_times_of_arcs)
    return ErrorEstimate(tuple(equations), tuple(by_arc), tuple(pointwise))


def _size_of_costs(solution: Solution, gains: Sequence[Array]) -> float:
    """The size of all costs, which gains are compared with: at least what `verify` takes for zero."""
    total, gain = solution.size_of_costs, sum(float(np.abs(values).sum()) for values in gains)
    if gain > BETWEEN * total:
        total = max([total, *(check.total for check in cost_checks(solution, gain))])
    return total or 1.0


def equation_errors(solution: Solution) -> list[Array]:
    """The largest relative error of a path equation in every span, (spans,) for every arc.

    Of residuals of rates the largest at a single time, in spans shorter than the mean in proportion to their
    length, though no less than what they change of states: where a control jumps inside a span, the largest
    does not fall with its length (`checks/path_equations.py`).
    """
    return _equation_errors(solution)[0]


def _equation_errors(solution: Solution, integrated: bool = False) -> tuple[list[Array], list[Array]]:
    """The errors of `equation_errors`, and the largest one at a single time whatever the length of its span.

    integrated : residuals of rates count by what they change of states alone, as in `verify`
    """
    equations, curve = path_equations(solution.problem), solution.curve
    edges = curve.knot_times_of_arcs
    if not equations:
        none = [np.zeros(times.size - 1) for times in edges]
        return none, none
    # Three times per span and degree of the curves
    count = max(GAUSS_POINTS, 3 * max(basis.degree for basis in curve.bases))
    fractions = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, count))
    fractions = np.clip(fractions, SAME_TIME, 1.0 - SAME_TIME)  # residuals jump at the ends of spans
    times = np.concatenate([(a[:-1, None] + np.diff(a)[:, None] * fractions).ravel() for a in edges])
    times = np.clip(times, 0.0, curve.duration)
    here = MotionSamples.at(curve, times)
    values = solution.values([c.term for c in equations], times)
    forces = residual_forces(solution, here)
    scales = equation_scales(solution, equations, here, forces)
    lengths = np.diff(solution.knot_times)
    shorter = np.minimum(1.0, EQUAL * lengths / lengths.mean())
    worst, pointwise = np.zeros(times.size), np.zeros(times.size)
    for constraint in equations:
        equal, value = constraint.lower == constraint.upper, values[constraint.term.quantity]
        lower, _ = limits_over(constraint, curve, times)
        error = np.abs(value - np.where(equal, lower, 0.0)) / scales[constraint]
        error = np.where(equal & constraint.over.mask(here)[:, None], error, 0.0)
        pointwise = np.fmax(pointwise, np.nan_to_num(error).max(axis=1))
        if constraint.of_rates and (integrated or shorter.min() < 1.0):
            changed = interval_errors(solution, constraint, scales[constraint], times, value)
            least = np.repeat(changed, count, axis=0)
            if not integrated:
                least = np.maximum(error * np.repeat(shorter, count)[:, None], least)
            error = np.minimum(error, least)
        error = error.max(axis=1)
        worst = np.fmax(worst, np.where(np.isnan(error), np.inf, error))
    for together in forces:
        worst[together.at] = np.fmax(worst[together.at], together.missing / together.largest)
    of_spans = (_by_arc(each.reshape(-1, count).max(axis=1), edges) for each in (worst, pointwise))
    return next(of_spans), next(of_spans)


def quadrature_errors(solution: Solution) -> list[Array]:
    """The largest relative error of a cost's integral or a bounded one in every span, (spans,) for every arc.

    Above what `verify` allows it is the whole integral's where the program's rule differs most from Gauss'
    of `GAUSS_POINTS`, elsewhere in proportion to the difference; zero else.
    """
    mesh, curve, problem = confirmed_mesh_of(solution), solution.curve, solution.problem
    edges = curve.knot_times_of_arcs
    relative = {check.name: check.relative for check in cost_checks(solution)}
    for check in integral_checks(solution, BETWEEN, enclose=False):
        found = (check.between or check.at_nodes)[1].value / check.scales[1]
        relative[check.name] = max(found, relative.get(check.name, 0.0))
    stated = [each for each in (*problem.costs, *problem.integrals) if relative[each.name] > BETWEEN]
    stated = [each for each in stated if each.over.integrates]
    errors = np.zeros(sum(times.size - 1 for times in edges))
    if mesh is None or not stated:
        return _by_arc(errors, edges)
    times, weights, _ = quadrature(solution)
    here = MotionSamples.at(curve, times)
    terms = [exact_of(each.term) for each in stated]
    between = solution.values(terms, here.times)
    at_nodes = solution.values(terms, node_samples(solution).times)
    for each, term in zip(stated, terms, strict=True):
        by_gauss = weights * each.over.mask(here)
        by_rule = curve.durations[mesh.nodes.arc] * each.over.cost_weights(mesh)
        missed = (by_gauss[:, None] * between[term.quantity]).reshape(errors.size, GAUSS_POINTS, -1).sum(1)
        np.subtract.at(missed, mesh.nodes.span, by_rule[:, None] * at_nodes[term.quantity])
        size = np.abs(missed).max(axis=1)
        errors = np.fmax(errors, relative[each.name] * size / max(size.max(), NOT_ZERO))
    return _by_arc(errors, edges)


def _by_arc(values: Array, edges: Sequence[Array]) -> list[Array]:
    """Values of all spans, (spans,) for every arc with these knot times."""
    ends = np.cumsum([0, *(times.size - 1 for times in edges)])
    return [values[first:last] for first, last in pairwise(ends)]
