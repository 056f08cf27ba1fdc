"""A sounding rocket in three phases with equations of their own: Goddard's problem by its singular arc.

    maximize h(T)   subject to   h' = v,   v' = (f - D) / m - 1 / h^2,   m' = -2 f,   0 <= f <= 3.5

with the drag D = 310 v^2 exp(500 (1 - h)), from (h, v, m) = (1, 0, 1) to m(T) = 0.6; lengths in radii of the
Earth, mass and weight of the full rocket are one, and gases leave at c = 1/2. Thrust is full, then singular,
then off. On the singular arc drag and weight balance, D (1 + v / c) = m / h^2, so that the mass follows from
height and speed, and the thrust from the mass's rate; the mass of the empty rocket is known. Both are phases
of two states, linked to the boost of three. All durations are free; nothing else is. `goddard_rocket` finds
the same by a control that may jump. States are ratios, without units.
Source: Goddard, Smithsonian Miscellaneous Collections 71(2), 1919; Tsiotras and Kelley, Automatica 27(3),
1991, for the arc; the data are those of the COPS collection (Dolan, More and Munson, Argonne ANL/MCS-TM-273,
2004), whose h(T) is 1.01283.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.recipe import recipe

REFERENCE = -1.01283691832
REFERENCE_SOURCE = "finer meshes; COPS has 1.01283"


def drag(node):
    """D, in weights of the full rocket."""
    return 310.0 * node.v**2 * np.exp(500.0 * (1.0 - node.h))


def speed_rate(node, thrust, mass):
    """v'."""
    return (thrust - drag(node)) / mass - 1.0 / node.h**2


def singular_mass(node):
    """The mass whose weight balances the drag, D (1 + 2 v) h^2."""
    return drag(node) * (1.0 + 2.0 * node.v) * node.h**2


def singular_thrust(node):
    """The thrust under which that goes on: f of m_h h' + m_v v' = -2 f, which is linear in f."""
    m, h, v = singular_mass(node), node.h, node.v
    by_height, by_speed = m * (2.0 / h - 500.0), m * (2.0 / v + 2.0 / (1.0 + 2.0 * v))
    return -(by_height * v + by_speed * speed_rate(node, 0.0, m)) / (2.0 + by_speed / m)


@trajopt.term
def mass_left(node):
    """m on the singular arc."""
    return singular_mass(node)


@recipe
def build(
    *, intervals: int = 4, order: int = 5, thrust: float = 3.5, dry_mass: float = 0.6
) -> trajopt.Phases:
    """Intervals of each phase; thrust in weights, mass in masses of the full rocket."""

    def phase(name, states, rates, guess, duration):
        mesh = trajopt.Trajectory.collocation(intervals, order, duration=(1e-3, 0.5))
        problem = trajopt.Problem(trajopt.system(states, rates=rates), mesh, name=name)
        problem.guess(guess, duration=duration)
        return problem

    boost = phase(
        "boost", ("h", "v", "m"),
        lambda node: [node.v, speed_rate(node, thrust, node.m), -2.0 * thrust],
        [[1.0, 0.0, 1.0], [1.0007, 0.06, 0.85]], 0.02,
    )  # fmt: skip
    boost.start_at(x=[1.0, 0.0, 1.0])
    singular = phase(
        "singular arc", ("h", "v"),
        lambda node: [node.v, speed_rate(node, singular_thrust(node), singular_mass(node))],
        [[1.0007, 0.06], [1.006, 0.12]], 0.05,
    )  # fmt: skip
    singular.subject_to(mass_left, equals=dry_mass, over="end")
    coast = phase(
        "coast", ("h", "v"), lambda node: [node.v, speed_rate(node, 0.0, dry_mass)],
        [[1.006, 0.12], [1.012, 0.0]], 0.13,
    )  # fmt: skip
    coast.minimize(-trajopt.state("h"), over="end")

    rocket = trajopt.Phases(boost, singular, coast, name="goddard_in_phases")
    rocket.link(
        lambda end, start: [end.h - start.h, end.v - start.v, end.m - singular_mass(start)],
        boost.at("end"), singular.at("start"), name="throttle",
    )  # fmt: skip
    rocket.link(trajopt.q, singular.at("end"), coast.at("start"), name="burnout")
    return rocket
