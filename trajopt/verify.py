"""Checks of an answer by means that the solver never saw, and the report that prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem import Constraint, Problem
from trajopt.simulation import USEFUL_GROWTH, Simulation, simulate
from trajopt.use import ArcNodes, progress

if TYPE_CHECKING:
    from trajopt.solution import Solution

REFINEMENT = 10  # dense points per interval between nodes


@dataclass(frozen=True)
class Violation:
    """Largest excess of a component of a constraint, at nodes and on the dense grid, or zero"""

    name: str
    component: str
    node_violation: float
    node_time: float
    dense_violation: float
    dense_time: float

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.component}: "
            f"{self.node_violation:.3g} at nodes (t = {self.node_time:.4f} s), "
            f"{self.dense_violation:.3g} between them (t = {self.dense_time:.4f} s)"
        )


@dataclass(frozen=True, eq=False)
class Report:
    """What was found; print it. Violations are in the units of their constraint."""

    title: str
    violations: tuple[Violation, ...]
    kkt_error: float
    stationarity: float
    complementarity: float
    simulation: Simulation | None

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

    def __str__(self) -> str:
        lines = [
            self.title,
            "",
            f"{'constraint':<34}{'at nodes':>12}{'t [s]':>9}{'10x grid':>12}{'t [s]':>9}",
        ]
        lines += [
            f"{v.name + ', ' + v.component:<34}{v.node_violation:>12.3e}{v.node_time:>9.4f}"
            f"{v.dense_violation:>12.3e}{v.dense_time:>9.4f}"
            for v in self.violations
        ]
        lines += [
            "",
            f"KKT error {self.kkt_error:.3e} (stationarity {self.stationarity:.3e}, "
            f"complementarity {self.complementarity:.3e}), recomputed",
        ]
        if self.simulation is None:
            lines.append("forward simulation: the dynamics offers no forward dynamics")
        else:
            lines.append(f"forward simulation restarted at every knot: gap {self.simulation.restarted:.3e}")
            useful = self.simulation.end_to_end_is_useful
            note = "" if useful else f" (errors grow more than {USEFUL_GROWTH:.0e} times: says little)"
            lines.append(f"forward simulation end to end: gap {self.simulation.end_to_end:.3e}{note}")
        return "\n".join(lines)


def verify(solution: Solution) -> Report:
    """Excess of every constraint at nodes and on a 10 times finer grid, KKT residuals, forward simulation."""
    problem = solution.problem
    dense = dense_times(solution.node_times)
    return Report(
        title=str(solution),
        violations=tuple(_violations(solution, problem, dense)),
        kkt_error=solution.kkt.error,
        stationarity=solution.kkt.stationarity,
        complementarity=solution.kkt.complementarity,
        simulation=simulate(solution),
    )


def dense_times(node_times: NDArray) -> NDArray:
    """The nodes with nine evenly spaced times between each two."""
    nodes = np.unique(node_times)
    fractions = np.arange(REFINEMENT) / REFINEMENT
    inner = nodes[:-1, None] + np.diff(nodes)[:, None] * fractions
    return np.append(inner.ravel(), nodes[-1])


def _violations(solution: Solution, problem: Problem, dense: NDArray):
    terms = [constraint.term for constraint in problem.constraints]
    if not terms:
        return
    at_nodes = solution.values(terms, solution.node_times)
    between = solution.values(terms, dense)
    for constraint in problem.constraints:
        quantity = constraint.term.quantity
        node_mask = _where(solution, problem, constraint, solution.node_times)
        dense_mask = _where(solution, problem, constraint, dense)
        node_excess = _excess(constraint, at_nodes[quantity][node_mask])
        dense_excess = _excess(constraint, between[quantity][dense_mask])
        labels = problem.component_names(quantity, node_excess.shape[1])
        for component, label in enumerate(labels):
            k, d = int(np.argmax(node_excess[:, component])), int(np.argmax(dense_excess[:, component]))
            yield Violation(
                constraint.name,
                label,
                float(node_excess[k, component]),
                float(solution.node_times[node_mask][k]),
                float(dense_excess[d, component]),
                float(dense[dense_mask][d]),
            )


def _excess(constraint: Constraint, values: NDArray) -> NDArray:
    return np.maximum(np.maximum(constraint.lower - values, values - constraint.upper), 0.0)


def _where(solution: Solution, problem: Problem, constraint: Constraint, times: NDArray) -> NDArray:
    """Mask of the times to which a constraint applies."""
    mask = np.zeros(times.size, dtype=bool)
    starts = solution.curve.starts
    if isinstance(constraint.over, ArcNodes):
        arc, part = constraint.over.arc, constraint.over.part
        if part in ("inside", "extra"):
            return (times > starts[arc]) & (times < starts[arc + 1])
        mask[np.argmin(np.abs(times - starts[arc + (part == "end")]))] = True
    elif constraint.over == "path":
        mask[:] = True
    elif constraint.over in ("start", "end"):
        mask[0 if constraint.over == "start" else -1] = True
    else:
        first, last = constraint.over  # type: ignore[misc]
        nodes = problem.trajectory.nodes
        along = np.interp(times, solution.node_times, progress(problem.trajectory, nodes))
        mask = (along >= float(first) - 1e-9) & (along <= float(last) + 1e-9)
    return mask
