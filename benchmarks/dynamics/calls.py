"""Functions of the layer that are timed, and their calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import dynamics
from dynamics import RigidBodyModel

ARRAYS = ("q", "v", "a", "tau", "w", "adjoint")
FIRST = (
    "rnea",
    "base_wrench",
    "joint_wrenches",
    "rnea_derivatives",
    "joint_wrench_derivatives",
    "base_wrench_derivatives",
    "external_derivatives",
    "rnea_second_derivatives",
    "crba",
    "coriolis_matrix",
    "christoffel_symbols",
    "aba",
    "aba_derivatives",
)


def timed_functions() -> list[str]:
    """Exported functions of a model and arrays at nodes, the dynamics first, then the others by name.

    The serial Christoffel recursion is left out: it is NumPy, for comparison, and timed with the papers.
    """
    found = [name for name in dynamics.__all__ if takes_nodes(getattr(dynamics, name))]
    found.remove("christoffel_symbols_serial")
    return [name for name in FIRST if name in found] + sorted(set(found) - set(FIRST))


def takes_nodes(function: Any) -> bool:
    """True where all that a function needs is a model, arrays at nodes and a frame."""
    if not inspect.isfunction(function):
        return False
    needed = required(function)
    return needed[:1] == ["model"] and len(needed) > 1 and set(needed[1:]) <= {*ARRAYS, "frame"}


def required(function: Callable) -> list[str]:
    """Names of the parameters without a default."""
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


def inputs(model: RigidBodyModel, nodes: int) -> dict[str, np.ndarray]:
    """Random (nodes, n) arrays for every name in ARRAYS."""
    values = np.random.default_rng(nodes).normal(size=(len(ARRAYS), nodes, model.n))
    return dict(zip(ARRAYS, values, strict=True))


def our_call(name: str, model: RigidBodyModel, arrays: dict[str, np.ndarray]) -> Callable[[], object]:
    """One call for all nodes; wrench derivatives are those of the first, the middle and the last joint."""
    function, links = getattr(dynamics, name), model.link_names
    given = [arrays[key] if key in arrays else links[-1] for key in required(function)[1:]]
    joints = model.joint_names
    options = {"joint_wrench_derivatives": {"joints": (joints[0], joints[len(joints) // 2], joints[-1])}}
    return lambda: function(model, *given, **options.get(name, {}))
