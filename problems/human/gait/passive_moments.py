"""Passive moments of hip, knee and ankle in the sagittal plane, after Riener and Edrich (1999).

With hip flexion H, knee flexion K and ankle plantarflexion A in degrees, in N m, each in the direction in
which its angle grows,

    hip    exp(1.4655 - 0.0034 K - 0.0750 H) - exp(1.3403 - 0.0226 K + 0.0305 H) + 8.072
    knee   exp(1.800 - 0.0460 A - 0.0352 K + 0.0217 H) - exp(-3.971 - 0.0004 A + 0.0495 K - 0.0128 H)
           + exp(2.220 - 0.150 K) - 4.820
    ankle  exp(2.1016 - 0.0843 A - 0.0176 K) - exp(-7.9763 + 0.1949 A + 0.0008 K) - 1.792

are what muscles at rest, tendons and ligaments give; muscles that cross two joints make each depend on its
neighbours. H is the angle between thigh and trunk, the flexion of hip and lumbar spine together: our own
choice, as we could not find which angle was measured, and no angle of the spine enters the formulas. With the
angle between thigh and pelvis a walk tilts its pelvis backward to stretch the front of the hip.

Source: R. Riener and T. Edrich, Identification of passive elastic joint moments in the lower extremities,
J. Biomechanics 32 (1999) 539-544, means of ten adults.
"""

from __future__ import annotations

from collections.abc import Mapping
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
