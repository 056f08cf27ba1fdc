"""Estimated bracket of a local optimum's objective, where no switching structure is confirmed."""

from __future__ import annotations

from dataclasses import dataclass

from trajopt.base.tolerances import NOT_ZERO


@dataclass(frozen=True)
class ObjectiveBracket:
    """Between which values the objective of this local optimum lies: an estimate, not a proof.

    lower : objective of the mesh with the narrowest bracket, minus what is left to gain: `factor` times the
        first-order gain (integral of |multiplier density| times distance from the limit, and what violations
        between its nodes gain), at least what the refinement to this mesh gained
    upper : objective of the motion whose limits hold to the tolerance, and what its oversteps gain
    factor : by which estimates are multiplied for safety
    ended : why refinement ended
    """

    lower: float
    upper: float
    factor: float
    ended: str = ""

    @property
    def width(self) -> float:
        """Upper minus lower end, relative to the upper one."""
        return (self.upper - self.lower) / max(abs(self.upper), NOT_ZERO)

    def __str__(self) -> str:
        return (
            f"estimated bracket of this local optimum's objective: {self.lower:.12g} to {self.upper:.12g} "
            f"(width {self.width:.1e} of it; lower end by {self.factor:g} times the first-order gain that is "
            f"left, not proved; {self.ended})"
        )
