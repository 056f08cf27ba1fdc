"""Two burns to a higher orbit, a plane change through air, a landing on Mars."""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state
DEGREE = np.pi / 180.0


def two_burns(intervals: int) -> trajopt.Phases:
    """Two burns to three times the radius, in canonical units. dymos; Enright and Conway (1991)."""
    names = ("r", "angle", "vr", "vt", "accel", "deltav")

    def burning(node: Any) -> list[Any]:
        return [
            node.vr,
            node.vt / node.r,
            node.vt**2 / node.r - 1.0 / node.r**2 + node.accel * np.sin(node.u),
            -node.vr * node.vt / node.r + node.accel * np.cos(node.u),
            node.accel**2 / 1.5,
            node.accel,
        ]

    def coasting(node: Any) -> list[Any]:
        return [
            node.vr,
            node.vt / node.r,
            node.vt**2 / node.r - 1.0 / node.r**2,
            -node.vr * node.vt / node.r,
        ]

    def phase(name: str, rates: Any, guess: Any, seconds: float, longest: float) -> trajopt.Problem:
        burns = rates is burning
        system = trajopt.system(names if burns else names[:4], ("u",) if burns else (), rates)
        problem = trajopt.Problem(system, radau(intervals, duration=(0.5, longest)), name=name)
        problem.guess(guess, duration=seconds)
        return problem

    first = phase(
        "first burn", burning, [[1.0, 0.0, 0.0, 1.0, 0.1, 0.0], [1.5, 1.7, 0.0, 1.0, 0.1, 0.1]], 2.25, 10.0
    )
    coast = phase("coast", coasting, [[1.3, 2.18, 0.3285, 0.97], [1.5, 1.7, 0.0, 1.0]], 3.0, 50.0)
    goal = [3.0, 4.0, 0.0, np.sqrt(1.0 / 3.0), 0.1, 0.2]
    second = phase("second burn", burning, [[1.0, 0.0, 0.0, 1.0, 0.1, 0.1], goal], 1.75, 10.0)
    first.control("u", -30.0 * DEGREE, 30.0 * DEGREE)
    second.control("u", -90.0 * DEGREE, 90.0 * DEGREE)
    first.start_at(x=[1.0, 0.0, 0.0, 1.0, 0.1, 0.0])
    second.end_at(x={"r": 3.0, "vr": 0.0, "vt": np.sqrt(1.0 / 3.0)})
    second.minimize(state("deltav"), over="end")
    both = trajopt.Phases(first, coast, second)
    for a, b in ((first, coast), (coast, second)):
        both.link(
            lambda x, y: [x.r - y.r, x.angle - y.angle, x.vr - y.vr, x.vt - y.vt], a.at("end"), b.at("start")
        )
    both.link(lambda x, y: [x.accel - y.accel, x.deltav - y.deltav], first.at("end"), second.at("start"))
    return both


def plane_change(intervals: int) -> trajopt.Problem:
    """An orbit turned by eighteen degrees in the upper air, in feet. Betts, Practical Methods, 2nd ed."""
    earth, mass, area, mu = 2.092643e7, 331.5, 125.84, 1.40895e16
    density_there, there, scale_height, drag, most = 3.3195e-5, 1e5, 2.41388e4, 0.032, 1.4
    lifting, slowing = area / (2.0 * mass) * np.sqrt(drag / most), drag * area / (2.0 * mass)
    at_ground = density_there * np.exp(there / scale_height)

    def density(node: Any) -> Any:
        return density_there * np.exp(-(node.h - there) / scale_height)

    def rates(node: Any) -> list[Any]:
        r, air = earth + node.h, density(node)
        sine, cosine = np.sin(node.climb), np.cos(node.climb)
        weight = (1.0 - mu / (r * node.v**2)) / (lifting * air * r)
        lift = lifting * air * node.v * node.lift
        return [
            node.v / r * cosine * np.sin(node.heading),
            node.v * sine,
            -slowing * air * node.v**2 * (1.0 + node.lift**2) - mu * sine / r**2,
            lift * np.cos(node.bank) + lifting * air * node.v * weight * cosine,
            lift * np.sin(node.bank) / cosine
            - node.v / r * cosine * np.cos(node.heading) * np.tan(node.latitude),
        ]

    def heating(node: Any) -> Any:
        return 17600.0 * np.sqrt(density(node) / at_ground) * (node.v / np.sqrt(mu / earth)) ** 3.15

    names = ("latitude", "h", "v", "climb", "heading")
    problem = trajopt.Problem(
        trajopt.system(names, ("lift", "bank"), rates), radau(intervals, duration=(800.0, 2000.0))
    )
    problem.control("lift", 0.0, 2.0)
    problem.control("bank", 0.0, np.pi)
    start = [0.0, 365000.0, 25745.704, -0.55 * DEGREE, 0.0]
    problem.start_at(x=start)
    problem.end_at(x={"h": 365000.0})
    problem.subject_to(state("h"), 0.0, 400000.0)
    problem.subject_to(state("v"), 20000.0, 28000.0)
    problem.subject_to(state("climb"), -10.0 * DEGREE, 10.0 * DEGREE)
    problem.subject_to(named("heating", heating), upper=800.0)
    turned = named("inclination", lambda node: np.cos(node.latitude) * np.cos(node.heading))
    problem.subject_to(turned, equals=np.cos(18.0 * DEGREE), over="end")
    problem.guess([start, [0.0, 365000.0, 25745.704, 0.0, 18.0 * DEGREE]], duration=800.0)
    problem.minimize(-state("v"), over="end")
    return problem


def landing(intervals: int) -> trajopt.Problem:
    """Least fuel to land on Mars with engines that cannot be off. Acikmese and Ploen, JGCD 30 (2007)."""
    strongest = 6.0 * 3100.0 * np.cos(27.0 * DEGREE)
    consumed = 1.0 / (225.0 * 9.80665 * np.cos(27.0 * DEGREE))
    gravity = np.array([0.0, -3.7114])

    def thrust(node: Any) -> Any:
        return (node.T.T @ node.T) ** 0.5

    def rates(node: Any) -> list[Any]:
        return [node.v, node.T / node.m + gravity, -consumed * thrust(node)]

    system = trajopt.system({"r": 2, "v": 2, "m": 1}, {"T": 2}, rates)
    problem = trajopt.Problem(system, radau(intervals, duration=(20.0, 200.0)))
    problem.control("T", -strongest, strongest)
    problem.start_at(x={"r": [2000.0, 1500.0], "v": [100.0, -75.0], "m": 1905.0})
    problem.end_at(x={"r": 0.0, "v": 0.0})
    problem.subject_to(named("thrust", thrust), 0.3 * strongest, 0.8 * strongest)
    problem.subject_to(state("r")[1], lower=0.0)
    problem.subject_to(state("m"), lower=1505.0)
    problem.minimize(-state("m"), over="end")
    return problem


PROBLEMS = (
    PublishedProblem("two burns", lambda: two_burns(5), 0.3995, "dymos", lambda: two_burns(20)),
    PublishedProblem("plane change in air", lambda: plane_change(40), -22043.5079, "Betts"),
    PublishedProblem("landing on Mars", lambda: landing(20), -1514.6, "Acikmese and Ploen: 390.4 kg"),
)
