"""Costates lambda of a system x' = f(x, u, t, p): changes of the optimal cost per unit of a state.

    lambda(t) = dJ / dx(t),    -lambda' = dL/dx + lambda f_x

J is the cost that is left from t on, with all constraints. In the program the equations 0 = x' - f at node k
have multipliers mu_k. As sum_k mu_k (x' - f)_k stands for the integral of -lambda (x' - f),

    lambda_k = -mu_k / (w_k T),

with the weight w_k of the node in the normalised time of its arc, and T the duration of that arc (Hager,
Runge-Kutta methods in optimal control and the transformed adjoint system, 2000; Garg et al., 2010, for Radau
points). Between the nodes of a span it is their polynomial, of one degree less than the states.
"""

from __future__ import annotations

import numpy as np

from trajopt.base.arguments import check_known
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.problem.systems.state_equations import EQUATIONS, StateEquations
from trajopt.solution.solution import Solution, confirmed_mesh_of
from trajopt.splines.basis import Curve, SplineBasis
from trajopt.splines.trajectory import Trajectory


def costate(solution: Solution, state: str) -> Curve:
    """See `Solution.costate`."""
    dynamics = solution.problem.dynamics
    if not isinstance(dynamics, StateEquations) or dynamics.rates is None:
        raise OptionError(
            f"'{solution.name}' has no states of x' = f(x, u, t, p), whose costates these are: write its "
            "equations as trajopt.system(states, controls, rates)"
        )
    names = [name for name, _, _ in dynamics.rates_of_states]
    check_known(f"state of '{solution.name}'", state, dict.fromkeys(names))
    own = [i for i, name in enumerate(names) if name == state]
    multipliers, mesh = solution.multipliers.get(EQUATIONS), confirmed_mesh_of(solution)
    if multipliers is None or mesh is None:
        raise OptionError(
            f"the solution of '{solution.name}' has no multipliers of '{EQUATIONS}' at its problem's nodes"
        )
    return costate_curve(mesh, solution.curve.durations, multipliers[:, own])


def costate_curve(mesh: Trajectory, durations: Array, multipliers: Array) -> Curve:
    """Polynomials through -mu / (w T) on every span, from the multipliers mu (K, width) at all nodes."""
    nodes, bases, points = mesh.nodes, [], []
    for number, arc in enumerate(mesh.arcs):
        collocated = np.flatnonzero((nodes.arc == number) & (nodes.weight > 0.0))
        weights = nodes.weight[collocated] * durations[number]
        values, span = -multipliers[collocated] / weights[:, None], nodes.span[collocated]
        order = int(np.sum(arc.unit_rule[1] > 0.0))
        basis = SplineBasis.with_continuity(arc.basis.breakpoints, order - 1, -1)
        at = basis.local_values(span - span[0], nodes.s[collocated])[0]
        pieces = np.linalg.solve(at.reshape(-1, order, order), values.reshape(-1, order, values.shape[1]))
        bases.append(basis)
        points.append(pieces.reshape(values.shape))
    return Curve(tuple(bases), tuple(points), durations)
