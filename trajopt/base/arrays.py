"""The array type of every signature: float64, or complex128 where a derivative is checked by complex step."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
