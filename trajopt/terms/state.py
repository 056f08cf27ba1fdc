"""One coordinate of a system as a term, by its name: `trajopt.state("altitude")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trajopt.base import arguments
from trajopt.graph.keys import own_term
from trajopt.graph.protocols.block import Block
from trajopt.terms.arithmetic import Arithmetic


@dataclass(frozen=True)
class StateTerm(Arithmetic):
    """A state or a control of a system, (1,)."""

    name: str

    @property
    def quantity(self) -> str:
        return own_term(self.name)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.trace import trace

        return (trace(self._read, self.quantity, width_of),)

    def _read(self, node: Any) -> Any:
        return getattr(node, self.name)


def state(name: str) -> StateTerm:
    """A state, or a control, of the problem's system by its name, (1,): its own unit.

    problem.minimize(-trajopt.state("altitude"), over="end")
    problem.subject_to(trajopt.state("speed"), upper=0.5)

    Raises OptionError for what is no name.
    """
    return StateTerm(arguments.name(name, "the name of a state or control"))
