"""Reactors: two fed with singular feeding, a mix of catalysts, a batch whose ions are algebraic."""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau


def lee_ramirez(intervals: int) -> trajopt.Problem:
    """Induced protein in ten hours. Lee and Ramirez, AIChE J. 40 (1994); Betts, 2nd ed."""

    def rates(node: Any) -> list[Any]:
        recovery = 0.09 * node.inducer / (0.034 + node.inducer)
        denominator = 14.35 + node.nutrient * (1.0 + node.nutrient / 111.5)
        growth = node.nutrient / denominator * (node.shock + 0.22 * node.recovered / (0.22 + node.inducer))
        production = 0.233 * node.nutrient / denominator * (0.0005 + node.inducer) / (0.022 + node.inducer)
        dilution = (node.feed + node.induction) / node.volume
        return [
            node.feed + node.induction,
            (growth - dilution) * node.cells,
            100.0 * node.feed / node.volume - dilution * node.nutrient - growth / 0.51 * node.cells,
            production * node.cells - dilution * node.protein,
            4.0 * node.induction / node.volume - dilution * node.inducer,
            -recovery * node.shock,
            recovery * (1.0 - node.recovered),
        ]

    names = ("volume", "cells", "nutrient", "protein", "inducer", "shock", "recovered")
    problem = trajopt.Problem(
        trajopt.system(names, ("feed", "induction"), rates), radau(intervals, duration=10.0)
    )
    problem.control("feed", 0.0, 1.0, guess=0.1)
    problem.control("induction", 0.0, 1.0, guess=0.01)
    problem.start_at(x=[1.0, 0.1, 40.0, 0.0, 0.0, 1.0, 0.0])
    problem.minimize(named("product", lambda node: -node.volume * node.protein), over="end")
    for name in names:
        problem.subject_to(trajopt.state(name), lower=0.0)
    return problem


def park_ramirez(intervals: int) -> trajopt.Problem:
    """Secreted protein in fifteen hours. Park and Ramirez, AIChE J. 34 (1988)."""

    def rates(node: Any) -> list[Any]:
        growth = 21.87 * node.glucose / ((node.glucose + 0.4) * (node.glucose + 62.5))
        secretion = 4.75 * growth / (0.12 + growth)
        expression = node.glucose / (0.1 + node.glucose) * np.exp(-5.0 * node.glucose)
        dilution = node.feed / node.volume
        return [
            secretion * (node.protein - node.secreted) - dilution * node.secreted,
            expression * node.cells - dilution * node.protein,
            (growth - dilution) * node.cells,
            -7.3 * growth * node.cells + dilution * (20.0 - node.glucose),
            node.feed,
        ]

    names = ("secreted", "protein", "cells", "glucose", "volume")
    problem = trajopt.Problem(trajopt.system(names, ("feed",), rates), radau(intervals, duration=15.0))
    problem.control("feed", 0.0, 2.0, guess=0.5)
    problem.start_at(x=[0.0, 0.0, 1.0, 5.0, 1.0])
    for name in names[:-1]:
        problem.subject_to(trajopt.state(name), lower=0.0)
    problem.minimize(named("product", lambda node: -node.secreted * node.volume), over="end")
    return problem


def catalyst(intervals: int) -> trajopt.Problem:
    """Two catalysts along a tube. Dolan, More and Munson, COPS 3, problem 9; von Stryk (1999)."""

    def rates(node: Any) -> list[Any]:
        exchange = 10.0 * node.b - node.a
        return [node.mix * exchange, -node.mix * exchange - (1.0 - node.mix) * node.b]

    problem = trajopt.Problem(trajopt.system(("a", "b"), ("mix",), rates), radau(intervals, duration=1.0))
    problem.control("mix", 0.0, 1.0)
    problem.start_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("a") + trajopt.state("b"), over="end")
    return problem


