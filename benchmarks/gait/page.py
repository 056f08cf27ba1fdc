"""docs/gait_benchmark.md: every table and figure, from the numbers that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gait.costs import COSTS, KEYS, WHAT, figure_file, name_of
from benchmarks.gait.figures import draw
from benchmarks.shared.markdown import seconds, section, small, table

THESIS = {"variables": 330, "rows": 1726, "active": 244, "iterations": "", "cpu_seconds": 34.10, "effort": ""}
HEADING = """# Human walking, timed and varied

Written by `python -m benchmarks.gait`, one part alone for example by `python -m benchmarks.gait run`, of the
cost of Barman's thesis with `--cost thesis`; one BLAS thread. The gait itself, with its criteria and
pictures, is on [its own page](gait.md). All numbers: [gait_benchmark.json](gait_benchmark.json). Solves are
without limit nodes, but for those between the nodes."""
DEFAULT = """The cost with sources, with imposed contact (`contact="imposed"`). The default run starts from a
stored walk, all others from the measured start."""
OF_THE_THESIS = """## The thesis's cost

`cost="thesis"`, six control points. All but the part between the nodes was measured before the gaits got
seven more nodes for their limits: 29 nodes and 1802 rows here are 36 and 2191 today, and efforts differ by
1.6 % at L = 0.6 m ([its own page](gait_thesis.md) has the present runs)."""
UNKNOWNS = {
    "sourced": "Symmetry leaves 228 of 304 control points; the spline of the reaction has 24 more, and the "
    "opposing force 3",
    "thesis": "Barman's thesis beside it: SNOPT on a Xeon E-2186G at 3.8 GHz. Its 330 variables contain the "
    "frozen joints; ours are those that symmetry leaves of 228",
}


def write(numbers: Mapping[str, Any], path: Path) -> None:
    """The page and its figures: the default cost, then the thesis's."""
    parts = {"run": run, "starts": starts, "sweep": sweep, "between": between, "points": points}
    text = [HEADING, DEFAULT]
    for cost in COSTS:
        for part, written in parts.items():
            if (name := name_of(part, cost)) in numbers:
                text += [written(numbers[name]["found"], cost), machine_of(numbers[name])]
        if cost == COSTS[0]:
            text.append(OF_THE_THESIS)
    if "casadi" in numbers:
        text += [casadi(numbers["casadi"]["found"]), machine_of(numbers["casadi"])]
    draw(numbers, path.parent / "figures")
    path.write_text("\n\n".join(text) + "\n", encoding="utf-8")


def machine_of(part: Mapping[str, Any]) -> str:
    return f"*{part['machine']}; load {part['load']:.1f} at the end.*"


def titled(title: str, cost: str) -> str:
    """Headings of the second cost say whose they are, so that every heading is there once."""
    return title if cost == COSTS[0] else f"{title}, thesis"


def run(found: Mapping[str, Any], cost: str) -> str:
    """The default step by one cost, beside the thesis where it is its own, and where the seconds went."""
    names = {
        "variables": "variables", "rows": "constraints", "active": "active constraints",
        "iterations": "iterations", "cpu_seconds": "CPU seconds", "effort": "effort",
    }  # fmt: skip
    rows = [[label, five_digits(found[key]), five_digits(THESIS[key])] for key, label in names.items()]
    rows += [
        ["largest violation at nodes", small(found["violation_nodes"]), "tolerance 1e-3"],
        ["between nodes", small(found["violation_dense"]), ""],
        ["slip of standing feet", f"{1e3 * found['slip']:.1f} mm", ""],
        ["KKT error", small(found["kkt_error"]), ""],
    ]
    columns = 3 if cost == "thesis" else 2
    split, iterations = found["split"], max(found["iterations"], 1)
    total = sum(split.values())
    parts = [
        (name, seconds(s), f"{s / total:.0%}", f"{1e3 * s / iterations:.2f}") for name, s in split.items()
    ]
    return section(
        titled("The default run", cost),
        f"1.2 m/s and 0.6 m ({found['status']}), the least of three runs. {UNKNOWNS[cost]}. {found['kept']}.",
        table(["", "ours", "thesis"][:columns], [row[:columns] for row in rows]),
        "Wall seconds of that run, all rounds together. Marshalling is IPOPT's evaluation time outside our "
        "functions: copies through the interpreter, and its checks; the rest is IPOPT's own and that between "
        "rounds.",
        table(["part", "in all", "share", "ms per iteration"], parts),
    )


def casadi(found: Mapping[str, Any]) -> str:
    """Evaluations and solves beside CasADi's automatic differentiation."""
    ours, theirs = found["per_call"]["ours"], found["per_call"]["CasADi"]
    rows = [(k, seconds(ours[k]), seconds(theirs[k]), f"{theirs[k] / ours[k]:.0f}") for k in ours]
    solves = [
        (name, each["status"], each["iterations"], f"{each['objective']:.6f}", seconds(each["seconds"]),
         seconds(each["functions"]), seconds(each["derivatives"]))
        for name, each in (("ours", found["ours"]), ("CasADi", found["casadi"]))
    ]  # fmt: skip
    worst = max(found["agreement"].items(), key=lambda item: item[1])
    return section(
        "Beside automatic differentiation",
        "The same terms, the recursion written anew in CasADi's symbols, all derivatives by CasADi. Both "
        f"programs agree, the largest difference being {small(worst[1])} in the {worst[0]}; CasADi's was "
        f"built in {seconds(found['building'])}. Seconds per evaluation at a new point, each with what it "
        "needs before (Jacobian: functions too; Hessian: all, for ours):",
        table(["", "ours", "CasADi", "ratio"], rows),
        "Whole solves, all rows from the start, with the same IPOPT options:",
        table(["", "outcome", "iterations", "objective", "in all", "functions", "derivatives"], solves),
    )


