"""Types of dataclass fields that accept more than they keep: lists of numbers, kept as arrays.

`__post_init__` converts what was given. Python's dataclasses declare one type for both; type checkers
understand a descriptor, which exists for them alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:

    class ArrayField:
        """Given as anything like an array, kept as an array of floats."""

        def __get__(self, instance: object, owner: type | None = None) -> np.ndarray: ...
        def __set__(self, instance: object, value: ArrayLike) -> None: ...

else:
    ArrayField = np.ndarray


def new_array(values: ArrayLike) -> Callable[[], Any]:
    """A default factory: every object gets an array of its own with these values."""
    return lambda: np.array(values, dtype=float)
