"""Facts of problems, solutions and phases, for their `repr` and the cards of notebooks.

Facts of a problem are those that are known without evaluating a term; its summary has all costs, constraints
and unknowns, and the program's counts. The card of a solution has small plots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import LISTED, list_names, pluralize, shorten
from trajopt.base.arrays import Array
from trajopt.base.errors import printable
from trajopt.base.facts import Facts
from trajopt.display.curves import curves_of, kinds_of, problem_of, unknown_curves
from trajopt.display.svg_chart import PALETTE, WIDTH, line_chart, typeset
from trajopt.graph.quantities import SPLINE_LEAVES, extra_leaf
from trajopt.problem.constraints.coordinate_bounds import MAY_JUMP
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint, Parameter, Periodicity
from trajopt.problem.problem import Problem
from trajopt.problem.systems.system import System
from trajopt.solution.solution import Solution
from trajopt.splines.node_sets import ArcNodes, Instants, MotionEnd, NodeSet, TimeWindow
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import transcribe

if TYPE_CHECKING:
    from trajopt.splines.trajectory import Trajectory


def problem_facts(problem: Problem) -> Facts:
    """Coordinates, trajectory, costs, constraints and unknowns of a problem, by name."""
    names = problem.dynamics.joint_names
    kind = "state" if isinstance(problem.dynamics, System) else "coordinate"
    count = pluralize(len(names), kind)
    curves = _with_widths({name: problem.extras[name] for name in unknown_curves(problem)})
    return Facts(
        f"Problem '{problem.name}': {count} ({list_names(names)})",
        (
            ("trajectory", f"{problem.trajectory}; {durations(problem.trajectory)}"),
            (
                "minimize",
                list_names(costs(problem)) if problem.costs else "nothing: any feasible motion is an answer",
            ),
            ("subject to", list_names(dict.fromkeys(each.name for each in problem.stated))),
            ("curves", list_names(curves) if curves else ""),
            ("parameters", list_names(own) if (own := own_parameters(problem)) else ""),
            ("designs", list_names(problem.designs) if problem.designs else ""),
            ("loads on", list_names(problem.loads) if problem.loads else ""),
            ("data", list_names(problem.datasets) if problem.datasets else ""),
            ("solver", _recommended(problem)),
        ),
    )


def _recommended(problem: Problem) -> str:
    if problem.solver is None:
        return ""
    several = f" from {problem.starts} starts" if problem.starts > 1 else ""
    return f"recommended: {type(problem.solver).__name__}{several}"


def costs(problem: Problem) -> list[str]:
    """The costs as a sum would be written: "0.02 effort"."""
    return [cost.name if cost.weight == 1.0 else f"{cost.weight:g} {cost.name}" for cost in problem.costs]


U = TypeVar("U", Parameter, AdditionalCurve)


def own_parameters(problem: Problem) -> dict[str, Parameter]:
    """The parameters that the user added, by their names with their widths."""
    return _with_widths(
        {name: parameter for name, parameter in problem.parameters.items() if not parameter.is_slack}
    )


def _with_widths(unknowns: Mapping[str, U]) -> dict[str, U]:
    """Unknowns by their names, of several components with their number: "force (3)"."""
    widths = {name: unknown.lower.size for name, unknown in unknowns.items()}
    return {f"{n} ({widths[n]})" if widths[n] > 1 else n: unknown for n, unknown in unknowns.items()}


def durations(trajectory: Trajectory) -> str:
    """The bounds of the arcs' durations, in words."""
    texts = [_duration(*arc.duration_bounds) for arc in trajectory.arcs]
    if len(set(texts)) == 1:
        return texts[0] + (" each" if len(texts) > 1 else "")
    return ", ".join(texts)


def _duration(shortest: float, longest: float) -> str:
    if shortest == longest:
        return f"{shortest:g} s"
    if np.isinf(longest):
        return f"free duration, {shortest:g} s or more"
    return f"free duration, {shortest:g} to {longest:g} s"


WIDEST = 56  # characters of a column
FREE = "free"


