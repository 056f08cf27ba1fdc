"""The parts of a problem as values: costs, constraints, periodicities, parameters, additional curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import LISTED
from trajopt.base.arrays import Array
from trajopt.graph.protocols import Term
from trajopt.splines.basis import SplineBasis
from trajopt.splines.node_sets import PATH, NodeSet
from trajopt.splines.trajectory import Arc, Trajectory


@dataclass(frozen=True)
class Recipe:
    """The name and every parameter of a library problem, from which a saved solution builds it again."""

    problem: str
    parameters: Mapping[str, Any]

    @property
    def is_file(self) -> bool:
        """True if the problem is a Python file of the user's, which nothing runs unasked."""
        return self.problem.endswith(".py")

    def __reduce__(self) -> tuple[object, ...]:  # read-only mappings cannot be pickled
        return Recipe, (self.problem, dict(self.parameters))


@dataclass(frozen=True)
class Cost:
    """weight * (integral over a part of the motion, or value at a node) of the sum of a term's components."""

    term: Term
    weight: float
    over: NodeSet
    name: str


@dataclass(frozen=True, eq=False)
class Easing:
    """The excess by which limits are wider behind the start of an arc, where a measured state exceeds them.

        (excess + slope s) (1 - s / end)     in the arc's normalised time s up to `end`, 0 later

    excess, slope : (2, width), of the lower limits and of the upper ones; of an equation both are the same
    """

    arc: int
    end: float
    excess: NDArray[np.float64]
    slope: NDArray[np.float64]

    def at(self, arc: NDArray[np.int64] | int, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Changes of lower and upper limits at normalised times (k,) of arcs, (2, k, width)."""
        left = np.where(np.equal(arc, self.arc), np.maximum(1.0 - s / self.end, 0.0), 0.0)
        return (self.excess[:, None] + self.slope[:, None] * s[:, None]) * left[:, None]


@dataclass(frozen=True)
class Relaxation:
    """One component of a constraint that gave way to a measured state.

    change : "held there", "velocity changed", or "limit widened"
    by : the distance of the measured value from the equation or limit, in `unit`; where it is inside but its
        rate leads beyond the limit, that of the next control point
    """

    constraint: str
    component: str
    by: float
    unit: str
    change: str

    def __str__(self) -> str:
        where = f"'{self.constraint}'{', ' * bool(self.component)}{self.component}"
        return f"{where}, is off by {self.by:.3g}{' ' * bool(self.unit)}{self.unit}: {self.change}"

    @staticmethod
    def lines(several: Sequence[Relaxation]) -> list[str]:
        """The first ones, for answers and reports, and how many more there are."""
        more = len(several) - LISTED
        lines = [f"relaxed at the start: {each}" for each in several[:LISTED]]
        return lines + [f"relaxed at the start: {more} more, solution.relaxations"] * (more > 0)


@dataclass(frozen=True, eq=False)
class Constraint:
    """lower <= term <= upper over a part of the motion.

    hold : "nodes", at the nodes only (`Solution.verify` checks between them); "hull", for all t because the
        control points of the curve are bounded (sufficient; for q, v, a and jerk); or "implied", an equation
        that follows from others to the order of the scheme: it has no rows, and `verify` checks it
    continuous : whether the term is a curve that cannot jump: limits then hold at the ends of the motion, too
    scale : (width,) what violations are compared with; None: the sizes of what an equation adds up, and of
        the bounds of a limit
    of_rates : whether it is x' - f = 0 with x states: between nodes its integral counts
    easing : by how much the program's limits are wider behind a measured state that exceeds them
    jumps : whether the term may jump at breakpoints, as controls do: a window then holds it from inside alone
    """

    term: Term
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    over: NodeSet
    name: str
    hold: Literal["nodes", "hull", "implied"] = "nodes"
    continuous: bool = False
    scale: NDArray[np.float64] | None = None
    of_rates: bool = False
    easing: Easing | None = None
    jumps: bool = False

    def limits_at(
        self, arc: NDArray[np.int64] | int, s: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Limits at normalised times (k,) of arcs with their easing, (k, width), or without one (width,)."""
        if self.easing is None:
            return self.lower, self.upper
        lower, upper = self.easing.at(arc, s)
        return self.lower + lower, self.upper + upper

    @property
    def holds_over_time(self) -> bool:
        """True if it is meant for all times of a part of the motion."""
        return self.over.integrates and self.over.has_cost and not self.over.is_difference

    @property
    def is_path_equation(self) -> bool:
        """True if it is an equation, in some component, over the path, an arc or a window."""
        return self.holds_over_time and bool(np.any(self.lower == self.upper))

    @property
    def needs_scale(self) -> bool:
        """True if a component is an equation, or a limit with a bound of zero."""
        return bool(np.any((self.lower == self.upper) | self.zero_bounded))

    @property
    def zero_bounded(self) -> NDArray[np.bool_]:
        """Mask of the limits with a bound of zero, by component: it says nothing of the size of values."""
        return (self.lower != self.upper) & ((self.lower == 0.0) | (self.upper == 0.0))

    def side_scales(
        self, reach: NDArray[np.float64], equation_scale: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """(2, width): what violations of the lower and of the upper side are compared with.

        The constraint's own scale, where it has one. Of an equation its scale. Of a limit the larger of its
        two bounds in size: a drive that may give 150 N m is off by a part of these. But at most the range
        between them, which is smaller where both are far from zero, and at most the side's own bound, the
        largest size of a value, `reach` (width,), or the rounding of the other bound, of one unit at most: a
        bound beyond all that happens must not loosen the other side. A side whose bound is zero is compared
        with no less than without the other bound: with what `equation_scales` finds. Without another bound,
        the bound itself.

        equation_scale : (width,), of an equation or a limit of zero, where `needs_scale`, else None
        """
        if self.scale is not None:
            return np.stack([self.scale, self.scale])
        own = np.stack([self.lower, self.upper])
        unit = 1.0 if equation_scale is None else equation_scale
        other, size = own[::-1], np.where(own == 0.0, unit, np.abs(own))
        with np.errstate(invalid="ignore"):
            largest = np.minimum(np.abs(other - own), np.maximum(np.abs(own), np.abs(other)))
            rounding = np.finfo(float).eps * np.minimum(np.abs(other), 1.0)
            least = np.where(reach > 0.0, np.maximum(reach, rounding), 0.0)
        scales = np.where(np.isfinite(other), np.minimum(largest, np.maximum(size, least)), size)
        scales = np.where(np.isfinite(own) & (scales > 0.0), scales, 1.0)
        if equation_scale is None:
            return scales
        return np.where(self.lower == self.upper, equation_scale, scales)

    def held_at(self, trajectory: Trajectory) -> NDArray[np.bool_]:
        """At which nodes of its part of the motion it holds, component by component, (nodes, width)."""
        equal = self.lower == self.upper
        if self.hold == "implied":
            return np.zeros((self.over.nodes(trajectory).size, equal.size), dtype=bool)
        limits = self.over.carries_limits(trajectory, self.continuous)
        held = np.where(equal, self.over.carries_equations(trajectory)[:, None], limits[:, None])
        outer, within = self.over.outer_nodes(trajectory)
        if not outer.size:
            return held
        own = np.zeros((trajectory.nodes.count, equal.size), dtype=bool)
        chosen, arc = self.over.nodes(trajectory), trajectory.nodes.arc
        own[chosen] = held
        if not self.jumps:  # states jump where arcs meet alone, and may have no row at the node within
            meet = arc[outer] != arc[within]
            outer, within = outer[meet], within[meet]
            own[within] |= own[outer]
        own[outer] = False
        # An instant at a breakpoint has the node before it alone
        return np.where(own.any(axis=0), own[chosen], held)


def limits_over_path(constraints: Iterable[Constraint], quantity: str, width: int) -> tuple[Array, Array]:
    """The lower and upper bounds (width,) that a quantity has over all of the path."""
    lower, upper = np.full((2, width), [[-np.inf], [np.inf]])
    for constraint in constraints:
        if constraint.term.quantity == quantity and constraint.over == PATH:
            lower, upper = np.maximum(lower, constraint.lower), np.minimum(upper, constraint.upper)
    return lower, upper


@dataclass(frozen=True, eq=False)
class Periodicity:
    """term(end)_i = signs_i * term(start)_order(i) + offset_i, for every i in `kept`.

    Coordinates that follow from others by closed loops are left out: they repeat with these.
    """

    term: Term
    signs: NDArray[np.float64]
    order: NDArray[np.int64]
    offset: NDArray[np.float64]
    name: str
    kept: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Unknown:
    """A named unknown with bounds and a constant first guess, all (width,).

    size : what values typically have, where that is known before: with it violations of the bounds are
        compared, also where a component stays at zero and shows no size of its own
    """

    name: str
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    guess: NDArray[np.float64]
    unit: str = ""
    size: float | None = field(default=None, kw_only=True)

    def bounds(self, term: Term, over: NodeSet) -> Constraint:
        """The bounds as a constraint of its term."""
        scale = None if self.size is None else np.full(self.lower.size, self.size)
        return Constraint(term, self.lower, self.upper, over, f"bounds of {self.name}", scale=scale)


@dataclass(frozen=True, eq=False)
class Parameter(Unknown):
    """A constant unknown.

    is_slack : whether it stands for a maximum at a node, and is never one unknown of several phases
    """

    is_slack: bool = False


@dataclass(frozen=True)
class PiecewisePolynomial:
    """The basis of a control: one polynomial of a degree per interval, continuous or free to jump.

    by_default : whether no degree was given: it then follows from the trajectory
    """

    degree: int
    continuous: bool
    by_default: bool = False

    def on(self, arc: Arc) -> SplineBasis:
        """The basis on the breakpoints of an arc."""
        return SplineBasis.with_continuity(arc.basis.breakpoints, self.degree, 0 if self.continuous else -1)

    def __str__(self) -> str:
        return f"degree {self.degree}, {'continuous' if self.continuous else 'with jumps'}"


@dataclass(frozen=True)
class NodeValues:
    """The basis of slacks: as many coefficients as weighted nodes, so that their values there are free."""

    def on(self, arc: Arc) -> SplineBasis:
        """The basis on the breakpoints of an arc: continuous where two spans share a weighted node."""
        weighted = arc.unit_rule[1] > 0.0
        degree = int(np.sum(weighted)) - 1
        common = arc.shared_ends & bool(weighted[0] and weighted[-1])
        return SplineBasis.of_any_degree(arc.basis.breakpoints, degree, degree + 1 - common.astype(int))

    def __str__(self) -> str:
        return "one value per node"


@dataclass(frozen=True, eq=False)
class AdditionalCurve(Unknown):
    """Unknown curves beside the joints', such as contact forces.

    `Problem.extra` and `Problem.control` add them; the quantity is called "extra:" and the name.
    pieces : the basis of their own; None for that of the joints
    is_state : an equation gives its derivative, so that it needs no node for each coefficient
    components : names of its components in reports and figures; empty: numbers
    is_guessed : a user's own guess is among these values
    """

    pieces: PiecewisePolynomial | NodeValues | None = None
    is_state: bool = False
    is_guessed: bool = field(default=False, kw_only=True)
    components: tuple[str, ...] = ()

    @property
    def has_rate(self) -> bool:
        """True if it is continuous within every arc, so that its derivative by time is a quantity."""
        own = self.pieces
        return own is None or (isinstance(own, PiecewisePolynomial) and own.continuous)


def with_curve(curves: Mapping[str, AdditionalCurve], curve: AdditionalCurve) -> dict[str, AdditionalCurve]:
    """The additional curves with one more, or one replaced; those with a basis of their own come last."""
    every = {**curves, curve.name: curve}
    return dict(sorted(every.items(), key=lambda item: item[1].pieces is not None))
