"""Certificates in saved solutions: a `Certificate` from the plain JSON values that its `record` made.

The keys are those of the first file format; where an attribute was renamed since, the key was kept
(`excesses` holds `Certificate.violations`; `settling` and `room` are fields of `ArcSettings`). The lines of
constraints are not kept: a loaded certificate computes them again from the motion and its problem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trajopt.base.files.array_file import ArrayFile
from trajopt.certificates.certificate import Certificate
from trajopt.certificates.first_order_gain import FirstOrderGain
from trajopt.certificates.objective_bracket import ObjectiveBracket
from trajopt.certificates.sign_check import Signs
from trajopt.certificates.switching_structure import ArcSettings, Saturation, Structure
from trajopt.checks.limit_violations import LimitViolation

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


@dataclass(frozen=True)
class SavedStructure:
    """Switch times in seconds and, for every arc, what is saturated: (limit, component, side)."""

    times: tuple[float, ...]
    saturated: tuple[tuple[tuple[int, int, int], ...], ...]

    @property
    def is_one(self) -> bool:
        """Whether there is an arc between every two times, and every side is that of a bound."""
        sides = {side for arc in self.saturated for _, _, side in arc}
        fits = len(self.times) == len(self.saturated) + 1 and all(map(math.isfinite, self.times))
        return fits and sides <= {-1, 1}


@dataclass(frozen=True)
class SavedSettings:
    """`ArcSettings` under the keys of the file."""

    regular: bool
    settling: float
    margins: tuple[tuple[float, ...], ...]
    room: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class CertificateRecord:
    """What a file holds of a certificate."""

    tolerance: float
    excesses: tuple[LimitViolation, ...]
    method: str
    structure: SavedStructure | None
    rounds: int
    reason: str
    signs: Signs | None
    settings: SavedSettings | None
    slowed: float
    equation_tolerance: float | None = None
    failed: str = ""
    gain: FirstOrderGain | None = None
    bracket: ObjectiveBracket | None = None


def restored(file: ArrayFile, saved: Mapping[str, Any], motion: SolutionData) -> SolutionData:
    """The motion with the certificate that its file holds; SolutionFileError for one that is none."""
    kept = file.converted(saved, CertificateRecord, "certificate")
    if kept.structure is not None and not kept.structure.is_one:
        file.refuse("certificate: times and saturated components of no switching structure")
    certificate = Certificate(
        tolerance=kept.tolerance,
        violations=kept.excesses,
        method=kept.method,
        structure=None if kept.structure is None else _structure(kept.structure),
        rounds=kept.rounds,
        reason=kept.reason,
        signs=kept.signs,
        settings=None if kept.settings is None else _settings(kept.settings),
        motion=motion,
        slowed=kept.slowed,
        equation_tolerance=kept.equation_tolerance,
        failed=kept.failed,
        gain=kept.gain,
        bracket=kept.bracket,
        stored=True,
    )
    return replace(motion, certificate=certificate)


def _structure(kept: SavedStructure) -> Structure:
    arcs = tuple(frozenset(Saturation(*each) for each in arc) for arc in kept.saturated)
    return Structure(kept.times, arcs)


def _settings(kept: SavedSettings) -> ArcSettings:
    return ArcSettings(kept.regular, kept.settling, kept.margins, kept.room)
