"""Figures of a walk that muscles drive: curves beside a measured walk, activations over the cycle."""

from __future__ import annotations

from matplotlib.figure import Figure

import trajopt
from problems.human.assessment.criteria import agreement
from problems.human.assessment.measured import TRIAL, measured
from problems.human.muscles.walk import muscle_cycle, walk_curves
from problems.human.plot.cycle_curves import draw_measured
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import SMALL_FONT, as_text, legend_above, panels, settings

UNITS = {"angle": "deg", "moment": "N m/kg", "reaction": "BW"}
CYCLE = "gait cycle (%)"


def beside_trial(solution: trajopt.Solution) -> Figure:
    """Angles, moments and reactions of the right leg over its cycle, behind them those of a measured walk."""
    curves, percent = walk_curves(solution)
    with settings():
        titles = [f"{name} ({UNITS[name.split()[-1]]})" for name in curves]
        figure, axes = panels(titles, 2, height=1.6, x_label=CYCLE)
        for axis, title, (name, values) in zip(axes, titles, curves.items(), strict=True):
            (behind,) = (curve for curve in measured(name) if curve.source == TRIAL)
            draw_measured(axis, behind)
            axis.plot(percent, values, color=PALETTE[0], linewidth=1.8, zorder=5)
            r, _ = agreement(values, behind.at(percent))
            axis.set_title(f"{title}, r {r:.2f}", loc="left")
            axis.set_xlim(0.0, 100.0)
        legend_above(figure, [axes[0].lines[1], axes[0].lines[0]], ["predicted", TRIAL])
    return figure


def activations(solution: trajopt.Solution) -> Figure:
    """Activations of the right leg's muscles over its cycle."""
    cycle = muscle_cycle(solution)
    percent = 100.0 * cycle.time / cycle.time[-1]
    right = [i for i, name in enumerate(cycle.muscles) if name.endswith("_r")]
    with settings():
        figure, axes = panels([cycle.muscles[i] for i in right], 3, height=1.35, x_label=CYCLE)
        for axis, i in zip(axes, right, strict=True):
            axis.plot(percent, cycle.activation[:, i], color=PALETTE[0], linewidth=1.4)
            axis.set_title(as_text(cycle.muscles[i]), loc="left")
            axis.set_xlim(0.0, 100.0)
            axis.set_ylim(0.0, 1.0)
        figure.supylabel("activation", fontsize=SMALL_FONT)
    return figure
