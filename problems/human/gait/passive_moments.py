"""Passive moments: what muscles at rest, tendons and ligaments give in legs and arms.

With hip flexion H, knee flexion K and ankle plantarflexion A in degrees, in N m, each in the direction in
which its angle grows,

    hip    exp(1.4655 - 0.0034 K - 0.0750 H) - exp(1.3403 - 0.0226 K + 0.0305 H) + 8.072
    knee   exp(1.800 - 0.0460 A - 0.0352 K + 0.0217 H) - exp(-3.971 - 0.0004 A + 0.0495 K - 0.0128 H)
           + exp(2.220 - 0.150 K) - 4.820
    ankle  exp(2.1016 - 0.0843 A - 0.0176 K) - exp(-7.9763 + 0.1949 A + 0.0008 K) - 1.792

in the sagittal plane, where muscles that cross two joints make each depend on its neighbours. H is the angle
between thigh and trunk, the flexion of hip and lumbar spine together: our own choice, as we could not find
which angle was measured, and no angle of the spine enters the formulas. With the angle between thigh and
pelvis a walk tilts its pelvis backward to stretch the front of the hip. What is stretched between thigh and
trunk gives the same moment at each joint of the lumbar spine as at the hip, by the principle of virtual work.

Source: R. Riener and T. Edrich, Identification of passive elastic joint moments in the lower extremities,
J. Biomechanics 32 (1999) 539-544, means of ten adults.

An arm has stiffness k and damping d: with an angle q in rad from the posture of rest q_0 and its rate v in
rad/s, in N m,

    moment = -k (q - q_0) - d v.

Sources: k of shoulder flexion and elbow is what H. Gomi and R. Osu, Task-dependent viscoelasticity of human
multijoint arm, J. Neuroscience 18 (1998) 8965-8978, found without torque in a horizontal plane, where the
shoulder's axis is vertical; that it holds for a hanging arm is assumed. All k and d are as collected by
A. D. Davidson and S. K. Charles, Fundamental principles of tremor propagation in the upper limb, Annals of
Biomedical Engineering 45 (2017) 1133-1147, the diagonals of their matrices as transcribed in a simulation of
that model. The terms that couple joints are left out. That a hanging arm rests with an elbow bent by 20
degrees is our own choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

DEGREES = 180.0 / np.pi
LEG = ("hip_{}_flex", "knee_{}_flex", "ankle_{}_dorsi")
LUMBAR = ("spine1_flex", "spine2_flex")


class PassiveMoments(NamedTuple):
    """N m in the direction of hip flexion, knee flexion and ankle dorsiflexion."""

    hip: Any
    knee: Any
    ankle: Any


def passive_moments(hip: Any, knee: Any, ankle: Any) -> PassiveMoments:
    """Moments of an adult of 75 kg and 1.75 m; thigh to trunk, knee flexion, ankle dorsiflexion in rad.

    Numbers, arrays or symbols of terms. The published ankle angle and moment are those of plantarflexion.
    """
    H, K, A = DEGREES * hip, DEGREES * knee, -DEGREES * ankle
    at_hip = np.exp(1.4655 - 0.0034 * K - 0.0750 * H) - np.exp(1.3403 - 0.0226 * K + 0.0305 * H) + 8.072
    flexing_knee = np.exp(1.800 - 0.0460 * A - 0.0352 * K + 0.0217 * H) + np.exp(2.220 - 0.150 * K)
    extending_knee = np.exp(-3.971 - 0.0004 * A + 0.0495 * K - 0.0128 * H) + 4.820
    at_ankle = np.exp(2.1016 - 0.0843 * A - 0.0176 * K) - np.exp(-7.9763 + 0.1949 * A + 0.0008 * K) - 1.792
    return PassiveMoments(at_hip, flexing_knee - extending_knee, -at_ankle)


def passive_leg_moments(q: Mapping[str, Any], side: str) -> dict[str, Any]:
    """Joint -> its passive moment in N m for angles `q` in rad by joint name, side "r" or "l".

    Joints of the lumbar spine that are not in `q` are straight.
    """
    hip, knee, ankle = (joint.format(side) for joint in LEG)
    thigh_to_trunk = sum((q[joint] for joint in LUMBAR if joint in q), q[hip])
    return dict(zip((hip, knee, ankle), passive_moments(thigh_to_trunk, q[knee], q[ankle]), strict=True))


class Rest(NamedTuple):
    """k in N m/rad and d in N m s/rad of an adult of 75 kg and 1.75 m, and q_0 in rad."""

    stiffness: float
    damping: float
    angle: float = 0.0


ARM = MappingProxyType({
    "shoulder_{}_flex": Rest(10.80, 0.756),
    "shoulder_{}_add": Rest(5.468, 0.383),
    "shoulder_{}_introt": Rest(7.486, 0.524),
    "elbow_{}_flex": Rest(8.670, 0.607, float(np.deg2rad(20.0))),
    "elbow_{}_pron": Rest(0.756, 0.021),
})  # fmt: skip


def passive_arm_moments(q: Mapping[str, Any], v: Mapping[str, Any], side: str) -> dict[str, Any]:
    """Joint -> its passive moment in N m, each in the direction in which its angle grows.

    Angles in rad and rates in rad/s by joint name, side "r" or "l"; numbers, arrays or symbols of terms.
    Joints that are not in `q` have no entry.
    """
    at_rest = {joint.format(side): rest for joint, rest in ARM.items()}
    return {
        joint: -stiffness * (q[joint] - angle) - damping * v[joint]
        for joint, (stiffness, damping, angle) in at_rest.items()
        if joint in q
    }
