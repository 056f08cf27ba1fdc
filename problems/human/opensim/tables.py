"""Tables of a gait cycle for OpenSim: coordinates, ground reactions, torques and joint forces."""

from __future__ import annotations

import numpy as np

from problems.human.assessment.whole_body import WholeBody, centre_of_pressure
from problems.human.body.tables import freedoms
from problems.human.opensim.storage import Storage

COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


def coordinates(body: WholeBody) -> Storage:
    """All 55 coordinates, degrees and metres."""
    once, columns = once_each(body), {}
    for name, values in zip(body.model.joint_names, body.q.T, strict=True):
        unit = 1.0 if freedoms()[name].kind == "prismatic" else 180.0 / np.pi
        columns[name] = unit * values[once]
    return Storage("Coordinates", body.cycle.time[once], columns, in_degrees=True)


def ground_reactions(body: WholeBody) -> Storage:
    """Force, centre of pressure and free moment of both feet, world axes; zeros while a foot is unloaded.

    At every time place x force + free moment is the whole moment about the world origin, also where a foot is
    hardly loaded: dropping the place there left 20 N m that inverse dynamics had to find elsewhere.
    """
    once, columns = once_each(body), {}
    for side in "rl":
        load, place = body.cycle.reaction(side), np.nan_to_num(centre_of_pressure(body.cycle, side))
        x, z = place.T
        free = load[:, 1] - (z * load[:, 3] - x * load[:, 5])
        parts = {
            **{f"ground_force_{side}_v{axis}": load[:, 3 + i] for i, axis in enumerate("xyz")},
            **dict(zip((f"ground_force_{side}_p{axis}" for axis in "xyz"), (x, 0.0 * x, z), strict=True)),
            **dict(zip((f"ground_torque_{side}_{a}" for a in "xyz"), (0.0 * x, free, 0.0 * x), strict=True)),
        }
        columns |= {label: values[once] for label, values in parts.items()}
    return Storage("Ground reactions", body.cycle.time[once], columns)


def torques(body: WholeBody) -> Storage:
    """Torques of all joints, those that are held rigidly too."""
    once = once_each(body)
    columns = {
        f"{name}_moment": tau[once] for name, tau in zip(body.model.joint_names, body.tau.T, strict=True)
    }
    return Storage("Torques", body.cycle.time[once], columns)


def joint_forces(body: WholeBody) -> Storage:
    """[force; moment] that every joint transmits to its link."""
    once, columns = once_each(body), {}
    for joint in body.model.joint_names:
        wrench = body.wrenches[once, body.model.joint_link_index(joint)]
        forces_first = np.concatenate([wrench[:, 3:], wrench[:, :3]], axis=1)
        columns |= dict(zip((f"{joint}_{part}" for part in COMPONENTS), forces_first.T, strict=True))
    return Storage("Joint forces", body.cycle.time[once], columns)


def once_each(body: WholeBody) -> np.ndarray:
    """Mask that leaves out the second copy of the middle of the cycle: times must rise in these files."""
    return np.append(True, np.diff(body.cycle.time) > 0.0)
