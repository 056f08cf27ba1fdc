"""Problems of the library whose optimum has a closed form, as the fuzzer knows them: formulas of its own.

What a saved solution or a command tells of such a problem is held against the formula, not against our code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.verdicts import Mismatch

OBJECTIVE = 1e-3  # relative; a verdict of PASS allows 1e-2 between nodes, these motions miss nothing there
MOTION = 1e-2  # of the largest position: errors of the objective are quadratic in those of the motion


@dataclass(frozen=True)
class ClosedForm:
    """The optimum of a problem for its parameters.

    defaults : of the parameters
    objective : of the parameters
    motion : q at a time in seconds, (k,) for (k,), of the parameters and the duration; None where the mesh
        does not hold the optimum
    holds : whether the formula holds for these parameters
    """

    defaults: Mapping[str, Any]
    objective: Callable[[Mapping[str, Any]], float]
    motion: Callable[[Mapping[str, Any], np.ndarray, float], np.ndarray]
    holds: Callable[[Mapping[str, Any]], bool]


def _cubic(p: Mapping[str, Any], t: np.ndarray, duration: float) -> np.ndarray:
    s = t / duration
    return p["distance"] * (3.0 * s**2 - 2.0 * s**3)


def _bang_bang(p: Mapping[str, Any], t: np.ndarray, duration: float) -> np.ndarray:
    s = t / duration
    return p["distance"] * np.where(s < 0.5, 2.0 * s**2 - 1.0, -2.0 * (1.0 - s) ** 2)


def _wall(p: Mapping[str, Any], t: np.ndarray, duration: float) -> np.ndarray:
    wall, s = p["wall"], np.minimum(t, 1.0 - t)
    rest = np.maximum(1.0 - s / (3.0 * wall), 0.0)
    return wall * (1.0 - rest**3)


def _duration(p: Mapping[str, Any]) -> float:
    return 2.0 * float(np.sqrt(p["mass"] * p["distance"] / p["force"]))


def _swing_fits(p: Mapping[str, Any]) -> bool:
    """The switch at half time is a knot, and the bounds of the duration leave the optimum free."""
    bounds = np.broadcast_to(p["duration"], 2)
    positive = min(p["mass"], p["distance"], p["force"]) > 0.0
    return bool(
        positive and p["intervals"] % 2 == 0 and p["degree"] == 2 and bounds[0] < _duration(p) < bounds[1]
    )


CLOSED_FORMS: Mapping[str, ClosedForm] = {
    "minimum_acceleration": ClosedForm(
        {"intervals": 8, "degree": 3, "duration": 1.0, "distance": 1.0},
        lambda p: 12.0 * p["distance"] ** 2 / p["duration"] ** 3,
        _cubic,
        lambda p: p["degree"] >= 3,
    ),
    "double_integrator": ClosedForm(
        {
            "intervals": 10,
            "degree": 2,
            "duration": [0.01, 100.0],
            "mass": 1.0,
            "distance": 1.0,
            "force": 1.0,
        },
        _duration,
        _bang_bang,
        _swing_fits,
    ),
    "bryson_denham": ClosedForm(
        {"intervals": 9, "order": 3, "wall": 1.0 / 9.0},
        lambda p: 4.0 / (9.0 * p["wall"]),
        _wall,
        lambda p: p["intervals"] == 9 and p["order"] == 3 and abs(p["wall"] - 1.0 / 9.0) < 1e-12,
    ),
}


def check_optimum(
    name: str,
    parameters: Mapping[str, Any],
    objective: float,
    duration: float,
    position: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Raise Mismatch unless the objective and the motion are those of the closed form, where there is one."""
    form = CLOSED_FORMS.get(name)
    if form is None:
        return
    parameters = {**form.defaults, **parameters}
    if not form.holds(parameters):
        return
    try:
        expected = form.objective(parameters)
    except (OverflowError, ZeroDivisionError):
        return  # beyond what floats hold
    if not abs(objective - expected) <= OBJECTIVE * abs(expected) + 1e-12:
        raise Mismatch(f"objective {objective}, by the closed form {expected}")
    t = np.linspace(0.0, duration, 9)
    motion = form.motion(parameters, t, duration)
    miss = float(np.abs(position(t) - motion).max())
    if not miss <= MOTION * np.abs(motion).max() + 1e-12:
        raise Mismatch(f"the motion is {miss} from the closed form")
