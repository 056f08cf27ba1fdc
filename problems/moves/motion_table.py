"""Curves of a motion as a table of samples, a column per joint and quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trajopt.base.arguments import check_positive
from trajopt.display.curves import Samples, times_at_rate

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

UNITS = {"q": ("rad", "m"), "v": ("rad/s", "m/s"), "a": ("rad/s^2", "m/s^2"), "tau": ("N m", "N")}


def motion_table(
    motion: Any,
    model: KinematicTree,
    duration: float,
    rate: float,
) -> Samples:
    """A motion at `rate` Hz and at the end: columns "q elbow", "v elbow", "a elbow" and "tau elbow".

    motion : has the curves q(t), v(t), a(t) and, of robots with mass, tau(t), (..., n)
    """
    check_positive("rate", rate)
    kinds = {joint.name: joint.kind for joint in model.joints}
    t = times_at_rate(duration, rate)
    columns, units = {"t": t}, {"t": "s"}
    for what in UNITS if not model.has_no_mass else ("q", "v", "a"):
        for name, values in zip(model.joint_names, getattr(motion, what)(t).T, strict=True):
            columns[f"{what} {name}"] = values
            units[f"{what} {name}"] = UNITS[what][kinds[name] == "prismatic"]
    return Samples(columns, units)
