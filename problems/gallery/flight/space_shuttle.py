"""The space shuttle glides as far sideways as it can during reentry: Betts' problem.

    maximize latitude(T)   subject to the flight of a gliding point over a sphere that does not turn

from an altitude of 260,000 ft and 25,600 ft/s to 80,000 ft and 2,500 ft/s, steered by the angle of attack and
the bank angle. The longitude enters nothing and is left out. Units here are 10^5 ft, 10^4 ft/s and radians.
Source: Betts, Practical Methods for Optimal Control, 2nd edition, 2010, section 6.1: 34.1412 degrees.
"""

from __future__ import annotations

import math

import numpy as np

import trajopt
from problems.recipe import recipe

REFERENCE = -math.radians(34.1412)
REFERENCE_SOURCE = "Betts 2010, 34.1412 degrees"

WEIGHT, GRAVITY, SURFACE = 203000.0, 32.174, 2690.0  # lb, ft/s^2, ft^2
DENSITY, SCALE_HEIGHT = 0.002378, 23800.0  # slug/ft^3, ft
RADIUS, MU = 20902900.0, 0.14076539e17  # ft, ft^3/s^2
FOOT, SPEED = 1e5, 1e4  # units of altitude (ft) and speed (ft/s)


def rates(node):
    """Rates of altitude, latitude, speed, flight path angle and azimuth."""
    v, gamma, psi, theta = SPEED * node.speed, node.climb, node.azimuth, node.latitude
    mass, r = WEIGHT / GRAVITY, RADIUS + FOOT * node.altitude
    pressure = 0.5 * DENSITY * np.exp(-FOOT * node.altitude / SCALE_HEIGHT) * v**2 * SURFACE
    degrees = np.rad2deg(1.0) * node.attack
    lift = pressure * (-0.20704 + 0.029244 * degrees)
    drag = pressure * (0.07854 - 0.61592e-2 * degrees + 0.621408e-3 * degrees**2)
    g = MU / r**2
    return [
        v * np.sin(gamma) / FOOT,
        v / r * np.cos(gamma) * np.cos(psi),
        (-drag / mass - g * np.sin(gamma)) / SPEED,
        lift / (mass * v) * np.cos(node.bank) + np.cos(gamma) * (v / r - g / v),
        lift * np.sin(node.bank) / (mass * v * np.cos(gamma))
        + v / r * np.cos(gamma) * np.sin(psi) * np.tan(theta),
    ]


@recipe
def build(*, intervals: int = 20, order: int = 4) -> trajopt.Problem:
    """The mesh; everything else is Betts'."""
    states, controls = ("altitude", "latitude", "speed", "climb", "azimuth"), ("attack", "bank")
    units = dict.fromkeys((*states, *controls), "rad") | {"altitude": "10^5 ft", "speed": "10^4 ft/s"}
    shuttle = trajopt.system(states, controls, rates, units=units)
    first = [2.6, 0.0, 2.56, math.radians(-1.0), math.radians(90.0)]
    last = [0.8, None, 0.25, math.radians(-5.0), None]

    mesh = trajopt.Trajectory.collocation(intervals, order, duration=(1000.0, 4000.0))
    problem = trajopt.Problem(shuttle, mesh, name="space_shuttle")
    problem.control("attack", 0.0, math.radians(90.0), guess=math.radians(17.0))
    problem.control("bank", math.radians(-89.0), math.radians(1.0), guess=math.radians(-45.0))
    problem.subject_to(trajopt.state("speed"), lower=1e-4)
    problem.start_at(x=first)
    problem.end_at(x=last)
    problem.minimize(-trajopt.state("latitude"), over="end")
    problem.guess([first, [0.8, 0.5, 0.25, math.radians(-5.0), 0.0]], duration=2000.0)
    return problem
