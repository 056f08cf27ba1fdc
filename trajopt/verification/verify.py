"""Verification of a solution independently of its solver, and the report of it.

Constraints are evaluated at the nodes and between them, KKT residuals are computed again from the problem,
and the motion is simulated forward from its torques.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.solution.check_times import samples
from trajopt.solution.simulation import USEFUL_GROWTH, Simulation, simulate
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import KKT
from trajopt.solvers.violation import bound_violation
from trajopt.verification.recomputed_kkt import recomputed_kkt

HELD, OPTIMAL = 1e-6, 1e-5  # what a report calls met: violations relative to their limit, KKT error
LOADED = "forward dynamics does not know the loads"
LABEL = 30  # characters, the least width of a report's first column
READABLE = 40  # lines; beyond, a report shows the worst component of each constraint only


@dataclass(frozen=True)
class Violation:
    """Largest violation of a component of a constraint, at nodes and on the dense grid; 0 where it holds."""

    name: str
    component: str
    node_violation: float
    node_time: float
    dense_violation: float
    dense_time: float
    limit: float = 1.0  # the largest finite bound

    @property
    def label(self) -> str:
        """The constraint, and the component where there are several."""
        return f"{self.name}, {self.component}" if self.component else self.name

    def __str__(self) -> str:
        return (
            f"{self.label}: "
            f"{self.node_violation:.3g} at nodes (t = {self.node_time:.4f} s), "
            f"{self.dense_violation:.3g} between them (t = {self.dense_time:.4f} s)"
        )


@dataclass(frozen=True, eq=False)
class Report:
    """What was found; print it. Violations are in the units of their constraint."""

    title: str
    violations: tuple[Violation, ...]
    kkt: KKT
    kkt_of_solve: KKT
    kkt_recomputed: bool
    simulation: Simulation | None
    unsimulated: str = "the dynamics offers no forward dynamics"

    @property
    def kkt_error(self) -> float:
        """The largest residual of the optimality conditions."""
        return self.kkt.error

    @property
    def holds(self) -> bool:
        """Whether all constraints hold at the nodes, to 1e-6 of their limits, and the motion is optimal.

        Optimal means here: a KKT error below 1e-5, or no worse than ten times that of the solve itself.
        """
        met = all(v.node_violation <= HELD * max(1.0, v.limit) for v in self.violations)
        return met and self.kkt_error <= max(OPTIMAL, 10.0 * self.kkt_of_solve.error)

    @property
    def max_violation_nodes(self) -> float:
        return max((v.node_violation for v in self.violations), default=0.0)

    @property
    def max_violation_dense(self) -> float:
        return max((v.dense_violation for v in self.violations), default=0.0)

    @property
    def simulation_error(self) -> float | None:
        """Largest gap of the simulation restarted at every knot."""
        return None if self.simulation is None else self.simulation.restarted

    @property
    def simulation_error_end_to_end(self) -> float | None:
        return None if self.simulation is None else self.simulation.end_to_end

    def worst(self, count: int = 5) -> tuple[Violation, ...]:
        """The components violated most at nodes, largest first."""
        violated = [v for v in self.violations if v.node_violation > 0.0]
        return tuple(sorted(violated, key=lambda v: -v.node_violation)[:count])

    def summary(self) -> dict[str, float | None]:
        """The numbers that `summary.json` holds."""
        return {
            "max_violation_nodes": self.max_violation_nodes,
            "max_violation_dense": self.max_violation_dense,
            "kkt_error": self.kkt_error,
            "simulation_error": self.simulation_error,
            "simulation_error_end_to_end": self.simulation_error_end_to_end,
        }

    def _lines(self) -> list[tuple[str, Violation]]:
        if len(self.violations) <= READABLE:
            return [(v.label, v) for v in self.violations]
        grouped: dict[str, list[Violation]] = {}
        for v in self.violations:
            grouped.setdefault(v.name, []).append(v)
        lines = []
        for name, parts in grouped.items():
            worst = max(parts, key=lambda v: max(v.node_violation, v.dense_violation))
            violated = max(worst.node_violation, worst.dense_violation) > 0.0 and worst.component
            lines.append((worst.label if violated else name, worst))
        return lines

    def __str__(self) -> str:
        named = self._lines()
        width = max([len(label) for label, _ in named] + [LABEL]) + 2
        lines = [
            self.title,
            "",
            f"{'constraint':<{width}}{'at nodes':>10}{'t [s]':>9}{'10x grid':>12}{'t [s]':>9}",
        ]
        lines += [
            f"{label:<{width}}{v.node_violation:>10.3e}{v.node_time:>9.4f}"
            f"{v.dense_violation:>12.3e}{v.dense_time:>9.4f}"
            for label, v in named
        ]
        lines += [
            "",
            f"KKT error {self.kkt_error:.3e} (stationarity {self.kkt.stationarity:.3e}, complementarity "
            f"{self.kkt.complementarity:.3e}), {'recomputed' if self.kkt_recomputed else 'of the solve'}",
        ]
        if self.simulation is None:
            lines.append(f"forward simulation: left out, {self.unsimulated}")
        else:
            lines.append(f"forward simulation restarted at every knot: gap {self.simulation.restarted:.3e}")
            useful = self.simulation.end_to_end_is_useful
            note = "" if useful else f" (errors grow more than {USEFUL_GROWTH:.0e} times: says little)"
            lines.append(f"forward simulation end to end: gap {self.simulation.end_to_end:.3e}{note}")
        return "\n".join(lines)


def verify(solution: Solution) -> Report:
    """Violations at nodes and on a 10 times finer grid, KKT residuals, and forward simulation."""
    problem = solution.problem
    kkt = recomputed_kkt(solution)
    return Report(
        title=str(solution),
        violations=tuple(_violations(solution, problem)),
        kkt=kkt or solution.kkt,
        kkt_of_solve=solution.kkt,
        kkt_recomputed=kkt is not None,
        simulation=simulate(solution),
        unsimulated=LOADED if problem.loads else Report.unsimulated,
    )


def _violations(solution: Solution, problem: Problem):
    terms = [constraint.term for constraint in problem.constraints]
    if not terms:
        return
    nodes, dense = samples(solution)
    at_nodes, between = solution.values(terms, nodes.times), solution.values(terms, dense.times)
    for constraint in problem.constraints:
        quantity = constraint.term.quantity
        node_mask, dense_mask = constraint.over.mask(nodes), constraint.over.mask(dense)
        node_values, dense_values = at_nodes[quantity][node_mask], between[quantity][dense_mask]
        if constraint.over.is_difference:
            node_values, dense_values = np.diff(node_values, axis=0), np.diff(dense_values, axis=0)
        node_violation = _violation(constraint, node_values)
        dense_violation = _violation(constraint, dense_values)
        labels = problem.component_names(quantity, node_violation.shape[1])
        for component in map(
            int, np.flatnonzero(np.isfinite(constraint.lower) | np.isfinite(constraint.upper))
        ):
            yield Violation(
                constraint.name,
                labels[component],
                *_worst(node_violation[:, component], nodes.times[node_mask]),
                *_worst(dense_violation[:, component], dense.times[dense_mask]),
                _largest_bound(constraint, component),
            )


def _worst(violation: NDArray, times: NDArray) -> tuple[float, float]:
    """The largest violation and its time; zeros where there is no time at all."""
    if violation.size == 0:
        return 0.0, 0.0
    worst = int(np.argmax(violation))
    return float(violation[worst]), float(times[worst])


def _largest_bound(constraint: Constraint, component: int) -> float:
    bounds = np.abs([constraint.lower[component], constraint.upper[component]])
    return float(bounds[np.isfinite(bounds)].max(initial=0.0))


def _violation(constraint: Constraint, values: NDArray) -> NDArray:
    return np.maximum(bound_violation(values, constraint.lower, constraint.upper), 0.0)
