"""The protocol of terms, which can be minimized or bounded. Any object with these attributes will do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from trajopt.graph.protocols.block import Block


@runtime_checkable
class Term(Protocol):
    """Something that can be minimized or bounded: a quantity, and the blocks that compute it."""

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def quantity(self) -> str:
        """The key of the term's value in the graph."""
        ...

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        """The blocks, beyond those of the dynamics, that compute `quantity`; width_of: quantity -> width."""
        ...


@runtime_checkable
class NamedTerm(Term, Protocol):
    """A term with names of its components; empty: the joints' names if there is one per joint, or numbers."""

    @property
    def components(self) -> Sequence[str]: ...
