"""The gait cycle as a film that repeats without a jump: the view moves along with the person."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from problems.human.assessment.whole_body import WholeBody, whole_body
from problems.human.gait.cycle import gait_cycle
from problems.human.plot.mannequin import LEFT, RIGHT, draw_body, draw_ground, extent, stage
from trajopt.base.errors import OptionError
from trajopt.plot.animation import film_writer, write_film
from trajopt.plot.canvas import settings

if TYPE_CHECKING:
    from trajopt import Solution

SIZE = (3.6, 4.3)  # inches
STRIP = 0.17  # of the height, the curves below the person
STRIPES = 4  # of the ground in a stride


def animate(solution: Solution, path: str | os.PathLike[str], *, rate: int = 25, dpi: int = 100) -> None:
    """Write one gait cycle, the person and the reactions, as a GIF or MP4 at natural speed.

    rate : pictures per second; a GIF knows hundredths of a second, so 10, 20, 25 and 50 run true
    OptionError for another ending than .gif and .mp4, for an MP4 without ffmpeg, and for a rate that gives
    fewer than two pictures.
    Below the person: the vertical reaction on both feet in body weights, right blue and left orange.
    """
    writer = film_writer(path, rate)
    body = whole_body(gait_cycle(solution))
    frames = round(rate * body.cycle.duration)
    if frames < 2:
        raise OptionError(f"{rate} pictures per second are {frames} in this cycle: a motion needs at least 2")
    moments = np.searchsorted(body.cycle.time, np.linspace(0.0, body.cycle.duration, frames, endpoint=False))
    with settings():
        figure = Figure(figsize=SIZE)
        pictures = (partial(draw_moment, figure, body, int(moment)) for moment in moments)
        write_film(figure, path, writer, dpi, pictures)


def draw_moment(figure: Figure, body: WholeBody, moment: int) -> None:
    """The person, held in the middle of the page, over the curves of its feet; what was there is erased."""
    figure.clear()
    cycle = body.cycle
    speed = 2.0 * cycle.step_length / cycle.duration
    back = np.array([-body.q[0, 0] - speed * cycle.time[moment], 0.0, 0.0])
    low, high = extent(body, np.array([0]), np.array([-body.q[0, 0]]))
    middle, half = 0.5 * (low[0] + high[0]), 0.5 * (high[1] - low[1]) * SIZE[0] / (SIZE[1] * (1.0 - STRIP))
    low[0], high[0] = middle - half, middle + half
    axis = stage(figure, (0.0, STRIP, 1.0, 1.0 - STRIP), low, high)
    every = 2.0 * cycle.step_length / STRIPES
    draw_ground(axis, low, high, float(back[0]) % every, every)
    draw_body(axis, body, moment, back)
    draw_strip(figure.add_axes((0.12, 0.045, 0.84, STRIP - 0.055)), body, moment)


def draw_strip(axis: Axes, body: WholeBody, moment: int) -> None:
    """Vertical reactions over the cycle and where in it this moment is."""
    cycle = body.cycle
    for side, colour in (("r", RIGHT), ("l", LEFT)):
        axis.plot(cycle.percent, cycle.reaction(side)[:, 4] / cycle.weight, color=colour, linewidth=1.2)
    axis.axvline(cycle.percent[moment], color="#555555", linewidth=0.8)
    axis.set_xlim(0.0, 100.0)
    axis.set_ylim(0.0, max(1.4, axis.get_ylim()[1]))
    axis.set_yticks([0, 1])
    axis.set_yticklabels(["0", "1 BW"])
    axis.set_xticks([])
