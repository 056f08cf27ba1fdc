"""A gait by the thesis's cost through CasADi's automatic differentiation: `python -m benchmarks.gait casadi`.

The terms of the problem are the same Python functions; the recursion is written anew in symbols, and CasADi
differentiates everything itself: one function per node, mapped over the nodes, and `nlpsol` on top with the
same IPOPT options. The rows must agree with ours to rounding before anything is timed.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import casadi
import numpy as np

import trajopt
from benchmarks.gait import runs
from benchmarks.gait.size import Size
from benchmarks.gait.symbolic_body import SymbolicBody
from problems import gait
from trajopt.solvers.ipopt import LARGE
from trajopt.splines.trajectory import Trajectory

TOLERANCE = 1e-4  # of both solves, whose rows are all there from the start
AGREEMENT = 1e-6  # between both programs' scaled objective, rows and derivatives


class Node:
    """A node as terms see it, computed when asked for."""

    def __init__(self, problem: trajopt.Problem) -> None:
        n = problem.dynamics.n
        self.q, self.v, self.a = (casadi.SX.sym(name, n) for name in "qva")
        self.t, self.duration = casadi.SX.sym("t"), casadi.SX.sym("T")
        self._problem = problem
        self._body = SymbolicBody(problem.dynamics, self.q)
        _, self.base_wrench = self._body.inverse_dynamics(self.v, self.a, {})
        loads = {link: self.value(term) for link, term in problem.loads.items()}
        self.tau, _ = self._body.inverse_dynamics(self.v, self.a, loads)

    def position(self, name: str) -> Any:
        return self._body.position(name)

    def velocity(self, name: str) -> Any:
        """[unknown; linear velocity]: no term of the gait needs angular velocities."""
        linear = casadi.jtimes(self._body.position(name), self.q, self.v)
        return casadi.vertcat(casadi.SX.nan(3), linear)

    def value(self, term: Any) -> Any:
        """A term as a column of symbols."""
        if isinstance(term, trajopt.ExpressionTerm):
            returned = term.function(self)
            return casadi.vertcat(*returned) if isinstance(returned, list | tuple) else casadi.SX(returned)
        if isinstance(term, trajopt.terms.arithmetic.Squared):
            return self.value(term.base) ** 2
        family, _, of = term.quantity.partition(":")
        return getattr(self, family)(of) if of else getattr(self, family)


class Program:
    """Scaled objective and rows as functions of our own unknowns y, and CasADi's derivatives of them."""

    def __init__(self, problem: trajopt.Problem) -> None:
        self.nlp = trajopt.transcribe(problem)
        self.y = casadi.MX.sym("y", self.nlp.variable_count)
        objective, rows = self._expressions(problem)
        self.objective, self.rows = objective, rows
        self.statement = {"x": self.y, "f": objective, "g": rows}
        multipliers, factor = casadi.MX.sym("lambda", rows.numel()), casadi.MX.sym("sigma")
        lagrangian = factor * objective + casadi.dot(multipliers, rows)
        self.functions = casadi.Function("functions", [self.y], [objective, rows])
        self.jacobian = casadi.Function(
            "jacobian", [self.y], [casadi.gradient(objective, self.y), casadi.jacobian(rows, self.y)]
        )
        hessian = casadi.triu(casadi.hessian(lagrangian, self.y)[0])
        self.hessian = casadi.Function("hessian", [self.y, multipliers, factor], [hessian])

    def _expressions(self, problem: trajopt.Problem) -> tuple[Any, Any]:
        """Every quantity at every node by one mapped function, then sums and rows as our program has them."""
        nlp, node = self.nlp, Node(problem)
        terms = {cost.term.quantity: cost.term for cost in problem.costs}
        terms |= {each.term.quantity: each.term for each in (*problem.constraints, *problem.periodicities)}
        needed = {group.quantity for group in nlp.groups} | {cost.term.quantity for cost in problem.costs}
        names = [name for name in terms if name in needed]
        inputs = [node.q, node.v, node.a, node.t, node.duration]
        at_node = casadi.Function("node", inputs, [casadi.densify(node.value(terms[name])) for name in names])
        states, times, duration = self._states(problem.trajectory)
        count = times.size
        values = at_node.map(count)(
            *states, casadi.DM(times[None]), casadi.repmat(casadi.DM(duration), 1, count)
        )
        at = dict(zip(names, values if isinstance(values, tuple | list) else [values], strict=True))
        objective = 0
        for cost, use in zip(problem.costs, nlp.objectives, strict=True):
            weights = casadi.DM(use.node_weights * use.weight * (duration if cost.over.integrates else 1.0))
            objective += casadi.dot(weights, casadi.sum1(at[cost.term.quantity]).T)
        rows = [sparse_matrix(nlp.linear.A) @ self.y + casadi.DM(nlp.linear.b)] if nlp.linear.count else []
        for group in nlp.groups:
            together = at[group.quantity] @ sparse_matrix(group.weights).T  # (width, rows)
            rows.append(casadi.vec(together)[np.flatnonzero(group.kept).tolist()])
        return nlp.objective_scale * objective, casadi.DM(nlp.row_scale) * casadi.vertcat(*rows)

    def _states(self, trajectory: Trajectory) -> tuple[list[Any], np.ndarray, float]:
        """q, v, a (n, K) as linear maps of y, and the times of the nodes."""
        nodes, unknowns = trajectory.nodes, self.nlp.unknowns
        (arc,) = trajectory.arcs
        duration, n = float(arc.duration_bounds[0]), unknowns.layout.curve_count
        x = sparse_matrix(unknowns.elimination.N) @ self.y + casadi.DM(unknowns.elimination.c)
        points = casadi.reshape(x[: arc.basis.count * n], n, arc.basis.count)
        states = []
        for order in range(3):
            weights = np.zeros((nodes.count, arc.basis.count))
            for k, first in enumerate(nodes.first_control_point):
                weights[k, first : first + arc.basis.degree + 1] = nodes.basis[order, k] / duration**order
            states.append(points @ casadi.sparsify(casadi.DM(weights.T)))
        return states, nodes.s * duration, duration


