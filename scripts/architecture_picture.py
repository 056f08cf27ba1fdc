"""Draws the imports as they are: `python scripts/architecture_picture.py [FILE]`.

Without a file into docs/figures/architecture.svg. Rooms are boxes, each above all rooms that it imports;
arrows that others imply are left out.
"""

from __future__ import annotations

import argparse
import textwrap
from collections import defaultdict
from pathlib import Path

import matplotlib
from architecture import PACKAGES, ROOT, floors, modules, room_edges, room_of, summary
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

COLOURS = {"dynamics": "#009E73", "trajopt": "#0072B2", "problems": "#D55E00"}
WIDTH, HEIGHT, COLUMN, FLOOR = 2.5, 0.76, 2.65, 1.1  # inches


def without_detours(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows that are not implied by two others in a row (transitive reduction)."""
    after: dict[str, set[str]] = defaultdict(set)
    for one, other in pairs:
        after[one].add(other)

    def reachable(start: str) -> set[str]:
        found: set[str] = set()
        for other in after[start]:
            found |= {other} | reachable(other)
        return found

    return {
        (one, other)
        for one, other in pairs
        if not any(other in reachable(step) for step in after[one] - {other})
    }


def places(pairs: set[tuple[str, str]]) -> dict[str, tuple[float, float]]:
    """Room -> (x, y): each on its floor; `problems` above `dynamics`, `trajopt` beside them."""
    rows: dict[str, dict[int, list[str]]] = {}
    for package in PACKAGES:
        height = floors(pair for pair in pairs if pair[0].partition(".")[0] == package)
        rows[package] = defaultdict(list)
        for room in sorted(height):
            rows[package][height[room]].append(room)
    widest = {package: max(len(rooms) for rooms in rows[package].values()) for package in PACKAGES}
    aside = max(widest["dynamics"], widest["problems"])
    corner = {
        "dynamics": (0.0, 0, aside),
        "problems": (0.0, len(rows["dynamics"]) + 1, aside),
        "trajopt": (aside * COLUMN + 0.4, 0, widest["trajopt"]),
    }
    found = {}
    for package, (left, ground, across) in corner.items():
        for floor, rooms in rows[package].items():
            shift = 0.5 * (across - len(rooms)) * COLUMN
            for i, room in enumerate(rooms):
                found[room] = (left + shift + i * COLUMN, (ground + floor) * FLOOR)
    return found


def draw(path: Path) -> None:
    """Rooms as boxes, a room above all that it imports; arrows that others imply are left out."""
    pairs = {(a, b) for a, b in room_edges() if a.partition(".")[0] == b.partition(".")[0] != b}
    place = places(pairs)
    files: dict[str, int] = defaultdict(int)
    for name, source in modules().items():
        files[room_of(name)] += source.name != "__init__.py"
    right = max(x for x, _ in place.values()) + WIDTH
    top = max(y for _, y in place.values()) + HEIGHT
    figure = Figure(figsize=(right + 0.4, top + 0.4), layout="constrained")
    axes = figure.add_subplot()
    axes.set(xlim=(-0.1, right + 0.1), ylim=(-0.1, top + 0.1))
    axes.axis("off")
    for one, other in sorted(without_detours(pairs)):
        start = (place[one][0] + 0.5 * WIDTH, place[one][1])
        end = (place[other][0] + 0.5 * WIDTH, place[other][1] + HEIGHT)
        style = {"arrowstyle": "-|>", "mutation_scale": 11, "lw": 1.0, "color": "#666666"}
        axes.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=1, **style))
    for room, (x, y) in place.items():
        colour = COLOURS[room.partition(".")[0]]
        box = FancyBboxPatch((x, y), WIDTH, HEIGHT, boxstyle="round,pad=0,rounding_size=0.06", fc="white")
        box.set(edgecolor=colour, linewidth=1.4)
        axes.add_patch(box)
        count = f"  ({files[room]} files)" if files[room] > 1 else ""
        axes.text(x + 0.08, y + HEIGHT - 0.07, room, va="top", weight="bold", size=9.5, color=colour)
        axes.text(x + WIDTH - 0.08, y + HEIGHT - 0.09, count, va="top", ha="right", size=7, color=colour)
        axes.text(
            x + 0.08, y + HEIGHT - 0.3, "\n".join(textwrap.wrap(summary(room), 43)[:3]), va="top", size=7
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "architecture", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    target = ROOT / "docs" / "figures" / "architecture.svg"
    parser.add_argument("file", nargs="?", type=Path, default=target, help="the SVG to write")
    draw(parser.parse_args().file)
