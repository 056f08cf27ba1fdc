"""Curves over the gait cycle, in front of what was measured, with correlation and root mean square."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from problems.human.assessment.criteria import agreement
from problems.human.assessment.measured import TRIAL, WINTER, Measured, measured
from problems.human.assessment.whole_body import (
    LOADED,
    WholeBody,
    centre_of_pressure,
    sole,
    thigh_inclination,
    whole_body,
)
from problems.human.gait.cycle import Cycle, gait_cycle
from problems.human.plot.captions import walk_title
from problems.human.plot.mannequin import LEFT, RIGHT
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import SMALL_FONT, panels, settings

if TYPE_CHECKING:
    from trajopt import Solution

COLOURS = {"both": PALETTE[0], "right": RIGHT, "left": LEFT}
LOOKS: dict[str, tuple[str, Any]] = {WINTER: (PALETTE[5], "-"), TRIAL: (PALETTE[2], (0, (5, 1.5)))}
HEIGHT = 1.95  # inches of a panel


@dataclass(frozen=True, eq=False)
class Panel:
    """A predicted curve (K,), its label, and the measured quantity beside which it is drawn."""

    label: str
    values: np.ndarray
    quantity: str | None = None


def angles(solution: Solution) -> Figure:
    """Joint angles of hip, knee and ankle and of the thigh over the gait cycle, degrees."""
    return drawn(solution, lambda body: [
        Panel("hip flexion (deg)", body.cycle.angle("hip_r_flex"), "hip angle"),
        Panel("thigh to the vertical (deg)", thigh_inclination(body), "thigh angle"),
        Panel("knee flexion (deg)", body.cycle.angle("knee_r_flex"), "knee angle"),
        Panel("ankle dorsiflexion (deg)", body.cycle.angle("ankle_r_dorsi"), "ankle angle"),
    ])  # fmt: skip


def torques(solution: Solution) -> Figure:
    """Torques of hip, knee and ankle over the gait cycle, N m per kg of body mass, extensors positive."""
    return drawn(solution, lambda body: [
        Panel("hip extensors (N m/kg)", moment(body, "hip_r_flex"), "hip moment"),
        Panel("hip abductors (N m/kg)", moment(body, "hip_r_add"), "hip abduction moment"),
        Panel("knee extensors (N m/kg)", moment(body, "knee_r_flex"), "knee moment"),
        Panel("ankle plantarflexors (N m/kg)", moment(body, "ankle_r_dorsi"), "ankle moment"),
    ])  # fmt: skip


def reactions(solution: Solution) -> Figure:
    """Ground reaction on a foot, parts of body weight, and the centre of pressure along its sole."""
    figure = drawn(solution, lambda body: [
        Panel("vertical reaction (BW)", pushed(body, 1), "vertical reaction"),
        Panel("fore-aft reaction (BW)", pushed(body, 0), "fore-aft reaction"),
        Panel("lateral reaction (BW)", pushed(body, 2), "lateral reaction"),
        Panel("centre of pressure from the heel (m)", place_on_sole(body)),
    ])  # fmt: skip
    with settings():
        back, front = sole(whole_body(gait_cycle(solution)), "r")
        mark_sole(figure.axes[3], float((front - back).max()))
    return figure


def forces(solution: Solution) -> Figure:
    """Norms of net joint forces at hip, knee, ankle and the lowest joint of the spine, body weights."""
    figure = drawn(solution, lambda body: [
        Panel("hip", body.force("hip_r_flex"), "hip force"),
        Panel("knee", body.force("knee_r_flex"), "knee force"),
        Panel("ankle", body.force("ankle_r_dorsi"), "ankle force"),
        Panel("lowest joint of the spine", body.force("spine1_flex")),
    ])  # fmt: skip
    for axis in figure.axes:
        axis.set_ylim(bottom=0.0)
    figure.supylabel("internal joint force, net (without muscles) (BW)", fontsize=SMALL_FONT)
    return figure


def drawn(solution: Solution, contents: Callable[[WholeBody], list[Panel]]) -> Figure:
    """One panel each, in two columns, over 0 to 100 % of the cycle; behind walks what was measured.

    Where sides differ, every panel has the curve of either leg over its own cycle.
    """
    cycle = gait_cycle(solution)
    legs = {leg: (each, contents(whole_body(each))) for leg, each in cycle.legs.items()}
    _, first = next(iter(legs.values()))
    behind = [measured(panel.quantity) if panel.quantity and walks(cycle) else () for panel in first]
    with settings():
        figure, axes = panels([panel.label for panel in first], 2, height=HEIGHT)
        for number, (axis, known) in enumerate(zip(axes, behind, strict=True)):
            for curve in known:
                draw_measured(axis, curve)
            for leg, (each, own) in legs.items():
                axis.plot(each.percent, own[number].values, color=COLOURS[leg], linewidth=1.8, zorder=5)
            axis.set_title(first[number].label, loc="left")
            write_agreement(axis, [(each, own[number].values) for each, own in legs.values()], known)
            frame(axis, {COLOURS[leg]: each for leg, (each, _) in legs.items()})
        key(figure, list(legs), {curve.source for known in behind for curve in known})
        walk_title(figure, solution, cycle)
    return figure


def walks(cycle: Cycle) -> bool:
    """True if each foot stands for half of the cycle or more: who runs is not drawn beside who walked."""
    return cycle.stance_end >= 50.0


def draw_measured(axis: Axes, curve: Measured) -> None:
    """A line, and the band of one standard deviation where it is known."""
    colour, style = LOOKS[curve.source]
    if curve.deviation is not None:
        lower, upper = curve.mean - curve.deviation, curve.mean + curve.deviation
        axis.fill_between(curve.percent, lower, upper, color=colour, alpha=0.25, linewidth=0.0, zorder=1)
    axis.plot(curve.percent, curve.mean, color=colour, linestyle=style, linewidth=1.1, zorder=3)


def write_agreement(axis: Axes, legs: list[tuple[Cycle, np.ndarray]], known: tuple[Measured, ...]) -> None:
    """Correlation and root mean square difference for every measured curve, above the panel's right end."""
    for line, curve in enumerate(reversed(known)):
        r, rms = zip(*(agreement(values, curve.at(cycle.percent)) for cycle, values in legs), strict=True)
        told = f"RMS {', '.join(f'{each:.2g}' for each in rms)}"
        if np.isfinite(r).all():
            told = f"r {', '.join(f'{each:.2f}' for each in r)}; {told}"
        axis.annotate(
            told,
            (1.0, 1.0),
            xycoords="axes fraction",
            xytext=(0.0, 16.0 + 8.5 * line),
            textcoords="offset points",
            horizontalalignment="right",
            fontsize=SMALL_FONT,
            color=LOOKS[curve.source][0],
        )


