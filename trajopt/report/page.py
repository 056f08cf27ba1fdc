"""Report of a solution on one page: costs, motion, active constraints, checks, convergence, timings.

A problem adds figures and tables of its own to its page: pictures, and tables in Markdown.

The section about the run has date, versions, solver, parameters given and found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from trajopt.base.arguments import pluralize, shorten
from trajopt.base.errors import OptionError
from trajopt.base.facts import MOST_LINES
from trajopt.base.files import write_text
from trajopt.display.facts import numbers_text
from trajopt.plot.canvas import check_solution
from trajopt.report.active_constraints import active_constraints, notable_multipliers, times_of_rows
from trajopt.report.chart import DIGITS, Chart, charts, is_wanted, scripts
from trajopt.report.motion_section import limit_rows, motion_charts, motion_curves, picture
from trajopt.report.tables import image_tag, preformatted, rows_section, section, table, text_section
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import HEADER
from trajopt.solution.solution import Solution

IMAGES = {".png": "image/png", ".gif": "image/gif", ".svg": "image/svg+xml"}
TABLES = ".md"
KINDS = (*IMAGES, TABLES)


def own_figures(figures: Mapping[str, bytes]) -> str:
    """The section, name of a file -> its content; nothing without figures. OptionError for another kind."""
    if not figures:
        return ""
    shown = "".join(_shown(name, content) for name, content in figures.items())
    return section("Figures of the problem", f'<div class="figures">{shown}</div>')


def _shown(name: str, content: bytes) -> str:
    ending, title = Path(name).suffix, escape(Path(name).stem.replace("_", " "))
    if ending not in KINDS:
        raise OptionError(f"the figure {name} is no picture or table of a page: give {', '.join(KINDS)}")
    if ending == TABLES:
        shown = "".join(_tables(content.decode("utf-8")))
    else:
        shown = image_tag(content, IMAGES[ending], title)
    return f"<figure>{shown}<figcaption>{title}</figcaption></figure>"


def _tables(text: str) -> Iterator[str]:
    """The tables of a Markdown text; what stands around them is left out."""
    lines = [line.strip() for line in text.splitlines()]
    for is_table, part in groupby(lines, lambda line: line.startswith("|")):
        rows = [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in part]
        if is_table and len(rows) > 2:
            yield table(rows[0], rows[2:])


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


def given_rows(solution: Answer) -> Iterator[tuple[str, str]]:
    """Parameters of the problem as they were given: name, value."""
    for name, value in ({} if solution.recipe is None else solution.recipe.parameters).items():
        yield name, short(value)


def found_rows(solution: Answer) -> Iterator[tuple[str, str]]:
    """Parameters that the solve found: name, value; those of one name are one unknown of all phases."""
    found: dict[str, str] = {}
    for part in solution.parts:
        found |= _found(part)
    yield from found.items()


def _found(solution: Solution) -> Mapping[str, str]:
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


Answer: TypeAlias = Solution | PhasesSolution

NO_FIGURES: Mapping[str, bytes] = MappingProxyType({})
BAD = ' class="bad"'
WORTH_A_LINE = 0.01  # of all seconds

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222 }
body { max-width: 1180px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em; border-bottom: 1px solid #ccc }
table { border-collapse: collapse } td, th { padding: .15em .9em .15em 0; text-align: left }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.tall { grid-row: span 2 }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(430px, 100%), 1fr)); gap: 1em }
.charts { grid-auto-flow: dense }
figure { margin: 0 } .charts img { width: 100% }
table + .charts { margin-top: 1em } pre { overflow-x: auto; font-size: 13px }
.whole { white-space: nowrap }
.prose { white-space: pre-wrap; overflow-wrap: anywhere } td.long { overflow-wrap: anywhere }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(480px, 100%), 1fr)); gap: 1.5em }
img { max-width: 100% } figcaption { color: #555 } .plot { min-height: 300px }
.bad { color: #b00020 }
h1, p, figcaption { overflow-wrap: anywhere } img { height: auto }
@media (max-width: 700px) { table { display: block; overflow-x: auto } body { margin: 1em auto } }
@media (max-width: 480px) { svg text { font-size: 15px !important } table { font-size: 13px } }
@media (max-width: 480px) { td, th { padding-right: .4em } body { padding: 0 .7em } }
"""
SCROLL = Path(__file__).with_name("scroll.css").read_text(encoding="ascii")  # shadows, as on the site


