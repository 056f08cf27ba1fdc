"""docs/benchmarks.md: the table of the promised speeds, every cell, startup and growth."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.dynamics.growth import Growth
from benchmarks.dynamics.measurement import NODES, Cell
from benchmarks.dynamics.robots import CHAIN, TREE, robots
from benchmarks.shared.markdown import section, table
from benchmarks.shared.timing import machine

# function: must and aim of the ratio to Pinocchio, 20-joint chain, 64 nodes
RATIOS = {
    "rnea": (0.30, 0.18),
    "crba": (0.60, 0.30),
    "coriolis_matrix": (0.50, 0.25),
    "rnea_derivatives": (0.50, 0.25),
    "aba": (0.70, 0.40),
    "aba_derivatives": (0.50, 0.30),
    "forward_kinematics": (1.00, 0.50),
}
# robot: must and aim, microseconds per node
SYMBOLS = {CHAIN: (12.0, 6.0), TREE: (5.0, 3.0)}
# C++ on the authors' machine (Echeandia and Wensing 2021, table 1), microseconds
PUBLISHED = {
    "coriolis_matrix": {CHAIN: 18, TREE: 10, "biped 20": 13, "quadruped 20": 10},
    "christoffel_symbols": {CHAIN: 122, TREE: 33, "biped 20": 64, "quadruped 20": 37},
}

HEADING = """# The dynamics layer, timed

Written by `python -m benchmarks.dynamics` in {seconds:.0f} s on
{machine}; one thread. Ours: one call for all nodes.
Pinocchio {version}: its Python binding in a loop over the nodes, results left in its data. Both sides run
in turns; times are medians and ratios are medians of the ratios of turns, for the machine is shared and its
speed wanders by tens of percent. Microseconds are per node throughout. All numbers:
[benchmarks.json](benchmarks.json)."""


class Cells:
    """The measured cells, by robot, function and nodes."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.by_key = {(cell.robot, cell.function, cell.nodes): cell for cell in cells}
        self.functions = list(dict.fromkeys(cell.function for cell in self.by_key.values()))

    def get(self, robot: str, function: str, nodes: int) -> Cell | None:
        return self.by_key.get((robot, function, nodes))

    def ours(self, robot: str, function: str, nodes: int) -> float:
        return self.by_key[robot, function, nodes].ours


def verdict(number: float, must: float, aim: float) -> str:
    """The one of two bounds that a number keeps."""
    if number <= aim:
        return "aim reached"
    return "must kept" if number <= must else "**must missed**"


def promises(cells: Cells, second_over_first: float, start: dict[str, dict[str, float]]) -> str:
    """Everything promised about speed beside what was measured."""
    rows = []
    for function, (must, aim) in RATIOS.items():
        cell = cells.get(CHAIN, function, 64)
        if cell is None or cell.ratio is None or cell.peer is None:
            continue
        what = f"`{function}` / Pinocchio ({cell.ours:.2f} / {cell.peer:.2f} µs)"
        rows.append((what, f"{cell.ratio:.3f}", must, aim, verdict(cell.ratio, must, aim)))
    what = "`rnea_second_derivatives` / `rnea_derivatives`"
    rows.append((what, f"{second_over_first:.2f}", 2.0, 1.3, verdict(second_over_first, 2.0, 1.3)))
    for robot, (must, aim) in SYMBOLS.items():
        time = cells.ours(robot, "christoffel_symbols", 64)
        what = f"`christoffel_symbols`, {robot} (published C++: {PUBLISHED['christoffel_symbols'][robot]} µs)"
        rows.append((what, f"{time:.2f} µs", f"{must:g} µs", f"{aim:g} µs", verdict(time, must, aim)))
    single = cells.ours("serial 7", "rnea", 1)
    rows.append(
        ("one node of `rnea`, serial 7, whole call", f"{single:.1f} µs", "10 µs", "", kept(single, 10))
    )
    rows += startup_rows(start)
    return table(("20-joint chain and 64 nodes unless said", "measured", "must", "aim", ""), rows)


