"""Certificates against planted violations: `python -m benchmarks.planted_violations [problems]`.

Small problems with random meshes and motions are solved, and then asked whether further statements hold on
the motion found: limits with a peak of random width somewhere on the path or in a window, equations that a
bump of force breaks between nodes, bounds of velocities, accelerations and jerks near their largest value.
The truth is computed by other means, on a grid two hundred times finer than the certificate's and, near
where a peak was planted, finer than the peak. Counted are

* false "proved": none may be;
* false "holds, sampled": violated on an interval longer than the stated resolution; none may be;
* refused although true: where the violation is at most half of the tolerance everywhere.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dynamics
import trajopt
from trajopt.solution.certificate import Certificate

TOLERANCE = 1e-6
GRID = 400_001  # times at which the truth is computed
NEAR = 40_001  # further times within some widths of where a peak is crossed


@dataclass(frozen=True)
class Outcome:
    """One statement on one motion.

    verdict : of the certificate
    largest : largest violation in truth, relative to the tolerance
    longest : seconds of the longest interval on which the tolerance is exceeded
    resolution : seconds, that the certificate states
    """

    kind: str
    verdict: str
    largest: float
    longest: float
    resolution: float

    @property
    def false_proof(self) -> bool:
        return self.verdict == "proved" and self.largest > 1.0 + 1e-6

    @property
    def false_sampled(self) -> bool:
        return self.verdict == "holds, sampled" and self.longest > self.resolution

    @property
    def refused_truth(self) -> bool:
        return self.verdict == "DOES NOT HOLD" and self.largest <= 0.5

    @property
    def true(self) -> bool:
        return self.largest <= 0.5


def motion(rng: np.random.Generator) -> trajopt.Solution:
    """A slider from rest to rest, in minimum time or at least effort, on a random mesh."""
    limits = dynamics.JointLimits.symmetric(torque=float(rng.uniform(2.0, 50.0)))
    row = {"a": 0.0, "mass": float(rng.uniform(0.5, 5.0)), "limits": limits, "kind": "prismatic"}
    slider = dynamics.from_dh([row], gravity=(0.0, 0.0, 0.0))
    fixed = bool(rng.integers(2))
    span = float(rng.uniform(0.5, 3.0)) if fixed else (0.05, 20.0)
    intervals, degree = int(rng.integers(3, 12)), int(rng.integers(3, 6))
    problem = trajopt.Problem(slider, trajopt.Trajectory.uniform(intervals, degree, duration=span))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=float(rng.uniform(0.3, 2.0)), v=0.0)
    if fixed:
        problem.minimize(trajopt.a**2)
    else:
        problem.minimize(trajopt.duration)
        problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    if not fixed:  # torques between nodes are not what is asked here
        problem.constraints[:] = [c for c in problem.constraints if c.name != "torque limits"]
    return solution


def peak(solution: trajopt.Solution, rng: np.random.Generator, over: object = "path") -> Planted:
    """A limit on a bump over q that is exceeded, or not, where the path crosses it."""
    along = float(rng.uniform(0.05, 0.95))
    middle = float(solution.q(along * solution.duration)[0])
    width = 10.0 ** rng.uniform(-5.0, -1.0)
    height = float(rng.choice([0.5, 0.999, 1.0 + 1e-9, 1.001, 2.0]))

    def bump(q, exp):
        return height * exp(-(((q - middle) / width) ** 2))

    @trajopt.term
    def planted_peak(node):
        return bump(node.q, np.exp)

    solution.problem.subject_to(planted_peak, upper=1.0, over=over, name="planted")
    window = over if isinstance(over, tuple) else (0.0, 1.0)
    return Planted(lambda t: bump(solution.q(t)[:, 0], np.exp) - 1.0, along, width, window)


def phantom_force(solution: trajopt.Solution, rng: np.random.Generator) -> Planted:
    """An equation for the force that a bump breaks somewhere, or everywhere by rounding only."""
    along, width = float(rng.uniform(0.05, 0.95)), 10.0 ** rng.uniform(-4.0, -1.0)
    middle = float(solution.q(along * solution.duration)[0])
    force = float(rng.choice([0.0, 1e-9, 1e-3, 1.0]))
    mass = float(solution.tau(0.0)[0] / solution.a(0.0)[0])

    @trajopt.term
    def phantom(node):
        return node.tau + force * np.exp(-(((node.q - middle) / width) ** 2)) - mass * node.a

    solution.problem.subject_to(phantom, equals=0.0, name="planted")
    return Planted(
        lambda t: force * np.exp(-(((solution.q(t)[:, 0] - middle) / width) ** 2)), along, width, (0.0, 1.0)
    )


def derivative_limit(solution: trajopt.Solution, rng: np.random.Generator) -> Planted:
    """A bound of v, a or the jerk near its largest value: proved or refused, by control points."""
    order = int(rng.integers(1, 4))
    t = np.linspace(0.0, solution.duration, GRID)
    largest = float(solution.curve(t, order)[:, 0].max())
    bound = largest * float(rng.choice([0.9, 1.0 - 1e-4, 1.0 + 1e-4, 1.1]))
    term = (trajopt.v, trajopt.a, trajopt.jerk)[order - 1]
    solution.problem.subject_to(term, upper=bound, name="planted")
    return Planted(lambda t: solution.curve(t, order)[:, 0] - bound, 0.5, 1.0, (0.0, 1.0))


@dataclass(frozen=True)
class Planted:
    """The violation of a statement as a function of time, and where it is likely to be largest."""

    violation: Callable[[np.ndarray], np.ndarray]
    along: float
    width: float
    window: tuple[float, float]


def truth(solution: trajopt.Solution, planted: Planted, tolerance: float) -> tuple[float, float]:
    """The largest violation relative to the tolerance, and the longest interval on which it exceeds it."""
    T = solution.duration
    middle = planted.along * T
    speed = max(abs(float(solution.v(middle)[0])), 1e-3)
    near = middle + np.linspace(-8.0, 8.0, NEAR) * planted.width / speed
    first, last = (s * T for s in planted.window)
    t = np.unique(np.concatenate([np.linspace(first, last, GRID), near[(near > first) & (near < last)]]))
    relative = planted.violation(t) / tolerance
    edges = np.flatnonzero(np.diff(np.concatenate([[False], relative > 1.0, [False]]).astype(int)))
    starts, ends = t[edges[::2]], t[edges[1::2] - 1]
    return float(relative.max()), float((ends - starts).max(initial=0.0))


KINDS = ("peak", "peak in a window", "phantom force", "bound of a derivative")


def outcome(seed: int) -> Outcome:
    """Plant one statement on one random motion, and compare its certificate with the truth."""
    rng = np.random.default_rng(seed)
    solution, kind = motion(rng), KINDS[seed % len(KINDS)]
    if kind == "peak":
        planted = peak(solution, rng)
    elif kind == "peak in a window":
        first = float(rng.uniform(0.0, 0.8))
        planted = peak(solution, rng, (first, first + float(rng.uniform(0.01, 0.2))))
    elif kind == "phantom force":
        planted = phantom_force(solution, rng)
    else:
        planted = derivative_limit(solution, rng)
    certificate = Certificate(TOLERANCE, (), "none", None, 0, "", motion=solution)
    (line,) = [line for line in certificate.lines if line.name == "planted"]
    return Outcome(
        kind, certificate.verdict, *truth(solution, planted, line.tolerance), certificate.resolution
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("problems", nargs="?", type=int, default=300)
    count, began = parser.parse_args().problems, time.perf_counter()
    outcomes = [outcome(seed) for seed in range(count)]
    verdicts = Counter((each.kind, each.verdict) for each in outcomes)
    for (kind, verdict), times in sorted(verdicts.items()):
        print(f"{kind:24}{verdict:18}{times:6}")
    true = [each for each in outcomes if each.true]
    print(f"problems {count}, seconds {time.perf_counter() - began:.0f}")
    print(f'false "proved" {sum(each.false_proof for each in outcomes)}')
    print(f'false "holds, sampled" {sum(each.false_sampled for each in outcomes)}')
    missed = [e for e in outcomes if e.verdict == "holds, sampled" and e.largest > 1.0 + 1e-6]
    longest = max((each.longest / each.resolution for each in missed), default=0.0)
    print(f"shorter violations missed {len(missed)}, the longest {longest:.2f} of its resolution")
    print(f"true {len(true)}, of these refused {sum(each.refused_truth for each in true)}")


if __name__ == "__main__":
    main()
