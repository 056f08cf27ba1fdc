"""The slide of shortest time under gravity: Bernoulli's brachistochrone, a cycloid.

    minimize T   subject to   x' = v sin(theta),  y' = v cos(theta),  v' = g cos(theta),   (x, y) from (0, 0)

from rest to (across, down); y points down and theta, the control, is the slope from the vertical. The cycloid
x = r (phi - sin phi), y = r (1 - cos phi) through the end is passed in T = phi sqrt(r / g).
Source: Bernoulli, Acta Eruditorum, 1696; Bryson and Ho, Applied Optimal Control, 1975, section 2.7.
"""

from __future__ import annotations

import math

import numpy as np

import trajopt
from problems.recipe import recipe

GRAVITY = 9.80665  # m/s^2


def end_angle(across: float, down: float) -> float:
    """The phi of (phi - sin phi) / (1 - cos phi) = across / down, by bisection."""
    low, high = 0.0, 2.0 * math.pi
    for _ in range(60):
        phi = 0.5 * (low + high)
        too_far = (phi - math.sin(phi)) * down > (1.0 - math.cos(phi)) * across
        low, high = (low, phi) if too_far else (phi, high)
    return 0.5 * (low + high)


def exact_duration(across: float, down: float) -> float:
    """T of the cycloid through the end."""
    phi = end_angle(across, down)
    return phi * math.sqrt(down / (1.0 - math.cos(phi)) / GRAVITY)


REFERENCE = exact_duration(10.0, 5.0)
REFERENCE_SOURCE = "closed form, a cycloid"


def rates(node):
    """x' = v sin(theta), y' = v cos(theta), v' = g cos(theta)."""
    return [node.v * np.sin(node.theta), node.v * np.cos(node.theta), GRAVITY * np.cos(node.theta)]


def picture(node):
    """The bead."""
    return [(node.x, -node.y)]


@recipe
def build(*, intervals: int = 8, order: int = 5, across: float = 10.0, down: float = 5.0) -> trajopt.Problem:
    """Distances in m."""
    units = {"x": "m", "y": "m", "v": "m/s", "theta": "rad"}
    bead = trajopt.system(states=("x", "y", "v"), controls=("theta",), rates=rates, units=units, draw=picture)

    problem = trajopt.Problem(bead, trajopt.Trajectory.collocation(intervals, order), name="brachistochrone")
    problem.control("theta", lower=0.0, upper=math.pi)
    problem.start_at(x=[0.0, 0.0, 0.0])
    problem.end_at(x=[across, down, None])
    problem.minimize(trajopt.duration)
    speed = math.sqrt(2.0 * GRAVITY * down)  # of a free fall
    problem.guess([[0.0, 0.0, 0.0], [across, down, speed]])
    return problem
