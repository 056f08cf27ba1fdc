"""Curves over the gait cycle, in front of what was measured, with correlation and root mean square."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
from trajopt.base.palette import PALETTE
from trajopt.plot.canvas import panels
from trajopt.plot.style import SMALL_FONT, settings

if TYPE_CHECKING:
    from trajopt import Solution

PREDICTED = PALETTE[0]
LOOKS = {WINTER: (PALETTE[5], "-"), TRIAL: (PALETTE[2], (0, (5, 1.5)))}
HEIGHT = 1.95  # inches of a panel


@dataclass(frozen=True, eq=False)
class Panel:
    """A predicted curve (K,), its label, and the measured quantity beside which it is drawn."""

    label: str
    values: np.ndarray
    quantity: str | None = None


def angles(solution: Solution) -> Figure:
    """Joint angles of hip, knee and ankle and of the thigh over the gait cycle, degrees."""
    body = whole_body(gait_cycle(solution))
    cycle = body.cycle
    return drawn(solution, cycle, [
        Panel("hip flexion (deg)", cycle.angle("hip_r_flex"), "hip angle"),
        Panel("thigh to the vertical (deg)", thigh_inclination(body), "thigh angle"),
        Panel("knee flexion (deg)", cycle.angle("knee_r_flex"), "knee angle"),
        Panel("ankle dorsiflexion (deg)", cycle.angle("ankle_r_dorsi"), "ankle angle"),
    ])  # fmt: skip


def torques(solution: Solution) -> Figure:
    """Torques of hip, knee and ankle over the gait cycle, N m per kg of body mass, extensors positive."""
    body = whole_body(gait_cycle(solution))

    def opposite(joint: str) -> np.ndarray:
        return -body.torque(joint) / body.cycle.mass

    return drawn(solution, body.cycle, [
        Panel("hip extensors (N m/kg)", opposite("hip_r_flex"), "hip moment"),
        Panel("hip abductors (N m/kg)", opposite("hip_r_add"), "hip abduction moment"),
        Panel("knee extensors (N m/kg)", opposite("knee_r_flex"), "knee moment"),
        Panel("ankle plantarflexors (N m/kg)", opposite("ankle_r_dorsi"), "ankle moment"),
    ])  # fmt: skip


def reactions(solution: Solution) -> Figure:
    """Ground reaction on the right foot, parts of body weight, and the centre of pressure along its sole."""
    body = whole_body(gait_cycle(solution))
    x, y, z = body.cycle.reaction("r")[:, 3:].T / body.cycle.weight
    with settings():
        figure = drawn(solution, body.cycle, [
            Panel("vertical reaction (BW)", y, "vertical reaction"),
            Panel("fore-aft reaction (BW)", x, "fore-aft reaction"),
            Panel("lateral reaction (BW)", z, "lateral reaction"),
            Panel("centre of pressure from the heel (m)", place_on_sole(body)),
        ])  # fmt: skip
        back, front = sole(body, "r")
        mark_sole(figure.axes[3], float((front - back).max()))
    return figure


def forces(solution: Solution) -> Figure:
    """Norms of net joint forces at hip, knee, ankle and the lowest joint of the spine, body weights."""
    body = whole_body(gait_cycle(solution))
    figure = drawn(solution, body.cycle, [
        Panel("hip", body.force("hip_r_flex"), "hip force"),
        Panel("knee", body.force("knee_r_flex"), "knee force"),
        Panel("ankle", body.force("ankle_r_dorsi"), "ankle force"),
        Panel("lowest joint of the spine", body.force("spine1_flex")),
    ])  # fmt: skip
    for axis in figure.axes:
        axis.set_ylim(bottom=0.0)
    figure.supylabel("internal joint force, net (without muscles) (BW)", fontsize=SMALL_FONT)
    return figure


def drawn(solution: Solution, cycle: Cycle, contents: list[Panel]) -> Figure:
    """One panel each, in two columns, over 0 to 100 % of the cycle; behind walks what was measured."""
    contents = contents if walks(cycle) else [replace(panel, quantity=None) for panel in contents]
    with settings():
        figure, axes = panels([panel.label for panel in contents], 2, height=HEIGHT)
        for axis, panel in zip(axes, contents, strict=True):
            known = measured(panel.quantity) if panel.quantity else ()
            for curve in known:
                draw_measured(axis, curve)
            axis.plot(cycle.percent, panel.values, color=PREDICTED, linewidth=1.8, zorder=5)
            axis.set_title(panel.label, loc="left")
            write_agreement(axis, cycle, panel.values, known)
            frame(axis, cycle)
        key(
            figure,
            {curve.source for panel in contents if panel.quantity for curve in measured(panel.quantity)},
        )
        walk_title(figure, solution, cycle)
    return figure


def walks(cycle: Cycle) -> bool:
    """Whether each foot stands for half of the cycle or more: who runs is not drawn beside who walked."""
    return cycle.stance_end >= 50.0


def draw_measured(axis: Axes, curve: Measured) -> None:
    """A line, and the band of one standard deviation where it is known."""
    colour, style = LOOKS[curve.source]
    if curve.deviation is not None:
        lower, upper = curve.mean - curve.deviation, curve.mean + curve.deviation
        axis.fill_between(curve.percent, lower, upper, color=colour, alpha=0.25, linewidth=0.0, zorder=1)
    axis.plot(curve.percent, curve.mean, color=colour, linestyle=style, linewidth=1.1, zorder=3)


def write_agreement(axis: Axes, cycle: Cycle, values: np.ndarray, known: tuple[Measured, ...]) -> None:
    """Correlation and root mean square difference for every measured curve, above the panel's right end."""
    for line, curve in enumerate(reversed(known)):
        r, difference = agreement(values, curve.at(cycle.percent))
        axis.annotate(
            f"r {r:.2f}, RMS {difference:.2g}" if np.isfinite(r) else f"RMS {difference:.2g}",
            (1.0, 1.0),
            xycoords="axes fraction",
            xytext=(0.0, 16.0 + 8.5 * line),
            textcoords="offset points",
            horizontalalignment="right",
            fontsize=SMALL_FONT,
            color=LOOKS[curve.source][0],
        )


