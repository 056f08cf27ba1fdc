"""Exit status of a command: 0 converged, 1 not converged, with the reason on standard error, 2 misuse."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution
    from trajopt.verification.verify import Report


CONVERGED, NOT_CONVERGED, MISUSE = 0, 1, 2


def conclude(solution: Solution, report: Report) -> None:
    """Exit 1 with the reason and the worst constraints unless the solve converged."""
    certified = solution.certificate is None or solution.certificate.holds
    if solution.converged and report.holds and certified:
        return
    reason = "the answer does not meet its own conditions" if solution.converged else solution.status.value
    if solution.converged and report.holds:
        reason = "the certificate does not hold"
    lines = [f"not converged: {reason}"]
    if solution.detail:
        lines.append(f"message of the solver: {solution.detail}")
    worst = report.worst()
    if worst:
        lines += ["violated most:", *(f"  {violation}" for violation in worst)]
    else:
        lines.append("no constraint is violated at the nodes, but the point is not proven optimal")
    if not solution.converged and solution.certificate is None:
        from trajopt.verification.diagnosis import repeated_equations

        lines += repeated_equations(solution)
    click.echo("\n".join(lines), err=True)
    sys.exit(NOT_CONVERGED)
