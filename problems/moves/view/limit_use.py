"""Use of its limits by a motion, joint by joint, as a number from 0 to 1 and as a colour."""

from __future__ import annotations

import numpy as np

from trajopt.base.arrays import Array
from trajopt.display.svg_chart import PALETTE

WATCHED = "position", "speed", "torque"
#: Share of a limit -> colour; between two of them colours are mixed. From half on lightness falls, too.
RAMP = {0.0: "#BFD9EA", 0.5: PALETTE[4], 0.8: PALETTE[5], 1.0: "#C22A00"}
UNLIMITED = "#B8BCC0"  # of links whose joint has no limit, and of what never moves
LEVELS = 50  # colours from 0 to 1


def share_used(value: Array, lower: Array, upper: Array) -> Array:
    """|2 x - lower - upper| / (upper - lower) of values (k, n): 0 in the middle, 1 at a limit.

    NaN where either limit is missing, or both are the same.
    """
    lower, upper = np.broadcast_arrays(lower, upper)
    width = np.where(np.isfinite(lower) & np.isfinite(upper), upper - lower, 0.0)
    limited = width > 0.0
    middle = np.where(limited, lower + 0.5 * width, 0.0)
    return np.where(limited, 2.0 * np.abs(value - middle) / np.where(limited, width, 1.0), np.nan)


def colour_of(share: float) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of a share; NaN: of a joint without limits."""
    if np.isnan(share):
        return rgb(UNLIMITED)
    at = round(min(max(share, 0.0), 1.0) * LEVELS) / LEVELS
    channels = zip(*map(rgb, RAMP.values()), strict=True)
    mixed = [np.interp(at, tuple(RAMP), channel) for channel in channels]
    red, green, blue = (round(float(each)) for each in mixed)
    return red, green, blue


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of "#RRGGBB"."""
    red, green, blue = (int(colour[first : first + 2], 16) for first in (1, 3, 5))
    return red, green, blue
