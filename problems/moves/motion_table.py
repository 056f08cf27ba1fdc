"""Curves of a motion as a table of samples, a column per joint and quantity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from trajopt.base.arguments import check_positive
from trajopt.base.arrays import Array
from trajopt.display.samples import Samples, times_at_rate

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

UNITS = {"q": ("rad", "m"), "v": ("rad/s", "m/s"), "a": ("rad/s^2", "m/s^2"), "tau": ("N m", "N")}


def motion_table(
    curves: Mapping[str, Callable[[Any], Array]],
    model: KinematicTree,
    duration: float,
    rate: float,
) -> Samples:
    """The curves "q", "v", "a", "tau" at `rate` Hz and at the end: columns "q elbow", "v elbow" and so on."""
    check_positive("rate", rate)
    kinds = {joint.name: joint.kind for joint in model.joints}
    t = times_at_rate(duration, rate)
    columns, units = {"t": t}, {"t": "s"}
    for what, curve in curves.items():
        for name, values in zip(model.joint_names, curve(t).T, strict=True):
            columns[f"{what} {name}"] = values
            units[f"{what} {name}"] = UNITS[what][kinds[name] == "prismatic"]
    return Samples(columns, units)
