"""The measured parts of docs/certified.md: its table, brackets beside known optima, two diagnoses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import problems
import trajopt
from benchmarks.certified.bracket_coverage import Coverage, coverage
from benchmarks.shared.timing import loaded_machine

COLUMNS = (
    "problem",
    "duration [s]",
    "objective",
    "20 intervals [s]",
    "switches",
    "method",
    "largest violation",
    "oversteps gain",
    "margins cost",
    "simulated end to end",
    "plain s",
    "certified s",
    "multiple",
    "against shooting",
    "estimated bracket",
    "its lower end",
    "why no structure",
)


def table(rows: Iterable[str]) -> str:
    """Head that tells what wrote the rows, and the rows."""
    written = f"Written by `python -m benchmarks.certified` on {loaded_machine()}."
    return "\n".join([written, "", f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS), *rows])


def diagnoses() -> str:
    """An infeasible problem and a badly scaled one."""
    infeasible = problems.two_link_rr.build(duration=(0.2, 0.3))
    scaled = problems.sliding_mass.build()

    @trajopt.term
    def power_in_terawatt(node):
        return 1e-12 * node.tau * node.v

    scaled.subject_to(power_in_terawatt, upper=1.0)
    return (
        f"The two-link arm asked to arrive within 0.3 s:\n\n```\n{trajopt.diagnose(infeasible)}\n```\n\n"
        f"The sliding mass with its power bounded in terawatt:\n\n```\n{trajopt.diagnose(scaled)}\n```"
    )


def covered(cases: Mapping[str, Callable[[], trajopt.Problem]]) -> str:
    """Estimates beside optima that are known: the same refinement where a structure is confirmed."""
    found = [each for name, build in cases.items() if (each := coverage(name, build)) is not None]
    missed = [each.name for each in found if not each.contained]
    lines = [
        f"Local refinement of the {len(found)} problems above whose optimum is confirmed, as if it were not: "
        f"lower ends above the optimum, on any mesh: {', '.join(missed) or 'none'}. *Least ratio* is the "
        "smallest, over the meshes, of estimated to true distance from the optimum.",
        "",
        "| problem | meshes | spans | width | least ratio | ended |",
        "| --- | --- | --- | --- | --- | --- |",
        *map(coverage_row, found),
    ]
    return "\n".join(lines)


def coverage_row(found: Coverage) -> str:
    """Row of the mesh with the narrowest bracket."""
    ratio = f"{min(found.ratios):.1f}" if found.ratios else ""
    spans, width = found.narrowest.spans, f"{found.width:.1e}"
    return f"| {found.name} | {len(found.meshes)} | {spans} | {width} | {ratio} | {found.ended} |"
