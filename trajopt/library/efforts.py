"""Terms of effort: torques, powers, energies and joint loads as costs; several costs or constraints at once.

Torque rates, symmetry and weighted sums are functions that add several to a problem.

Magnitudes of the forces and moments that joints transmit limit loads on bearings or ligaments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arguments import check_known, check_positive, numbers
from trajopt.base.errors import OptionError
from trajopt.graph.protocols import Term
from trajopt.graph.quantities import PARAMETER
from trajopt.splines.node_sets import Neighbours
from trajopt.terms import term as terms
from trajopt.terms.arithmetic import Squared, documented
from trajopt.terms.nonsmooth import SmoothedTerm
from trajopt.terms.term import ExpressionTerm, Quantity

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols


def effort(limits: ArrayLike) -> Squared:
    """sum_i (tau_i / limit_i)^2, without unit: joints count alike whatever their strength.

    limits (n,) N m or N, `problem.dynamics.limits.torque_upper` for instance. Raises OptionError where one is
    not finite or not above zero. Barman, thesis, eq. 4.18.
    """
    strength = numbers(limits, "limits")
    if not np.all(np.isfinite(strength) & (strength > 0.0)):
        raise OptionError(f"effort was given the limits {limits}: give finite numbers above zero")
    return (terms.tau / strength) ** 2


def _power(node: NodeSymbols) -> Expression:
    """tau_i v_i, the mechanical power of every actuator, (n,) W: bound it, or minimize its square."""
    return node.tau * node.v


power = ExpressionTerm(_power, "power", unit="W")


def _energy(node: NodeSymbols) -> Expression:
    """Kinetic plus potential energy of the robot, (1,) J."""
    return node.kinetic_energy + node.potential_energy


energy = ExpressionTerm(_energy, "energy", unit="J")


def mechanical_work(rounding: float = 1.0) -> ExpressionTerm:
    """sqrt(P_i^2 + e^2) - e with P = tau v: |P|, made smooth within e = `rounding` watts of zero.

    Integrated over the path, the work of actuators that cannot recover energy, short by less than e per
    second and joint. `Solution.verify` compares it with the integral of |P| itself and fails where a small
    motion makes the rounding matter; a smaller one costs iterations.
    """
    check_positive("rounding in watts", rounding)  # |P| has no slope at zero

    def work(node: NodeSymbols) -> Expression:
        return ((node.tau * node.v) ** 2 + rounding**2) ** 0.5 - rounding

    return SmoothedTerm(work, "mechanical work", unit="W", exact=_exact_work)


def _absolute_power(node: NodeSymbols) -> Expression:
    """|tau_i v_i|, (n,) W."""
    return abs(node.tau * node.v)


_exact_work = ExpressionTerm(_absolute_power, "mechanical work without rounding", unit="W")


smoothness = documented(
    terms.jerk**2,
    "jerk_i^2, the squared third derivatives of the joint positions, (n,) rad^2/s^6 or m^2/s^6.",
)


def limit_torque_rate(problem: Any, rate: Quantity | float) -> None:
    """|tau_i(t_k+1) - tau_i(t_k)| <= rate (t_k+1 - t_k) between neighbouring nodes, rate in N m/s.

    rate is a number, or a parameter of the problem, which may then be minimized. The bounds are written as
    differences of two terms between neighbouring nodes: tau - rate t does not rise, tau + rate t does not
    fall. Where two nodes coincide because the acceleration may jump, the torque may not.
    """
    name = getattr(rate, "quantity", "").removeprefix(PARAMETER)

    def slope(node: NodeSymbols) -> Expression | float:
        return node.parameter(name) if name else float(rate)

    for sign, bound, change in ((-1.0, "upper", "rising"), (1.0, "lower", "falling")):

        def against(node: NodeSymbols, sign: float = sign) -> Expression:
            return node.tau + sign * slope(node) * node.t

        term = ExpressionTerm(against, f"torque rate, {bound}")
        lower, upper = (0.0, None) if bound == "lower" else (None, 0.0)
        problem.subject_to(term, lower, upper, over=Neighbours(), name=f"torque rate {change}")


def symmetric(problem: Any, pairs: Mapping[str, str], flipped: tuple[str, ...] = ()) -> None:
    """q and v at the end are those at the start with left and right exchanged: half a cycle is solved for.

        q_i(T) = s_i q_partner(i)(0),   v_i(T) = s_i v_partner(i)(0)

    pairs : left joint -> right joint; joints in no pair are their own partners
    flipped : joints whose sign changes, s_i = -1
    Periodicity without exchange is `problem.subject_to_periodic`. Raises UnknownNameError.
    """
    names = list(problem.dynamics.joint_names)
    for name in (*pairs, *pairs.values(), *flipped):
        check_known("joint", name, names)
    both = dict(pairs) | {right: left for left, right in pairs.items()}
    partner = [names.index(both.get(name, name)) for name in names]
    signs = np.where(np.isin(names, flipped), -1.0, 1.0)
    for quantity in (terms.q, terms.v):
        problem.subject_to_periodic(quantity, signs, order=partner)


def weighted(problem: Any, costs: Mapping[str, tuple[Term, float, float]]) -> None:
    """Minimize sum_c w_c J_c / J_c,0 with weights that sum to one (Barman, thesis, eq. 4.18).

    costs : name -> (term, weight w_c >= 0, typical size J_c,0 > 0). Raises OptionError otherwise.
    """
    weights = np.array([weight for _, weight, _ in costs.values()])
    sizes = np.array([size for *_, size in costs.values()])
    if np.any(weights < 0.0) or not np.isclose(weights.sum(), 1.0) or np.any(sizes <= 0.0):
        raise OptionError(
            f"weights are {weights.tolist()} and sizes {sizes.tolist()}: "
            "give weights that sum to 1 and sizes above 0"
        )
    for name, (term, weight, size) in costs.items():
        if weight > 0.0:
            problem.minimize(term, weight=weight / size, name=name)


def force_norm(joint: str, rounding: float = 1e-3) -> ExpressionTerm:
    """sqrt(|f|^2 + e^2) - e, N, f the force that a joint transmits: smooth at zero, at most e below |f|."""
    return _norm(joint, slice(3, None), rounding, "force")


def moment_norm(joint: str, rounding: float = 1e-3) -> ExpressionTerm:
    """sqrt(|m|^2 + e^2) - e, N m, with m the moment about the joint's origin, its own torque included."""
    return _norm(joint, slice(3), rounding, "moment")


def _norm(joint: str, part: slice, rounding: float, what: str) -> ExpressionTerm:
    arguments.name(joint, "the joint of a norm")
    check_positive("rounding", rounding)  # a norm has no slope at zero

    def norm(node: NodeSymbols) -> Expression:
        vector = node.wrench(joint)[part]
        return (vector.T @ vector + rounding**2) ** 0.5 - rounding

    return SmoothedTerm(norm, f"{what} in {joint}")