def starts(found: Mapping[str, Any], cost: str) -> str:
    """Outcomes of perturbed starts."""
    rows = [
        (row["seed"], row["error"] or row["status"].rstrip("."), row["iterations"], f"{row['objective']:.6f}",
         seconds(row["seconds"]))
        for row in found["perturbed"]
    ]  # fmt: skip
    standing = found["standing"]
    rows.append(
        ("standing", standing["status"], standing["iterations"], f"{standing['objective']:.6f}",
         seconds(standing["cpu_seconds"]))
    )  # fmt: skip
    good = [row["objective"] for row in found["perturbed"] if row["converged"]]
    spread = f" to objectives from {min(good):.5f} to {max(good):.5f}" if good else ""
    return section(
        titled("Perturbed starts", cost),
        f"{len(good)} of {len(found['perturbed'])} converged{spread}. Start 0 is the measured guess; every "
        "other one adds smooth noise of a tenth of each joint's travel. The last starts from standing.",
        table(["start", "outcome", "iterations", "objective", "seconds"], rows),
    )


def sweep(found: Sequence[Mapping[str, Any]], cost: str) -> str:
    """Cost or effort per metre over speed and step length."""
    speeds = sorted({row["speed"] for row in found})
    lengths = sorted({row["step_length"] for row in found})
    at = {(row["speed"], row["step_length"]): row for row in found}
    rows = [[f"{speed:g} m/s", *(cell(at[speed, length]) for length in lengths)] for speed in speeds]
    good = sum(row["converged"] for row in found)
    return section(
        titled("Speed and step length", cost),
        f"{WHAT[cost]} per metre; {good} of {len(found)} gaits converged, the others stand in parentheses.",
        table(["", *(f"{length:g} m" for length in lengths)], rows),
        f"![{WHAT[cost]} per metre over speed and step length](figures/{figure_file('sweep', cost)})",
    )


def between(found: Sequence[Mapping[str, Any]], cost: str) -> str:
    """Gain and cost of limit nodes for every gait."""
    rows = []
    for row in found:
        plain, refined = row["plain"], row["refined"]
        rows.append(
            (f"{row['speed']:g} m/s, {row['step_length']:g} m",
             *(f"{each['verdict']}, {each['violation']:.1%}" for each in (plain, refined)),
             refined["limit_nodes"], f"{refined['objective'] / plain['objective'] - 1.0:+.2%}",
             seconds(plain["cpu_seconds"]), seconds(refined["cpu_seconds"]))
        )  # fmt: skip
    passed = [sum(row[which]["verdict"] == "PASS" for row in found) for which in ("plain", "refined")]
    return section(
        titled("Between the nodes", cost),
        "The verdict of `verify` at its default accuracy on the day of the run, and the largest violation "
        f"between nodes: {passed[0]} of {len(found)} gaits pass on the nodes that all gaits have, "
        f"{passed[1]} with the limit nodes that `trajopt.LimitNodes` adds where limits are violated, the "
        "default.",
        table(["gait", "without", "with", "limit nodes", "objective", "CPU seconds", "with"], rows),
    )


def points(found: Sequence[Mapping[str, Any]], cost: str) -> str:
    """Cost or effort and seconds over control points and nodes."""
    what = KEYS[cost]
    rows = [
        (varied(row), row["variables"], row["rows"], row["status"], row["iterations"], f"{row[what]:.6f}",
         seconds(row["cpu_seconds"]), small(row["violation"]), f"{1e3 * row['slip']:.1f} mm",
         f"{row['correlation']:.3f}" if "correlation" in row else "")
        for row in found
    ]  # fmt: skip
    columns = ["variables", "rows", "outcome", "iterations", WHAT[cost].lower(), "CPU seconds"]
    return section(
        titled("Control points and nodes", cost),
        "Violation is the largest one of all constraints between nodes, in their own units; slip how far a "
        "standing foot point leaves its place; the mean correlation is that of ten curves with the measured "
        "trial, whose speed and step length are others.",
        table(["", *columns, "violation", "slip", "mean correlation"], rows),
        f"![{WHAT[cost]} and seconds over control points and nodes](figures/{figure_file('points', cost)})",
    )


def varied(row: Mapping[str, Any]) -> str:
    if "intervals" in row:
        return f"{row['intervals'] + 3} control points"
    return f"{row['nodes_per_span']} nodes per span"


def cell(row: Mapping[str, Any]) -> str:
    text = f"{row['per_metre']:.4f}"
    return text if row["converged"] else f"({text})"


def five_digits(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else f"{value}"