@dataclass(frozen=True)
class StatedLine:
    """One cost, constraint or unknown as it was stated.

    what : bounds, or the weight of a cost, with the unit where one is known
    where : over which part of the motion, and how it is held there
    rows : rows of the program; 0 for what became bounds of unknowns or was eliminated
    """

    name: str
    what: str
    where: str = ""
    rows: int | None = None

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The texts of a line of the table."""
        return self.name, self.what, self.where, "" if self.rows is None else str(self.rows)


@dataclass(frozen=True)
class ProblemSummary:
    """The costs, constraints and unknowns of a problem and the size of its program; print it.

    variables : unknowns of the solver, after linear equations were eliminated
    eliminated : linear equations that were
    equations, inequalities : rows of the program, those with equal bounds and the others
    bounded : unknowns with bounds
    jacobian, hessian : entries that may differ from zero, of the Hessian those of the lower triangle
    """

    facts: Facts
    costs: tuple[StatedLine, ...]
    constraints: tuple[StatedLine, ...]
    unknowns: tuple[StatedLine, ...]
    variables: int
    eliminated: int
    equations: int
    inequalities: int
    bounded: int
    jacobian: int
    hessian: int

    @staticmethod
    def of(problem: Problem) -> ProblemSummary:
        """Transcribe the problem and count; raises what `trajopt.transcribe` raises."""
        nlp = transcribe(problem)
        equal = np.asarray(nlp.row_lower == nlp.row_upper)
        return ProblemSummary(
            facts=problem_facts(problem),
            costs=tuple(_costs(problem)),
            constraints=tuple(_constraints(problem, nlp)),
            unknowns=tuple(_unknowns(problem, nlp)),
            variables=nlp.variable_count,
            eliminated=nlp.unknowns.layout.size - nlp.variable_count,
            equations=int(equal.sum()),
            inequalities=int((~equal).sum()),
            bounded=int((np.isfinite(nlp.lower) | np.isfinite(nlp.upper)).sum()),
            jacobian=nlp.jacobian_rows.size,
            hessian=nlp.hessian_rows.size if nlp.has_hessian else 0,
        )

    @property
    def counts(self) -> str:
        """Sizes of the program in words."""
        hessian = f"{self.hessian}" if self.hessian else "no second derivatives"
        return (
            f"{self.variables} unknowns ({self.bounded} with bounds, {self.eliminated} eliminated by linear "
            f"equations), {self.equations} equations, {self.inequalities} inequalities\n"
            f"entries of the Jacobian: {self.jacobian}, of the Hessian's lower triangle: {hessian}"
        )

    def __str__(self) -> str:
        nothing = StatedLine("nothing", "any feasible motion is an answer")
        sections = {
            "minimize": self.costs or (nothing,),
            "subject to": self.constraints,
            "unknowns": self.unknowns,
        }
        lines = [line.cells for part in sections.values() for line in part]
        widths = [min(WIDEST, max(len(cells[i]) for cells in lines)) for i in range(3)]
        parts = [self.facts.headline, dict(self.facts.rows)["trajectory"]]
        for title, part in sections.items():
            heading = (title, "", "", "rows") if title == "subject to" else (title, "", "", "")
            parts.append(_line(heading, (widths[0] + 2, *widths[1:])))
            parts += [f"  {_line(line.cells, widths)}" for line in part]
        return printable("\n".join([*parts, self.counts]))

    __repr__ = __str__


def _costs(problem: Problem) -> Iterator[StatedLine]:
    for cost in problem.costs:
        what = "integral" if cost.over.integrates else "value"
        what = "sum" if isinstance(cost.over, Instants) else what
        weight = "" if cost.weight == 1.0 else f"{cost.weight:g} times "
        yield StatedLine(cost.name, weight + what, _part(cost.over))


def _constraints(problem: Problem, nlp: NLP) -> Iterator[StatedLine]:
    counts = Counter(label.constraint for label in nlp.row_labels)
    for each in problem.stated:
        rows = counts.pop(each.name, 0)  # those of one name are counted once
        if isinstance(each, Periodicity):
            yield StatedLine(each.name, "the end follows from the start", "", rows)
            continue
        width = each.lower.size
        units = problem.term_units(each.term, width)
        what = _bounds(each.lower, each.upper, units, problem.component_names(each.term.quantity, width))
        hold = each.hold if isinstance(each, Constraint) else "nodes"
        held = {"nodes": "", "hull": ", for all t", "implied": ", follows from others"}[hold]
        yield StatedLine(each.name, what, _part(each.over) + held, rows)
    for lower in problem.lower_continuities:
        where = "where arcs meet" if lower.after is None else f"after arc {lower.after}"
        name = problem.dynamics.joint_names[lower.coordinate]
        yield StatedLine(f"continuity of {name}", f"{MAY_JUMP[lower.order]} may jump", where)
    for name, rows in counts.items():
        yield StatedLine(name, "", "", rows)


def _unknowns(problem: Problem, nlp: NLP) -> Iterator[StatedLine]:
    layout = nlp.unknowns.layout
    of = list_names(problem.dynamics.joint_names)
    yield StatedLine(f"{layout.control_point_count} control points", f"of {of}", "curves")
    for name, extra in problem.extras.items():
        units = problem.quantity_units(extra_leaf(name), extra.lower.size)
        kind = "slack of the solver" if name in problem.slacks else "curve"
        yield StatedLine(name, _bounds(extra.lower, extra.upper, units), kind)
    for number, arc in enumerate(problem.trajectory.arcs):
        shortest, longest = arc.duration_bounds
        if shortest < longest:
            of = f" of arc {number}" if len(problem.trajectory.arcs) > 1 else ""
            yield StatedLine(f"duration{of}", _bounds(np.array([shortest]), np.array([longest]), ["s"]))
    for name, parameter in own_parameters(problem).items():
        units = [parameter.unit] * parameter.lower.size
        yield StatedLine(name, _bounds(parameter.lower, parameter.upper, units), "parameter")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells side by side, cut to the widths of their columns, the last one to the right."""
    padded = (f"{shorten(text, WIDEST):<{width}}" for text, width in zip(cells, widths, strict=False))
    return f"{'  '.join(padded)}{cells[3]:>6}".rstrip()


