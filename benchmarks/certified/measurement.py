"""Solves and certificates of one problem: durations, switches, evidence and seconds, as cells of a table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import trajopt
from trajopt.base.errors import ProblemError
from trajopt.certified.switching.shooting import switching_times

TOLERANCE = 1e-6
REPEATS, PATIENCE = 5, 3.0  # solves timed, and seconds after which no more are


def measured(name: str, build: Callable[[], trajopt.Problem]) -> tuple[list[str], str]:
    """Cells of the table, and the page of the certificate."""
    trajopt.solve(build())  # warm-up: kernels are compiled once
    plain, plainly = timed(build)
    solution, seconds = timed(build, refine=trajopt.Certified(tol=TOLERANCE))
    certificate = solution.certificate
    assert certificate is not None
    structure = certificate.structure
    simulation = certificate.simulation
    cells = [
        name,
        f"{solution.duration:.10g}",
        f"{solution.objective:.10g}",
        f"{plain.duration:.7g}",
        str(structure.arc_count - 1) if structure else "",
        certificate.method if certificate.holds else f"{certificate.method}: does not hold",
        f"{certificate.largest_violation:.1e}",
        f"{certificate.gain.of_oversteps:.1e}" if certificate.gain else "",
        f"{certificate.gain.of_margins:.1e}" if certificate.gain else "",
        f"{simulation.end_to_end:.1e}" if simulation else "",
        f"{plainly:.3f}",
        f"{seconds:.3f}",
        f"{seconds / plainly:.1f}",
        second_opinion(solution),
        f"{certificate.bracket.width:.1e}" if certificate.bracket else "",
        f"{certificate.bracket.lower:.10g}" if certificate.bracket else "",
        certificate.reason,
    ]
    return cells, str(certificate)


def timed(build: Callable[[], trajopt.Problem], **options: Any) -> tuple[trajopt.Solution, float]:
    """The last of some solves, and the median processor time of building and solving."""
    seconds: list[float] = []
    while True:
        began = time.process_time()
        solution = trajopt.solve(build(), **options)
        seconds.append(time.process_time() - began)
        if len(seconds) == REPEATS or sum(seconds) > PATIENCE:
            return solution, statistics.median(seconds)


def second_opinion(solution: trajopt.Solution) -> str:
    """Relative difference to the duration found by shooting, where that applies."""
    try:
        check = switching_times(solution)
    except ProblemError:
        return ""
    return f"{check.difference:.1e}" if check.converged else "did not converge"
