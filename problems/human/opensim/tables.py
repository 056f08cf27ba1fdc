"""Tables of a gait cycle in OpenSim's names and signs: coordinates, ground reactions, loads, torques.

A cycle has one row for every time (`problems.human.gait.cycle.each_time_once`).
"""

from __future__ import annotations

import numpy as np

from problems.human.assessment.whole_body import WholeBody, centre_of_pressure
from problems.human.opensim.coordinates import coordinate_values
from problems.human.opensim.coordinates import coordinates as opensim_coordinates
from problems.human.opensim.joints import joints
from problems.human.opensim.storage import Storage

COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


def coordinates(body: WholeBody) -> Storage:
    """All 55 coordinates, degrees and metres."""
    columns = coordinate_values(body.q)
    for each in opensim_coordinates().values():
        columns[each.name] = (1.0 if each.translates else 180.0 / np.pi) * columns[each.name]
    return Storage("Coordinates", body.cycle.time, columns, in_degrees=True)


def ground_reactions(body: WholeBody) -> Storage:
    """Force, centre of pressure and free moment of both feet, world axes.

    At every time place x force + free moment is the whole moment about the world origin, also where a foot is
    hardly loaded: dropping the place there left 20 N m that inverse dynamics had to find elsewhere. While a
    foot is unloaded its place is the nearest one that it had, so that nothing jumps between two rows.
    """
    columns: dict[str, np.ndarray] = {}
    for side in "rl":
        load, place = body.cycle.reaction(side), _held(centre_of_pressure(body.cycle, side), body.cycle.time)
        x, z = place.T
        free = load[:, 1] - (z * load[:, 3] - x * load[:, 5])
        parts = {
            **{f"ground_force_{side}_v{axis}": load[:, 3 + i] for i, axis in enumerate("xyz")},
            **dict(zip((f"ground_force_{side}_p{axis}" for axis in "xyz"), (x, 0.0 * x, z), strict=True)),
            **dict(zip((f"ground_torque_{side}_{a}" for a in "xyz"), (0.0 * x, free, 0.0 * x), strict=True)),
        }
        columns |= parts
    return Storage("Ground reactions", body.cycle.time, columns)


def loads(body: WholeBody) -> Storage:
    """Force and moment about the world origin on every loaded link, world axes, with the origin as place.

    The ground's on the links of the feet, toes too, and those of devices.
    """
    columns: dict[str, np.ndarray] = {}
    for link, load in body.cycle.loads.items():
        for name, values in ((f"{link}_v", load[:, 3:]), (f"{link}_p", 0.0 * load[:, 3:])):
            columns |= {f"{name}{axis}": values[:, i] for i, axis in enumerate("xyz")}
        columns |= {f"{link}_torque_{axis}": load[:, i] for i, axis in enumerate("xyz")}
    return Storage("Loads", body.cycle.time, columns)


def torques(body: WholeBody) -> Storage:
    """Generalized forces of all coordinates, N m (N), those that are held rigidly too.

    The six of the pelvis, which nothing drives, are zero but for rounding; they are along our axes of the
    pelvis, whose turns have another order than OpenSim's.
    """
    each = zip(opensim_coordinates().values(), body.tau.T, strict=True)
    columns = {coordinate.force: coordinate.sign * tau for coordinate, tau in each}
    return Storage("Torques", body.cycle.time, columns)


def joint_forces(body: WholeBody) -> Storage:
    """[force; moment] that every joint transmits to its body, about the joint in axes of the body."""
    columns: dict[str, np.ndarray] = {}
    for joint in joints(body.model):
        wrench = body.wrenches[:, body.model.link_index(joint.body)]
        forces_first = np.concatenate([wrench[:, 3:], wrench[:, :3]], axis=1)
        labels = (f"{joint.name}_on_{joint.body}_in_{joint.body}_{part}" for part in COMPONENTS)
        columns |= dict(zip(labels, forces_first.T, strict=True))
    return Storage("Joint forces", body.cycle.time, columns)


def _held(place: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Places (K, 2) whose rows of NaN are those of the nearest time that has one; zeros where none has."""
    known = np.flatnonzero(~np.isnan(place[:, 0]))
    if known.size == 0:
        return np.zeros_like(place)
    return place[known[np.abs(time[:, None] - time[known]).argmin(axis=1)]]
