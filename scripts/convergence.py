"""Convergence of the two-link problems as intervals are added, and agreement of both solvers.

    python scripts/convergence.py

Two-link RR: duration, its relative distance to the bang-bang optimum T*, the order observed between
neighbouring rows, and the largest violation of a torque limit on a grid ten times finer than the nodes.
Two-link PR: the objective, which has no closed form, beside its change from row to row.
"""

from __future__ import annotations

import math

import problems
import trajopt
from problems.two_link_rr import EXACT_DURATION

INTERVALS = (10, 20, 40, 80)
SLSQP_INTERVALS = (10, 20)  # SLSQP is dense: its time grows with the cube of the unknowns


def main() -> None:
    print(f"two_link_rr, cubic, uniform knots, IPOPT: T* = {EXACT_DURATION} s")
    durations = minimum_times()
    print("\ntwo_link_rr, SLSQP")
    other_solver(durations)
    print("\ntwo_link_pr, cubic, uniform knots, u = 0.01, IPOPT")
    objectives()


def minimum_times() -> dict[int, float]:
    """The table of durations; intervals -> duration."""
    print("intervals         T [s]   T/T* - 1  order  violation [N m]  iterations  seconds")
    durations: dict[int, float] = {}
    distances: dict[int, float] = {}
    for n in INTERVALS:
        solution = trajopt.solve(problems.two_link_rr.build(intervals=n), trajopt.Ipopt(tol=1e-10))
        durations[n] = solution.duration
        distances[n] = solution.duration / EXACT_DURATION - 1.0
        order = math.log2(distances[n // 2] / distances[n]) if n // 2 in distances else math.nan
        violation = solution.verify().max_violation_dense
        print(
            f"{n:9d}  {durations[n]:.10f}  {distances[n]:9.2e}  {order:5.2f}  {violation:15.2e}"
            f"  {solution.iterations:10d}  {solution.seconds:7.3f}"
        )
    return durations


def other_solver(durations: dict[int, float]) -> None:
    print("intervals         T [s]   relative to IPOPT  iterations  seconds")
    for n in SLSQP_INTERVALS:
        solution = trajopt.solve(problems.two_link_rr.build(intervals=n), trajopt.Slsqp())
        print(
            f"{n:9d}  {solution.duration:.10f}  {solution.duration / durations[n] - 1.0:17.1e}"
            f"  {solution.iterations:10d}  {solution.seconds:7.3f}"
        )


def objectives() -> None:
    print("intervals             J         T [s]    change of J")
    last = math.nan
    for n in INTERVALS:
        solution = trajopt.solve(problems.two_link_pr.build(intervals=n), trajopt.Ipopt(tol=1e-10))
        change = solution.objective - last
        print(f"{n:9d}  {solution.objective:.10f}  {solution.duration:.10f}  {change:13.1e}")
        last = solution.objective


if __name__ == "__main__":
    main()
