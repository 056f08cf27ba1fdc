"""Keys of quantities that follow from others (`term:power`, `tau dt`) and what messages call them."""

from __future__ import annotations

from collections.abc import Callable

_PREFIX = "term:"
_INTEGRAND = " dt"


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
    """What messages call a quantity: `term 'power'` for a user's term and its integrand, else `'tau'`."""
    name = bare(quantity)
    return f"term '{name[len(_PREFIX) :]}'" if name.startswith(_PREFIX) else f"'{name}'"


def entry(quantity: str, component: int, width: int, components: Callable[[str, int], list[str]]) -> str:
    """What messages call a component: `term 'power', component knee`; `components` gives the names."""
    label = components(quantity, width)[component]
    return f"{term_of(quantity)}, component {label}" if label else term_of(quantity)
