"""Where the search for a walk begins: upright, or near a measured one."""

from __future__ import annotations

import numpy as np

import trajopt
from problems.human.model import TABLE_HEIGHT, standing
from problems.human.step import Step
from problems.human.tables import guessed_control_points
from trajopt.errors import OptionError


def guess(problem: trajopt.Problem, step: Step, start: str) -> None:
    """Start from "standing" or from a "measured" walk; OptionError for another word."""
    if start not in ("standing", "measured"):
        raise OptionError(f"the walk starts from {start!r}: use 'standing' or 'measured'")
    (upright_guess if start == "standing" else measured_guess)(problem, step)


def upright_guess(problem: trajopt.Problem, step: Step) -> None:
    """Start from standing upright between both feet, carried forward at the speed of walking."""
    names = problem.dynamics.joint_names
    posture, forward = standing(names, step.height), names.index("global_tx")

    def curve(s: np.ndarray) -> np.ndarray:
        q = np.tile(posture, (len(s), 1))
        q[:, forward] = 0.5 * step.sole["ball"] + step.length * (np.asarray(s) - 0.5)
        return q

    problem.guess(q=curve, duration=step.duration)


def measured_guess(problem: trajopt.Problem, step: Step) -> None:
    """Start from a spline fitted to measured walking, stretched to the length of the step."""
    from scipy.interpolate import BSpline

    names, curves = problem.dynamics.joint_names, guessed_control_points()
    points = np.zeros((6, len(names)))
    for source, values in curves.items():
        side = {"A": "_r_", "B": "_l_"}.get(source[-1])
        name = source[:-2].replace("_", side, 1) if side else source.removesuffix("_m")
        if name in names:
            points[:, names.index(name)] = values
    forward, upward = names.index("global_tx"), names.index("global_ty")
    points[:, forward] *= step.length / points[-1, forward]
    points[:, forward] += 0.5 * (step.sole["ball"] - step.length)
    points[:, upward] *= step.height / TABLE_HEIGHT
    spline = BSpline(np.array([0, 0, 0, 0, 1, 2, 3, 3, 3, 3]) / 3.0, points, 3)
    problem.guess(q=lambda s: spline(np.asarray(s)), duration=step.duration)
