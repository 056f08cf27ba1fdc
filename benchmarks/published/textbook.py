"""Problems of textbooks and collections, small and named by their authors: PSOPT, COPS, Betts."""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state
CHANNEL = 14.09195229  # the integral of u''^2 by SciPy's solve_bvp


def alp_rider(intervals: int) -> trajopt.Problem:
    """Follow terrain of four narrow peaks. Betts, Practical Methods for Optimal Control, 2nd ed., 4.11."""

    def rates(node: Any) -> list[Any]:
        return [
            -10.0 * node.x1 + node.u1 + node.u2,
            -2.0 * node.x2 + node.u1 + 2.0 * node.u2,
            -3.0 * node.x3 + 5.0 * node.x4 + node.u1 - node.u2,
            5.0 * node.x3 - 3.0 * node.x4 + node.u1 + 3.0 * node.u2,
        ]

    def distance(node: Any) -> Any:
        return node.x1**2 + node.x2**2 + node.x3**2 + node.x4**2

    def over_terrain(node: Any) -> Any:
        peaks = ((3.0, 3.0, 12.0), (3.0, 6.0, 10.0), (3.0, 10.0, 6.0), (8.0, 15.0, 4.0))
        terrain = sum(height * np.exp(-width * (node.t - at) ** 2) for height, at, width in peaks)
        return distance(node) - terrain - 0.01

    system = trajopt.system(("x1", "x2", "x3", "x4"), ("u1", "u2"), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=20.0))
    problem.start_at(x=[2.0, 1.0, 2.0, 1.0])
    problem.end_at(x=[2.0, 3.0, 1.0, -2.0])
    problem.minimize(named("cost", lambda node: 100.0 * distance(node) + 0.01 * (node.u1**2 + node.u2**2)))
    problem.subject_to(named("terrain", over_terrain), lower=0.0)
    return problem


def hypersensitive(intervals: int) -> trajopt.Problem:
    """Fast at both ends of ten thousand seconds. Rao and Mease, Automatica 35 (1999)."""
    system = trajopt.system(("x",), ("u",), lambda node: [node.u - node.x**3])
    problem = trajopt.Problem(system, radau(intervals, 4, 1e4))
    problem.start_at(x=[1.5])
    problem.end_at(x=[1.0])
    problem.minimize(named("cost", lambda node: 0.5 * (node.x**2 + node.u**2)))
    return problem


def two_phases(intervals: int) -> trajopt.Phases:
    """A point tracks a corner in two phases of one second. PSOPT's manual, two-phase path tracking."""

    def cost_along(node: Any) -> Any:
        return (
            100.0 * (node.x - node.t / 2.0) ** 2
            + 100.0 * node.y**2
            + 500.0 * ((node.vx - 0.5) ** 2 + node.vy**2)
        )

    def cost_up(node: Any) -> Any:
        return (
            100.0 * (node.x - 0.5) ** 2
            + 100.0 * (node.y - node.t / 2.0) ** 2
            + 500.0 * (node.vx**2 + (node.vy - 0.5) ** 2)
        )

    parts = []
    for name, cost in (("along", cost_along), ("up", cost_up)):
        system = trajopt.system(
            ("x", "y", "vx", "vy"), ("ux", "uy"), lambda node: [node.vx, node.vy, node.ux, node.uy]
        )
        part = trajopt.Problem(system, radau(intervals, 4, 1.0), name=name)
        part.control("ux", -10.0, 10.0)
        part.control("uy", -10.0, 10.0)
        part.minimize(named(f"deviation {name}", cost))
        parts.append(part)
    along, up = parts
    along.start_at(x=[0.0, 0.0, 0.5, 0.0])
    up.end_at(x=[0.5, 0.5, 0.0, 0.5])
    both = trajopt.Phases(along, up)
    both.link(trajopt.q, along.at("end"), up.at("start"))
    return both


def van_willigenburg(intervals: int) -> trajopt.Problem:
    """A two-link arm in least time. Van Willigenburg and Loop, Int. J. Systems Science 22 (1991)."""

    def rates(node: Any) -> list[Any]:
        cosine, sine = np.cos(node.q2), np.sin(node.q2)
        first = node.u1 + 1.35 * sine * (node.v2**2 + 2.0 * node.v1 * node.v2)
        second = node.u2 - 1.35 * sine * node.v1**2
        m11, m12, m22 = 5.775 + 2.7 * cosine, 0.815 + 1.35 * cosine, 0.815
        determinant = m11 * m22 - m12 * m12
        return [
            node.v1,
            node.v2,
            (m22 * first - m12 * second) / determinant,
            (m11 * second - m12 * first) / determinant,
        ]

    system = trajopt.system(("q1", "q2", "v1", "v2"), ("u1", "u2"), rates)
    problem = trajopt.Problem(system, radau(intervals))
    problem.control("u1", -25.0, 25.0)
    problem.control("u2", -9.0, 9.0)
    problem.start_at(x=[0.0, 0.0, 0.0, 0.0])
    problem.end_at(x=[1.5, 0.0, 0.0, 0.0])
    problem.minimize(trajopt.duration)
    return problem


def hanging_chain(intervals: int) -> trajopt.Problem:
    """The shape of a chain of length four, nothing guessed. Dolan, More and Munson, COPS 3, problem 2."""

    def length(node: Any) -> Any:
        return np.sqrt(1.0 + node.u**2)

    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, radau(intervals, duration=1.0))
    problem.start_at(x=[1.0])
    problem.end_at(x=[3.0])
    problem.minimize(named("energy", lambda node: node.x * length(node)))
    problem.subject_to(trajopt.integral(named("length", length)), equals=4.0)
    return problem