def startup_rows(start: dict[str, dict[str, float]]) -> list[tuple]:
    """Compilation and cached load, of every function and of both families of blocks."""
    compiled, loaded, again = (
        start["compile"]["every function once"],
        start["load"]["every function once"],
        start["compile"]["another robot"],
    )
    return [
        ("compile everything on first use", f"{compiled:.1f} s", "40 s", "", kept(compiled, 40)),
        ("load everything from the cache, Numba running", f"{loaded:.2f} s", "0.5 s", "", kept(loaded, 0.5)),
        ("the same with Numba's own start", f"{loaded + start['load']['numba itself']:.2f} s", "", "", ""),
        ("every function on another robot", f"{again * 1e3:.0f} ms", "no compilation", "", kept(again, 0.5)),
    ]


def kept(number: float, must: float) -> str:
    return "must kept" if number <= must else "**must missed**"


def cell_text(cell: Cell | None) -> str:
    """Microseconds, and the ratio where there is a peer."""
    if cell is None:
        return ""
    ratio = f" ({cell.ratio:.2f})" if cell.ratio is not None else ""
    return f"{cell.ours:.3g}{ratio}"


def robots_table(cells: Cells, nodes: int) -> str:
    """All functions on all robots at one number of nodes."""
    names = list(robots())
    rows = [
        (f"`{function}`", *(cell_text(cells.get(robot, function, nodes)) for robot in names))
        for function in cells.functions
    ]
    return table(("", *names), rows)


def nodes_table(cells: Cells, robot: str) -> str:
    """All functions on one robot at all numbers of nodes."""
    rows = [
        (f"`{function}`", *(cell_text(cells.get(robot, function, nodes)) for nodes in NODES))
        for function in cells.functions
    ]
    return table(("", *(f"{nodes} node{'s' * (nodes > 1)}" for nodes in NODES)), rows)


def published_table(cells: Cells) -> str:
    """The article's robots, its times and ours."""
    rows = []
    for function, times in PUBLISHED.items():
        for robot, theirs in times.items():
            rows.append((f"`{function}`, {robot}", theirs, f"{cells.ours(robot, function, 64):.2f}"))
    return table(("µs per evaluation", "published, C++", "ours, 64 nodes"), rows)


def page(
    cells: Cells,
    second_over_first: float,
    start: dict[str, dict[str, float]],
    grown: dict[str, Growth],
    version: str,
    seconds: float,
) -> str:
    """The whole page."""
    fits = [(found.curve.title, found.text, f"{100 * found.deviation:.0f} %") for found in grown.values()]
    parts = [
        HEADING.format(seconds=seconds, machine=machine(), version=version),
        section(
            "Targets",
            promises(cells, second_over_first, start),
            "Numba's own start, whatever the kernel: its import, its registries, and SciPy's linear algebra, "
            "which it loads.",
        ),
        section(
            "Every function, 64 nodes",
            "Microseconds per node; in brackets the ratio to Pinocchio where it has an equal. Its "
            "`computeCoriolisMatrix` gives C alone, its `crba` half of M; `joint_wrench_derivatives` are "
            "those of three joints; a cell is empty where the result would exceed 100 MB.",
            robots_table(cells, 64),
        ),
        section(
            "More and fewer nodes",
            "One node alone pays for a whole call, and for a vector of eight nodes of which it fills one.",
            *(f"{robot}:\n\n{nodes_table(cells, robot)}" for robot in ("serial 7", CHAIN, "binary tree 55")),
        ),
        section("Beside the published times", published_table(cells)),
        section(
            "Growth",
            "One formula for chains and binary trees: N d counts pairs of a body and its ancestors, N d² "
            "triples. Fitted by non-negative least squares of relative errors on 5 to 56 joints, as far as "
            "the results stay in the second cache (hollow marks do not); the recursions alone, eight nodes.",
            table(("", "fitted time per node", "largest deviation"), fits),
            *(f"![{found.curve.title}](figures/growth_{name}.png)" for name, found in grown.items()),
        ),
    ]
    return "\n\n".join(parts) + "\n"
