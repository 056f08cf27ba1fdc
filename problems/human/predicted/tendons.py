"""Tendons in series with the muscles of a joint, which stretch and recoil without power of muscles.

Muscles that give the moment m at a joint pull on a tendon of stiffness k, in N m per rad of the joint, which
m / k rad of the joint stretch. The fibres of the muscles then shorten, in rad/s of the joint, by

    u = v + d(m / k)/dt

and give the power m u; what the tendon takes up and gives back is the rest of m v. m depends on
accelerations, and its rate would depend on third derivatives of pose: m / k is a curve of its own, equal to
it at all nodes of the mesh, whose derivative is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import trajopt
from problems.human.body.person import Person
from problems.human.gait.sourced_cost import Torques

# N m/rad at the ankle of 75 kg and 1.75 m: 188 N/mm (Lichtwark and Wilson 2005, human Achilles tendon in
# hopping) times the square of a lever of 50 mm, our own rounding of people's.
ACHILLES = 470.0
STRETCH = "stretch of"


def achilles_tendons(person: Person) -> dict[str, float]:
    """Joint -> stiffness of its tendon, N m/rad: in proportion to mass times height, as strength."""
    return {f"ankle_{side}_dorsi": person.size * ACHILLES for side in "rl"}


def stretch_curve(joint: str) -> str:
    """Name of the curve m / k of a joint."""
    return f"{STRETCH} {joint}"


def stretch_tendons(
    problem: trajopt.Problem, muscles: Torques, stiffness: Mapping[str, float]
) -> dict[int, Callable[[Any], Any]]:
    """Add the curve m / k of every tendon; index of its joint -> its rate of a node, rad/s."""
    found = {}
    for joint, k in stiffness.items():
        at, curve = problem.dynamics.joint_names.index(joint), stretch_curve(joint)
        problem.control(curve, guess=0.0, continuous=True, unit="rad")

        def gap(node: Any, at: int = at, curve: str = curve, k: float = k) -> Any:
            return muscles(node)[at] / k - node.extra(curve)[0]

        term = trajopt.ExpressionTerm(gap, f"moment of {joint} on its tendon", unit="rad")
        problem.subject_to(term, equals=0.0, name=term.name)
        found[at] = _rate_of(curve)
    return found


def _rate_of(curve: str) -> Callable[[Any], Any]:
    return lambda node: node.rate(curve)[0]
