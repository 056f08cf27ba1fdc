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
from trajopt.certificates.certificate import KEYS, Certificate, CertificateRecord
from trajopt.solution.solution import SolutionData

NAMES = {key: name for name, key in KEYS.items()}


def restored(file: ArrayFile, saved: Mapping[str, Any], motion: SolutionData) -> SolutionData:
    """The motion with the certificate that its file holds; SolutionFileError for one that is none."""
    named = {NAMES.get(key, key): value for key, value in saved.items()}
    if isinstance(settings := named.get("settings"), Mapping):
        named["settings"] = {NAMES.get(key, key): value for key, value in settings.items()}
    kept = file.converted(named, CertificateRecord, "certificate")
    tolerances = kept.tolerance, kept.equation_tolerance or kept.tolerance
    if not (
        all(0.0 < each < math.inf for each in tolerances)
        and kept.rounds >= 0
        and 0.0 <= kept.slowed < math.inf
    ):
        file.refuse("certificate: tolerances that are not positive, rounds or time scaling below zero")
    if kept.structure is not None and not kept.structure.is_one:
        file.refuse("certificate: times and saturated components of no switching structure")
    return replace(motion, certificate=Certificate(**vars(kept), motion=motion, stored=True))
