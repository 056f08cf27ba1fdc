"""Figures of muscles in a motion: activations beside electromyography, forces, fibre lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dynamics.muscles.curves import LONGEST, SHORTEST
from problems.human.muscles.contact_forces import ContactForces
from problems.human.muscles.electromyography import Electromyography, correlations
from problems.human.muscles.muscle_use import MuscleUse
from problems.human.muscles.tracked_motion import TrackedUse
from trajopt.base.errors import OptionError
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import MARK, SMALL_FONT, Style, as_text, legend_above, panels, settings

COLUMNS, HEIGHT = 3, 1.35
BEHIND: Style = {"color": "#BBBBBB", "linewidth": 3.5}
#: A legend between the title and a panel.
NARROW: Style = {
    "fontsize": "x-small",
    "borderaxespad": 0.1,
    "handlelength": 0.9,
    "handletextpad": 0.4,
    "columnspacing": 0.8,
    "borderpad": 0.0,
    "labelspacing": 0.2,
}
LETTERS = 36  # that such a legend has room for, side by side
SHOWN = 12  # muscles of a figure unless others are asked for


def strongest(use: MuscleUse, count: int = SHOWN) -> tuple[str, ...]:
    """The muscles with the largest forces in the motion, largest first."""
    order = np.argsort(-use.force.max(axis=0))[:count]
    return tuple(use.names[i] for i in order)


def activations(
    use: MuscleUse, muscles: Sequence[str] | None = None, recorded: Electromyography | None = None
) -> Figure:
    """Activations over time; with a recording one panel per channel, its activity in grey and r beside it.

    muscles : names, those with the largest forces by default; OptionError beside a recording, whose channels
        say which muscles are drawn
    recorded : its activity has no common unit with activations and is drawn as a share of its largest value
    """
    if recorded is not None and muscles is not None:
        raise OptionError("the recording says which muscles are drawn: leave out muscles, or recorded")
    if recorded is None:
        names = strongest(use) if muscles is None else tuple(muscles)
        figure = curves(use, names, "activation", lambda i: use.activation[:, i])
    else:
        figure = _beside(use, recorded)
    for axis in figure.axes:
        axis.set_ylim(0.0, 1.0)
    return figure


def forces(use: MuscleUse, muscles: Sequence[str] | None = None) -> Figure:
    """Forces along the tendons over time, N."""
    return curves(use, strongest(use) if muscles is None else muscles, "force (N)", lambda i: use.force[:, i])


def fibre_lengths(use: MuscleUse, muscles: Sequence[str] | None = None) -> Figure:
    """Lengths of fibres over time in optimal lengths, and the ends of what the curves describe."""
    names = strongest(use) if muscles is None else muscles
    figure = curves(use, names, "fibre length / optimal", lambda i: use.fibre.normal_length[:, i])
    for axis in figure.axes:
        for end in (SHORTEST, LONGEST):
            axis.axhline(end, **MARK)
        axis.set_ylim(0.0, max(2.0, axis.get_ylim()[1]))
    return figure


def reserves(use: MuscleUse) -> Figure:
    """Moments of the joints over time, and what of them the muscles do not give, N m or N."""

    def draw(i: int, axis: Axes) -> None:
        axis.plot(use.time, use.moment[:, i], color=PALETTE[0], label="moment")
        axis.plot(use.time, use.reserve[:, i], color=PALETTE[1], label="reserve")
        _name(axis, use.coordinates[i])

    return _with_legend(_drawn(use.coordinates, "N m or N", draw))


def tracked_motion(tracked: TrackedUse) -> Figure:
    """Coordinates that muscles move, degrees or metres, over the measured ones, with the rms distance."""
    moments, deviation, names = tracked.moments, tracked.deviation, tracked.use.coordinates

    def draw(number: int, axis: Axes) -> None:
        i = moments.names.index(names[number])
        unit, size = ("m", 1.0) if moments.is_length[i] else ("deg", 180.0 / np.pi)
        axis.plot(moments.time, size * tracked.measured[:, i], label="measured", **BEHIND)
        axis.plot(moments.time, size * moments.q[:, i], color=PALETTE[0], linewidth=1.2, label="tracked")
        _name(axis, f"{names[number]}, rms {size * deviation[i]:.2g} {unit}")

    return _with_legend(_drawn(names, "angle (deg) or length (m)", draw))


def contact_forces(contacts: ContactForces) -> Figure:
    """Sizes of the contact forces in all joints over time, body weights."""

    def draw(i: int, axis: Axes) -> None:
        force = contacts.force(contacts.joints[i]) / contacts.weight
        axis.plot(contacts.time, force, color=PALETTE[0], linewidth=1.4)
        axis.set_ylim(bottom=0.0)
        _name(axis, contacts.joints[i])

    return _drawn(contacts.joints, "contact force (body weights)", draw)


def curves(use: MuscleUse, names: Sequence[str], label: str, of: Callable[[int], np.ndarray]) -> Figure:
    """One panel per muscle with a curve over time."""

    def draw(i: int, axis: Axes) -> None:
        axis.plot(use.time, of(use.of(names[i])), color=PALETTE[0], linewidth=1.4)
        _name(axis, names[i])

    return _drawn(names, label, draw)


def _beside(use: MuscleUse, recorded: Electromyography) -> Figure:
    agreed = correlations(use, recorded)

    def draw(i: int, axis: Axes) -> None:
        channel = recorded.channels[i]
        activity = recorded.at(channel, use.time)
        largest = np.nanmax(activity)
        if largest > 0.0:
            activity = activity / largest
        axis.fill_between(use.time, 0.0, activity, facecolor="#CCCCCC", edgecolor="#999999")
        for k, name in enumerate(recorded.muscles[channel]):
            line: Style = {"color": PALETTE[k % len(PALETTE)], "linewidth": 1.2, "label": as_text(name)}
            axis.plot(use.time, use.activation[:, use.of(name)], **line)
        names = recorded.muscles[channel]
        columns = max(1, min(3, LETTERS // (max(map(len, names)) + 3)))
        legend_above(axis, columns=columns, **NARROW)
        pad = 3.0 + 9.0 * ceil(len(names) / columns)  # points
        axis.set_title(as_text(f"{channel}, r {agreed[channel]:.2f}"), loc="left", pad=pad)

    figure = _drawn(recorded.channels, "activation; recorded activity / its largest", draw)
    return _with_legend(figure, [figure.axes[0].collections[0]], ["recorded"])


def _drawn(names: Sequence[str], label: str, draw: Callable[[int, Axes], None]) -> Figure:
    """A figure with one panel per name."""
    with settings():
        figure, axes = panels(names, COLUMNS, height=HEIGHT)
        for i, axis in enumerate(axes):
            draw(i, axis)
        figure.supylabel(label, fontsize=SMALL_FONT)
    return figure


def _with_legend(figure: Figure, *handles: Any) -> Figure:
    """The figure with a legend of all of its panels, that of the first one by default."""
    with settings():
        legend_above(figure, *(handles or figure.axes[0].get_legend_handles_labels()))
    return figure


def _name(axis: Axes, name: str) -> None:
    axis.set_title(as_text(name), loc="left")
