"""What follows from the parts of a problem: its terms' blocks and widths, names, curves and continuity."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.graph.data import Data
from trajopt.graph.keys import EXTRA, SplineLeaf, bare, extra_leaf, parameter_leaf, rate_leaf, spline_leaves
from trajopt.graph.protocols.block import Block
from trajopt.graph.protocols.dynamics import Dynamics
from trajopt.graph.protocols.term import Term
from trajopt.graph.quantity_table import QuantityTable
from trajopt.problem import term_checks
from trajopt.problem.constraints.integrals import IntegralConstraint
from trajopt.problem.constraints.lower_continuity import LowerContinuity, continuity_at_borders
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint, Periodicity
from trajopt.splines.node_sets import PATH
from trajopt.splines.trajectory import Trajectory
from trajopt.terms.component_names import names_of_components


class DerivedParts:
    """What a problem answers from its fields alone."""

    dynamics: Dynamics
    constraints: list[Constraint]
    integrals: list[IntegralConstraint]
    periodicities: list[Periodicity]
    extras: dict[str, AdditionalCurve]
    datasets: dict[str, Data]
    lower_continuities: list[LowerContinuity]
    trajectory: Trajectory
    _blocks: dict[Any, tuple[Block, ...]]
    _quantities: QuantityTable | None

    @property
    def quantities(self) -> QuantityTable:
        """Every quantity that a term may ask for: width, names of components, unit."""
        own, named = own_widths(self), own_components(self)
        known = self._quantities
        is_same = known is not None and known.dynamics is self.dynamics and known.defined == own
        if known is None or not is_same or known.named != named:
            known = self._quantities = QuantityTable(self.dynamics, own, named)
        return known

    def width_of(self, quantity: str) -> int:
        """Number of components of a leaf or an output of the dynamics; UnknownNameError for another name."""
        return self.quantities(quantity)

    def blocks_of(self, term: Any) -> tuple[Block, ...]:
        """The blocks of a term, traced once however often the term is used."""
        if not isinstance(term, Hashable) or term not in self._blocks:
            if not implements(term, Term):
                raise term_checks.no_term(term)
            table, data = self.quantities, self.datasets.values()
            self._blocks[term] = term_checks.checked_blocks(term, self.dynamics, table, data, self._blocks)
            term_checks.check_components(term, self.width_of_term(term))
        return self._blocks[term]

    def width_of_term(self, term: Any) -> int:
        """Number of components of a term."""
        for block in self.blocks_of(term):
            if term.quantity in block.outputs:
                return block.outputs[term.quantity]
        return self.width_of(term.quantity)

    def component_names(self, quantity: str, width: int) -> list[str]:
        """Names of a quantity's components in reports: joint names where there is one per joint.

        Else the names that its term gives them, or axes, or numbers; the name of a scalar is empty.
        """
        return names_of_components(self._blocks, self.quantities, bare(quantity), width)

    def labels(self, quantity: str, width: int) -> list[str]:
        """What figures and tables call components: `curve_names` of a curve, else `component_names`."""
        if quantity.startswith(EXTRA):
            return self.curve_names(quantity.removeprefix(EXTRA))
        return self.component_names(quantity, width)

    def curve_names(self, extra: str) -> list[str]:
        """What figures and tables call the components of an additional curve: "force", or "force x" ..."""
        width = self.extras[extra].lower.size
        if width == 1:
            return [extra]
        return [f"{extra} {component}" for component in self.component_names(extra_leaf(extra), width)]

    @property
    def stated(self) -> tuple[Constraint | IntegralConstraint | Periodicity, ...]:
        """All that must hold and has a name: constraints, bounded integrals, periodicities."""
        return (*self.constraints, *self.integrals, *self.periodicities)

    def path_limits(self) -> list[Constraint]:
        """The inequality constraints over the whole path."""
        return [c for c in self.constraints if c.over == PATH and not np.all(c.lower == c.upper)]

    @property
    def spline_leaves(self) -> dict[str, SplineLeaf]:
        """The leaves that are derivatives of curves, with their order and their curves."""
        apart = [name for name, extra in self.extras.items() if extra.pieces is not None]
        rated = [name for name, extra in self.extras.items() if extra.has_rate]
        return spline_leaves(self.dynamics.n, self.extra_widths, apart, rated)

    @property
    def continuity_at_borders(self) -> Array:
        """How many derivatives of every coordinate go on where arcs meet, (arcs - 1, n); -1: not even it."""
        return continuity_at_borders(self.trajectory, self.dynamics.n, self.lower_continuities)

    @property
    def state_curves(self) -> tuple[str, ...]:
        """The additional curves that are further states of a robot."""
        return tuple(name for name, extra in self.extras.items() if extra.is_state)

    @property
    def extra_widths(self) -> dict[str, int]:
        """Number of components of every additional curve."""
        return {name: extra.lower.size for name, extra in self.extras.items()}


def own_widths(problem: Any) -> dict[str, int]:
    """Quantity -> number of components, of a problem's parameters, additional curves and data."""
    widths = {parameter_leaf(name): p.lower.size for name, p in problem.parameters.items()}
    widths |= {extra_leaf(name): width for name, width in problem.extra_widths.items()}
    widths |= {rate_leaf(name): extra.lower.size for name, extra in problem.extras.items() if extra.has_rate}
    return widths | {data.quantity: data.width for data in problem.datasets.values()}


def own_components(problem: Any) -> dict[str, tuple[str, ...]]:
    """Quantity -> names of its components, of the additional curves and their rates that have names."""
    named = {name: extra.components for name, extra in problem.extras.items() if extra.components}
    return {leaf(name): components for leaf in (extra_leaf, rate_leaf) for name, components in named.items()}
