"""Section of a page about the run: date, versions, solver, parameters given and found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trajopt.base.arguments import shorten
from trajopt.display.solution_facts import numbers_text
from trajopt.report.chart import DIGITS
from trajopt.solution.solution import Answer, SolutionData


def run_rows(solution: Answer) -> Iterator[tuple[str, str]]:
    """Name and value of each fact about the run; none where the run is not known."""
    run = solution.run
    if run is None:
        return
    yield "date", run.started.replace("T", " ")
    yield "versions", ", ".join(f"{name} {version}" for name, version in run.versions.items())
    yield "machine", ", ".join(f"{name} {value}" for name, value in run.machine.items())
    yield "solver", run.solver
    arguments = {name: value for name, value in run.arguments.items() if value not in ("None", "'auto'")}
    if arguments:
        yield "arguments of solve", ", ".join(f"{name}={value}" for name, value in arguments.items())
    yield "run", run.id


def parameter_rows(solution: Answer) -> Iterator[tuple[str, str, str]]:
    """Parameters of the problem as they were given, then those that were found: name, value, origin."""
    recipe = solution.recipe
    for name, value in ({} if recipe is None else recipe.parameters).items():
        yield name, short(value), "given"
    for phase, part in solution.named_parts:
        for name, value in _found(part).items():
            yield f"{name} of {phase}" if phase else name, value, "found"


def _found(solution: SolutionData) -> Mapping[str, str]:
    """Constant unknowns with their units, slacks left out."""
    known = solution.problem.parameters
    found = {}
    for name, value in solution.parameters.items():
        parameter = known.get(name)
        if parameter is None or not parameter.is_slack:
            unit = "" if parameter is None else parameter.unit
            found[name] = f"{numbers_text(value)} {unit}".rstrip()
    return found


def short(value: object) -> str:
    """A value with at most DIGITS significant digits and as many characters as messages print."""
    if isinstance(value, tuple | list):
        return f"({', '.join(short(entry) for entry in value)})"
    text = f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
    return shorten(text)
