"""Limits and tolerances in the step constraints, in SI units and degrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.base.errors import ProblemError

MOST_BENT = 160.0  # degrees, of a knee
WIDEST_SOLE = 0.1  # m, to either side of the foot's line


@dataclass(frozen=True)
class StepLimits:
    """Limits and tolerances in the constraints on a step.

    contact : m, how closely standing foot points are at their places when they are held
    drift : m, how far from their places they may be in between
    penetration : m, how deep foot points may sink where they are not held
    friction : coefficient of the ground;  free_moment : N m about the vertical
    knee : degrees (lower, upper) of the swinging knee
    strike : m/s, how fast the heel may come down
    coupling : m^2, by how much arm and opposite leg may swing apart
    clearance : m, how high ball and toe pass over the ground in the middle of swing
    sole : m, half the width of the sole of a standing foot, 0 for a foot that stands on a line
    """

    contact: float = 0.0
    drift: float = 5e-3
    penetration: float = 5e-3
    friction: float = 0.7
    free_moment: float = 15.0
    knee: tuple[float, float] = (55.0, 65.0)
    strike: float = 0.3
    coupling: float = 0.01
    clearance: float = 0.0
    sole: float = 0.0

    def __post_init__(self) -> None:
        tolerances = {"contact tolerance": self.contact, "contact drift": self.drift}
        for name, value in (
            tolerances | {"penetration": self.penetration, "clearance": self.clearance}
        ).items():
            if not 0.0 <= value < np.inf:
                raise ProblemError(f"the {name} is {value} m: give a number from 0")
        if not (self.sole == 0.0 or self.drift < self.sole <= WIDEST_SOLE):
            raise ProblemError(
                f"half the width of the sole is {self.sole} m: give more than the contact drift of "
                f"{self.drift} m, up to {WIDEST_SOLE} m, or 0 for a foot that stands on a line"
            )
        if not 0.0 < self.friction < np.inf:
            raise ProblemError(f"the ground's friction is {self.friction}: give a positive number")
        if not 0.0 <= self.knee[0] <= self.knee[1] <= MOST_BENT:
            raise ProblemError(
                f"the swinging knee is bent by {self.knee} degrees: give (least, most), "
                f"from 0 to {MOST_BENT:g}"
            )
