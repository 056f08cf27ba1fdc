"""Linear systems x' = A x + B u with least integral of u^2, whose optimum the controllability Gramian tells.

The arguments of `trajopt.system`, `Trajectory.collocation`, `Problem.control`, boundary values with None,
`trajopt.state`, `trajopt.integral` and `Problem.on` are changed. Silently wrong is a verdict of PASS where
SciPy's integrator, led by the controls, ends elsewhere, where a bound or a budget that was given does not
hold on a fine grid, or where the cost is not that of the Gramian (not less than it, under further bounds).
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp, trapezoid
from scipy.linalg import expm

import trajopt
from tests.fuzz.mutations import pick
from tests.fuzz.robots import mutate_entry
from tests.fuzz.verdicts import Mismatch

AGREED = 3e-2  # relative; the verdict allows 1e-2 of residuals and costs between the collocation points
LONGEST = 40  # intervals times points that a mutant may ask for
ITERATIONS = 200
STEP = 2.0  # |A| times an interval: on longer ones the least cost is that of the mesh


class SystemTarget:
    """Systems of one to three states and one or two controls."""

    name, suffix = "systems", ".json"

    def prepare(self) -> None:
        rng = np.random.default_rng(0)
        while True:
            case = drawn(rng)
            if not case["given"]["budget"]:
                self.check(json.dumps(case).encode())
                return

    def mutant(self, rng: np.random.Generator) -> bytes:
        while True:
            case = drawn(rng)
            for _ in range(int(rng.integers(0, 3))):
                mutate_entry(rng, case["given"])
            if not large(case["given"]):
                return json.dumps(case).encode()

    def check(self, data: bytes) -> None:
        case = json.loads(data)
        A, B, given = np.array(case["A"]), np.array(case["B"]), case["given"]
        problem = stated(A, B, given)
        solver = trajopt.Ipopt(max_iterations=ITERATIONS)
        solution = trajopt.solve(problem, solver, coarse_to_fine=False, starts=1)
        report = solution.verify()
        str(report.table)
        if solution.converged and report.holds:
            told = 0.0 if report.simulation is None else 1.1 * report.simulation.end_to_end
            check_answer(solution, told, A, B, given)


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A system, and what is asked of it."""
    n, m = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    start, end = rng.normal(size=n).tolist(), rng.normal(size=n).tolist()
    if rng.random() < 0.4:
        end[int(rng.integers(n))] = None
    duration: Any = float(rng.uniform(0.5, 2.0))
    given = {
        "states": [f"x{i}" for i in range(n)],
        "controls": [f"u{i}" for i in range(m)],
        "start": start,
        "end": end,
        "duration": duration if rng.random() < 0.8 else [duration, 2.0 * duration],
        "intervals": int(rng.integers(1, 7)) if rng.random() < 0.8 else [0.0, 0.3, 0.5, 1.0],
        "order": int(rng.integers(2, 6)),
        "points": pick(rng, ["radau", "gauss", "lobatto"]),
        "bounds": pick(rng, [None, None, None, [-30.0, 30.0], [-5.0, None]]),
        "degree": pick(rng, [None, None, 0, 1, 2]),
        "continuous": pick(rng, [False, False, True]),
        "budget": pick(rng, [None, None, None, float(rng.uniform(1.0, 1e3))]),
        "over": pick(rng, ["path", [0.0, 1.0]]),
        "limit": pick(rng, [None, None, ["x0", float(rng.uniform(0.5, 4.0))]]),
        "on": pick(rng, [None, None, None, [int(rng.integers(2, 7)), 3]]),
        "implicit": bool(rng.random() < 0.2),
        "guess": pick(rng, [None, [start, start]]),
    }
    return {"A": rng.normal(size=(n, n)).tolist(), "B": rng.normal(size=(n, m)).tolist(), "given": given}


def large(given: Any) -> bool:
    """True for a fair question that takes longer than a mutant may."""
    sizes = [given.get("intervals"), given.get("order"), given.get("degree")]
    on = given.get("on")
    sizes += on if isinstance(on, list) else []
    return any(isinstance(size, int | float) and LONGEST < size <= 100_000 for size in sizes)


