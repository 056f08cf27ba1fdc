"""Strength of hip, knee and ankle in the sagittal plane by joint angle, after Anderson et al. (2007).

Muscles that pull in one direction reach their largest moment s_0 at one angle and less beside it,

    s(q) = s_0 c,    c = cos(C2 (q - C3)),

with the coefficients C2 and C3 rad of every joint and direction, angles q in rad: hip and knee flexion,
ankle dorsiflexion. An extended hip is extended weakly and flexed strongly, a straight knee is extended
weakly, a dorsiflexed ankle is plantarflexed strongly. Within the ranges of the joints c falls to zero and
below, where nothing was measured; there

    s(q) = s_0 (r + ((c - r) + sqrt((c - r)^2 + e^2)) / 2),    r = 0.05, e = 0.1,

keeps a twentieth of the strength, our own choice; from c = 0.3 on it differs from c by less than 0.01.

Source: D. E. Anderson, M. L. Madigan and M. A. Nussbaum, Maximum voluntary joint torque as a function of
joint angle and angular velocity, J. Biomechanics 40 (2007) 3105-3113, table 3, men of 18 to 25 years, as
transcribed for the torque muscles of RBDL. The paper's dependence on velocity is left out.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

LEAST, ROUNDED = 0.05, 0.1  # r and e


class BestAngle(NamedTuple):
    """C2, without unit, and C3, rad."""

    narrowness: float
    angle: float


class Directions(NamedTuple):
    """Values of muscles that move a joint forward, in the direction of its growing angle, and backward."""

    forward: BestAngle
    backward: BestAngle


# Flexion and extension of hip and knee, dorsiflexion and plantarflexion.
ANDERSON = MappingProxyType({
    "hip_{}_flex": Directions(BestAngle(0.738, -0.214), BestAngle(0.958, 0.932)),
    "knee_{}_flex": Directions(BestAngle(0.869, 0.522), BestAngle(1.258, 1.133)),
    "ankle_{}_dorsi": Directions(BestAngle(1.510, -0.187), BestAngle(1.391, 0.408)),
})  # fmt: skip
BY_JOINT = MappingProxyType({
    joint.format(side): found for joint, found in ANDERSON.items() for side in "rl"
})  # fmt: skip


def strength_at(joint: str, q: Any) -> tuple[Any, Any]:
    """Parts of the largest strength that are left at an angle in rad, (forward, backward); 1 where unknown.

    Numbers, arrays or symbols of terms.
    """
    if joint not in BY_JOINT:
        return 1.0, 1.0
    forward, backward = (_left(np.cos(each.narrowness * (q - each.angle))) for each in BY_JOINT[joint])
    return forward, backward


def _left(part: Any) -> Any:
    above = part - LEAST
    return LEAST + 0.5 * (above + np.sqrt(above**2 + ROUNDED**2))