def frame(axis: Axes, legs: dict[str, Cycle]) -> None:
    """The cycle from strike to strike, with the other foot's strike and the own foot's toe-off, by colour."""
    axis.set_xlim(0.0, 100.0)
    axis.set_xticks([0, 20, 40, 60, 80, 100])
    for colour, cycle in legs.items():
        for event in (cycle.other_strike, cycle.stance_end):
            shown = "#BBBBBB" if cycle.mirrored else colour
            axis.axvline(event, color=shown, linewidth=0.6, linestyle=":", zorder=0)
    low, high = axis.get_ylim()
    if low < 0.0 < high:
        axis.axhline(0.0, color="#BBBBBB", linewidth=0.6, zorder=0)
    if axis.get_xlabel():
        axis.set_xlabel("gait cycle (%)")


def key(figure: Figure, legs: Sequence[str], sources: set[str]) -> None:
    """The legend, once for the whole figure."""
    names = {leg: "predicted" if leg == "both" else f"predicted, {leg} leg" for leg in legs}
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=COLOURS[leg], linewidth=1.8, label=name) for leg, name in names.items()
    ]
    for source, (colour, style) in ((name, look) for name, look in LOOKS.items() if name in sources):
        handles.append(Line2D([], [], color=colour, linestyle=style, linewidth=1.1, label=source))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def moment(body: WholeBody, joint: str) -> np.ndarray:
    """N m per kg of body mass that extend, (K,)."""
    return -body.torque(joint) / body.cycle.mass


def pushed(body: WholeBody, axis: int) -> np.ndarray:
    """The reaction on the right foot along a world axis in body weights, (K,)."""
    return body.cycle.reaction("r")[:, 3 + axis] / body.cycle.weight


def place_on_sole(body: WholeBody) -> np.ndarray:
    """Centre of pressure in front of the heel (K,) m, NaN where the foot carries next to nothing."""
    loaded = body.cycle.reaction("r")[:, 4] > LOADED * body.cycle.weight
    return np.where(loaded, centre_of_pressure(body.cycle, "r")[:, 0] - sole(body, "r")[0], np.nan)


def mark_sole(axis: Axes, length: float) -> None:
    """The sole from heel to toe as a band."""
    axis.axhspan(0.0, length, color="#DDDDDD", linewidth=0.0, zorder=0)
    axis.annotate("sole", (98.0, 0.5 * length), fontsize=SMALL_FONT, color="#777777", va="center", ha="right")
