"""What messages call quantities and their components: `term 'power', component knee`."""

from __future__ import annotations

from collections.abc import Callable

_PREFIX = "term:"
_INTEGRAND = " dt"


def term_of(quantity: str) -> str:
    """`term 'power'` for a term of one's own and its integrand, `'tau'` for anything else."""
    bare = quantity[: -len(_INTEGRAND)] if quantity.endswith(_INTEGRAND) else quantity
    return f"term '{bare[len(_PREFIX) :]}'" if bare.startswith(_PREFIX) else f"'{bare}'"


def entry(quantity: str, component: int, width: int, components: Callable[[str, int], list[str]]) -> str:
    """A component by its joint's name where the quantity has one per joint; a scalar by its own name."""
    label = components(quantity, width)[component]
    if width == 1 and label == "0":
        return term_of(quantity)
    return f"{term_of(quantity)}, component {label}"


def joints_or_numbers(quantity: str, width: int, joint_names: tuple[str, ...]) -> list[str]:
    """Names of the components: joints where a term, or a quantity of the joints, has one per joint."""
    by_joint = ":" not in quantity or quantity.startswith(_PREFIX) or quantity.startswith("(")
    if by_joint and width == len(joint_names):
        return list(joint_names)
    return [str(i) for i in range(width)]
