"""The longest step that legs can span: a bound from geometry alone, which refuses a step before any solve."""

from __future__ import annotations

import numpy as np

from problems.human.body.model import TABLE_HEIGHT
from problems.human.body.tables import contact_points, freedoms
from problems.human.gait.step import Step
from trajopt.base.errors import ProblemError

TOLERANCES = 0.05  # m, more than standing feet may be away from their places


def check_reach(step: Step) -> None:
    """Raise ProblemError for a step that is longer than both legs can span in double support."""
    longest = longest_step(step) + TOLERANCES
    if step.length > longest:
        raise ProblemError(
            f"a step of {step.length:g} m is beyond the legs of a person of {step.height:.3g} m: in double "
            f"support, with both knees straight and the hips as low as their joints allow, they reach "
            f"{longest:.3g} m; give a shorter step_length"
        )


def longest_step(step: Step) -> float:
    """No step of this person is longer, in m, whatever the posture: a bound, not a step that can be taken.

    The leading heel and the point about which the trailing foot turns are on the ground as the step begins.
    Both hips are h or more above the ground, as the root has a least height and the pelvis a largest list. A
    point of a foot is at most r from its hip, the sum of thigh, shank and the distance from the ankle, and so
    at most sqrt(r^2 - h^2) before or behind it; yaw of the pelvis moves the hips apart along the way.
    """
    lowest = freedoms()["global_ty"].limits[0] / TABLE_HEIGHT
    width = abs(float(freedoms()["hip_r_flex"].offset[2]))
    listed, turned = (max(map(abs, freedoms()[name].limits)) for name in ("global_list", "global_yaw"))
    h = lowest - width * np.sin(listed)
    leg = sum(float(np.linalg.norm(freedoms()[name].offset)) for name in ("knee_r_flex", "ankle_r_dorsi"))
    height, (_, (_, sole, _)) = step.height, contact_points()["heel_r"]
    heel = float(contact_points()["heel_r"][1][0])
    pivot = heel + step.sole["ball" if step.toes_bend else "toe"] / height
    ahead, behind = (np.sqrt((leg + np.hypot(x, float(sole))) ** 2 - h**2) for x in (heel, pivot))
    apart = ahead + behind + 2.0 * width * np.sin(turned)
    return float(height * (apart + pivot - heel))
