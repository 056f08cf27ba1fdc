"""How phases were certified: what a solution keeps of it, and from which its certificate is made."""

from __future__ import annotations

from dataclasses import dataclass

NO_STRUCTURE = "switching structures are searched for in single problems"


@dataclass(frozen=True)
class Certification:
    """How phases were certified; all else follows from their motions.

    tolerance : largest violation of a limit with which the certificate holds, in the limit's own unit
    equation_tolerance : of equations over an interval of time, relative to their scale; None: `tolerance`
    rounds : number of times that nodes were added
    reason : why there is no switching structure, and why no further nodes were added
    failed : the error with which the certification ended, or nothing; with one the certificate does not hold
    """

    tolerance: float
    equation_tolerance: float | None
    rounds: int
    reason: str = NO_STRUCTURE
    failed: str = ""
