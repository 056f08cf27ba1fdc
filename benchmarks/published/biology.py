"""Living systems: a tumour's vessels, two strains of tuberculosis, a population of marine animals."""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state

# A marine population at ages in half years, eight stages each. Rothschild et al. (1997), as in COPS 3.
STAGES = 1.0 * np.array(
    [
        (20000, 17000, 10000, 15000, 12000, 9000, 7000, 3000),
        (12445, 15411, 13040, 13338, 13484, 8426, 6615, 4022),
        (7705, 13074, 14623, 11976, 12453, 9272, 6891, 5020),
        (4664, 8579, 12434, 12603, 11738, 9710, 6821, 5722),
        (2977, 7053, 11219, 11340, 13665, 8534, 6242, 5695),
        (1769, 5054, 10065, 11232, 12112, 9600, 6647, 7034),
        (943, 3907, 9473, 10334, 11115, 8826, 6842, 7348),
        (581, 2624, 7421, 10297, 12427, 8747, 7199, 7684),
        (355, 1744, 5369, 7748, 10057, 8698, 6542, 7410),
        (223, 1272, 4713, 6869, 9564, 8766, 6810, 6961),
        (137, 821, 3451, 6050, 8671, 8291, 6827, 7525),
        (87, 577, 2649, 5454, 8430, 7411, 6423, 8388),
        (49, 337, 2058, 4115, 7435, 7627, 6268, 7189),
        (32, 228, 1440, 3790, 6474, 6658, 5859, 7467),
        (17, 168, 1178, 3087, 6524, 5880, 5562, 7144),
        (11, 99, 919, 2596, 5360, 5762, 4480, 7256),
        (7, 65, 647, 1873, 4556, 5058, 4944, 7538),
        (4, 44, 509, 1571, 4009, 4527, 4233, 6649),
        (2, 27, 345, 1227, 3677, 4229, 3805, 6378),
        (1, 20, 231, 934, 3197, 3695, 3159, 6454),
        (1, 12, 198, 707, 2562, 3163, 3232, 5566),
    ]
)


def tumour(intervals: int) -> trajopt.Problem:
    """A tumour whose vessels a drug attacks. Ledzewicz and Schaettler (2008); Betts, 2nd ed."""
    growth, birth, death, killing, loss = 0.084, 5.85, 0.00873, 0.15, 0.02
    largest = ((birth - loss) / death) ** 1.5

    def rates(node: Any) -> list[Any]:
        vessels = birth - (loss + death * node.p ** (2.0 / 3.0) + killing * node.u)
        return [-growth * node.p * np.log(node.p / node.q_), node.q_ * vessels, node.u]

    problem = trajopt.Problem(
        trajopt.system(("p", "q_", "dose"), ("u",), rates), radau(intervals, duration=(0.1, 5.0))
    )
    problem.control("u", 0.0, 75.0)
    start = [largest / 2.0, largest / 4.0, 0.0]
    problem.start_at(x=start)
    for name in ("p", "q_"):
        problem.subject_to(state(name), 0.01 * largest, largest)
    problem.subject_to(state("dose"), 0.0, 15.0)
    problem.guess([start, [0.45 * largest, 0.45 * largest, 15.0]], duration=1.0)
    problem.minimize(state("p"), over="end")
    return problem


def tuberculosis(intervals: int) -> trajopt.Problem:
    """Two strains under case finding and holding, in persons. Jung, Lenhart and Feng (2002); Betts."""
    people, mortality, k1, k2, r1, r2 = 30000.0, 0.0143, 0.5, 1.0, 2.0, 1.0
    infection, again, resistant, part, failing = 13.0, 13.0, 0.029, 0.4, 0.1

    def rates(node: Any) -> list[Any]:
        S, T, L1, L2, I1, I2 = (getattr(node, name) for name in names)
        share1, share2, held = I1 / people, I2 / people, 1.0 - node.u2
        return [
            mortality * people - infection * S * share1 - resistant * S * share2 - mortality * S,
            node.u1 * r1 * L1
            - mortality * T
            + (1.0 - held * (part + failing)) * r2 * I1
            - again * T * share1
            - resistant * T * share2,
            infection * S * share1
            - (mortality + k1) * L1
            - node.u1 * r1 * L1
            + held * part * r2 * I1
            + again * T * share1
            - resistant * L1 * share2,
            held * failing * r2 * I1 - (mortality + k2) * L2 + resistant * (S + L1 + T) * share2,
            k1 * L1 - mortality * I1 - r2 * I1,
            k2 * L2 - mortality * I2,
        ]

    names = ("S", "T", "L1", "L2", "I1", "I2")
    problem = trajopt.Problem(trajopt.system(names, ("u1", "u2"), rates), radau(intervals, duration=5.0))
    problem.control("u1", 0.05, 0.95)
    problem.control("u2", 0.05, 0.95)
    problem.start_at(x=[people * each / 120.0 for each in (76, 1, 36, 2, 4, 1)])
    cost = named("cost", lambda node: node.L2 + node.I2 + 25.0 * node.u1**2 + 250.0 * node.u2**2)
    problem.minimize(cost)
    return problem


def marine(intervals: int) -> trajopt.Problem:
    """Rates of growth and mortality that fit a population. Dolan, More and Munson, COPS 3, problem 5."""
    count = STAGES.shape[1]

    def rates(node: Any) -> list[Any]:
        flow = [0.0, *(node.parameter(f"growth {i}") * node.y[i] for i in range(count - 1)), 0.0]
        return [flow[i] - node.parameter(f"mortality {i}") * node.y[i] - flow[i + 1] for i in range(count)]

    problem = trajopt.Problem(trajopt.system({"y": count}, (), rates), radau(intervals, duration=10.0))
    for i in range(count):
        problem.parameter(f"mortality {i}", lower=0.0)
    for i in range(count - 1):
        problem.parameter(f"growth {i}", lower=0.0)
    problem.data("measured", np.linspace(0.0, 10.0, len(STAGES)), STAGES, interpolation="linear")

    def misfit(node: Any) -> Any:
        apart = node.y - node.data("measured")
        return apart.T @ apart

    problem.minimize(named("misfit", misfit), over=np.linspace(0.0, 10.0, len(STAGES)).tolist())
    problem.guess(x=STAGES)
    return problem


PROBLEMS = (
    PublishedProblem("tumour", lambda: tumour(20), 7571.6712, "Betts"),
    PublishedProblem("tuberculosis", lambda: tuberculosis(15), 5152.0731, "Betts"),
    PublishedProblem("marine population", lambda: marine(20), 1.97465297e7, "COPS 3"),
)
