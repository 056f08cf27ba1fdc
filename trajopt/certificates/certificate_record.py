"""The fields of a certificate that files hold: how it was found, and what its motion does not determine."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from trajopt.certificates.first_order_gain import FirstOrderGain
from trajopt.certificates.objective_bracket import ObjectiveBracket
from trajopt.certificates.sign_check import Signs
from trajopt.certificates.switching_structure import ArcSettings, Structure

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

    def record(self) -> dict[str, Any]:
        """Numbers, texts and lists of them for a file, under its keys."""
        kept = asdict(
            CertificateRecord(**{key.name: getattr(self, key.name) for key in fields(CertificateRecord)})
        )
        kept["structure"] = None if self.structure is None else self.structure.record()
        if self.settings is not None:
            kept["settings"] = {KEYS.get(name, name): value for name, value in kept["settings"].items()}
        return {KEYS.get(name, name): value for name, value in kept.items()}