def stated(A: np.ndarray, B: np.ndarray, given: dict[str, Any]) -> Any:
    """The problem as the mutant asks for it; an entry that was removed is left at its default."""
    names = [f"x{i}" for i in range(len(A))], [f"u{i}" for i in range(B.shape[1])]

    def rates(node: Any) -> list[Any]:
        x, u = ([getattr(node, name) for name in names[k]] for k in (0, 1))
        return [
            sum(a * x_j for a, x_j in zip(row, x, strict=True))
            + sum(b * u_j for b, u_j in zip(column, u, strict=True))
            for row, column in zip(A.tolist(), B.tolist(), strict=True)
        ]

    def residuals(node: Any) -> list[Any]:
        return [node.rate(name) - rate for name, rate in zip(names[0], rates(node), strict=True)]

    @trajopt.term
    def effort(node: Any) -> Any:
        return sum(getattr(node, name) ** 2 for name in names[1])

    form = {"residuals": residuals} if given.get("implicit") else {"rates": rates}
    system = trajopt.system(given.get("states"), given.get("controls"), **form)
    mesh = trajopt.Trajectory.collocation(
        **{key: given[key] for key in ("intervals", "order", "points", "duration") if key in given}
    )
    problem = trajopt.Problem(system, mesh)
    bounds = given.get("bounds")
    for name in names[1]:
        own = {key: given[key] for key in ("degree", "continuous") if key in given}
        if bounds is not None:
            lower, upper = pair(bounds)
            own |= {} if lower is None else {"lower": lower}
            own |= {} if upper is None else {"upper": upper}
        problem.control(name, **own)
    problem.start_at(x=given.get("start"))
    problem.end_at(x=given.get("end"))
    problem.minimize(effort)
    if given.get("budget") is not None:
        over = given.get("over", "path")
        over = tuple(over) if isinstance(over, list) else over
        problem.subject_to(trajopt.integral(effort, over), upper=given["budget"])
    if given.get("limit") is not None:
        name, upper = pair(given["limit"])
        problem.subject_to(trajopt.state(name), upper=upper)
    if given.get("on") is not None:
        intervals, order = pair(given["on"])
        problem = problem.on(
            trajopt.Trajectory.collocation(intervals, order, duration=given.get("duration", 1.0))
        )
    if given.get("guess") is not None:
        problem.guess(given["guess"])
    return problem


def pair(value: Any) -> tuple[Any, Any]:
    """Two entries, or the whole twice where the mutant has not two."""
    return tuple(value) if isinstance(value, list) and len(value) == 2 else (value, value)


def check_answer(solution: Any, told: float, A: np.ndarray, B: np.ndarray, given: dict[str, Any]) -> None:
    """The motion follows its equations to its ends, within its bounds, at the cost of the Gramian.

    told : gap at the end of a simulation, as the report prints it: a coarse mesh may end so far off, up to
        a tenth
    """
    n, m, T = len(A), B.shape[1], float(solution.duration)
    t = np.linspace(0.0, T, 401)
    u = np.stack([solution.value(trajopt.state(f"u{j}"), t)[:, 0] for j in range(m)], axis=1)
    x, start, end = solution.q(t), given.get("start"), given.get("end")
    for place, wanted in ((0, start), (-1, end)):
        listed = wanted if isinstance(wanted, list) else [wanted] * n
        for i, value in enumerate(listed):
            if value is not None and abs(x[place, i] - value) > 1e-6 * (1.0 + abs(value)):
                raise Mismatch(f"x{i} is {x[place, i]}, asked was {value}")
    check_bounds(solution, t, x, u, given)
    size = np.abs(x).max() + np.abs(x[-1] - x[0]).max() + 1e-9
    knots, state = solution.knot_times, x[0].copy()
    for left, right in itertools.pairwise(knots):
        inner = np.linspace(left + 1e-9 * T, right - 1e-9 * T, 12)
        curve = np.stack([solution.value(trajopt.state(f"u{j}"), inner)[:, 0] for j in range(m)], axis=1)
        fit = np.polynomial.chebyshev.Chebyshev.fit
        controls = [fit(inner, curve[:, j], min(6, inner.size - 1)) for j in range(m)]

        def rate(s: float, y: np.ndarray, controls: Any = controls) -> np.ndarray:
            return A @ y + B @ np.array([each(s) for each in controls])

        state = solve_ivp(rate, (left, right), state, rtol=1e-8, atol=1e-10 * size).y[:, -1]
    agreed = AGREED * size * np.exp(max(0.0, float(np.linalg.norm(A, 2)) * T - 3.0))
    if np.abs(state - x[-1]).max() > max(agreed, min(told, 0.1 * size)):
        raise Mismatch(f"SciPy ends at {state}, the solution at {x[-1]}")
    check_cost(solution, A, B, x, given)


