"""Statements of certificates and reports on one planted violation, and their truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.planted_violations.peaks import TOLERANCE, Planted, Rng
from benchmarks.planted_violations.statements import KINDS
from trajopt.certificates.certificate import Certificate
from trajopt.checks.integral_checks import cost_checks
from trajopt.checks.peaks_between_nodes import dense_samples
from trajopt.checks.violations import violations

GRID = 100_001  # times at which the truth is computed, for the certificate's two thousand
FINEST = 2_000_000  # steps around what was planted, if they were taken over the whole motion
WIDTHS, PART = 8.0, 1e-2  # what counts as around: so many widths, but at most this part of the motion
BETWEEN = 1e-2  # of the scale: what `verify` allows between nodes


@dataclass(frozen=True)
class Outcome:
    """One statement on one motion.

    verdict : of its lines in the certificate
    largest : largest violation in truth, relative to the largest tolerance of the lines
    strictest : the same, relative to the smallest
    longest : seconds of the longest interval on which the tolerance is exceeded
    resolution : seconds, that the lines state
    honest : whether tolerances and scales are no larger than what they are applied to
    passed : whether `verify` finds no fault with the statement
    proved : whether it says that this is proved
    excess : largest violation in truth, relative to 1 % of the scale of `verify`
    broken : seconds of the longest interval on which 1 % of the scale of `verify` is exceeded
    step : seconds between its samples
    """

    seed: int
    kind: str
    verdict: str
    largest: float
    strictest: float
    longest: float
    resolution: float
    honest: bool
    passed: bool
    proved: bool
    excess: float
    broken: float
    step: float

    @property
    def false_proof(self) -> bool:
        return self.verdict == "proved" and self.largest > 1.0 + 1e-6

    @property
    def false_proof_of_verify(self) -> bool:
        return self.passed and self.proved and self.excess > 1.0 + 1e-6

    @property
    def false_sampled(self) -> bool:
        return self.verdict == "holds, sampled" and self.longest > self.resolution

    @property
    def false_pass(self) -> bool:
        return self.passed and self.broken > self.step

    @property
    def true(self) -> bool:
        return self.strictest <= 0.5

    @property
    def refused_truth(self) -> bool:
        return self.verdict == "DOES NOT HOLD" and self.true

    @property
    def wrong(self) -> bool:
        false = self.false_proof or self.false_proof_of_verify or self.false_sampled or self.false_pass
        return false or not self.honest


@dataclass(frozen=True)
class Truth:
    """Violations (K,) of a statement at times (K,), so fine that nothing planted hides between them.

    lasts : seconds that the violation counts as where there is one time: of an integral what the shortest
        feature of its integrand lasts, which samples that are farther apart may miss
    """

    times: np.ndarray
    violation: np.ndarray
    lasts: float

    @staticmethod
    def of(planted: Planted) -> Truth:
        first, last = planted.first, planted.last
        if first == last:
            t = np.array([first])
        else:
            near = [_around(at, width, planted.solution.duration) for at, width in planted.near]
            several = [np.linspace(first, last, GRID), *near]
            t = np.unique(np.concatenate([part[(part >= first) & (part <= last)] for part in several]))
        with np.errstate(all="ignore"):
            found = planted.violation(t)
        return Truth(t, np.where(np.isnan(found), np.inf, found), planted.lasts)

    def beyond(self, tolerance: float) -> float:
        """Seconds of the longest interval on which a tolerance is exceeded."""
        if self.times.size == 1:
            return self.lasts if self.violation[0] > tolerance else 0.0
        over = np.concatenate([[False], self.violation > tolerance, [False]])
        edges = np.flatnonzero(np.diff(over.astype(int)))
        return float((self.times[edges[1::2] - 1] - self.times[edges[::2]]).max(initial=0.0))


def _around(at: float, width: float, duration: float) -> np.ndarray:
    """Times around a place, a thousandth of its width apart or less, and a thousandth of a sample's step."""
    half = min(WIDTHS * width, PART * duration)
    step = min(1e-3 * width, duration / FINEST) or 1.0
    return at + np.linspace(-half, half, 2 * int(np.ceil(half / step)) + 1)


def outcome(seed: int) -> Outcome:
    """Plant one statement of some kind on one random motion, and compare what is said of it."""
    return outcome_of(KINDS[seed % len(KINDS)], seed)


def outcome_of(kind: Callable[[Rng], Planted], seed: int) -> Outcome:
    """The same for a kind."""
    planted = kind(np.random.default_rng(seed))
    truth = Truth.of(planted)
    certificate = Certificate(TOLERANCE, "none", None, 0, "", motion=planted.solution)
    lines = [line for line in certificate.lines if line.name == planted.name]
    assert lines, certificate.unchecked or f"{planted.name} has no line"
    tolerance = max(line.tolerance for line in lines)
    sampled = [line.resolution for line in lines if line.evidence == "sampled"]
    verdict = "holds, sampled" if sampled else "proved"
    rows = [v for v in violations(planted.solution, BETWEEN) if v.name == planted.name]
    costs = [c for c in cost_checks(planted.solution) if f"cost '{c.name}'" == planted.name]
    scale = max([*(v.scale for v in rows), *(c.total for c in costs)])
    within = all(v.node_relative <= 1e-6 and v.dense_relative <= BETWEEN for v in rows)
    return Outcome(
        seed,
        kind.__name__.replace("_", " "),
        verdict if all(line.holds for line in lines) else "DOES NOT HOLD",
        float(truth.violation.max()) / tolerance,
        float(truth.violation.max()) / min(line.tolerance for line in lines),
        truth.beyond(tolerance),
        max(sampled, default=0.0),
        tolerance <= planted.most * (1.0 + 1e-9) and (scale <= planted.scale or planted.scale == np.inf),
        within and all(c.relative <= BETWEEN for c in costs),
        bool(rows) and all(v.evidence == "proved" for v in rows),
        float(truth.violation.max()) / (BETWEEN * scale),
        truth.beyond(BETWEEN * scale),
        float(np.diff(dense_samples(planted.solution).times).max()),
    )
