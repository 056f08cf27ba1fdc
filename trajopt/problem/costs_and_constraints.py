"""What can be said of a motion: costs, constraints, periodicities, and the unknowns beside the joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trajopt.splines.node_sets import NodeSet


@dataclass(frozen=True)
class Recipe:
    """How a library problem is built again: its name and every parameter."""

    problem: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Cost:
    """weight * (integral over a part of the motion, or value at a node) of the sum of a term's components."""

    term: Any
    weight: float
    over: NodeSet
    name: str


@dataclass(frozen=True, eq=False)
class Constraint:
    """lower <= term <= upper over a part of the motion.

    `hold` says in which sense: "nodes", at the nodes only (see `Solution.verify` for what happens between
    them), or "hull", for all t because the control points of the curve are bounded (sufficient, for q and v).
    """

    term: Any
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    over: NodeSet
    name: str
    hold: Literal["nodes", "hull"] = "nodes"


@dataclass(frozen=True, eq=False)
class Periodicity:
    """term(end)_i = signs_i * term(start)_order(i) + offset_i."""

    term: Any
    signs: NDArray[np.float64]
    order: NDArray[np.int64]
    offset: NDArray[np.float64]
    name: str


@dataclass(frozen=True, eq=False)
class Parameter:
    """A constant unknown with bounds and a first guess, all (width,)."""

    name: str
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    guess: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Extra:
    """Curves beyond the joints', contact forces say, with bounds and a constant first guess, (width,)."""

    name: str
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    guess: NDArray[np.float64]
