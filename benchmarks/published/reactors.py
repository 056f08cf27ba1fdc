"""Fed-batch reactors with singular feeding: Lee and Ramirez, Park and Ramirez."""

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


PROBLEMS = (
    PublishedProblem(
        "Lee and Ramirez", lambda: lee_ramirez(80), -6.164, "Betts, smoothed", lambda: lee_ramirez(160)
    ),
    PublishedProblem("Park and Ramirez", lambda: park_ramirez(80), -32.7, "Betts; Luus"),
)
