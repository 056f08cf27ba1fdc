"""The tables of docs/gait.md that parts of the benchmark fill, by the names of the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared.markdown import table
from benchmarks.shared.page_rows import between_marks
from problems.human.assessment.score import TEN


def fill(page: Path, numbers: Mapping[str, Any]) -> None:
    """Write the tables whose numbers are there between their marks in the page."""
    text = page.read_text(encoding="utf-8")
    for name, written in texts(numbers).items():
        text = between_marks(text, f"scoreboard {name}", written)
    page.write_text(text, encoding="utf-8")


def texts(numbers: Mapping[str, Any]) -> dict[str, str]:
    """Name of a part -> its tables, and how and where they were made."""
    found = {}
    for name, written in TABLES.items():
        if name in numbers:
            about = f"*`python -m benchmarks.gait {name}`, {numbers[name]['machine']}.*"
            found[name] = f"{written(numbers[name]['found'])}\n\n{about}"
    return found


def metabolic_lengths(found: Sequence[Mapping[str, Any]]) -> str:
    """The same of the metabolic cost, which is per metre already."""
    return preferred([{**each, "objective": each["cost"] * each["step_length"]} for each in found])


def preferred(found: Sequence[Mapping[str, Any]]) -> str:
    """Cost per metre over step lengths, and the length at which a parabola through them is least."""
    rows = []
    for speed in dict.fromkeys(each["speed"] for each in found):
        row = [each for each in found if each["speed"] == speed and each["status"] == "converged"]
        length = [each["step_length"] for each in row]
        per_metre = [each["objective"] / each["step_length"] for each in row]
        costs = "; ".join(f"{x:.2f} m: {cost:.3f}" for x, cost in zip(length, per_metre, strict=True))
        people = next(each["people"] for each in found if each["speed"] == speed)
        rows.append([f"{speed} m/s", costs, least(length, per_metre), f"{people:.2f}"])
    return table(["speed", "cost per metre", "preferred step length (m)", "people (m)"], rows)


def least(length: list[float], cost: list[float]) -> str:
    """The place where a parabola through the values is least, or the end of the range it falls towards."""
    if len(length) < 3:
        return "unknown"
    bend, slope, _ = np.polyfit(length, cost, 2)
    at = -0.5 * slope / bend if bend > 0.0 else np.inf if slope < 0.0 else -np.inf
    if not min(length) <= at <= max(length):
        return f"below {min(length):.2f}" if cost[0] < cost[-1] else f"above {max(length):.2f}"
    return f"{at:.2f}"


def predicted(found: Mapping[str, Any]) -> str:
    """One line per mesh and for Winter's speed; the settings that are moved; curves."""
    headings = [
        "walk", "ten curves of the trial", "five of Winter", "objective",
        "vertical reaction: peak, valley, peak (BW)", "foot-flat, heel-off, toe-off (% of the cycle)",
        "slip, sinking (mm)", "force missing between nodes (BW)", "criteria not met", "iterations", "CPU s",
    ]  # fmt: skip
    base = next(each for each in found["meshes"] if each["name"] == found["base"])
    lost = [base["mean"] - each["mean"] for each in found["moved"]]
    summary = (
        ""
        if not lost
        else (
            f"Of the {len(lost)} moved settings, on {base['name']}, the worst has a mean correlation that is "
            f"{max(lost):.3f} lower, the best one {-min(lost):.3f} higher.\n\n"
        )
    )
    every = [*found["meshes"], found["winter"], *found["moved"]]
    names = [each["name"] for each in found["meshes"]]
    columns = [*(each["curves"] for each in found["meshes"]), *found["nulls"].values()]
    sides = [[quantity, *(cell(column.get(quantity)) for column in columns)] for quantity in TEN]
    by_curve = table(["correlation, RMS", *names, *found["nulls"]], sides)
    return f"{table(headings, [predicted_line(each) for each in every])}\n\n{summary}{by_curve}"


def slopes(found: Sequence[Mapping[str, Any]]) -> str:
    """One line per slope."""
    level = next(each for each in found if each["slope"] == 0.0)
    rows = []
    for each in found:
        costs = [f"{each[of]:.2f}, {each[of] / level[of]:.2f}" for of in ("cost", "people")]
        rows.append([f"{each['slope']:+.0%}", *costs, f"{each['objective']:.4f}", str(each["iterations"])])
    cost = "metabolic cost (J per kg and m), its ratio to the level"
    return table(["slope", cost, "people's", "objective", "iterations"], rows)


def predicted_line(each: Mapping[str, Any]) -> list[str]:
    events = (each["events"][name] for name in ("foot-flat", "heel-off", "toe-off"))
    return [
        each["name"] + ("" if each["status"] == "converged" else f" ({each['status']})"),
        f"{each['mean']:.3f}",
        f"{each['winter']:.3f}",
        f"{each['objective']:.4f}",
        ", ".join(f"{peak:.2f}" for peak in each["peaks"]),
        ", ".join(f"{event:.0f}" for event in events),
        f"{1e3 * each['slip']:.1f}, {1e3 * each['sinking']:.1f}",
        f"{each['missing']:.3f}",
        "; ".join(each["not_met"]) or "none",
        str(each["iterations"]),
        f"{each['cpu_seconds']:.1f}",
    ]


def speeds(found: Sequence[Mapping[str, Any]]) -> str:
    """One line per speed."""
    headings = [
        "speed, step length", "ends", "`verify`", "vertical reaction: peak, valley, peak (BW)",
        "knee in swing (deg)", "criteria not met", "iterations", "CPU s",
    ]  # fmt: skip
    rows = []
    for each in found:
        row = [f"{each['speed']} m/s, {each['step_length']:.2f} m", each["status"]]
        if each["status"] == "converged":
            peaks = ", ".join(f"{peak:.2f}" for peak in each["peaks"])
            row += [each["verdict"], peaks, f"{each['knee']:.1f}", "; ".join(each["not_met"]) or "none"]
        else:
            row += [""] * 4
        rows.append([*row, str(each["iterations"]), f"{each['cpu_seconds']:.0f}"])
    return table(headings, rows)


def impossible(found: Sequence[Mapping[str, Any]]) -> str:
    """One line per step that was asked for."""
    rows = []
    for each in found:
        asked = ", ".join(f"{name} {value:g}" for name, value in each["asked"].items())
        named = each["detail"].partition(": ")[2].rpartition(" (none of")[0]
        rows.append([asked, each["status"], named, str(each["iterations"]), f"{each['cpu_seconds']:.1f}"])
    return table(["asked for", "ends", "its message names", "iterations", "CPU s"], rows)


def weights(found: Sequence[Mapping[str, Any]]) -> str:
    """One line per fit: factors of the three weights, mean correlations with both walks."""
    headings = ["fitted to", "power", "steadiness", "rate of leg forces", *found[0]["r"]]
    rows = []
    for each in found:
        ends = zip(each["r"].values(), each["status"].values(), strict=True)
        cells = [f"{r:.3f}" + ("" if status == "converged" else f" ({status})") for r, status in ends]
        rows.append([each["fitted"], *(f"{x:.2f}" for x in each["factors"]), *cells])
    return table(headings, rows)


TABLES = {
    "predicted": predicted, "predicted_speeds": speeds,
    "predicted_lengths": metabolic_lengths, "slopes": slopes, "impossible": impossible,
    "weights": weights,
}  # fmt: skip


def cell(values: list[float | None] | None) -> str:
    if values is None:
        return ""
    r, rms = values[:2]
    return f"{'0' if r is None else f'{r:.2f}'}, {rms:.2g}"
