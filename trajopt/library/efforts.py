"""Torques, powers and energies as costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import check_positive, numbers
from trajopt.base.errors import OptionError
from trajopt.terms import term as terms
from trajopt.terms.arithmetic import Squared, documented
from trajopt.terms.nonsmooth import SmoothedTerm
from trajopt.terms.term import ExpressionTerm

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