def sparse_matrix(matrix: Any) -> Any:
    """A SciPy matrix as CasADi's."""
    return casadi.DM(matrix.tocsc())


def disagreement(program: Program) -> dict[str, float]:
    """Largest differences between both programs at a point near the start, derivatives included."""
    nlp, rng = program.nlp, np.random.default_rng(38)
    y = nlp.start + 1e-2 * rng.standard_normal(nlp.variable_count)
    multipliers = rng.standard_normal(nlp.row_count) / nlp.row_count
    objective, rows = program.functions(y)
    gradient, jacobian = program.jacobian(y)
    ours = np.zeros((nlp.row_count, nlp.variable_count))
    ours[nlp.jacobian_rows, nlp.jacobian_columns] = nlp.jacobian(y)
    lower = np.zeros((nlp.variable_count, nlp.variable_count))
    lower[nlp.hessian_rows, nlp.hessian_columns] = nlp.hessian(y, multipliers, 1.0)
    theirs = program.hessian(y, multipliers, 1.0).full().T
    return {
        "objective": abs(float(objective) - nlp.objective(y)),
        "rows": float(np.abs(rows.full().ravel() - nlp.rows(y)).max()),
        "gradient": float(np.abs(gradient.full().ravel() - nlp.gradient(y)).max()),
        "jacobian": float(np.abs(jacobian.full() - ours).max()),
        "hessian": float(np.abs(theirs - lower).max()),
    }


def evaluations(program: Program, repeats: int = 3) -> dict[str, dict[str, float]]:
    """Median seconds of functions, Jacobian and Hessian at new points: ours and CasADi's."""
    nlp, rng = program.nlp, np.random.default_rng(1)
    multipliers = rng.standard_normal(nlp.row_count)
    first = [nlp.gradient, nlp.jacobian]

    def ours(kind: str, y: np.ndarray) -> None:
        parts = [nlp.objective, nlp.rows] if kind == "functions" else [nlp.objective, nlp.rows, *first]
        for part in parts:
            part(y)
        if kind == "Hessian":
            nlp.hessian(y, multipliers, 1.0)

    calls = {
        "functions": lambda y: program.functions(y),
        "Jacobian": lambda y: program.jacobian(y),
        "Hessian": lambda y: program.hessian(y, multipliers, 1.0),
    }
    found: dict[str, dict[str, float]] = {"ours": {}, "CasADi": {}}
    for kind, theirs in calls.items():
        for program_name, call, count in (
            ("ours", lambda y, kind=kind: ours(kind, y), 5 * repeats),
            ("CasADi", theirs, repeats),
        ):
            seconds = []
            for _ in range(count):
                y = nlp.start + 1e-3 * rng.standard_normal(nlp.variable_count)
                began = time.perf_counter()
                call(y)
                seconds.append(time.perf_counter() - began)
            found[program_name][kind] = statistics.median(seconds)
    return found


def solve(program: Program, options: dict[str, Any], limit: float) -> dict[str, Any]:
    """Solve with nlpsol and the same IPOPT options; seconds in all and by part."""
    settings = {f"ipopt.{key}": value for key, value in options.items()}
    settings |= {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.max_wall_time": limit}
    nlp = program.nlp
    began = time.perf_counter()
    solver = casadi.nlpsol("gait", "ipopt", program.statement, settings)
    built = time.perf_counter() - began
    began = time.perf_counter()
    answer = solver(x0=nlp.start, lbx=nlp.lower, ubx=nlp.upper, lbg=nlp.row_lower, ubg=nlp.row_upper)
    stats = solver.stats()
    return {
        "status": stats["return_status"],
        "iterations": int(stats["iter_count"]),
        "objective": float(answer["f"]) / nlp.objective_scale,
        "building": built,
        "seconds": time.perf_counter() - began,
        "functions": stats["t_wall_nlp_f"] + stats["t_wall_nlp_g"],
        "derivatives": stats["t_wall_nlp_grad_f"] + stats["t_wall_nlp_jac_g"] + stats["t_wall_nlp_hess_l"],
    }


def compare(size: Size) -> dict[str, Any]:
    """Agreement, seconds per evaluation, and one whole solve each."""
    began = time.perf_counter()
    program = Program(gait.build(cost="thesis"))
    built = time.perf_counter() - began
    apart = disagreement(program)
    if max(apart.values()) > AGREEMENT:
        raise RuntimeError(f"the two programs differ: {apart}")
    per_call = evaluations(program)
    problem = gait.build(cost="thesis")
    limit, solver = size.casadi_seconds, runs.recommended(problem, size).solver
    plain = replace(solver, tol=TOLERANCE, time_limit=limit)  # all rows at once
    ours = trajopt.solve(problem, plain, refine=None, progress="silent")
    large = program.nlp.variable_count >= LARGE
    options = plain._settings(True, warm=False, large=large)  # every option that ours gives to IPOPT
    return {
        "agreement": apart,
        "building": built,
        "per_call": per_call,
        "ours": {"status": ours.status.name.lower(), "iterations": ours.iterations,
                 "objective": ours.objective, "seconds": ours.seconds, **runs.coarse_split(ours)},
        "casadi": solve(program, options, limit),
    }  # fmt: skip
