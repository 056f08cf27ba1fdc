"""The facts of a solution and of phases, for their `repr`, and the card with small plots of a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import LISTED, list_names, pluralize
from trajopt.base.facts import Facts
from trajopt.base.svg_chart import PALETTE, WIDTH, line_chart
from trajopt.display.curves import curves_of, kinds_of, problem_of
from trajopt.graph.quantities import SPLINE_LEAVES
from trajopt.problem.systems.system import System
from trajopt.solution.solution import SolutionData

SAMPLES = WIDTH // 4  # a small plot shows no more


def solution_facts(solution: Any) -> Facts:
    """Status of the solve, costs, durations, parameters, and what is known of the answer."""
    certificate, starts = solution.certificate, solution.journal.starts
    refinement = solution.journal.refinement
    rows = [
        ("message", "" if solution.converged else solution.detail),
        ("warning", solution.warning),
        *(("relaxed", str(each)) for each in solution.relaxed[:LISTED]),
        ("duration", f"{solution.duration:.7g} s"),
        ("objective", f"{solution.objective:.7g}"),
        ("costs", _named(solution.cost_terms) if len(solution.cost_terms) > 1 else ""),
    ]
    if isinstance(solution, SolutionData):
        rows += [
            ("parameters", _named(solution.parameters) if solution.parameters else ""),
            (coordinates_of(solution), f"{list_names(solution.joint_names)}; {_spans(solution)}"),
        ]
    else:
        rows += [
            (name, f"{part.duration:.7g} s, objective {part.objective:.7g}")
            for name, part in solution.named_parts
        ]
    rows += [
        (
            "solver",
            f"{pluralize(solution.iterations, 'iteration')}, {solution.seconds:.3f} s, "
            f"KKT error {solution.kkt.error:.1e}",
        ),
        ("program", f"{solution.n_variables} unknowns, {solution.n_constraints} rows"),
        ("starts", "" if starts is None else starts.known),
        ("refinement", "" if refinement is None else refinement.verdict().partition("\n")[0]),
        ("certificate", "" if certificate is None else f"by {certificate.method}; print it for its verdict"),
        ("run", "" if solution.run is None else f"{solution.run.started}, {solution.run.id}"),
    ]
    return Facts(f"Solution of '{solution.name}': {solution.ended}", rows, good=solution.converged)


def coordinates_of(solution: SolutionData) -> str:
    """ "states" of a system, "joints" else, also where the problem of a loaded solution is not at hand."""
    known = solution.known_problem
    return "states" if known is not None and isinstance(known.dynamics, System) else "joints"


def solution_card(solution: Any) -> str:
    """The facts, and the motion in small plots, as HTML."""
    return solution_facts(solution).html(*[plot for part in solution.parts[:2] for plot in small_plots(part)])


def small_plots(solution: SolutionData) -> Iterator[str]:
    """SVG of positions or states, and of torques or the first additional curve where the problem is known."""
    t = np.linspace(0.0, solution.duration, SAMPLES)
    problem = problem_of(solution)
    kinds = {"q": "positions"} if problem is None else kinds_of(problem)
    chosen = ["q", *[quantity for quantity in kinds if quantity not in SPLINE_LEAVES][:1]]
    for quantity, curves in curves_of(solution, chosen, t).items():
        units = [curve.unit for curve in curves]
        unit = max(units, key=units.count)
        yield _plot(
            t, {curve.name: curve.values for curve in curves if curve.unit == unit}, kinds[quantity], unit
        )


def _plot(t: NDArray, curves: Mapping[str, NDArray], label: str, unit: str) -> str:
    """A plot of the curves that vary most, as many as there are colours to distinguish them."""
    most = sorted(curves, key=lambda name: -float(np.ptp(curves[name])))[: len(PALETTE)]
    chosen = {name: curves[name] for name in curves if name in most}
    some = f", {len(chosen)} of {len(curves)}" if len(chosen) < len(curves) else ""
    return line_chart(t, chosen, "t [s]", f"{label} [{unit}]{some}" if unit else f"{label}{some}")


def _named(values: Mapping[str, Any]) -> str:
    """ "duration 0.39, effort 0.1": names with numbers, of arrays their entries."""
    return list_names(f"{name} {numbers_text(value)}" for name, value in values.items())


def numbers_text(value: ArrayLike) -> str:
    """ "0.39", "[1, 2]": a number or an array in words."""
    numbers = np.ravel(value)
    text = list_names(f"{number:.6g}" for number in numbers)
    return text if numbers.size == 1 else f"[{text}]"


def _spans(solution: SolutionData) -> str:
    arcs = len(solution.curve.bases)
    spans = sum(basis.span_count for basis in solution.curve.bases)
    return pluralize(spans, "span") + (f" in {arcs} arcs" if arcs > 1 else "")
