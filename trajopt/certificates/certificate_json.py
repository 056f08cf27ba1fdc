"""Certificates in saved solutions: plain JSON values of a `CertificateRecord`, and a certificate from these.

The keys are those of the first file format; where an attribute was renamed since, the key was kept. The lines
of constraints are not kept: a loaded certificate computes them again from the motion and its problem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trajopt.base.files.array_file import ArrayFile
from trajopt.certificates.certificate import Certificate
from trajopt.certificates.certificate_record import KEYS, CertificateRecord
from trajopt.solution.solution import SolutionData

NAMES = {key: name for name, key in KEYS.items()}


def restored(file: ArrayFile, saved: Mapping[str, Any], motion: SolutionData) -> SolutionData:
    """The motion with the certificate that its file holds; SolutionFileError for one that is none."""
    named = {NAMES.get(key, key): value for key, value in saved.items()}
    if isinstance(settings := named.get("settings"), Mapping):
        named["settings"] = {NAMES.get(key, key): value for key, value in settings.items()}
    kept = file.converted(named, CertificateRecord, "certificate")
    positive = 0.0 < kept.tolerance < math.inf and (kept.equation_tolerance or 1.0) > 0.0
    if not (positive and kept.rounds >= 0 and kept.slowed >= 0.0):
        file.refuse("certificate: tolerances that are not positive, rounds or time scaling below zero")
    if (kept.equation_tolerance or 0.0) > 1.0 or kept.slowed > 1.0:
        file.refuse("certificate: an equation or the duration is off by more than all of itself")
    if kept.structure is not None and not kept.structure.is_one:
        file.refuse("certificate: times and saturated components of no switching structure")
    return replace(motion, certificate=Certificate(**vars(kept), motion=motion, stored=True))