class Page(str):
    """The text of a page, which a notebook's cell does not print whole."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<page of {len(self) / 1e6:.2g} MB: write it by trajopt.report.html(solution, 'page.html')>"


def time_split(solution: Answer) -> dict[str, float]:
    """Seconds spent in functions, derivatives, the caller's callback, the solver itself, and around it.

    Time around the last solve, of earlier solves and of the checks of a certification, is listed where it is
    more than a hundredth of all.
    """
    timings = solution.timings
    functions = sum(timings.get(kind, 0.0) for kind in ("objective", "rows"))
    derivatives = sum(timings.get(kind, 0.0) for kind in ("gradient", "jacobian", "hessian"))
    around = solution.seconds - sum(timings.values())
    spent = {
        "functions": functions,
        "derivatives": derivatives,
        "callback": timings.get("callback", 0.0),
        "linear algebra and marshalling": timings.get("solver", 0.0),
    }
    if around > WORTH_A_LINE * solution.seconds:
        spent["solves before the last, and checks"] = around
    return spent


def html(
    solution: Answer,
    path: str | os.PathLike[str] | None = None,
    *,
    figures: Mapping[str, bytes] = NO_FIGURES,
    interactive: bool | None = None,
) -> str:
    """The page as text, one file that loads nothing from elsewhere; written to `path` where one is given.

    Of phases it holds the motion and the active constraints of each, and the links between them.

    figures : the problem's own, name of a file -> its content, PNG, GIF, SVG, or tables in Markdown; they
        become part of the page
    interactive : charts that are zoomed, hide curves by a click and show values at the pointer. The page then
        holds the library Plotly and has 5 MB; by default where it is installed (extra `report`), and False
        makes a page without any script
    Raises OptionError for a figure of another kind, and where Plotly is asked for and not installed.
    """
    check_solution(solution)
    script = is_wanted(interactive)
    prices = [
        (link, *(f"{price:.6g}" for price in each))
        for link, each in ({} if solution.parts == (solution,) else solution.multipliers).items()
    ]
    middle = [rows_section("Links", ("link", "objective per unit of each component"), prices)]
    for name, part in solution.named_parts:
        middle += _of_motion(part, script, f" of {name}" * bool(name))
    title = escape(str(solution)).replace("\n", "<br>")
    run = "" if solution.run is None else solution.run.id
    parts = [
        f"<h1>{escape(solution.name)}</h1>",
        f"<p{'' if solution.converged else BAD}>{title}</p>",
        f"<p>{solution.n_variables} unknowns, {solution.n_constraints} rows</p>",
        f"<p>{escape(solution.detail)}</p>",
        section("Cost", table(("term", "value", "share"), _cost_rows(solution))),
        *middle,
        own_figures(figures),
        text_section("Refinement", solution.journal.refinement),
        text_section("Certificate", solution.certificate),
        # The report's title stands at the top of the page.
        text_section("Checks", solution.verify().table.replace(f"{solution}\n", "", 1)),
        section("Convergence", _solves(solution) + _charts(_history_charts(solution), script)),
        section("Time", table(("part", "ms", "share"), _time_rows(solution))),
        rows_section("Parameters given", ("parameter", "value"), given_rows(solution)),
        rows_section("Parameters found", ("parameter", "value"), found_rows(solution)),
        rows_section("Run", ("", ""), run_rows(solution)),
        scripts() if script else "",
    ]
    text = (
        f'<!doctype html><html lang="en" data-run="{run}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escape(solution.name)}</title><style>{STYLE}{SCROLL}</style></head>"
        f'<body class="report">{"".join(parts)}</body></html>\n'
    )
    if path is not None:
        write_text(path, text)
    return Page(text)


def _of_motion(solution: Solution, script: bool, whose: str = "") -> Iterable[str]:
    """Motion, limits and active constraints of a problem, or of a phase."""
    curves = motion_curves(solution)
    charts = _charts(motion_charts(curves, solution.duration), script, "".join(picture(solution, script)))
    yield section(f"Motion{whose}", charts)
    head = ("", "", "lower limit", "upper limit", "least", "largest", "unit")
    yield rows_section(f"Limits{whose}", head, limit_rows(curves))
    active = _active_table(solution) + _charts(_multiplier_charts(solution), script)
    yield section(f"Active constraints{whose}", active)


def _solves(solution: Answer) -> str:
    """The tables of starts and meshes, where there were several solves."""
    journal, starts = solution.journal, solution.journal.starts
    tables = [] if starts is None else [str(starts)]
    if len(journal.levels) > 1:
        tables.append("\n".join([HEADER, *map(str, journal.levels)]))
    return "".join(map(preformatted, tables))


def _cost_rows(solution: Answer) -> Iterable[tuple]:
    total = solution.size_of_costs or 1.0
    for name, value in solution.cost_terms.items():
        yield name, f"{value:.8g}", f"{abs(value) / total:.1%}"
    yield "objective", f"{solution.objective:.8g}", ""


def _time_rows(solution: Answer) -> Iterable[tuple]:
    total = solution.seconds or 1.0
    for name, seconds in time_split(solution).items():
        if name != "callback" or seconds > WORTH_A_LINE * total:
            yield name, f"{1e3 * seconds:.2f}", f"{seconds / total:.0%}"
    yield f"all of {pluralize(solution.iterations, 'iteration')}", f"{1e3 * solution.seconds:.2f}", ""


def _active_table(solution: Solution) -> str:
    rows = [
        (
            active.name,
            active.component,
            "everywhere" if active.equation else f"at {active.share:.0%} of nodes",
            f"{active.largest:.4g}",
        )
        for active in active_constraints(solution)
    ]
    if len(rows) > MOST_LINES:
        rows = [*rows[:MOST_LINES], (f"and {len(rows) - MOST_LINES} more", "", "", "")]
    if not rows:
        return "<p>None: no limit is active.</p>"
    return table(("constraint", "component", "active", "largest multiplier"), rows)


def _multiplier_charts(solution: Solution) -> Iterator[Chart]:
    for name, multipliers, labels in notable_multipliers(solution):
        times = times_of_rows(solution, name, len(multipliers))
        if times is not None and times.size > 1:
            some = {label: each for label, each in zip(labels, multipliers.T, strict=True) if each.any()}
            yield from charts(times, some, f"multipliers of {name} [objective per unit]")


def _history_charts(solution: Answer) -> Iterator[Chart]:
    """Objective and violation over the iterations of all solves, with a gap between one and the next."""
    solves = [solve.iterations for solve in solution.journal.histories] or [solution.history]
    if sum(map(len, solves)) < 2:
        return
    gap = np.full((1, 3), np.nan)
    rows = np.concatenate([part for solve in solves for part in (solve, gap)][:-1])
    number, violations = np.arange(len(rows)), rows[:, 2]
    none = violations == 0.0  # which a logarithmic axis cannot show
    above = violations[violations > 0.0]
    zero = above.min() / 10.0 if above.size else 0.0
    violations = np.where(none, zero, violations)
    count, scaled = len(solves), "" if solution.journal.histories else "scaled "
    of_all = f", {count} solves one after the other" if count > 1 else ""
    drawn = f", 0 drawn at {zero:.0e}" if none.any() and above.size else ""
    name = f"largest scaled violation{drawn}{of_all}"
    yield Chart(number, {"": rows[:, 1]}, "iteration", f"{scaled}objective{of_all}")
    yield Chart(number, {"": violations}, "iteration", name, logarithmic=True)


def _charts(charts: Iterable[Chart], script: bool, first: str = "") -> str:
    drawn = "".join(chart.html(script) for chart in charts)
    return f'<div class="charts">{first}{drawn}</div>'
