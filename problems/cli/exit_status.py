"""Exit status of a command: 0 success, 1 an answer that fails, with the reason on standard error, 2 misuse.

`solve` asks for convergence and for all constraints at the nodes, `verify` for the whole verdict.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from problems.cli.output import echo

if TYPE_CHECKING:
    from trajopt import PhasesSolution, Solution
    from trajopt.verification.report import Report


CONVERGED, NOT_CONVERGED, MISUSE = 0, 1, 2


def conclude_motion(passed: bool) -> None:
    """Exit 1 unless a motion of a robot converged and keeps its limits."""
    if not passed:
        echo("the answer fails: no optimum was found, or a limit is exceeded", err=True)
        sys.exit(NOT_CONVERGED)


def conclude(solution: Solution | PhasesSolution, report: Report, passed: bool) -> None:
    """Exit 1 with the reason and the worst constraints unless the solve converged and the answer passed."""
    certified = solution.certificate is None or solution.certificate.holds
    if solution.converged and passed and certified:
        return
    if not solution.converged:
        lines = [f"not converged: {solution.status.value}"]
    else:
        lines = [f"the answer fails: {report.reason}" if not passed else "the certificate does not hold"]
    if solution.detail and not solution.converged:
        lines.append(f"message of the solver: {solution.detail}")
    worst = report.worst()
    if worst:
        lines += ["violated most:", *(f"  {violation}" for violation in worst)]
    elif not report.holds_at_nodes:
        lines.append("no constraint is violated at the nodes, but the point is not proven optimal")
    if not solution.converged and solution.certificate is None:
        from trajopt.verification.diagnosis import repeated_equations

        lines += repeated_equations(solution) or list(filter(None, [report.dependent]))
    echo("\n".join(lines), err=True)
    sys.exit(NOT_CONVERGED)
