"""Attacks by systems with known optima: units, coarse meshes, peaks, integrals, parameters, phases."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad

import trajopt
from benchmarks.attacks.judgement import (
    BETWEEN,
    LIMIT,
    Attack,
    Judgement,
    Rng,
    integrated,
    judged,
    off_the_optimum,
)

GRID = 200_001  # times at which a constraint is looked at independently


def pushed(
    mesh: trajopt.Trajectory, length: float = 1.0, time: float = 1.0, name: str = "mass"
) -> trajopt.Problem:
    """x'' = u from rest at 0 to rest at a length, in units in which both are of any size."""
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, mesh, name=name)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[length, 0.0])
    return problem


def mesh_of(rng: Rng, duration: Any, fewest: int = 1, most: int = 9) -> trajopt.Trajectory:
    """A mesh of any scheme."""
    points = ("radau", "gauss", "lobatto")[rng.integers(3)]
    order = int(rng.integers(2, 6)) if points == "lobatto" else int(rng.integers(1, 6))
    return trajopt.Trajectory.collocation(int(rng.integers(fewest, most)), order, points, duration)


def any_scale(rng: Rng, power: float = 9.0) -> float:
    """A number from 10^-power to 10^power."""
    return float(10.0 ** rng.uniform(-power, power))


def least_effort(rng: Rng) -> Judgement:
    """12 d^2 / T^3 is the least integral of u^2, whatever the units of length, time and cost."""
    d, T, weight = any_scale(rng), any_scale(rng, 4.0), any_scale(rng)
    problem = pushed(mesh_of(rng, T, 2), d)
    problem.minimize(trajopt.state("u") ** 2, weight=weight)
    optimum = weight * 12.0 * d**2 / T**3
    solution = trajopt.solve(problem)
    return judged(
        solution,
        f"least effort, d {d:.1e}, T {T:.1e}, weight {weight:.1e}",
        lambda report: off_the_optimum(solution, optimum, report),
        lambda _: integrated(solution, lambda t, x, u: [x[1], u], "u", np.array([d, d / T])),
    )


def least_time(rng: Rng) -> Judgement:
    """2 sqrt(d / a) is the least time under |u| <= a, in any units; the duration is guessed by nobody."""
    d, a = any_scale(rng, 6.0), any_scale(rng, 6.0)
    optimum = 2.0 * np.sqrt(d / a)
    problem = pushed(mesh_of(rng, (1e-2 * optimum, 1e3 * optimum), 2, 12), d)
    problem.control("u", lower=-a, upper=a)
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)

    def outside(_: Any) -> str:
        u = solution.value(trajopt.state("u"), np.linspace(0.0, solution.duration, 4001))
        return f"|u| is {np.abs(u).max() / a:.6f} of its bound" if np.abs(u).max() > (1.0 + LIMIT) * a else ""

    return judged(
        solution,
        f"least time, d {d:.1e}, a {a:.1e}",
        lambda report: off_the_optimum(solution, optimum, report),
        outside,
        lambda _: integrated(solution, lambda t, x, u: [x[1], u], "u", np.array([d, d / optimum])),
    )


def coarse(rng: Rng) -> Judgement:
    """A stiff pendulum on one to four intervals: its equation is met at few points, if at all between."""
    stiffness, T = float(rng.uniform(1.0, 200.0)), float(rng.uniform(0.5, 3.0))

    def rates(node: Any) -> list[Any]:
        return [node.v, node.u - stiffness * np.sin(node.x)]

    problem = trajopt.Problem(trajopt.system(["x", "v"], ["u"], rates=rates), mesh_of(rng, T, 1, 5))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[float(rng.uniform(1.0, 7.0)), 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    refine = None if rng.random() < 0.5 else "auto"
    solution = trajopt.solve(problem, refine=refine, time_limit=20.0)
    size = np.maximum(np.abs(solution.q(np.linspace(0.0, T, 101))).max(axis=0), 1e-9)
    size *= max(1.0, np.exp(min(np.sqrt(stiffness) * T, 30.0)) * 1e-2)  # errors grow along the upright
    return judged(
        solution,
        f"pendulum, stiffness {stiffness:.0f}, T {T:.1f}, {problem.trajectory}, refine {refine}",
        lambda _: integrated(solution, lambda t, x, u: [x[1], u - stiffness * np.sin(x[0])], "u", size),
    )


def between(rng: Rng) -> Judgement:
    """A limit whose bound is exceeded in a bump of any width, at any time, at breakpoints too."""
    T, intervals = float(rng.uniform(0.5, 4.0)), int(rng.integers(2, 9))
    at = T * (
        rng.integers(1, intervals) / intervals if rng.random() < 0.5 else float(rng.uniform(0.02, 0.98))
    )
    width = T * 10.0 ** float(rng.uniform(-4.0, -0.5))
    height, sharp = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.01, 1.0)), int(rng.integers(2))

    def bump(x: Any, t: Any) -> Any:
        s = (t - at) / width
        return x + height * (np.exp(-(s**2)) if sharp else 1.0 / (1.0 + s**2))

    problem = pushed(trajopt.Trajectory.collocation(intervals, int(rng.integers(2, 5)), duration=T))
    upper = float(rng.uniform(0.6, 1.4))
    problem.minimize(trajopt.state("u") ** 2)
    problem.subject_to(trajopt.term(lambda node: bump(node.x, node.t)), upper=upper, name="bump")
    solution = trajopt.solve(problem, refine=None if rng.random() < 0.5 else "auto")

    def exceeded(report: Any) -> str:
        near = np.clip(at + width * np.linspace(-6.0, 6.0, 20_001), 0.0, T)
        t = np.union1d(np.linspace(0.0, T, GRID), near)
        over = bump(solution.q(t)[:, 0], t) - upper
        beyond = t[over > LIMIT * upper]
        lasts = np.ptp(beyond) if beyond.size else 0.0
        return f"exceeded by {over.max() / upper:.2%} for {lasts:.1e} s" if lasts > report.resolution else ""

    return judged(solution, f"bump {height:+.2f} of width {width / T:.1e} T at {at / T:.3f} T", exceeded)


def cancelling(rng: Rng) -> Judgement:
    """A bounded integral of parts that cancel, up to 1e6 times as large as their sum."""
    T, amplitude = float(rng.uniform(0.5, 2.0)), 10.0 ** float(rng.uniform(0.0, 6.0))
    frequency = 2.0 * np.pi * float(rng.integers(1, 400)) / T * float(rng.choice([1.0, 1.0 + 1e-3]))
    problem = pushed(trajopt.Trajectory.collocation(int(rng.integers(2, 12)), 3, duration=T))
    problem.minimize(trajopt.state("u") ** 2)
    wave = trajopt.term(lambda node: node.v**2 + amplitude * np.sin(frequency * node.t), name="wave")
    upper = float(rng.uniform(1.05, 1.5)) / T
    problem.subject_to(trajopt.integral(wave), upper=upper, name="budget")
    solution = trajopt.solve(problem)
    of_wave = amplitude * (1.0 - np.cos(frequency * T)) / frequency

    def spent(_: Any) -> str:
        knots = solution.knot_times
        of_v = sum(
            quad(lambda t: float(solution.q(t)[1]) ** 2, a, b, epsrel=1e-10)[0] for a, b in pairwise(knots)
        )
        over = (of_v + of_wave - upper) / upper
        return f"the integral is {over:.2%} above its bound" if over > BETWEEN else ""

    return judged(solution, f"amplitude {amplitude:.1e}, frequency {frequency:.1f}", spent)


def parameters(rng: Rng) -> Judgement:
    """A parameter as the peak of a curve, of any unit, or one that nothing bounds."""
    unit, T = any_scale(rng, 6.0), float(rng.uniform(0.5, 2.0))
    problem = pushed(mesh_of(rng, T, 4))
    unbounded = rng.random() < 0.3
    peak = problem.parameter("peak", 0.0 if unbounded else 1e-3 * unit, guess=unit)
    if unbounded:
        problem.minimize(trajopt.term(lambda node: -node.parameter("peak"), name="less"), weight=1.0 / unit)
        solution = trajopt.solve(problem, trajopt.InteriorPoint() if rng.random() < 0.5 else None)
        return judged(solution, f"nothing bounds the peak, unit {unit:.1e}", lambda _: "there is no optimum")
    difference = trajopt.term(lambda node: node.u * unit - node.parameter("peak"), name="below")
    problem.subject_to(difference, upper=0.0, name="below")
    problem.subject_to(
        trajopt.term(lambda node: -node.u * unit - node.parameter("peak"), name="above"),
        upper=0.0,
        name="above",
    )
    problem.minimize(peak)
    solution = trajopt.solve(problem)
    optimum = 4.0 * unit / T**2  # bang and bang

    def below(report: Any) -> str:
        least = (1.0 - OPTIMAL_CONTROL) * optimum
        return (
            f"the peak is {solution.objective / optimum:.4f} of the least"
            if solution.objective < least
            else ""
        )

    return judged(solution, f"least peak, unit {unit:.1e}", below)


OPTIMAL_CONTROL = 3e-2  # what collocated limits of a control may gain on a coarse mesh


def linked(rng: Rng) -> Judgement:
    """Two phases of any units that meet in a jump of position and speed, with a parameter of both."""
    unit, factor, T = any_scale(rng, 4.0), float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.5, 2.0))
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    second = trajopt.Problem(system, mesh_of(rng, T, 2), name="second")
    second.end_at(x=[2.0 * unit, 0.0])
    first = trajopt.Problem(system, mesh_of(rng, T, 2), name="first")
    first.start_at(x=[0.0, 0.0])
    first.minimize(trajopt.state("u") ** 2)
    second.minimize(trajopt.state("u") ** 2, weight=1.0 / unit**2)
    phases = trajopt.Phases(first, second)
    at = first.at("end"), second.at("start")
    phases.link(lambda a, b: b.x - unit * a.x, *at, name="meet")
    phases.link(lambda a, b: b.v - factor * unit * a.v, *at, name="jump")
    solution = trajopt.solve(phases)
    # Squares of u from rest to (x, v) cost 12 x^2/T^3 - 12 x v/T^2 + 4 v^2/T; then from (x, f v) to (2, 0).
    H = np.array([[24.0 / T**3, -12.0 / T**2], [-12.0 / T**2, 8.0 / T]])
    H2 = np.array([[24.0 / T**3, 12.0 * factor / T**2], [12.0 * factor / T**2, 8.0 * factor**2 / T]])
    g = np.array([-24.0 * 2.0 / T**3, -12.0 * 2.0 * factor / T**2])
    z = np.linalg.solve(H + H2, -g)
    optimum = 0.5 * z @ (H + H2) @ z + g @ z + 12.0 * 4.0 / T**3

    def apart(_: Any) -> str:
        (x1, v1), (x2, v2) = solution.phases[0].q(T), solution.phases[1].q(0.0)
        miss = max(abs(x2 / unit - x1), abs(v2 / unit - factor * v1))
        return f"the phases meet {miss:.1e} apart" if miss > 1e-4 * (1.0 + abs(v1)) else ""

    return judged(
        solution,
        f"phases, unit {unit:.1e}, factor {factor:.2f}",
        apart,
        lambda report: off_the_optimum(solution, float(optimum), report),
    )


def periodic(rng: Rng) -> Judgement:
    """A forced oscillation that repeats, up to a sign or an offset of any size."""
    unit, T = any_scale(rng, 6.0), float(rng.uniform(0.5, 3.0))
    sign, offset = float(rng.choice([-1.0, 1.0])), float(rng.choice([0.0, 1.0])) * unit
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u - node.x])
    problem = trajopt.Problem(system, mesh_of(rng, T, 2))
    problem.subject_to_periodic(trajopt.state("x"), signs=sign, offset=offset, name="x repeats")
    problem.subject_to_periodic(trajopt.state("v"), signs=sign, name="v repeats")
    aim = trajopt.term(lambda node: (node.x / unit - np.sin(5.0 * node.t)) ** 2, name="aim")
    problem.minimize(aim)
    problem.minimize(trajopt.state("u") ** 2, weight=1e-3 / unit**2)
    solution = trajopt.solve(problem)

    def gap(_: Any) -> str:
        first, last = solution.q(np.array([0.0, T])) / unit
        miss = np.abs(last - sign * first - [offset / unit, 0.0]).max()
        return f"the ends are {miss:.1e} apart" if miss > 1e-5 * (1.0 + np.abs(first).max()) else ""

    size = np.maximum(np.abs(solution.q(np.linspace(0.0, T, 101))).max(axis=0), 1e-9 * unit)
    return judged(
        solution,
        f"periodic, unit {unit:.1e}, sign {sign:+.0f}, offset {offset:.1e}",
        gap,
        lambda _: integrated(solution, lambda t, x, u: [x[1], u - x[0]], "u", size),
    )


def kinked(rng: Rng) -> Judgement:
    """Least integral of |u|, a cost with a kink where the optimum rests: stated exactly, or by np.abs."""
    T = float(rng.uniform(1.0, 2.0))
    problem = pushed(mesh_of(rng, T, 4, 14))
    a = float(rng.uniform(6.0, 12.0)) / T**2
    problem.control("u", lower=-a, upper=a)
    by_hand = rng.random() < 0.5
    u = trajopt.state("u")
    cost = trajopt.term(lambda node: np.abs(node.u), name="size") if by_hand else trajopt.absolute(u)
    problem.minimize(cost)
    solution = trajopt.solve(problem, time_limit=20.0)
    # Bang, coast, bang: s seconds of a at both ends, a s (T - s) = 1, cost 2 a s.
    s = 0.5 * (T - np.sqrt(T**2 - 4.0 / a))
    return judged(
        solution,
        f"fuel, {'by hand' if by_hand else 'exact'}, a {a:.2f}",
        lambda report: off_the_optimum(solution, 2.0 * a * s, report),
    )


def hidden(rng: Rng) -> Judgement:
    """Rates with a pulse of any width or a wave of any frequency between nodes, beside a square of u."""
    T, intervals = float(rng.uniform(0.5, 3.0)), int(rng.integers(2, 30))
    at, width = T * float(rng.uniform(0.02, 0.98)), T * 10.0 ** float(rng.uniform(-3.5, -0.5))
    area = float(rng.choice([-1.0, 1.0])) * 10.0 ** float(rng.uniform(-2.0, 0.0))
    frequency = 2.0 * np.pi / T * float(rng.integers(1, 4 * intervals))
    is_wave, squared, steepness = rng.random() < 0.4, float(rng.integers(2)), float(rng.uniform(1.0, 100.0))

    def force(t: Any) -> Any:
        if is_wave:
            return area * steepness * np.sin(frequency * t)
        return area / (np.sqrt(np.pi) * width) * np.exp(-(((t - at) / width) ** 2))

    def rates(node: Any) -> list[Any]:
        return [node.u + force(node.t), 0.1 * squared * node.u**2]

    problem = trajopt.Problem(
        trajopt.system(["x", "spent"], ["u"], rates=rates), mesh_of(rng, T, intervals, intervals + 1)
    )
    problem.control("u", lower=-2.0 / T, upper=2.0 / T)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, None])
    problem.minimize(trajopt.state("u") ** 2)
    refine = None if rng.random() < 0.5 else "auto"
    solution = trajopt.solve(problem, refine=refine, starts=1, time_limit=20.0)

    def away(_: Any) -> str:
        t = np.concatenate([np.linspace(a, b, 4001)[1:-1] for a, b in pairwise(solution.knot_times)])
        near = np.clip(at + width * np.linspace(-6.0, 6.0, 20_001), 0.0, T)
        t = np.union1d(t, near)
        u = solution.value(trajopt.state("u"), t)[:, 0]
        f = np.stack([u + force(t), 0.1 * squared * u**2], axis=1)
        x = np.cumsum(np.vstack([np.zeros(2), 0.5 * (f[1:] + f[:-1]) * np.diff(t)[:, None]]), axis=0)
        off = np.abs(x - solution.q(t)).max(axis=0) / np.maximum(np.abs(f).max(axis=0) * T, 1e-9)
        return f"led by u, states are {off.max():.2%} of their rates off" if off.max() > BETWEEN else ""

    shape = f"wave, {frequency:.1f} rad/s" if is_wave else f"pulse of width {width / T:.1e} T"
    return judged(solution, f"{shape}, area {area:+.2f}, squares {squared:.0f}, {problem.trajectory}", away)


FAMILIES: dict[str, tuple[Attack, int]] = {
    "least effort, any units": (least_effort, 110),
    "least time, any units": (least_time, 100),
    "coarse meshes": (coarse, 80),
    "bumps between nodes": (between, 160),
    "cancelling integrals": (cancelling, 110),
    "parameters": (parameters, 70),
    "linked phases": (linked, 80),
    "periodic": (periodic, 60),
    "kinks": (kinked, 40),
    "hidden in rates": (hidden, 120),
}
