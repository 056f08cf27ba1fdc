"""A sounding rocket climbs as high as its fuel allows: Goddard's problem, with a singular arc.

    maximize h(T)   subject to   h' = v,   v' = (f - 310 v^2 exp(500 (1 - h))) / m - 1 / h^2,   m' = -2 f

from (h, v, m) = (1, 0, 1) to m(T) = 0.6, with 0 <= f <= 3.5; lengths in radii of the Earth, mass and weight
of the full rocket are one. Thrust is full, then follows the singular arc on which drag and gravity balance,
then is off. The three parts have free durations, so that the thrust jumps at the best times.
States and thrust are ratios, without units.
Source: Goddard, Smithsonian Miscellaneous Collections 71(2), 1919; the data are those of the COPS collection
(Dolan, More and Munson, Argonne ANL/MCS-TM-273, 2004), whose h(T) is 1.01283.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import trajopt
from problems.recipe import recipe

REFERENCE = -1.0128369
REFERENCE_SOURCE = "finer meshes; COPS has 1.01283"


def rates(node):
    """h', v', m'."""
    drag = 310.0 * node.v**2 * np.exp(-500.0 * (node.h - 1.0))
    return [node.v, (node.thrust - drag) / node.m - 1.0 / node.h**2, -2.0 * node.thrust]


@recipe
def build(
    *, intervals: int = 6, order: int = 5, thrust: float = 3.5, dry_mass: float = 0.6
) -> trajopt.Problem:
    """Intervals of each of the three parts; thrust in weights, mass in masses of the full rocket."""
    rocket = trajopt.system(states=("h", "v", "m"), controls=("thrust",), rates=rates)

    part = trajopt.Trajectory.collocation(intervals, order, duration=(1e-3, 0.5))
    problem = trajopt.Problem(rocket, replace(part, arcs=part.arcs * 3), name="goddard_rocket")
    problem.control("thrust", lower=0.0, upper=thrust)
    problem.subject_to(trajopt.state("thrust"), equals=thrust, over=trajopt.ArcNodes(0, "whole"), name="full")
    problem.subject_to(trajopt.state("thrust"), equals=0.0, over=trajopt.ArcNodes(2, "whole"), name="off")
    problem.start_at(x=[1.0, 0.0, 1.0])
    problem.end_at(x=[None, None, dry_mass])
    problem.minimize(-trajopt.state("h"), over="end")
    problem.guess([[1.0, 0.0, 1.0], [1.005, 0.1, 0.8], [1.01, 0.0, 0.6]], duration=[0.02, 0.05, 0.13])
    return problem
