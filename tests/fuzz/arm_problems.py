"""Statements about an arm: locks, joints without motors, windows, integrals, free boundary values, copies.

Silently wrong is a verdict of PASS where a locked joint moves, a joint without a motor has a torque at a node
(by Pinocchio), a boundary value is another one, a budget is exceeded, or the cost is not the integral of the
squared torques that Pinocchio computes along the motion.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np

import dynamics
import trajopt
from tests.fuzz.mutations import pick
from tests.fuzz.robots import ARM, mutate_entry
from tests.fuzz.verdicts import Mismatch

JOINTS = ["shoulder", "elbow", "slide"]
AGREED = 3e-2  # relative; the verdict allows 1e-2 between nodes
EXACT = 1e-6  # relative, at nodes and of what the spline holds identically
ITERATIONS = 60
LONGEST = 40  # intervals that a mutant may ask for


class ArmTarget:
    """An arm of three joints, moved with least integral of squared torques."""

    name, suffix = "arms", ".json"

    def prepare(self) -> None:
        model()
        self.check(json.dumps(drawn(np.random.default_rng(0))).encode())

    def mutant(self, rng: np.random.Generator) -> bytes:
        while True:
            case = drawn(rng)
            for _ in range(int(rng.integers(0, 3))):
                mutate_entry(rng, case)
            sizes = [case.get("intervals"), *(case["on"] if isinstance(case.get("on"), list) else [])]
            if not any(isinstance(size, int | float) and LONGEST < size <= 100_000 for size in sizes):
                return json.dumps(case).encode()

    def check(self, data: bytes) -> None:
        case = json.loads(data)
        problem = stated(case)
        solver = trajopt.Ipopt(max_iterations=ITERATIONS)
        solution = trajopt.solve(problem, solver, coarse_to_fine=False, starts=1)
        report = solution.verify()
        str(report.table)
        if solution.converged and report.holds:
            check_motion(solution, case)


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A task of the arm, drawn at random."""
    start, end = rng.uniform(-0.5, 0.5, 3).tolist(), rng.uniform(-0.5, 0.5, 3).tolist()
    lock = pick(rng, [None, None, *JOINTS])
    if lock is not None:
        start[JOINTS.index(lock)] = end[JOINTS.index(lock)] = None
    if rng.random() < 0.3:
        end[int(rng.integers(3))] = None
    return {
        "intervals": int(rng.integers(2, 7)),
        "degree": int(rng.integers(3, 6)),
        "duration": float(rng.uniform(0.5, 2.0)) if rng.random() < 0.8 else [0.5, 2.0],
        "start": start,
        "end": end if any(value is not None for value in end) else None,
        "rest": pick(rng, [0.0, 0.0, [0.0, None, 0.0], None]),
        "lock": [] if lock is None else [[lock, float(rng.uniform(-0.5, 0.5))]],
        "passive": pick(rng, [[], [], [["elbow", "start"]], [["slide", [0.0, 0.5]]]]),
        "budget": pick(rng, [None, None, ["path", float(rng.uniform(1.0, 1e4))], [[0.0, 1.0], 1e4]]),
        "limit": pick(rng, [None, None, [-60.0, 60.0], [None, [60.0, 40.0, 50.0]]]),
        "on": pick(rng, [None, None, None, [int(rng.integers(2, 7)), 3]]),
        "weight": pick(rng, [1.0, 1.0, 0.5]),
    }


@functools.cache
def model() -> Any:
    return dynamics.load_urdf(ARM)


@functools.cache
def pinocchio_model() -> Any:
    import pinocchio

    return pinocchio.buildModelFromXML(ARM)


def stated(case: dict[str, Any]) -> Any:
    """The problem as the mutant asks for it; an entry that was removed is left at its default."""
    mesh = {key: case[key] for key in ("intervals", "degree", "duration") if key in case}
    problem = trajopt.Problem(model(), trajopt.Trajectory.uniform(**mesh))
    problem.minimize(trajopt.tau**2, weight=case.get("weight", 1.0))
    problem.start_at(q=case.get("start"), v=case.get("rest"))
    problem.end_at(q=case.get("end"), v=case.get("rest"))
    for each in entries(case.get("lock")):
        joint, at = two(each)
        problem.lock(joint, at=at)
    for each in entries(case.get("passive")):
        joint, over = two(each)
        problem.passive(joint, over=window(over))
    if case.get("budget") is not None:
        over, upper = two(case["budget"])
        problem.subject_to(trajopt.integral(trajopt.tau**2, window(over)), upper=upper)
    if case.get("limit") is not None:
        lower, upper = two(case["limit"])
        problem.subject_to(trajopt.tau, lower, upper)
    if case.get("on") is not None:
        intervals, degree = two(case["on"])
        problem = problem.on(trajopt.Trajectory.uniform(intervals, degree, case.get("duration", 1.0)))
    return problem


def entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def two(value: Any) -> tuple[Any, Any]:
    """Two entries, or the whole twice where the mutant has not two."""
    return tuple(value) if isinstance(value, list) and len(value) == 2 else (value, value)


def window(over: Any) -> Any:
    return tuple(over) if isinstance(over, list) else over


def torques(solution: Any, t: np.ndarray) -> np.ndarray:
    """tau (k, 3) by Pinocchio's recursion; as in ours, damping and friction are left out."""
    import pinocchio

    theirs = pinocchio_model()
    data, found = theirs.createData(), []
    for q, v, a in zip(solution.q(t), solution.v(t), solution.a(t), strict=True):
        at = np.array([q[0], np.cos(q[1]), np.sin(q[1]), q[2]])
        found.append(pinocchio.rnea(theirs, data, at, v, a))
    return np.array(found)


def check_motion(solution: Any, case: dict[str, Any]) -> None:
    """Each statement of the mutant, along the motion."""
    T = float(solution.duration)
    knots = solution.knot_times
    points, weights = np.polynomial.legendre.leggauss(8)
    h = np.diff(knots)
    t = (knots[:-1, None] + 0.5 * h[:, None] * (points + 1.0)).ravel()
    w = (0.5 * h[:, None] * weights).ravel()
    q, tau = solution.q(t), torques(solution, t)
    for place, name in ((0.0, "start"), (T, "end")):
        check_values(solution.q(np.array([place]))[0], case.get(name), f"q at the {name}")
        check_values(solution.v(np.array([place]))[0], case.get("rest"), f"v at the {name}")
    for joint, at in (two(each) for each in entries(case.get("lock"))):
        if np.abs(q[:, JOINTS.index(joint)] - at).max() > EXACT * (1.0 + abs(at)):
            raise Mismatch(f"{joint} moves though it is locked at {at}")
    size = np.abs(tau).max() + 1e-9
    for joint, over in (two(each) for each in entries(case.get("passive"))):
        check_passive(solution, JOINTS.index(joint), over, size)
    cost = (tau**2).sum(axis=1)
    weight = case.get("weight", 1.0)
    expected = weight * float(w @ cost)
    if abs(solution.objective - expected) > AGREED * (abs(expected) + abs(weight) * 1e-9):
        raise Mismatch(f"cost {solution.objective}, the integral of the squared torques is {expected}")
    if case.get("budget") is not None:
        over, upper = two(case["budget"])
        first, last = (0.0, 1.0) if isinstance(over, str) else over
        inside = (t > first * T) & (t < last * T)
        spent = float((w[inside] @ tau[inside] ** 2).max())  # every component has the bound
        if spent > upper * (1.0 + AGREED) + 1e-9:
            raise Mismatch(f"{spent} was spent of {upper}")
    check_limits(tau, case)


def check_values(found: np.ndarray, wanted: Any, what: str) -> None:
    listed = wanted if isinstance(wanted, list) else [wanted] * 3
    for value, number in zip(listed, found, strict=True):
        if value is not None and abs(number - value) > EXACT * (1.0 + abs(value)):
            raise Mismatch(f"{what} is {number}, asked was {value}")


def check_passive(solution: Any, joint: int, over: Any, size: float) -> None:
    T, times = float(solution.duration), np.asarray(solution.node_times)
    ends = {"start": (0.0, 0.0), "end": (T, T), "path": (0.0, T)}
    first, last = ends[over] if isinstance(over, str) else (over[0] * T, over[1] * T)
    nodes = times[(times >= first - 1e-9 * T) & (times <= last + 1e-9 * T)]
    if not nodes.size:
        raise Mismatch(f"no node from {first} to {last} s")
    if np.abs(torques(solution, nodes)[:, joint]).max() > 1e-5 * (1.0 + size):
        raise Mismatch(f"{JOINTS[joint]} has a torque though it has no motor")


def check_limits(tau: np.ndarray, case: dict[str, Any]) -> None:
    if case.get("limit") is None:
        return
    lower, upper = (
        np.full(3, absent) if value is None else np.broadcast_to(np.asarray(value, dtype=float), 3)
        for value, absent in zip(two(case["limit"]), (-np.inf, np.inf), strict=True)
    )
    slack = AGREED * np.where(np.isfinite(upper - lower), upper - lower, np.abs(tau).max() + 1.0)
    if np.any(tau < lower - slack) or np.any(tau > upper + slack):
        raise Mismatch(f"torques from {tau.min(axis=0)} to {tau.max(axis=0)} under [{lower}, {upper}]")
