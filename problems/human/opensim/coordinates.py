"""OpenSim's coordinates of our skeleton: names, signs, zeros, and the order in which the pelvis turns.

Names and signs are those of the full-body model of Rajagopal et al. 2016, but for the toes, which gait2392
extends and that model's right side, where they are locked, flexes. What those models lack (further joints of
the spine, neck, clavicles) is named in like manner, after the body that moves. Each coordinate is

    value = sign q + zero,

but for the pelvis: we turn it by yaw, list and tilt, OpenSim by tilt, list and rotation,

    R = R_y(yaw) R_x(list) R_z(-tilt) = R_z(pelvis_tilt) R_x(pelvis_list) R_y(pelvis_rotation).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from problems.human.body.tables import freedoms

PELVIS = ("pelvis_tilt", "pelvis_list", "pelvis_rotation", "pelvis_tx", "pelvis_ty", "pelvis_tz")
PELVIS_AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # of its turns, in this order
SUPINATED = 0.5 * np.pi  # rad, from palms that look forward, OpenSim's zero, to palms that look inward

#: Our degree of freedom, SIDE for r and l -> OpenSim's coordinate, and its sign and zero where not 1 and 0
NAMES: Mapping[str, tuple[str, float, float]] = MappingProxyType({
    "global_tx": ("pelvis_tx", 1.0, 0.0),
    "global_ty": ("pelvis_ty", 1.0, 0.0),
    "global_tz": ("pelvis_tz", 1.0, 0.0),
    "global_yaw": ("pelvis_rotation", 1.0, 0.0),
    "global_list": ("pelvis_list", 1.0, 0.0),
    "global_tilt": ("pelvis_tilt", -1.0, 0.0),
    "spine1_flex": ("lumbar_extension", -1.0, 0.0),
    "spine1_bend": ("lumbar_bending", 1.0, 0.0),
    "spine1_rot": ("lumbar_rotation", 1.0, 0.0),
    "spine2_flex": ("lumbar_upper_extension", -1.0, 0.0),
    "spine2_bend": ("lumbar_upper_bending", 1.0, 0.0),
    "spine2_rot": ("lumbar_upper_rotation", 1.0, 0.0),
    "spine3_flex": ("thorax_lower_extension", -1.0, 0.0),
    "spine3_bend": ("thorax_lower_bending", 1.0, 0.0),
    "spine3_rot": ("thorax_lower_rotation", 1.0, 0.0),
    "spine4_flex": ("thorax_upper_extension", -1.0, 0.0),
    "spine4_bend": ("thorax_upper_bending", 1.0, 0.0),
    "spine4_rot": ("thorax_upper_rotation", 1.0, 0.0),
    "neck1_flex": ("neck_extension", -1.0, 0.0),
    "neck1_bend": ("neck_bending", 1.0, 0.0),
    "neck1_rot": ("neck_rotation", 1.0, 0.0),
    "neck2_flex": ("head_extension", -1.0, 0.0),
    "neck2_rot": ("head_rotation", 1.0, 0.0),
    "clav_SIDE_protract": ("clav_prot_SIDE", 1.0, 0.0),
    "clav_SIDE_elev": ("clav_elev_SIDE", 1.0, 0.0),
    "shoulder_SIDE_flex": ("arm_flex_SIDE", 1.0, 0.0),
    "shoulder_SIDE_add": ("arm_add_SIDE", 1.0, 0.0),
    "shoulder_SIDE_introt": ("arm_rot_SIDE", 1.0, 0.0),
    "elbow_SIDE_flex": ("elbow_flex_SIDE", 1.0, 0.0),
    "elbow_SIDE_pron": ("pro_sup_SIDE", 1.0, SUPINATED),
    "wrist_SIDE_flex": ("wrist_flex_SIDE", 1.0, 0.0),
    "wrist_SIDE_dev": ("wrist_dev_SIDE", -1.0, 0.0),
    "hip_SIDE_flex": ("hip_flexion_SIDE", 1.0, 0.0),
    "hip_SIDE_add": ("hip_adduction_SIDE", 1.0, 0.0),
    "hip_SIDE_introt": ("hip_rotation_SIDE", 1.0, 0.0),
    "knee_SIDE_flex": ("knee_angle_SIDE", 1.0, 0.0),
    "ankle_SIDE_dorsi": ("ankle_angle_SIDE", 1.0, 0.0),
    "ankle_SIDE_inv": ("subtalar_angle_SIDE", 1.0, 0.0),
    "toe_SIDE_ext": ("mtp_angle_SIDE", 1.0, 0.0),
})  # fmt: skip


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of OpenSim: value = sign q + zero in rad or m, of a translation or a rotation."""

    name: str
    sign: float
    zero: float
    translates: bool

    @property
    def force(self) -> str:
        """The label of its generalized force in N or N m, as OpenSim's inverse dynamics writes it."""
        return f"{self.name}_{'force' if self.translates else 'moment'}"


@functools.cache
def coordinates() -> Mapping[str, Coordinate]:
    """Our degree of freedom -> its coordinate, all 55."""
    found = {}
    for name, freedom in freedoms().items():
        side = next((part for part in name.split("_") if part in ("r", "l")), "")
        key = name.replace(f"_{side}_", "_SIDE_") if side else name
        own, sign, zero = NAMES[key]
        found[name] = Coordinate(own.replace("SIDE", side), sign, zero, freedom.kind == "prismatic")
    return MappingProxyType(found)


def coordinate_values(q: np.ndarray) -> dict[str, np.ndarray]:
    """OpenSim's coordinate -> its values (K,) in rad and m, of postures q (K, 55) of the whole skeleton."""
    from scipy.spatial.transform import Rotation

    found = {
        coordinate.name: coordinate.sign * x + coordinate.zero
        for coordinate, x in zip(coordinates().values(), q.T, strict=True)
    }
    # Our three angles turn the pelvis in another order than those of OpenSim
    yaw, list_, tilt = (q[:, list(freedoms()).index(f"global_{name}")] for name in ("yaw", "list", "tilt"))
    turned = Rotation.from_euler("YXZ", np.stack([yaw, list_, -tilt], axis=1))
    return found | dict(zip(PELVIS, turned.as_euler("ZXY").T, strict=False))