def kinetic_batch(intervals: int) -> trajopt.Phases:
    """Six species and four ions in equilibrium, in three phases; hours. Betts, 2nd ed., 6.15; GPOPS-II."""
    names = tuple(f"y{i}" for i in range(1, 7))
    highest = (2.0, 10.0, 1.0, 1.5, 1.5, 0.1)
    K1, K2, K3 = 2.575e-16, 4.876e-14, 1.7884e-16

    def rates(node: Any) -> list[Any]:
        k1 = 1.3708e12 * np.exp(-9.2984e3 / node.temperature)
        back = 1.6215e20 * np.exp(-1.3108e4 / node.temperature)
        k2 = 5.2282e12 * np.exp(-9.5999e3 / node.temperature)
        first = k1 * node.y2 * node.y6 - back * node.u4
        second = k2 * node.y2 * node.u2
        third = k1 * node.y4 * node.y6 - back / 2.0 * node.u3
        return [-second, -first - second, second + third, -third, first, -first - third]

    def equilibrium(node: Any) -> list[Any]:
        ions = 10.0 ** (-node.u1)
        return [
            node.parameter("catalyst") - node.y6 + ions - node.u2 - node.u3 - node.u4,
            node.u2 - K2 * node.y1 / (K2 + ions),
            node.u3 - K3 * node.y3 / (K3 + ions),
            node.u4 - K1 * node.y5 / (K1 + ions),
        ]

    def phase(name: str, duration: Any, guess: Any) -> trajopt.Problem:
        system = trajopt.system(names, ("u1", "u2", "u3", "u4", "temperature"), rates)
        problem = trajopt.Problem(system, radau(intervals, duration=duration), name=name)
        problem.parameter("catalyst", 0.0, 0.0262, guess=0.013)
        for control, upper in (("u1", 15.0), ("u2", 0.02), ("u3", 2e-5), ("u4", 2e-5)):
            problem.control(control, 0.0, upper)
        problem.control("temperature", 293.15, 393.15, guess=393.15)
        for state, upper in zip(names, highest, strict=True):
            problem.subject_to(trajopt.state(state), 5.0 if state == "y2" else 0.0, upper)
        problem.subject_to(named("equilibrium", equilibrium), equals=0.0)
        problem.guess(guess, duration=np.mean(duration) if name == "first transient" else 1.0)
        return problem

    start, middle, last = (
        [1.5776, 8.32, 0.0, 0.0, 0.0, 0.013],
        [0.5, 6.0, 0.6, 0.5, 0.5, 0.013],
        [0.1, 5.0, 0.6, 0.9, 0.9, 0.013],
    )
    first = phase("first transient", 0.01, [start, middle])
    second = phase("second transient", (1e-3, 10.0), [middle, middle])
    steady = phase("steady state", (1e-3, 10.0), [middle, last])
    first.start_at(x=[*start[:5], None])
    second.start_at(time=0.01)
    steady.start_at(time=(0.01, 10.0))
    filled = named("filled", lambda node: node.y6 - node.parameter("catalyst"))
    first.subject_to(filled, equals=0.0, over="start")
    for each in (first, second):
        each.subject_to(named("slow start", lambda node: 2.0 * node.time**2 - node.y4), lower=0.0)
    steady.subject_to(trajopt.state("y4"), lower=1.0, over="end")
    whole = trajopt.Phases(first, second, steady)
    whole.link(trajopt.q, first.at("end"), second.at("start"))
    whole.link(trajopt.q, second.at("end"), steady.at("start"))
    whole.link(trajopt.time, second.at("end"), steady.at("start"))
    whole.link(lambda a, b: b.time - 4.0 * a.time, second.at("end"), steady.at("end"), name="quarter")
    whole.minimize(trajopt.duration)
    steady.minimize(trajopt.Quantity("parameter:catalyst"), weight=100.0)
    return whole


PROBLEMS = (
    PublishedProblem(
        "Lee and Ramirez", lambda: lee_ramirez(80), -6.164, "Betts, smoothed", lambda: lee_ramirez(160)
    ),
    PublishedProblem("Park and Ramirez", lambda: park_ramirez(80), -32.7, "Betts; Luus"),
    PublishedProblem("catalyst mixing", lambda: catalyst(20), 1.0 - 0.04805572, "COPS 3"),
    PublishedProblem("kinetic batch reactor", lambda: kinetic_batch(10), 3.1646691, "Betts"),
)
