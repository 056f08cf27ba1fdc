"""Ten problems of five tools' manuals, each posed once, before anything was changed for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state

# Gas oil and gasoline at times, as parts of the feed. Tjoa and Biegler (1991), as in COPS 3.
FRACTIONS = {
    0.025: (0.8105, 0.2000),
    0.05: (0.6208, 0.2886),
    0.075: (0.5258, 0.3010),
    0.1: (0.4345, 0.3215),
    0.125: (0.3903, 0.3123),
    0.15: (0.3342, 0.2716),
    0.175: (0.3034, 0.2551),
    0.2: (0.2735, 0.2258),
    0.225: (0.2405, 0.1959),
    0.25: (0.2283, 0.1789),
    0.3: (0.2071, 0.1457),
    0.35: (0.1669, 0.1198),
    0.4: (0.1530, 0.0909),
    0.45: (0.1339, 0.0719),
    0.5: (0.1265, 0.0561),
    0.55: (0.1200, 0.0460),
    0.65: (0.0990, 0.0280),
    0.75: (0.0870, 0.0190),
    0.85: (0.0770, 0.0140),
    0.95: (0.0690, 0.0100),
}


def steering(intervals: int) -> trajopt.Problem:
    """A thrust of constant size is turned to reach a height and a speed. COPS 3, problem 9."""

    def rates(node: Any) -> list[Any]:
        return [node.vx, node.vy, 100.0 * np.cos(node.angle), 100.0 * np.sin(node.angle)]

    problem = trajopt.Problem(trajopt.system(("x", "y", "vx", "vy"), ("angle",), rates), radau(intervals))
    problem.control("angle", -np.pi / 2.0, np.pi / 2.0)
    problem.start_at(x=[0.0, 0.0, 0.0, 0.0])
    problem.end_at(x={"y": 5.0, "vx": 45.0, "vy": 0.0})
    problem.minimize(trajopt.duration)
    return problem


def gas_oil(intervals: int) -> trajopt.Problem:
    """Rates of cracking that fit measurements. COPS 3, problem 6."""

    def rates(node: Any) -> list[Any]:
        cracked, lost, wasted = (node.parameter(f"rate {i}") for i in range(3))
        return [-(cracked + wasted) * node.oil**2, cracked * node.oil**2 - lost * node.gasoline]

    mesh = radau(intervals, 4, duration=0.95)
    problem = trajopt.Problem(trajopt.system(("oil", "gasoline"), (), rates), mesh)
    for i in range(3):
        problem.parameter(f"rate {i}", lower=0.0, guess=0.0)
    times = list(FRACTIONS)
    problem.data("measured", times, np.array(list(FRACTIONS.values())))
    problem.start_at(x=[1.0, 0.0])

    def misfit(node: Any) -> list[Any]:
        oil, gasoline = node.data("measured")[0], node.data("measured")[1]
        return [(node.oil - oil) ** 2, (node.gasoline - gasoline) ** 2]

    problem.minimize(named("misfit", misfit), over=times)
    return problem


def stirred_tank(intervals: int) -> trajopt.Problem:
    """A reactor is cooled back to its steady state; two optima. Luus; Ali, Storey and Torn (1997)."""

    def rates(node: Any) -> list[Any]:
        reaction = (node.x2 + 0.5) * np.exp(25.0 * node.x1 / (node.x1 + 2.0))
        return [-(2.0 + node.u) * (node.x1 + 0.25) + reaction, 0.5 - node.x2 - reaction]

    mesh = radau(intervals, duration=0.78)
    problem = trajopt.Problem(trajopt.system(("x1", "x2"), ("u",), rates), mesh)
    problem.control("u", 0.0, 5.0)
    problem.start_at(x=[0.09, 0.09])
    problem.minimize(state("x1") ** 2 + state("x2") ** 2 + 0.1 * state("u") ** 2)
    return problem


def batch(intervals: int) -> trajopt.Problem:
    """The most of a product that reacts on, by temperature. Dadebo and McAuley (1995); dynopt."""

    def rates(node: Any) -> list[Any]:
        formed = 4000.0 * np.exp(-2500.0 / node.T) * node.a**2
        return [-formed, formed - 620000.0 * np.exp(-5000.0 / node.T) * node.b]

    problem = trajopt.Problem(trajopt.system(("a", "b"), ("T",), rates), radau(intervals, duration=1.0))
    problem.control("T", 298.0, 398.0)
    problem.start_at(x=[1.0, 0.0])
    problem.minimize(-state("b"), over="end")
    return problem


def drugs(intervals: int) -> trajopt.Problem:
    """Two drugs reach their levels in least time. Luus, example 12.4.3; PROPT."""

    def rates(node: Any) -> list[Any]:
        g2 = (1.0 + 0.2 * (node.x1 + node.x2)) ** 2
        g3, g4 = g2 + 232.0 + 46.4 * node.x2, g2 + 232.0 + 46.4 * node.x1
        g1 = g2 / (g3 * g4 - 2152.96 * node.x1 * node.x2)
        given, left = node.u - 2.0 * node.x2, 0.02 - node.x1
        return [g1 * (g4 * left + 46.4 * node.x1 * given), g1 * (g3 * given + 46.4 * left)]

    mesh = radau(intervals, duration=(1.0, 500.0))
    problem = trajopt.Problem(trajopt.system(("x1", "x2"), ("u",), rates), mesh)
    problem.control("u", 0.0, 8.0)
    problem.start_at(x=[0.02, 0.0])
    problem.end_at(x=[0.02, 2.0])
    problem.guess([[0.02, 0.0], [0.02, 2.0]], duration=300.0)
    problem.minimize(trajopt.duration)
    return problem


def singular(intervals: int) -> trajopt.Problem:
    """Three integrators to rest, singular at the end. Luus, example 10.2.3; PROPT, singular control 4."""
    system = trajopt.system(("x1", "x2", "x3"), ("u",), lambda node: [node.x2, node.x3, node.u])
    problem = trajopt.Problem(system, radau(intervals, duration=5.0))
    problem.control("u", -1.0, 1.0)
    problem.start_at(x=[1.0, 0.0, 0.0])
    problem.minimize(state("x1") ** 2)
    return problem


def obstacles(intervals: int) -> trajopt.Problem:
    """A way between two circles at constant speed. PROPT, obstacle avoidance."""

    def rates(node: Any) -> list[Any]:
        return [2.138 * np.cos(node.heading), 2.138 * np.sin(node.heading)]

    mesh = radau(intervals, duration=1.0)
    problem = trajopt.Problem(trajopt.system(("x", "y"), ("heading",), rates), mesh)
    problem.control("heading", -np.pi, np.pi)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.2, 1.6])
    for name, x, y in (("first", 0.4, 0.5), ("second", 0.8, 1.5)):
        away = named(name, lambda node, x=x, y=y: (node.x - x) ** 2 + (node.y - y) ** 2)
        problem.subject_to(away, lower=0.1)
    problem.minimize(named("speed", lambda node: node.rate("x") ** 2 + node.rate("y") ** 2))
    return problem


def fishing(intervals: int) -> trajopt.Problem:
    """Predators and prey are fished to their equilibrium; a part of the fleet may go. Sager; mintOC."""

    def rates(node: Any) -> list[Any]:
        prey, predators = node.prey, node.predators
        return [
            prey - prey * predators - 0.4 * prey * node.w,
            prey * predators - predators - 0.2 * predators * node.w,
        ]

    mesh = radau(intervals, duration=12.0)
    problem = trajopt.Problem(trajopt.system(("prey", "predators"), ("w",), rates), mesh)
    problem.control("w", 0.0, 1.0)
    problem.start_at(x=[0.5, 0.7])
    problem.minimize((state("prey") - 1.0) ** 2 + (state("predators") - 1.0) ** 2)
    return problem


def rocket(intervals: int) -> trajopt.Problem:
    """A rocket with drag flies ten units from rest to rest. ACADO's manual, time optimal control."""

    def rates(node: Any) -> list[Any]:
        return [node.v, (node.u - 0.2 * node.v**2) / node.m, -0.01 * node.u**2]

    mesh = radau(intervals, duration=(5.0, 15.0))
    problem = trajopt.Problem(trajopt.system(("s", "v", "m"), ("u",), rates), mesh)
    problem.control("u", -1.1, 1.1)
    problem.subject_to(state("v"), -0.1, 1.7)
    problem.start_at(x=[0.0, 0.0, 1.0])
    problem.end_at(x={"s": 10.0, "v": 0.0})
    problem.minimize(trajopt.duration)
    return problem


