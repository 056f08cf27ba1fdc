"""Checks of a dynamics when a problem is built: attributes and their sizes, see `docs/own_dynamics.md`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from trajopt.base import arguments
from trajopt.base.errors import ProblemError, ShapeError

PARTS = {
    "n": "the number of coordinates",
    "joint_names": "their names in reports",
    "limits": "arrays q_lower, q_upper, velocity, torque_lower, torque_upper",
    "block": "block(outputs, loads=()), which makes the block that computes quantities",
}
DECLARED = ("width", "unit", "description", "components", "argument", "block", "changed_by_loads")
LIMITS = ("q_lower", "q_upper", "velocity", "torque_lower", "torque_upper")


def check_dynamics(dynamics: Any) -> None:
    """Raise ProblemError for an object that lacks a part, ShapeError for one of the wrong size."""
    called = type(dynamics).__name__
    if isinstance(dynamics, type):
        raise ProblemError(
            f"the dynamics is the class {dynamics.__name__} itself: make one, {dynamics.__name__}(...)"
        )
    if isinstance(dynamics, str | os.PathLike):
        raise ProblemError(
            f"the dynamics is {arguments.short_repr(dynamics)}: give dynamics.load_urdf(path) of a file"
        )
    if not hasattr(dynamics, "n") and hasattr(dynamics, "model"):
        raise ProblemError(f"the dynamics is a {called}: give its `model`")
    for part, meaning in PARTS.items():
        if not hasattr(dynamics, part):
            raise ProblemError(f"the dynamics {called} has no `{part}`, {meaning}: see docs/own_dynamics.md")
    if len(dynamics.joint_names) != dynamics.n:
        names = ", ".join(map(str, dynamics.joint_names))
        raise ShapeError(f"the dynamics {called} has n = {dynamics.n} but the joint_names {names}: name each")
    for limit in LIMITS:
        if not hasattr(dynamics.limits, limit):
            raise ProblemError(
                f"the limits of {called} have no `{limit}`: infinite where there is none, ({dynamics.n},)"
            )
        shape = getattr(getattr(dynamics.limits, limit), "shape", None)
        if shape != (dynamics.n,):
            found = "no array" if shape is None else f"of shape {shape}"
            raise ShapeError(f"limits.{limit} of {called} is {found}: give an array of shape ({dynamics.n},)")
    _check_quantities(dynamics)


def check_link(dynamics: Any, link: object, width: int) -> None:
    """Let the dynamics raise its error for a link that can carry no load of this width.

    ShapeError for a load that is no wrench, OptionError for what is no name.
    """
    if width != 6:
        raise ShapeError(f"the load on '{link}' has {width} components: give [moment; force], six of them")
    arguments.name(link, "the link of a load")
    dynamics.block(("tau",), (link,))


def _check_quantities(dynamics: Any) -> None:
    """ProblemError where a declaration of the dynamics cannot be read."""
    declared, called = getattr(dynamics, "quantities", {}), type(dynamics).__name__
    if not isinstance(declared, Mapping):
        raise ProblemError(
            f"the quantities of {called} are a {type(declared).__name__}: give a dictionary, "
            "name -> trajopt.DeclaredQuantity(width, unit, description)"
        )
    for name, quantity in declared.items():
        missing = [part for part in DECLARED if not hasattr(quantity, part)]
        if missing:
            raise ProblemError(
                f"the quantity '{name}' of {called} has no `{missing[0]}`: "
                "use trajopt.DeclaredQuantity(width, unit, description)"
            )
