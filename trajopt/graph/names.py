"""What messages call quantities and their components: `term 'power', component knee`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from trajopt.graph.block import Block
from trajopt.graph.leaves import SPLINE_LEAVES

_PREFIX = "term:"
_INTEGRAND = " dt"
_AXES = ("x", "y", "z")
JOINT_QUANTITIES = (*SPLINE_LEAVES, "tau")
#: Components of the quantities of the dynamics that are not the joints'.
FIXED_NAMES = {
    "position": _AXES,
    "centre_of_mass": _AXES,
    "velocity": (*(f"turning {axis}" for axis in _AXES), *_AXES),
    "momentum": (*(f"angular {axis}" for axis in _AXES), *_AXES),
    "wrench": (*(f"moment {axis}" for axis in _AXES), *(f"force {axis}" for axis in _AXES)),
    "base_wrench": (*(f"moment {axis}" for axis in _AXES), *(f"force {axis}" for axis in _AXES)),
}


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


def names_of_term(term: Any, blocks: Iterable[Block], joints: Sequence[str]) -> tuple[str, ...]:
    """Names of a term's components: its own, its base's, or the joints' where each looks at one joint alone.

    Nothing where there are none of these.
    """
    own = tuple(getattr(term, "components", ()))
    if own:
        return own
    if term.quantity in JOINT_QUANTITIES:
        return tuple(joints)
    for base in (getattr(term, "base", None), *(part for _, part in getattr(term, "parts", ()))):
        if base is not None:
            return names_of_term(base, blocks, joints)
    block = next((block for block in blocks if term.quantity in block.outputs), None)
    if block is None or block.outputs[term.quantity] != len(joints):
        return FIXED_NAMES.get(term.quantity.partition(":")[0], ())
    # A class of the user's own rarely says which entries vanish: one value per joint is then each joint's.
    named = hasattr(term, "block") or _one_joint_each(block, term.quantity)
    return tuple(joints) if named else ()


def _one_joint_each(block: Block, quantity: str) -> bool:
    """Whether component i of an output depends on joint i alone, as far as it depends on joints."""
    square = np.eye(block.outputs[quantity], dtype=bool)
    found = False
    for (output, source), pattern in block.pattern().items():
        if output == quantity and source in JOINT_QUANTITIES:
            if np.any(pattern & ~square):
                return False
            found = True
    return found
