"""Attacks by right answers with closed forms: free ends, zeros, jumps and raw units that a verdict must pass.

An answer that converged to the optimum and is refused counts as "distrusted", one that does not converge as
"refused".
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from benchmarks.attacks.judgement import Attack, Judgement, Rng, believed
from benchmarks.attacks.systems import any_scale, mesh_of

EFFORT = trajopt.state("u") ** 2


def moved(
    mesh: trajopt.Trajectory,
    start: tuple[float, float] | None,
    end: tuple[float, float] | None,
    name: str = "mass",
) -> trajopt.Problem:
    """x'' = u from x and v at the start to those at the end, None: free."""
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, mesh, name=name)
    if start is not None:
        problem.start_at(x=start)
    if end is not None:
        problem.end_at(x=end)
    return problem


def free_end(rng: Rng) -> Judgement:
    """Effort and w (x(T) - d)^2 with a free end: x(T) = d w / (w + 3 / T^3), v(T) is free."""
    d, T, share = any_scale(rng, 5.0), any_scale(rng, 2.0), any_scale(rng, 2.0)
    problem, w = moved(mesh_of(rng, T, 2), (0.0, 0.0), None), 3.0 * share / T**3
    problem.minimize(EFFORT)
    problem.minimize((trajopt.state("x") - d) ** 2, weight=w, over="end")
    return believed(trajopt.solve(problem), w * d**2 / (1.0 + share), f"free end, d {d:.1e}, T {T:.1e}")


def idle_push(rng: Rng) -> Judgement:
    """A second mass that rests between equal ends needs no force: 12 d^2 / T^3 of the first."""
    d, T, at = any_scale(rng, 5.0), any_scale(rng, 2.0), float(rng.choice([0.0, any_scale(rng, 3.0)]))
    system = trajopt.system(["x", "v", "y", "w"], ["u", "p"], lambda node: [node.v, node.u, node.w, node.p])
    problem = trajopt.Problem(system, mesh_of(rng, T, 2))
    problem.control("p", 0.0 if rng.random() < 0.5 else -np.inf, np.inf)
    problem.start_at(x=[0.0, 0.0, at, 0.0])
    problem.end_at(x=[d, 0.0, at, 0.0])
    problem.minimize(EFFORT)
    problem.minimize(trajopt.state("p") ** 2)
    return believed(
        trajopt.solve(problem), 12.0 * d**2 / T**3, f"idle push, d {d:.1e}, T {T:.1e}, at {at:.1e}"
    )


def rest(rng: Rng) -> Judgement:
    """A motion from a place to the same place, by a system or a robot on splines, costs nothing."""
    at, T = float(rng.choice([0.0, any_scale(rng, 3.0)])), any_scale(rng, 2.0)
    if rng.random() < 0.5:
        problem = moved(mesh_of(rng, T, 2), (at, 0.0), (at, 0.0))
        problem.minimize(EFFORT)
    else:
        problem = sliding(int(rng.integers(4, 12)), T)
        problem.start_at(q=at, v=0.0)
        problem.end_at(q=at, v=0.0)
        problem.minimize(trajopt.tau**2)
    return believed(trajopt.solve(problem), 0.0, f"rest at {at:.1e} for {T:.1e} s")


def sliding(spans: int, T: float, mass: float = 1.0) -> trajopt.Problem:
    """A mass on a rail, its motion a spline."""
    rail = dynamics.Joint("x", "prismatic", (1, 0, 0))
    body = dynamics.Body("body", rail, None, mass, (0, 0, 0), 0.01 * np.eye(3))
    robot = dynamics.RigidBodyModel([body], (0, 0, 0))
    return trajopt.Problem(robot, trajopt.Trajectory.uniform(spans, duration=T))


def on_rail(rng: Rng) -> Judgement:
    """12 m^2 d^2 / T^3 is the least integral of a mass's squared force, a quarter with free v(T)."""
    d, T, m = any_scale(rng, 3.0), any_scale(rng, 1.0), any_scale(rng, 2.0)
    problem, free = sliding(int(rng.integers(3, 40)), T, m), bool(rng.random() < 0.5)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=d, **({} if free else {"v": 0.0}))
    problem.minimize(trajopt.tau**2)
    optimum = (3.0 if free else 12.0) * (m * d) ** 2 / T**3
    return believed(trajopt.solve(problem), optimum, f"rail, d {d:.1e}, T {T:.1e}, m {m:.1e}, free {free}")


def jump(rng: Rng) -> Judgement:
    """Least time under |u| <= a while e' = u^2 k: 2 sqrt(d / a), with a jump inside intervals, squared."""
    d, a, k = any_scale(rng, 2.0), any_scale(rng, 2.0), any_scale(rng, 3.0)
    optimum = 2.0 * np.sqrt(d / a)
    system = trajopt.system(["x", "v", "e"], ["u"], lambda node: [node.v, node.u, k * node.u**2])
    mesh = trajopt.Trajectory.collocation(
        int(rng.integers(5, 40)), 3, duration=(0.01 * optimum, 100 * optimum)
    )
    problem = trajopt.Problem(system, mesh)
    problem.control("u", -a, a)
    problem.start_at(x=[0.0, 0.0, 0.0])
    problem.end_at(x=[d, 0.0, None])
    problem.minimize(trajopt.duration)
    return believed(trajopt.solve(problem, starts=1), optimum, f"jump, d {d:.1e}, a {a:.1e}, k {k:.1e}")


