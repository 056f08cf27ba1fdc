"""Wrenches on named links as one array over all links, as algorithms take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array
from dynamics.errors import ShapeError

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree


def link_wrenches(model: KinematicTree, shape: tuple[int, ...], loads: Mapping[str, ArrayLike]) -> np.ndarray:
    """(*shape, links, 6) [moment; force] of loads: name of a link -> (..., 6); zero on other links.

    Raises UnknownNameError for a link that does not exist, ShapeError for an array that does not fit.
    """
    external = np.zeros((*shape, model.link_count, 6))
    for link, given in loads.items():
        wrench = real_array(given, f"the wrench on '{link}'")
        on_link = external[..., model.link_index(link), :]
        try:
            fits = wrench.shape[-1:] == (6,)
            on_link += wrench
        except ValueError:
            fits = False
        if not fits:
            shapes = f"{(*shape, 6)} or (6,)" if shape else "(6,)"
            raise ShapeError(f"the wrench on '{link}' has shape {wrench.shape}; give {shapes}")
    return external
