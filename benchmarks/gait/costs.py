"""Names of the parts of the benchmark that exist for both costs of a gait, and what counts in them."""

from __future__ import annotations

COSTS = ("sourced", "thesis")  # the default first
KEYS = {"sourced": "objective", "thesis": "effort"}  # of a result: what counts per metre and control point
WHAT = {"sourced": "Cost", "thesis": "Effort"}  # the same in words


def name_of(part: str, cost: str) -> str:
    """The name of a part's numbers, which those of the default cost have alone."""
    return part if cost == COSTS[0] else f"{part}, {cost}"


def figure_file(part: str, cost: str) -> str:
    """The file of a part's figure in docs/figures."""
    return f"gait_{part}.png" if cost == COSTS[0] else f"gait_{part}_{cost}.png"
