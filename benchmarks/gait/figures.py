"""Two figures: cost over speed and step length, and the price of control points and nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.gait.costs import COSTS, KEYS, WHAT, figure_file, name_of
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import LIMIT_COLOUR, WIDTH, line_of, settings

DOTS_PER_INCH = 130


def draw(numbers: Mapping[str, Any], folder: Path) -> None:
    """Write the figures that there are numbers for."""
    for part, figure_of in (("sweep", sweep_figure), ("points", points_figure)):
        for cost in COSTS:
            if (name := name_of(part, cost)) in numbers:
                figure = figure_of(numbers[name]["found"], cost)
                figure.savefig(folder / figure_file(part, cost), dpi=DOTS_PER_INCH)


def sweep_figure(found: Sequence[Mapping[str, Any]], cost: str) -> Figure:
    """Cost or effort per metre as curves over step length, one per speed, of gaits that converged."""
    with settings():
        figure = Figure(figsize=(WIDTH, 2.8), layout="constrained")
        axis = figure.subplots()
        for number, speed in enumerate(sorted({row["speed"] for row in found})):
            line = [row for row in found if row["speed"] == speed and row["converged"]]
            lengths = [row["step_length"] for row in line]
            axis.plot(lengths, [row["per_metre"] for row in line], marker="o", markersize=4.0,
                      label=f"{speed:g} m/s", **line_of(number))  # fmt: skip
        axis.set_xlabel("step length (m)")
        axis.set_ylabel(f"{WHAT[cost].lower()} per metre")
        axis.set_ylim(bottom=0.0)
        axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def points_figure(found: Sequence[Mapping[str, Any]], cost: str) -> Figure:
    """Cost or effort, and CPU seconds: left over control points, right over nodes per span."""
    with settings():
        figure = Figure(figsize=(WIDTH, 2.5), layout="constrained")
        left, right = figure.subplots(1, 2)
        counts = [(row["intervals"] + 3, row) for row in found if "intervals" in row]
        nodes = [(row["nodes_per_span"], row) for row in found if "nodes_per_span" in row]
        pairs(left, counts, "control points", KEYS[cost])
        pairs(right, nodes, "nodes per span", KEYS[cost])
        left.set_ylabel(WHAT[cost].lower(), color=PALETTE[0])
        right.axes_of_seconds.set_ylabel("CPU seconds", color=PALETTE[1])  # type: ignore[attr-defined]
    return figure


def pairs(axis: Any, rows: list[tuple[int, Mapping[str, Any]]], label: str, what: str) -> None:
    """Counts on the left scale, seconds on the right one; hollow where the solve did not converge."""
    at = np.array([count for count, _ in rows])
    seconds = axis.twinx()
    seconds.spines["right"].set_visible(True)
    for where, key, number in ((axis, what, 0), (seconds, "cpu_seconds", 1)):
        values = [row[key] for _, row in rows]
        where.plot(at, values, **line_of(number))
        for x, y, (_, row) in zip(at, values, rows, strict=True):
            face = PALETTE[number] if row["converged"] else "white"
            where.plot(
                x,
                y,
                marker="os"[number],
                markersize=5.0,
                markerfacecolor=face,
                markeredgecolor=PALETTE[number],
            )
        where.set_ylim(0.0, 1.15 * max(values))
        where.tick_params(axis="y", colors=PALETTE[number])
    axis.set_xticks(at)
    axis.set_xlabel(label, color=LIMIT_COLOUR)
    axis.axes_of_seconds = seconds