def check_bounds(solution: Any, t: np.ndarray, x: np.ndarray, u: np.ndarray, given: dict[str, Any]) -> None:
    """Bounds of controls hold for all t, those of states to the accuracy of the verdict."""
    if given.get("bounds") is not None:
        lower, upper = pair(given["bounds"])
        low = -np.inf if lower is None else lower
        high = np.inf if upper is None else upper
        if np.any(u < low - 1e-6 * (1 + abs(low))) or np.any(u > high + 1e-6 * (1 + abs(high))):
            raise Mismatch(f"a control from {u.min()} to {u.max()} under bounds [{low}, {high}]")
    if given.get("limit") is not None:
        name, upper = pair(given["limit"])
        values = solution.value(trajopt.state(name), t)
        if upper is not None and values.max() > upper + AGREED * (1.0 + abs(upper)):
            raise Mismatch(f"{name} reaches {values.max()} under the limit {upper}")
    if given.get("budget") is not None:
        over = given.get("over", "path")
        first, last = over if isinstance(over, list) else (0.0, 1.0)
        inside = (t >= first * t[-1]) & (t <= last * t[-1])
        spent = float(trapezoid((u**2).sum(axis=1)[inside], t[inside]))
        if spent > given["budget"] * (1.0 + AGREED) + 1e-9:
            raise Mismatch(f"{spent} was spent of a budget of {given['budget']}")


def flow_and_gramian(A: np.ndarray, B: np.ndarray, T: float) -> tuple[np.ndarray, np.ndarray]:
    """exp(A T) and W, the integral of exp(A s) B B' exp(A' s) over 0 <= s <= T, both (n, n).

    By Van Loan (1978) on a part of T on which exp(-A s) is of order one, then by doubling,
    W(2 s) = W(s) + F W(s) F': a sum of positive terms, where long times would cancel all digits.
    """
    n = len(A)
    doublings = max(0, int(np.ceil(np.log2(1e-9 + float(np.linalg.norm(A, 2)) * T))))
    exponential = expm(np.block([[-A, B @ B.T], [np.zeros((n, n)), A.T]]) * (T / 2.0**doublings))
    F = exponential[n:, n:].T
    W = F @ exponential[:n, n:]
    for _ in range(doublings):
        F, W = F @ F, W + F @ W @ F.T
    return F, W


def check_cost(solution: Any, A: np.ndarray, B: np.ndarray, x: np.ndarray, given: dict[str, Any]) -> None:
    """The least cost of a motion between the ends is d' W^-1 d, W the Gramian and d what A leaves to do."""
    n, T, end = len(A), float(solution.duration), given.get("end")
    flow, W = flow_and_gramian(A, B, T)
    d = x[-1] - flow @ x[0]
    free = [i for i, value in enumerate(end if isinstance(end, list) else [end] * n) if value is None]
    fixed = [i for i in range(n) if i not in free]
    if not fixed or np.linalg.cond(W) > 1e8:
        return
    least = float(d[fixed] @ np.linalg.solve(W[np.ix_(fixed, fixed)], d[fixed]))
    size = least + 1e-6 * (1.0 + float(d @ d))
    if solution.objective < least - AGREED * size:
        raise Mismatch(f"cost {solution.objective} below the least, {least}")
    rough = given.get("degree") in (0, 1) or given.get("continuous") or given.get("order") in (None, 1, 2)
    others = any(given.get(key) is not None for key in ("bounds", "limit", "budget"))
    coarse = not isinstance(given.get("intervals"), int) or given["intervals"] < 3 or given.get("on")
    coarse = coarse or T * float(np.linalg.norm(A, 2)) > STEP * given["intervals"]
    if not (rough or others or coarse) and solution.objective > least + AGREED * size:
        raise Mismatch(f"cost {solution.objective}, the least is {least}")
