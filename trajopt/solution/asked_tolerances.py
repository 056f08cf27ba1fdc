"""The tolerances that a run was asked for, as its record has them, beside those that a certificate has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from trajopt.solution.records import RunRecord

ASKED = {  # tolerances of a certificate as the arguments of a run have them
    "tolerance": re.compile(r"Certified\(tol=([^,)]+)"),
    "equation_tolerance": re.compile(r"Certified\(.*equation_tol=([^,)]+)"),
}


def looser_tolerances(certified: Any, run: RunRecord | None) -> Iterator[str]:
    """Tolerances of a certificate that are larger than those that its run was asked for, in words."""
    written = "" if run is None else run.arguments.get("refine", "")
    for name, pattern in ASKED.items():
        asked, given = pattern.search(written), getattr(certified, name)
        if asked and given is not None and not given <= _number(asked[1], certified.tolerance):
            yield f"certificate: its {name} is {given:g}, its run asked for {asked[1]}"


def _number(written: str, default: float) -> float:
    """A number as Python writes it; a default for None, NaN for what is no number."""
    try:
        return default if written == "None" else float(written)
    except ValueError:
        return np.nan