def bang_off(rng: Rng) -> Judgement:
    """Least integral of |u| over T with |u| <= a: a (T - sqrt(T^2 - 4 d / a)), zero in between."""
    T, a, part = any_scale(rng, 2.0), any_scale(rng, 2.0), float(rng.uniform(0.2, 0.9))
    mesh = trajopt.Trajectory.collocation(int(rng.integers(10, 40)), 3, duration=T)
    problem = moved(mesh, (0.0, 0.0), (part * a * T**2 / 4.0, 0.0))
    problem.control("u", -a, a)
    problem.minimize(trajopt.absolute(trajopt.state("u")))
    optimum = a * T * (1.0 - np.sqrt(1.0 - part))
    return believed(trajopt.solve(problem), optimum, f"bang, off, bang, T {T:.1e}, a {a:.1e}, {part:.2f}")


def fit(rng: Rng) -> Judgement:
    """x' = b - a x fitted to exact data of any size, with a or b zero, at a bound of zero or free."""
    size, T = any_scale(rng, 4.0), any_scale(rng, 1.0)
    a, b = ((0.0, 1.0), (1.0, 0.0), (1.5, 0.5), (0.0, 0.0))[rng.integers(4)]
    t = np.linspace(0.0, 1.0, 9)
    x = 1.0 + b * t if a == 0.0 else b / a + (1.0 - b / a) * np.exp(-a * t)
    system = trajopt.system(["x"], [], lambda node: [node.parameter("b") - node.parameter("a") * node.x])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(8, 3, duration=T))
    lower = 0.0 if rng.random() < 0.5 else -np.inf
    problem.parameter("a", lower, guess=0.7 / T)
    problem.parameter("b", lower, guess=0.4 * size / T)
    problem.data("z", T * t, size * x)
    problem.guess(x=[[size], [size]])
    problem.minimize(trajopt.term(lambda node: (node.x - node.data("z")) ** 2, name="misfit"), over=T * t)
    solution = trajopt.solve(problem)
    return believed(
        solution, 0.0, f"fit, size {size:.1e}, T {T:.1e}, a {a}, b {b}, lower {lower}", 1e-6 * size**2
    )


def bound_of_zero(rng: Rng) -> Judgement:
    """A parameter p >= 0 that would like to be -c costs c^2 beside an effort of 12 d^2 / T^3."""
    d, T, c = any_scale(rng, 2.0), any_scale(rng, 1.0), any_scale(rng, 2.0)
    problem = moved(mesh_of(rng, T, 2), (0.0, 0.0), (d, 0.0))
    p = problem.parameter("p", 0.0, guess=float(rng.choice([0.0, c])))
    problem.minimize(EFFORT, weight=T**3 / (12.0 * d**2))
    problem.minimize((p + c) ** 2, weight=1.0 / c**2, over="end")
    return believed(trajopt.solve(problem), 2.0, f"bound of zero, d {d:.1e}, T {T:.1e}, c {c:.1e}")


def priced_time(rng: Rng) -> Judgement:
    """12 d^2 / T^3 + w T is least at T^4 = 36 d^2 / w, with nothing guessed."""
    d, w = any_scale(rng, 2.0), any_scale(rng, 2.0)
    T = (36.0 * d**2 / w) ** 0.25
    problem = moved(mesh_of(rng, (1e-3 * T, 1e3 * T), 2), (0.0, 0.0), (d, 0.0))
    problem.minimize(EFFORT)
    problem.minimize(trajopt.duration, weight=w)
    return believed(trajopt.solve(problem), 12.0 * d**2 / T**3 + w * T, f"priced time, d {d:.1e}, w {w:.1e}")


def touched_limit(rng: Rng) -> Judgement:
    """Bryson and Denham's x <= l on [0, 1] from v = 1 to -1: 4 / (9 l) up to 1/6, in any units."""
    part, d, T = float(rng.uniform(0.08, 0.16)), any_scale(rng, 3.0), any_scale(rng, 2.0)
    mesh = trajopt.Trajectory.collocation(int(rng.integers(20, 50)), 3, duration=T)
    problem = moved(mesh, (0.0, d / T), (0.0, -d / T))
    problem.subject_to(trajopt.state("x"), upper=part * d)
    problem.minimize(EFFORT, weight=0.5)
    optimum = 4.0 / (9.0 * part) * d**2 / T**3
    return believed(trajopt.solve(problem), optimum, f"touched limit, {part:.3f}, d {d:.1e}, T {T:.1e}")


def meeting(rng: Rng) -> Judgement:
    """Two phases that meet at rest, at zero or elsewhere: 12 d^2 / T^3 of each."""
    d, T, at = any_scale(rng, 3.0), any_scale(rng, 1.0), float(rng.choice([0.0, 1.0]))
    far = ((at - 1.0) * d, 0.0)
    parts = [
        moved(mesh_of(rng, T, 2), far, (at * d, 0.0), "there"),
        moved(mesh_of(rng, T, 2), None, far, "back"),
    ]
    for part in parts:
        part.minimize(EFFORT)
    both = trajopt.Phases(*parts)
    both.link(trajopt.q, parts[0].at("end"), parts[1].at("start"), name="meeting")
    return believed(trajopt.solve(both), 24.0 * d**2 / T**3, f"meeting at {at:.0f} d, d {d:.1e}, T {T:.1e}")


FAMILIES: dict[str, tuple[Attack, int]] = {
    "right: free ends": (free_end, 20),
    "right: idle pushes": (idle_push, 20),
    "right: rest": (rest, 20),
    "right: on a rail": (on_rail, 20),
    "right: squared jumps": (jump, 20),
    "right: bang, off, bang": (bang_off, 15),
    "right: fits": (fit, 25),
    "right: bounds of zero": (bound_of_zero, 15),
    "right: priced time": (priced_time, 15),
    "right: touched limits": (touched_limit, 15),
    "right: phases that meet": (meeting, 15),
}
