"""Keys of quantities at a node, such as `q`, `extra:force` or `term:power`, and their names in messages.

Leaves of the graph follow from the unknowns alone; all other quantities are computed by its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate

SPLINE_LEAVES = ("q", "v", "a", "jerk")  # the derivatives of orders 0 to 3 of the joints' curves
EXTRA, RATE, PARAMETER = "extra:", "rate:", "parameter:"  # before the name of a curve, or a constant unknown
TIME_LEAVES = ("t", "duration", "arc_duration")  # s; of the node, of the motion, of the node's arc
_PREFIX, _INTEGRAND = "term:", " dt"  # before the name of a term, and behind the key of an integrand


@dataclass(frozen=True)
class SplineLeaf:
    """A leaf that is a derivative by time of curves of the trajectory: their columns and the order.

    group : of curves with a common spline basis; the joints are in group 0
    """

    order: int
    curves: slice
    group: int = 0

    @property
    def width(self) -> int:
        return self.curves.stop - self.curves.start


def extra_leaf(name: str) -> str:
    """The leaf that carries an additional curve, a contact force for instance."""
    return f"{EXTRA}{name}"


def rate_leaf(name: str) -> str:
    """The leaf that carries the derivative by time of an additional curve."""
    return f"{RATE}{name}"


def parameter_leaf(name: str) -> str:
    """The leaf that carries a constant unknown."""
    return f"{PARAMETER}{name}"


def is_parameter(quantity: str) -> bool:
    """Whether a quantity is a constant unknown."""
    return quantity.startswith(PARAMETER)


def is_extra(quantity: str) -> bool:
    """Whether a quantity is an additional curve."""
    return quantity.startswith(EXTRA)


def own_term(name: str) -> str:
    """The key of the value of a user's term."""
    return f"{_PREFIX}{name}"


def integrand(quantity: str) -> str:
    """The key of T * quantity, whose quadrature over normalised time is the integral over time."""
    return f"{quantity}{_INTEGRAND}"


def bare(quantity: str) -> str:
    """The quantity without the mark of an integrand: "tau" of "tau dt" and of "tau"."""
    return quantity.removesuffix(_INTEGRAND)


def term_of(quantity: str) -> str:
    """The name of a quantity in messages: `term 'power'` for a term and its integrand, else `'tau'`."""
    name = bare(quantity)
    return f"term '{name[len(_PREFIX) :]}'" if name.startswith(_PREFIX) else f"'{name}'"


def entry(quantity: str, component: int, width: int, components: Callable[[str, int], list[str]]) -> str:
    """The name of a component in messages, `term 'power', component knee`; `components` : names of all."""
    label = components(quantity, width)[component]
    return f"{term_of(quantity)}, component {label}" if label else term_of(quantity)


def slices_of(widths: Mapping[str, int]) -> dict[str, slice]:
    """The places of quantities that stand one after the other; widths : quantity -> number of components."""
    ends = accumulate(widths.values())
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}
