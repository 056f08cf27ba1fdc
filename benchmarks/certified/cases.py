"""The problems whose optima are certified, each by the name that it has in the table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dynamics
import problems
import trajopt


def arm_under_gravity() -> trajopt.Problem:
    """Three links swung up: on some arcs a joint is at no limit, and its torque is still determined."""
    motors = ((20.0, 4.0), (10.0, 5.0), (4.0, 6.0))
    link = {
        "a": 0.4,
        "mass": 1.0,
        "centre_of_mass": (-0.2, 0.0, 0.0),
        "inertia": [[0.0, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.02]],
    }
    rows = [{**link, "limits": dynamics.JointLimits.symmetric(torque=t, velocity=v)} for t, v in motors]
    arm = dynamics.from_dh(rows, gravity=(0.0, -9.81, 0.0))
    problem = trajopt.Problem(arm, trajopt.Trajectory.uniform(intervals=20))
    problem.start_at(q=[-1.5, 0.0, 0.0], v=0.0)
    problem.end_at(q=[1.0, 0.5, -0.5], v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


def drawn_arm(seed: int) -> trajopt.Problem:
    """The two-link arm with lengths, masses, torque limits and poses drawn at random."""
    rng = np.random.default_rng(seed)
    lengths, masses = rng.uniform(0.2, 1.0, 2), rng.uniform(0.5, 12.0, 2)
    torque = rng.uniform([5.0, 3.0], [60.0, 25.0])
    return problems.two_link_rr.build(
        lengths=tuple(lengths),
        masses=tuple(masses),
        centres=tuple((-centre, 0.0) for centre in rng.uniform(0.2, 0.8, 2)),
        inertias=tuple(masses * lengths**2 * rng.uniform(0.05, 0.15, 2)),
        torque_upper=tuple(torque),
        torque_lower=tuple(-torque),
        q_start=tuple(rng.uniform(-1.5, 1.5, 2)),
        q_end=tuple(rng.uniform(-1.5, 1.5, 2)),
    )


def cases() -> dict[str, Callable[[], trajopt.Problem]]:
    """Builders of what is certified, by their names in the table."""
    found: dict[str, Callable[[], trajopt.Problem]] = {
        "sliding_mass (0.4 s exactly)": problems.sliding_mass.build,
        "sliding_mass, 3 m/s": lambda: problems.sliding_mass.build(velocity=3.0),
        "two_link_rr": problems.two_link_rr.build,
        "two_link_rr, 4 rad/s": lambda: problems.two_link_rr.build(velocity=4.0),
    }
    for u in (0.0, 0.001, 0.01, 0.1):
        found[f"two_link_pr, u = {u:g}"] = lambda u=u: problems.two_link_pr.build(u=u)
    found |= {f"two links drawn, seed {seed}": lambda seed=seed: drawn_arm(seed) for seed in range(10)}
    return found | {
        "betts_robot_arm (published 9.14093620)": problems.betts_robot_arm.build,
        "three_link_arm": problems.three_link_arm.build,
        "three links under gravity": arm_under_gravity,
        "six_axis_arm, u = 0": problems.six_axis_arm.build,
        "six_axis_arm, u = 0.1": lambda: problems.six_axis_arm.build(u=0.1),
    }