def _bounds(lower: Array, upper: Array, units: Sequence[str], names: Sequence[str] = ()) -> str:
    """ "= 0 rad", "-10 to 10 N m", "x = 0.3, y at most 1 m": one text where all components agree.

    names : of the components, given where some are free
    """
    each = [_bound(float(low), float(high)) for low, high in zip(lower, upper, strict=True)]
    unit = f" {units[0]}" if len(set(units)) == 1 and units[0] else ""
    if len(set(each)) == 1:
        return each[0] + unit * (each[0] != FREE)
    if names and FREE in each:
        bounded = (f"{name} {text}" for name, text in zip(names, each, strict=True) if text != FREE)
        return f"{list_names(bounded)}{unit}"
    if all(text.startswith("= ") for text in each):
        return f"= [{list_names([text[2:] for text in each])}]{unit}"
    return f"[{list_names(each)}]{unit}"


def _bound(low: float, high: float) -> str:
    if low == high:
        return f"= {low:g}"
    if np.isneginf(low):
        return FREE if np.isposinf(high) else f"at most {high:g}"
    return f"at least {low:g}" if np.isposinf(high) else f"{low:g} to {high:g}"


def _part(over: NodeSet) -> str:
    """ "path", "at the end", "0.2 to 0.6 T": where something holds or counts."""
    if isinstance(over, TimeWindow):
        first, last = f"{over.first:.3g}", f"{over.last:.3g} T"
        return f"at {last}" if last.startswith(f"{first} ") else f"{first} to {last}"
    if isinstance(over, ArcNodes):
        return f"{over.part} of arc {over.arc}"
    if isinstance(over, Instants):
        return f"at {over}"
    return f"at the {over.written}" if isinstance(over, MotionEnd) else str(over.written)


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
    if isinstance(solution, Solution):
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


def coordinates_of(solution: Solution) -> str:
    """ "states" of a system, "joints" else, also where the problem of a loaded solution is not at hand."""
    known = solution.known_problem
    return "states" if known is not None and isinstance(known.dynamics, System) else "joints"


def solution_card(solution: Any) -> str:
    """The facts, and the motion in small plots, as HTML."""
    return solution_facts(solution).html(*[plot for part in solution.parts[:2] for plot in small_plots(part)])


def small_plots(solution: Solution) -> Iterator[str]:
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


def _plot(t: Array, curves: Mapping[str, Array], label: str, unit: str) -> str:
    """A plot of the curves that vary most, as many as there are colours to distinguish them."""
    most = sorted(curves, key=lambda name: -float(np.ptp(curves[name])))[: len(PALETTE)]
    chosen = {name: curves[name] for name in curves if name in most}
    some = f", {len(chosen)} of {len(curves)}" if len(chosen) < len(curves) else ""
    return line_chart(t, chosen, "t [s]", f"{label} [{typeset(unit)}]{some}" if unit else f"{label}{some}")


def _named(values: Mapping[str, ArrayLike]) -> str:
    """ "duration 0.39, effort 0.1": names with numbers, of arrays their entries."""
    return list_names(f"{name} {numbers_text(value)}" for name, value in values.items())


def numbers_text(value: ArrayLike) -> str:
    """ "0.39", "[1, 2]": a number or an array in words."""
    numbers = np.ravel(value)
    text = list_names(f"{number:.6g}" for number in numbers)
    return text if numbers.size == 1 else f"[{text}]"


def _spans(solution: Solution) -> str:
    arcs = len(solution.curve.bases)
    spans = sum(basis.span_count for basis in solution.curve.bases)
    return pluralize(spans, "span") + (f" in {arcs} arcs" if arcs > 1 else "")
