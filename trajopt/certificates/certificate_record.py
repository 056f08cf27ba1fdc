"""The fields of a certificate that files hold: how it was found, and what its motion does not determine.

First-order changes of the objective are gained by violations between nodes, and lost to margins of limits.

By the multipliers, in objective per unit of a row, an optimum under limits that are wider by eps has an
objective lower by sum |multiplier| eps. An overstep gains at most as if its limit were wider by the largest
overstep at all nodes; a margin costs as if it were narrower by itself.

Where no switching structure is confirmed, the bracket of a local optimum's objective is an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import NOT_ZERO
from trajopt.certificates.switching_structure import ArcSettings, Signs, Structure


@dataclass(frozen=True)
class FirstOrderGain:
    """Parts of the objective: what oversteps gain at most, and what margins cost."""

    of_oversteps: float
    of_margins: float

    @staticmethod
    def of(oversteps: float, margins: float, objective: float) -> FirstOrderGain:
        """The gain from both in units of the objective."""
        size = max(abs(objective), NOT_ZERO)
        return FirstOrderGain(oversteps / size, margins / size)

    def __str__(self) -> str:
        return (
            "sum of |multiplier| times size, relative to the objective: oversteps gain "
            f"{self.of_oversteps:.1e}, margins cost {self.of_margins:.1e}"
        )


def impulses_by_component(multipliers: Mapping[str, Array], names: Sequence[str], width: int) -> Array:
    """Sum over nodes of |multiplier| of every component (width,), over all rows of these names."""
    found = np.zeros(width)
    for name in names:
        if name in multipliers:
            found += np.abs(multipliers[name]).sum(axis=0)
    return found


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


#: Keys of the first file format by the names that attributes have now.
KEYS = {"effort_weight": "settling", "free_margins": "room"}


@dataclass(frozen=True, eq=False, repr=False)
class CertificateRecord:
    """The fields of a certificate that a file holds.

    tolerance : largest violation of a limit with which the certificate holds, in the limit's own unit
    method : "switching arcs", one polynomial arc between each two switches, or "added nodes", a spline
    structure : the confirmed switching structure, or None
    rounds : number of solves on switching arcs, or number of times that nodes were added
    reason : why no switching structure was confirmed; empty where one was
    signs : Pontryagin's sign check of that structure, or None
    settings : how limits were imposed on switching arcs, margins included, or None
    slowed : relative increase of the duration by which time was scaled so that the limits hold; KKT residuals
        are then those of the motion before scaling
    equation_tolerance : of equations over an interval of time, relative to their scale; None: `tolerance`, at
        most 0.01
    failed : the error with which the certification ended, or nothing; with one the certificate does not hold
    gain : what oversteps gain and what margins cost, to first order, or None where it is not known
    bracket : of the objective where no structure is confirmed, an estimate; None where there is none
    """

    tolerance: float
    method: str
    structure: Structure | None
    rounds: int
    reason: str
    signs: Signs | None = None
    settings: ArcSettings | None = None
    slowed: float = 0.0
    equation_tolerance: float | None = None
    failed: str = ""
    gain: FirstOrderGain | None = None
    bracket: ObjectiveBracket | None = None

    def record(self) -> dict[str, object]:
        """Numbers, texts and lists of them for a file, under its keys."""
        kept: dict[str, Any] = asdict(
            CertificateRecord(**{key.name: getattr(self, key.name) for key in fields(CertificateRecord)})
        )
        kept["structure"] = None if self.structure is None else self.structure.record()
        if self.settings is not None:
            kept["settings"] = {KEYS.get(name, name): value for name, value in kept["settings"].items()}
        return {KEYS.get(name, name): value for name, value in kept.items()}
