"""What messages call quantities and their components: `term 'power', component knee`."""

from __future__ import annotations

from collections.abc import Callable

_PREFIX = "term:"
_INTEGRAND = " dt"


def bare(quantity: str) -> str:
    """The quantity of which an integrand is one, else the quantity itself."""
    return quantity.removesuffix(_INTEGRAND)


def term_of(quantity: str) -> str:
    """`term 'power'` for a term of one's own and its integrand, `'tau'` for anything else."""
    name = bare(quantity)
    return f"term '{name[len(_PREFIX) :]}'" if name.startswith(_PREFIX) else f"'{name}'"


def entry(quantity: str, component: int, width: int, components: Callable[[str, int], list[str]]) -> str:
    """A component by its name, a scalar by its own."""
    label = components(quantity, width)[component]
    return f"{term_of(quantity)}, component {label}" if label else term_of(quantity)
