"""Values that JSON and tables hold: numbers that are finite, words for infinities, lists for tuples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def finite(value: float | None) -> float | None:
    """A number as a float; None where it is unknown or not finite."""
    return float(value) if value is not None and math.isfinite(value) else None


def words(value: Any) -> Any:
    """`value` with infinities as words and tuples as lists."""
    if isinstance(value, Mapping):
        return {key: words(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [words(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