def frame(axis: Axes, cycle: Cycle) -> None:
    """The cycle from strike to strike, with the other foot's strike and the own foot's toe-off."""
    axis.set_xlim(0.0, 100.0)
    axis.set_xticks([0, 20, 40, 60, 80, 100])
    for event in (50.0, cycle.stance_end):
        axis.axvline(event, color="#BBBBBB", linewidth=0.6, linestyle=":", zorder=0)
    low, high = axis.get_ylim()
    if low < 0.0 < high:
        axis.axhline(0.0, color="#BBBBBB", linewidth=0.6, zorder=0)
    if axis.get_xlabel():
        axis.set_xlabel("gait cycle (%)")


def key(figure: Figure, sources: set[str]) -> None:
    """The legend, once for the whole figure."""
    handles: list[Line2D | Patch] = [Line2D([], [], color=PREDICTED, linewidth=1.8, label="predicted")]
    for source, (colour, style) in ((name, look) for name, look in LOOKS.items() if name in sources):
        handles.append(Line2D([], [], color=colour, linestyle=style, linewidth=1.1, label=source))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def place_on_sole(body: WholeBody) -> np.ndarray:
    """Centre of pressure in front of the heel (K,) m, NaN where the foot carries next to nothing."""
    loaded = body.cycle.reaction("r")[:, 4] > LOADED * body.cycle.weight
    return np.where(loaded, centre_of_pressure(body.cycle, "r")[:, 0] - sole(body, "r")[0], np.nan)


def mark_sole(axis: Axes, length: float) -> None:
    """The sole from heel to toe as a band."""
    axis.axhspan(0.0, length, color="#DDDDDD", linewidth=0.0, zorder=0)
    axis.annotate("sole", (98.0, 0.5 * length), fontsize=SMALL_FONT, color="#777777", va="center", ha="right")
