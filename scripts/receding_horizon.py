"""A double pendulum steered by a new plan every 20 ms: model-predictive control with a compiled program.

    python scripts/receding_horizon.py

Two links under gravity, 10 N m at each joint. Every 20 ms the next 0.4 s are planned from the state that is
measured,

    minimize integral |q - goal|^2 + 1e-2 |v|^2 + 1e-4 |tau|^2 dt   subject to   |tau| <= 10 N m,

and the torques of the plan are applied until the next one. The robot itself is one fifth heavier than the
plan believes, and the goal changes halfway. The problem is compiled once: state and goal are inputs, and each
plan starts from the one before it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import problems
import trajopt
from trajopt.parametric.replanning import Step

PERIOD, HORIZON, INTERVALS = 0.02, 0.4, 10  # s, s
STEP = 0.002  # s, of the simulation
GOALS = np.array([[0.5, -0.5], [-1.0, 0.8]])  # rad
GRAVITY = (0.0, -9.81, 0.0)  # m/s^2
HEAVIER = 1.2


@trajopt.term
def distance(node):
    """Distance from the goal, which is a parameter whose value is given, (2,) rad."""
    return node.q - node.parameter("goal")


def build() -> trajopt.Problem:
    """One plan."""
    model = problems.two_link_rr.build(gravity=GRAVITY).dynamics
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(INTERVALS, duration=HORIZON), name="pendulum")
    problem.parameter("goal", lower=GOALS[0], upper=GOALS[0])
    problem.start_at(q=0.0, v=0.0)
    problem.minimize(distance**2, name="distance")
    problem.minimize(trajopt.v**2, weight=1e-2)
    problem.minimize(trajopt.tau**2, weight=1e-4)
    problem.subject_to_joint_limits(position=False, velocity=False)
    return problem


def moved(robot: Any, q: np.ndarray, v: np.ndarray, plan: Step) -> tuple[np.ndarray, np.ndarray]:
    """The state after one period under the torques of a plan: Runge-Kutta of order 4, torques by the time."""

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        tau = plan.u(t)
        return np.concatenate([x[2:], robot.forward_dynamics(x[:2], x[2:], tau)])

    x = np.concatenate([q, v])
    for t in np.arange(0.0, PERIOD - 0.5 * STEP, STEP):
        k1 = rate(t, x)
        k2 = rate(t + STEP / 2, x + STEP / 2 * k1)
        k3 = rate(t + STEP / 2, x + STEP / 2 * k2)
        k4 = rate(t + STEP, x + STEP * k3)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x[:2], x[2:]


def steered(seconds: float) -> dict[str, np.ndarray]:
    """Distance from the goal before every plan, milliseconds and iterations of every plan."""
    compiled = trajopt.compile(build(), inputs=["q_start", "v_start", "goal"])
    robot = problems.two_link_rr.build(gravity=GRAVITY, masses=(0.5 * HEAVIER, 0.5 * HEAVIER)).dynamics
    q, v, plan = np.zeros(2), np.zeros(2), compiled.step(np.zeros(4))
    count = round(seconds / PERIOD)
    errors, milliseconds, iterations = [], [], []
    for k in range(count):
        goal = GOALS[int(2 * k >= count)]
        began = time.perf_counter()
        plan = compiled.step(np.concatenate([q, v]), before=plan, elapsed=PERIOD * (k > 0), goal=goal)
        milliseconds.append(1e3 * (time.perf_counter() - began))
        if not plan.is_new:
            raise RuntimeError(f"plan {k}: {plan.reason}")
        errors.append(float(np.abs(q - goal).max()))
        iterations.append(plan.result.iterations)
        q, v = moved(robot, q, v, plan)
    return {
        name: np.array(values)
        for name, values in zip(
            ("error", "ms", "iterations"), (errors, milliseconds, iterations), strict=True
        )
    }


def main() -> None:
    found = steered(4.0)
    half = found["error"].size // 2
    print(f"{found['ms'].size} plans, one every {1e3 * PERIOD:.0f} ms")
    print(f"milliseconds of a plan: median {np.median(found['ms']):.1f}, worst {found['ms'].max():.1f}")
    print(f"iterations: median {np.median(found['iterations']):g}, most {found['iterations'].max()}")
    for name, place in (("first", half - 1), ("second", -1)):
        print(f"distance from the {name} goal at its end: {found['error'][place]:.3f} rad")


if __name__ == "__main__":
    main()
