"""Constraints that a limit becomes on the arcs of a switching structure, and their multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from numpy.typing import NDArray


@dataclass(frozen=True)
class ArcRows:
    """One constraint on one arc of a limit of the problem that was asked; arcs and limits by number.

    part : the limit itself at the arc's nodes; the equations that keep a saturated component at it ("held");
        or those that make the component start at it
    """

    limit: int
    arc: int
    part: Literal["", "held", "held at the start"] = ""

    @property
    def name(self) -> str:
        """The name of the constraint, unlike any other's."""
        return f"limit {self.limit} on arc {self.arc} {self.part}".rstrip()

    def multipliers(self, named: Mapping[str, NDArray]) -> NDArray | None:
        """Its multipliers (rows, width) among those of a solution; None where there are no such rows."""
        return named.get(self.name)