def mountain_car(intervals: int) -> trajopt.Problem:
    """A car too weak for a slope swings up it in least time. Melnikov et al. (2014); dymos."""

    def rates(node: Any) -> list[Any]:
        return [node.v, 0.001 * node.u - 0.0025 * np.cos(3.0 * node.x)]

    mesh = radau(intervals, duration=(0.05, 10000.0))
    problem = trajopt.Problem(trajopt.system(("x", "v"), ("u",), rates), mesh)
    problem.control("u", -1.0, 1.0)
    problem.subject_to(state("x"), -1.2, 0.5)
    problem.subject_to(state("v"), -0.07, 0.07)
    problem.start_at(x=[-0.5, 0.0])
    problem.end_at(x={"x": 0.5})
    problem.subject_to(state("v"), lower=0.0, over="end")
    problem.guess([[-0.5, 0.0], [0.5, 0.07]], duration=500.0)
    problem.minimize(trajopt.duration)
    return problem


PROBLEMS = (
    PublishedProblem("steered rocket", lambda: steering(25), 0.554577, "COPS 3"),
    PublishedProblem("gas oil", lambda: gas_oil(25), 5.23664e-3, "COPS 3"),
    PublishedProblem("stirred tank", lambda: stirred_tank(20), 0.133094, "Luus"),
    PublishedProblem("batch of consecutive reactions", lambda: batch(20), -0.610775, "dynopt"),
    PublishedProblem("drug displacement", lambda: drugs(50), 221.3334, "PROPT"),
    PublishedProblem("singular control", lambda: singular(100), 1.2523896, "PROPT"),
    PublishedProblem("two obstacles", lambda: obstacles(40), 4.571044, "PROPT"),
    PublishedProblem("fishing", lambda: fishing(50), 1.34408, "mintOC"),
    PublishedProblem("rocket with drag", lambda: rocket(20), 7.42, "ACADO", lambda: rocket(80)),
    PublishedProblem("mountain car", lambda: mountain_car(50), 102.479, "dymos", lambda: mountain_car(100)),
)
