"""Units of terms, component by component: declared, given with the term, or derived from its parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from trajopt.graph.keys import EXTRA, SPLINE_LEAVES
from trajopt.graph.protocols.dynamics import DescribedJoints
from trajopt.problem.systems.state_equations import unit_of_rate
from trajopt.problem.systems.system import System
from trajopt.terms.arithmetic import Combination, FunctionOf, Squared
from trajopt.terms.term import ComponentTerm, SliceTerm, StateTerm, components_read, operands_of

PURE = "1"  # of a number without unit


def units_of(problem: Any, term: Any, width: int) -> list[str]:
    """The units (width,) of the components of a term; "" where none is known.

    A term's own unit counts first. Of arithmetic, units follow where no factor other than 1 and -1 enters,
    which may itself have a unit: those of sums and maxima whose terms agree, of squares and functions.
    """
    own = getattr(term, "unit", "")
    if own:
        return [own] * width if isinstance(own, str) else list(own)
    if isinstance(term, StateTerm):
        quantity, component = problem.quantities.aliases.get(term.name, (term.name, None))
        units = units_of_quantity(problem, quantity, problem.width_of(quantity))
        return units if component is None else [units[component]]
    if isinstance(term, ComponentTerm | SliceTerm):
        units = units_of_quantity(problem, term.base, problem.width_of(term.base))
        return [units[i] for i in components_read(term, len(units))[1]]
    if isinstance(term, FunctionOf):
        return ["" if term.function == "sqrt" else PURE] * width
    if isinstance(term, Combination) and any(factor not in (1.0, -1.0) for factor, _ in term.parts):
        return [""] * width
    several = [units_of(problem, part, width) for part in operands_of(term)]
    if several:
        units = [each[0] if len(set(each)) == 1 else "" for each in zip(*several, strict=True)]
        return [power(unit, 2) for unit in units] if isinstance(term, Squared) else units
    return units_of_quantity(problem, term.quantity, width)


def units_of_quantity(problem: Any, quantity: str, width: int) -> list[str]:
    """The units (width,) of a quantity by its key, "tau" or "parameter:load"; "" where none is known."""
    dynamics, name = problem.dynamics, quantity.removeprefix(EXTRA)
    if quantity != name and name in problem.slacks:
        return units_of(problem, problem.slacks[name].maximum, width)
    if quantity in SPLINE_LEAVES and isinstance(dynamics, System):
        order = SPLINE_LEAVES.index(quantity)
        units = [dynamics.units.get(name, "") for name in dynamics.states]
        return [unit_of_rate(unit, order) if order else unit for unit in units]
    declared = problem.quantities.known(quantity)
    unit = "" if declared is None else declared.unit
    if "; " in unit:  # of a wrench or a twist: three components of each
        first, second = unit.split("; ")
        return [first] * (width // 2) + [second] * (width - width // 2)
    turning, _, sliding = unit.partition(" or ")
    if not sliding or not isinstance(dynamics, DescribedJoints):
        return [unit] * width
    kinds = {joint.name: joint.kind for joint in dynamics.joints}
    names: Sequence[str] = problem.component_names(quantity, width)
    return [
        {"revolute": turning, "rotation_vector": turning, "prismatic": sliding}.get(kinds.get(name, ""), unit)
        for name in names
    ]


def power(unit: str, exponent: int) -> str:
    """A power of a unit: "m^2", "(N m)^2"; of none, none."""
    if unit in ("", PURE):
        return unit
    return f"{unit}^{exponent}" if re.fullmatch(r"\w+", unit) else f"({unit})^{exponent}"
