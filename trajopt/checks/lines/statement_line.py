"""One component of one statement of a problem on a motion: its violation, how it is known, its tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Evidence = Literal["identity", "hull", "enclosure", "evaluated", "sampled"]

AT_TIMES = 1e-6  # of its scale: the tolerance of an equation at a single time
EXACT = 1e-12  # of the values: the rounding error of an eliminated equation


@dataclass(frozen=True)
class StatementLine:
    """The largest violation of one component of a statement, and how it is known.

    value : violation in the statement's unit, |residual| of an equation; negative where a limit holds with a
        margin; NaN where a value is not finite; infinity where a jump makes a derivative infinite
    time : seconds, of that value
    tolerance : the largest value with which the line holds
    evidence : "identity", an equation that was eliminated and holds to rounding at all times; "hull", control
        points within the bounds; "enclosure", a bound for all times by control points of cut pieces or by
        Taylor models; "evaluated", stated for single times and computed there; "sampled", computed at times
        `resolution` apart and narrowed around their peaks
    resolution : seconds; a violation on an interval as long as that is seen, a shorter one may be missed; of
        an integral: the largest distance of samples; a bump of its integrand that is shorter may be missed
    scale : of an equation, what its tolerance refers to; else the range of the limit
    note : what the line does not cover, or why it fails
    """

    name: str
    component: str
    value: float
    time: float
    tolerance: float
    evidence: Evidence
    resolution: float = 0.0
    scale: float = 1.0
    equation: bool = False
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the violation is within the tolerance; False for NaN."""
        return self.value <= self.tolerance

    @property
    def label(self) -> str:
        """The statement, and the component where there are several."""
        return f"{self.name}, {self.component}" if self.component else self.name

    @property
    def ratio(self) -> float:
        """The violation in multiples of the tolerance; infinity for NaN."""
        return np.inf if np.isnan(self.value) else self.value / self.tolerance

    def __str__(self) -> str:
        what = "is not finite" if np.isnan(self.value) else f"is missed by {self.value:.3e}"
        relative = f", {self.value / self.scale:.1e} of its scale" if self.equation else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.label} {what}{relative} at t = {self.time:.6f} s, tolerance {self.tolerance:.1e}{note}"
