"""Copies and pickles of a problem: copies share its terms and curves, but no list, table or cache."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

T = TypeVar("T")


def independent_copy(problem: T) -> T:
    """A copy whose lists, dictionaries and sets are its own: adding to one leaves the other as it is."""
    other: Any = copy.copy(problem)
    for name, value in vars(problem).items():
        if isinstance(value, (list, dict, set)):
            setattr(other, name, value.copy())
    return other


def state_without_caches(problem: Any) -> dict[str, Any]:
    """The pickled state of a problem: without traced blocks, which hold compiled functions."""
    return vars(problem) | {"_blocks": {}, "_tested_blocks": set(), "_quantities": None}
