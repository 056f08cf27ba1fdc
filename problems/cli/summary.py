"""The file `summary.json` of a solve: its keys and how it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.base.files import finite, words, write_text

if TYPE_CHECKING:
    from trajopt import PhasesSolution, Solution
    from trajopt.verification.report import Report


def summary(solution: Solution | PhasesSolution, report: Report | None) -> dict[str, Any]:
    """The keys of `summary.json`: plain values that strict JSON can hold.

    A number that is not finite, or not known because there is no report, is null; an infinite parameter is
    the word "inf", which `--set` reads again.
    """
    recipe = solution.recipe

    def checked(name: str) -> float | None:
        return finite(getattr(report, name, None))

    certificate = {} if solution.certificate is None else {"certificate": solution.certificate.summary()}
    return (
        certificate
        | _phases(solution)
        | {
            "problem": solution.name if recipe is None else recipe.problem,
            "parameters": {} if recipe is None else words(dict(recipe.parameters)),
            "status": solution.status.name.lower(),
            "converged": solution.converged,
            "duration": finite(solution.duration),
            "objective": finite(solution.objective),
            "cost_terms": {name: finite(value) for name, value in solution.cost_terms.items()},
            "iterations": solution.iterations,
            "seconds": finite(solution.seconds),
            "n_variables": solution.n_variables,
            "n_constraints": solution.n_constraints,
            "max_violation_nodes": checked("max_violation_nodes"),
            "max_violation_dense": checked("max_violation_dense"),
            "kkt_error": finite(solution.kkt.error),
            "simulation_error": checked("simulation_error"),
            "verdict": None if report is None else report.verdict,
            "reason": None if report is None else report.reason,
            "accuracy": checked("accuracy"),
            "equations": {
                each.label: {name: plain(value) for name, value in each.summary().items()}
                for each in (() if report is None else report.equations)
            },
            "cost_of_equations": checked("cost_of_equations"),
            "differences": [] if report is None else list(report.differences),
            "run": None if solution.run is None else asdict(solution.run),
        }
    )


def _phases(solution: Solution | PhasesSolution) -> dict[str, Any]:
    """Durations and costs of phases, by name, where there are several."""
    each = {
        name: {"duration": finite(part.duration), "objective": finite(part.objective)}
        for name, part in solution.named_parts
        if name
    }
    return {"phases": each} if each else {}


def statements(report: Report) -> list[dict[str, Any]]:
    """Every component of every constraint with its largest violations; of phases, those of each."""
    found = []
    for phase, part in report.named_parts:
        for violation in part.violations:
            values = {name: plain(value) for name, value in violation.statement().items()}
            found.append({"phase": phase, **values} if phase else values)
    return found


def plain(value: Any) -> Any:
    """A value with None for a number that is not finite."""
    return finite(value) if isinstance(value, float) else value


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON so that readers see the old file or the new."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")
