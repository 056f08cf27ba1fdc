"""An impact of feet on the ground: velocities jump where arcs meet, by impulses within the friction cone.

    M(q) (v+ - v-) = sum_c J_c' p_c        of all feet that stand after it
    J v+ = 0                               no restitution, no sliding
    p_c = sum_k lambda_ck (n + mu t_k),    lambda_ck >= 0

v- and v+ are the velocities before and after; motors and gravity give no impulse in no time. Friction is
Coulomb's of the impulse, as if its direction did not turn during the impact.
Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 11.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.graph import NamedBlock
from trajopt.graph.protocols.block import Block
from trajopt.graph.quantities import own_term
from trajopt.problem.contacts.contact import Contact
from trajopt.terms.arithmetic import Arithmetic, total
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.trace import NodeSymbols

LOAD = "load:"
Pairs = dict[tuple[str, str], Array]


def after_name(arc: int) -> str:
    """Name of the curve that is 0 before an impact and 1 after it."""
    return f"after impact, arc {arc}"


def names_of(contacts: Sequence[Contact]) -> str:
    """Their frames: terms of fewer feet, made before the others were added, have other names."""
    return " ".join(contact.frame for contact in contacts)


def impulses_after(contacts: Sequence[Contact], arc: int, node: NodeSymbols) -> list[Any]:
    """(6,) the impulses on one link after the impact, zero before it."""
    behind = node.extra(after_name(arc))[0]
    return [behind * part for part in total(contact.impulse_wrench(node, arc) for contact in contacts)]


@dataclass(frozen=True, eq=False)
class ImpactTerm(Arithmetic):
    """M(q) v + g(q) less J' p after the impact, (n,): it does not change where arcs meet, as q does not.

    dynamics : of the robot, whose block of inverse dynamics computes it, with v in place of a
    feet : link -> the contacts on it that take an impulse where `arc` begins
    """

    dynamics: Any
    arc: int
    feet: Mapping[str, tuple[Contact, ...]]

    @property
    def name(self) -> str:
        return f"momentum of impact, arc {self.arc}, {names_of(sum(self.feet.values(), ()))}"

    @property
    def quantity(self) -> str:
        return own_term(self.name)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        names = {
            link: f"impulses on {link}, arc {self.arc}, {names_of(on)}" for link, on in self.feet.items()
        }
        found: list[Any] = []
        for link, contacts in self.feet.items():
            term = ExpressionTerm(partial(impulses_after, contacts, self.arc), names[link])
            found += term.blocks(width_of)
        inner = self.dynamics.block(("tau",), tuple(self.feet))
        inputs = {f"{LOAD}{link}": own_term(name) for link, name in names.items()}
        return (*found, NamedBlock(MomentumBlock(inner), inputs, {"tau": self.quantity}))


class MomentumBlock:
    """Inverse dynamics of a robot at rest whose acceleration is its velocity: M(q) v + g(q) - J' load.

    inner : its block of "tau"
    """

    derivatives_are_tested = True

    def __init__(self, inner: Any) -> None:
        self.inner, self.outputs = inner, inner.outputs
        self.inputs = {name: width for name, width in inner.inputs.items() if name != "a"}

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """{"tau": (nodes, n)}."""
        return self.inner.value(at_rest(u))

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return with_velocity(self.inner.partials(at_rest(u)))

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return with_velocity(self.inner.curvature(at_rest(u), adjoints))

    def pattern(self) -> Pairs:
        return with_velocity(self.inner.pattern())

    def curvature_pattern(self) -> Pairs:
        return with_velocity(self.inner.curvature_pattern())


def at_rest(u: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs of inverse dynamics: the velocity as acceleration, and none as velocity."""
    return {**u, "v": np.zeros_like(u["v"]), "a": u["v"]}


def with_velocity(pairs: Pairs) -> Pairs:
    """Derivatives by the acceleration as those by the velocity; those by the velocity at rest go."""
    kept = {pair: part for pair, part in pairs.items() if "v" not in pair}
    return {tuple("v" if name == "a" else name for name in pair): part for pair, part in kept.items()}  # type: ignore[misc]
