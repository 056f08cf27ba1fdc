"""Types of dataclass fields that accept more than they keep: lists of numbers and generators of bodies.

`__post_init__` converts what was given. Python's dataclasses declare one type for both; type checkers
understand a descriptor, which exists for them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

Element = TypeVar("Element")

if TYPE_CHECKING:

    class ArrayField:
        """Given as anything like an array, kept as an array of floats."""

        def __get__(self, instance: object, owner: Any = None) -> np.ndarray: ...
        def __set__(self, instance: object, value: ArrayLike) -> None: ...

    class TupleField(Generic[Element]):
        """Given as any iterable, kept as a tuple."""

        def __get__(self, instance: object, owner: Any = None) -> tuple[Element, ...]: ...
        def __set__(self, instance: object, value: Iterable[Element]) -> None: ...

else:
    ArrayField, TupleField = np.ndarray, tuple


def new_array(values: ArrayLike) -> Callable[[], Any]:
    """A default factory: every object gets an array of its own with these values."""
    return lambda: np.array(values, dtype=float)
