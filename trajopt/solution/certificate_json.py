"""Certificates in saved solutions: a `Certificate` as plain JSON values, and back.

The keys are those of the first file format; where an attribute was renamed since, the key was kept
(`excesses` holds `Certificate.violations`; `settling` and `room` are fields of `ArcSettings`). The lines of
statements are not kept: a loaded certificate computes them again from the motion and its problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from trajopt.solution.certificate import Certificate
from trajopt.solution.first_order_gain import FirstOrderGain
from trajopt.solution.sign_check import Signs
from trajopt.solution.switching_structure import ArcSettings, Saturation, Structure
from trajopt.solution.violation import LimitViolation

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def record(certificate: Certificate) -> dict[str, Any]:
    """Numbers, texts and lists of them; the motion is left out, it is the saved solution itself."""
    structure, settings = certificate.structure, certificate.settings
    return {
        "tolerance": certificate.tolerance,
        "excesses": [asdict(violation) for violation in certificate.violations],
        "method": certificate.method,
        "structure": None if structure is None else _recorded(structure),
        "rounds": certificate.rounds,
        "reason": certificate.reason,
        "signs": None if certificate.signs is None else asdict(certificate.signs),
        "settings": None if settings is None else _recorded_settings(settings),
        "slowed": certificate.slowed,
        "equation_tolerance": certificate.equation_tolerance,
        "failed": certificate.failed,
        "gain": None if certificate.gain is None else asdict(certificate.gain),
    }


def restored(kept: Mapping[str, Any], motion: Solution) -> Solution:
    """The motion with the certificate that was recorded about it."""
    signs, structure, settings = kept["signs"], kept["structure"], kept["settings"]
    gain = kept.get("gain")
    certificate = Certificate(
        tolerance=kept["tolerance"],
        violations=tuple(LimitViolation(**violation) for violation in kept["excesses"]),
        method=kept["method"],
        structure=None if structure is None else _structure(structure),
        rounds=kept["rounds"],
        reason=kept["reason"],
        signs=None if signs is None else Signs(**signs),
        settings=None if settings is None else _settings(settings),
        motion=motion,
        slowed=kept["slowed"],
        equation_tolerance=kept.get("equation_tolerance"),
        failed=kept.get("failed", ""),
        gain=None if gain is None else FirstOrderGain(**gain),
        stored=True,
    )
    return replace(motion, certificate=certificate)


def _recorded(structure: Structure) -> dict[str, Any]:
    arcs = [[[s.limit, s.component, s.side] for s in sorted(arc)] for arc in structure.saturated]
    return {"times": list(structure.times), "saturated": arcs}


def _structure(kept: Mapping[str, Any]) -> Structure:
    arcs = tuple(frozenset(Saturation(*each) for each in arc) for arc in kept["saturated"])
    return Structure(tuple(kept["times"]), arcs)


def _recorded_settings(settings: ArcSettings) -> dict[str, Any]:
    return {
        "regular": settings.regular,
        "settling": settings.effort_weight,
        "margins": settings.margins,
        "room": settings.free_margins,
    }


def _settings(kept: Mapping[str, Any]) -> ArcSettings:
    margins, free = (tuple(tuple(limit) for limit in kept[name]) for name in ("margins", "room"))
    return ArcSettings(kept["regular"], kept["settling"], margins, free)
