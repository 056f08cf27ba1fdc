"""Controls: unknown curves with a basis of their own, whose coefficients the nodes must determine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arguments import check_count, check_flag, pluralize, short_repr
from trajopt.base.errors import OptionError, ShapeError
from trajopt.problem.costs_and_constraints import AdditionalCurve, PiecewisePolynomial, with_curve
from trajopt.problem.input_checks import index_of, refuse_again, unknown
from trajopt.problem.systems.augmented_dynamics import AugmentedDynamics
from trajopt.problem.systems.state_equations import StateEquations
from trajopt.splines.trajectory import Trajectory
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.graph.protocols import Dynamics
    from trajopt.problem.problem import Problem


def control_of(
    known: Mapping[str, int] | None,
    trajectory: Trajectory,
    name: str,
    bounds: tuple[ArrayLike, ArrayLike],
    guess: ArrayLike | None,
    pieces: tuple[int | None, bool],
) -> AdditionalCurve:
    """The control of a call of `Problem.control`; see there, also for errors.

    known : controls of the system and their widths, of which it is one; None for one that is added
    """
    if known is not None:
        index_of(name, list(known), "control of the system")
    degree, continuous = pieces
    check_flag(f"continuous of control {short_repr(name)}", continuous)
    width = 1 if known is None else known[name]
    curve = AdditionalCurve(name, *unknown("control", name, *bounds, guess, width))
    if known is not None and curve.lower.size != width:
        raise ShapeError(
            f"control '{name}' of the system has {pluralize(width, 'component')}: give numbers as its "
            f"bounds{', or one each' * (width > 1)}"
        )
    chosen = _default_degree(trajectory) if degree is None else degree
    check_count(f"the degree of control '{name}' (0: constant, 1: linear)", chosen)
    if continuous and chosen == 0:
        raise OptionError(
            f"control '{name}' is constant on every interval and continuous, so one number: use degree=1, "
            "continuous=False, or a parameter"
        )
    own = PiecewisePolynomial(int(chosen), bool(continuous), by_default=degree is None)
    check_nodes(name, own, trajectory)
    return replace(curve, pieces=own, is_guessed=guess is not None)


def add_control(
    problem: Problem,
    known: Mapping[str, int] | None,
    name: str,
    bounds: tuple[ArrayLike, ArrayLike],
    guess: ArrayLike | None,
    pieces: tuple[int | None, bool],
    unit: str = "",
) -> terms.Quantity:
    """Add one of the `known` controls of a system, or a further one where these are None, to a problem."""
    if known is None:
        refuse_again(name, "extra", problem.extras)
    curve = control_of(known, problem.trajectory, name, bounds, guess, pieces)
    problem.extras = with_curve(problem.extras, replace(curve, unit=arguments.unit(unit, f"'{name}'")))
    return terms.extra(name)


def controls_of(dynamics: Dynamics) -> Mapping[str, int] | None:
    """Control -> width, of a system; None for a robot, to which any control may be added."""
    return dynamics.controls if isinstance(dynamics, StateEquations) else None


def _default_degree(trajectory: Trajectory) -> int:
    """Degree with as many coefficients as collocation points per interval; 1 on other trajectories."""
    return 1 if trajectory.scheme is None else trajectory.scheme.order - 1


def check_nodes(name: str, pieces: PiecewisePolynomial, trajectory: Trajectory) -> None:
    """OptionError where values at the nodes of a trajectory do not determine all coefficients of a control.

    Nodes on both sides of a breakpoint exist only where the acceleration may jump there. A coefficient needs
    a node of the quadrature rule, where equations and costs count.
    """
    for index, arc in enumerate(trajectory.arcs):
        basis = pieces.on(arc)
        if not pieces.continuous and np.any(arc.shared_ends):
            raise OptionError(
                f"control '{name}' may jump between intervals, but the accelerations of the trajectory "
                f"({arc.mesh}) are continuous there: use Trajectory.collocation(intervals, order), or "
                "continuous=True"
            )
        nodes = trajectory.nodes
        weighted = int(np.sum((nodes.arc == index) & (nodes.weight > 0.0)))
        if basis.count > weighted:
            raise OptionError(
                f"control '{name}' ({pieces}) has {basis.count} coefficients, but only {weighted} nodes of "
                f"the quadrature rule determine them ({arc.mesh}): use a lower degree, or more points per "
                "interval"
            )


def curves_on(extras: Mapping[str, AdditionalCurve], trajectory: Trajectory) -> dict[str, AdditionalCurve]:
    """Additional curves on another trajectory: controls without a given degree have that of its scheme.

    Raises OptionError where its nodes do not determine a control.
    """
    found = dict(extras)
    for name, extra in extras.items():
        own = extra.pieces
        if not isinstance(own, PiecewisePolynomial):
            continue
        if own.by_default:
            degree = _default_degree(trajectory) + extra.is_state
            own = replace(own, degree=max(degree, int(own.continuous)))
        if not extra.is_state:
            check_nodes(name, own, trajectory)
        found[name] = replace(extra, pieces=own)
    return found


def default_curves(dynamics: Dynamics, trajectory: Trajectory) -> dict[str, AdditionalCurve]:
    """Further states of a robot, and every control, free, in bases that the collocation points determine."""
    found: dict[str, AdditionalCurve] = {}
    if isinstance(dynamics, AugmentedDynamics) and trajectory.scheme is not None:
        found |= {name: dynamics.curve_of_state(name, trajectory.scheme.order) for name in dynamics.states}
    known = controls_of(dynamics)
    for name in known or ():
        found[name] = control_of(known, trajectory, name, (-np.inf, np.inf), None, (None, False))
    return found