def complementarity(intervals: int) -> trajopt.Problem:
    """A sign as products of complementary controls. PSOPT's manual, MPEC of Betts."""

    def deviation(node: Any) -> Any:
        return node.y**2 + 1e3 * (node.plus * (node.sign + 1.0) + node.minus * (1.0 - node.sign))

    system = trajopt.system(("y",), ("sign", "plus", "minus"), lambda node: [2.0 - node.sign])
    problem = trajopt.Problem(system, radau(intervals, duration=2.0))
    problem.control("sign", -1.0, 1.0)
    problem.control("plus", 0.0, 10.0)
    problem.control("minus", 0.0, 10.0)
    problem.start_at(x=[-1.0])
    problem.subject_to(named("split", lambda node: node.minus - node.plus - node.y), equals=0.0)
    problem.minimize(named("deviation", deviation))
    problem.minimize(named("end", lambda node: (node.y - 5.0 / 3.0) ** 2), over="end")
    return problem


def coulomb(intervals: int) -> trajopt.Problem:
    """Two masses with smoothed dry friction in least time. PSOPT's manual, Coulomb friction."""

    def friction(speed: Any) -> Any:
        return speed / np.sqrt(speed**2 + 1e-4)

    def rates(node: Any) -> list[Any]:
        return [
            node.v1,
            (-1.8 * node.q1 + 0.85 * node.q2 - friction(node.v1) + node.u1) / 1.1,
            node.v2,
            (0.85 * node.q1 - 0.85 * node.q2 - friction(node.v2) + node.u2) / 1.2,
        ]

    system = trajopt.system(("q1", "v1", "q2", "v2"), ("u1", "u2"), rates)
    problem = trajopt.Problem(system, radau(intervals))
    problem.control("u1", -4.0, 4.0)
    problem.control("u2", -4.0, 4.0)
    problem.start_at(x=[0.0, -1.0, 0.0, -2.0])
    problem.end_at(x=[1.0, 0.0, 2.0, 0.0])
    problem.minimize(trajopt.duration)
    return problem


def aly_chan(intervals: int) -> trajopt.Problem:
    """A singular control whose least cost is zero. Aly and Chan, J. Dynamic Systems 95 (1973)."""
    system = trajopt.system(("x1", "x2"), ("u",), lambda node: [node.x2, node.u])
    problem = trajopt.Problem(system, radau(intervals, duration=np.pi / 2.0))
    problem.control("u", -1.0, 1.0)
    problem.start_at(x=[0.0, 1.0])
    problem.minimize(named("cost", lambda node: 0.5 * (node.x2**2 - node.x1**2)))
    return problem


def rayleigh(intervals: int) -> trajopt.Problem:
    """An oscillator with a limit on control and state together. Maurer and Augustin (2001)."""

    def rates(node: Any) -> list[Any]:
        return [node.y, -node.x + node.y * (1.4 - 0.14 * node.y**2) + 4.0 * node.u]

    system = trajopt.system(("x", "y"), ("u",), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=4.5))
    problem.start_at(x=[-5.0, -5.0])
    problem.minimize(named("cost", lambda node: node.u**2 + node.x**2))
    problem.subject_to(state("u") + state("x") * (1.0 / 6.0), upper=0.0)
    return problem


def channel(intervals: int) -> trajopt.Problem:
    """A fluid injected through the wall of a channel, which has no freedom. COPS 3, problem 7."""
    system = trajopt.system(
        ("u", "u1", "u2", "u3"),
        (),
        lambda node: [node.u1, node.u2, node.u3, 10.0 * (node.u1 * node.u2 - node.u * node.u3)],
    )
    problem = trajopt.Problem(system, radau(intervals, 4, 1.0))
    problem.start_at(x=[0.0, 0.0, None, None])
    problem.end_at(x=[1.0, 0.0, None, None])
    problem.minimize(named("bending", lambda node: node.u2**2))
    return problem


PROBLEMS = (
    PublishedProblem("alp rider", lambda: alp_rider(60), 2030.85609, "Betts"),
    PublishedProblem("hypersensitive", lambda: hypersensitive(50), 1.3308069, "converged here, refined"),
    PublishedProblem("two phases", lambda: two_phases(10), 1.04168615, "converged here, 160 intervals"),
    PublishedProblem(
        "two-link arm in least time",
        lambda: van_willigenburg(20),
        1.222818,
        "Van Willigenburg and Loop",
        options={"refine": trajopt.Certified(tol=1e-6)},
    ),
    PublishedProblem("hanging chain", lambda: hanging_chain(20), 5.06848, "COPS 3"),
    PublishedProblem("complementarity", lambda: complementarity(20), 1.6563, "Betts"),
    PublishedProblem(
        "Coulomb friction", lambda: coulomb(80), 2.1050, "PSOPT, other smoothing", lambda: coulomb(160)
    ),
    PublishedProblem("Aly and Chan", lambda: aly_chan(20), 0.0, "exact"),
    PublishedProblem("channel", lambda: channel(20), CHANNEL, "SciPy's solve_bvp"),
    PublishedProblem("Rayleigh, mixed limit", lambda: rayleigh(20), 44.804444914, "converged here"),
)
