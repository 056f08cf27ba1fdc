"""The skeleton as a mannequin of rounded limbs, with the ground's reactions at its feet.

The view is oblique: the sagittal plane keeps its shape, and what is nearer to the eye, on the right, is drawn
a little lower and further back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke

import dynamics
from problems.human.assessment.whole_body import LOADED, WholeBody, centre_of_pressure, whole_body
from problems.human.body.model import TABLE_HEIGHT
from problems.human.body.person import PACK_CARRIER, PACK_CENTRE, PACK_SIZE
from problems.human.gait.cycle import gait_cycle
from problems.human.plot.captions import side_key, walk_title
from trajopt.base.errors import OptionError
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import SMALL_FONT, WIDTH, new_figure, settings

if TYPE_CHECKING:
    from trajopt import Solution

OBLIQUE = (0.45, 0.17)  # m to the left and down on the page for a metre to the right of the person
RIGHT, LEFT, TRUNK, REACTION = PALETTE[0], PALETTE[1], "#5B6770", PALETTE[2]
PACK, PACK_EDGE = PALETTE[3], 0.03  # m, width of the rounded edge
SKIN = 0.01  # m, white rim that sets limbs apart
FORCE_SCALE = 0.55  # m per body weight
NEAREST = 10.0  # places limbs between the ground and the arrows
#: Frames of the skeleton that a limb connects, and its thickness in m; SIDE stands for r and l.
TRUNK_LIMBS = (
    (("thigh_l", "thigh_r"), 0.15),
    (("pelvis", "lumbar_lower", "thorax_lower", "thorax_upper"), 0.17),
    (("upper_arm_l", "upper_arm_r"), 0.09),
    (("thorax_upper", "neck", "head"), 0.08),
)  # fmt: skip
SIDE_LIMBS = (
    (("ball_SIDE", "toe_SIDE"), 0.035),
    (("hindfoot_SIDE", "heel_SIDE", "ball_SIDE", "hindfoot_SIDE"), 0.035),
    (("shank_SIDE", "hindfoot_SIDE"), 0.08),
    (("thigh_SIDE", "shank_SIDE"), 0.115),
    (("hand_SIDE", "fingers_SIDE"), 0.045),
    (("forearm_SIDE", "hand_SIDE"), 0.055),
    (("upper_arm_SIDE", "forearm_SIDE"), 0.07),
)  # fmt: skip
FRAMES = (
    "pelvis", "lumbar_lower", "thorax_lower", "thorax_upper", "neck", "head",
    *(f"{part}_{side}" for side in "rl" for part in (
        "thigh", "shank", "hindfoot", "heel", "ball", "toe", "upper_arm", "forearm", "hand")),
)  # fmt: skip
HEAD_RADIUS = 0.062  # of the height
HEAD_CENTRE = 0.053  # of the height, above the joint of the head
HAND_LENGTH = 0.09  # of the height
LEAST_ROOM, LIMB_ROOM = 0.5, 0.05  # m beside a body on the page: about its root, and about its farthest limb


def snapshots(solution: Solution, *, count: int = 9, apart: float = 0.42) -> Figure:
    """The person at evenly spaced times of a gait cycle, each `apart` metres further along than it is.

    Blue is right, orange left; arrows are the ground's reactions where they act. OptionError for fewer than
    two snapshots.
    """
    if count < 2:
        raise OptionError(f"count is {count}: give at least 2, the first and the last posture")
    body = whole_body(gait_cycle(solution))
    chosen = np.linspace(0, body.cycle.time.size - 1, count).round().astype(int)
    shifts = apart * np.arange(count)
    low, high = extent(body, chosen, shifts)
    with settings():
        size = (WIDTH, WIDTH * (high[1] - low[1]) / (high[0] - low[0]) + 0.45)
        figure = new_figure(*size, layout=None)
        axis = stage(figure, (0.0, 0.0, 1.0, 1.0 - 0.45 / size[1]), low, high)
        draw_ground(axis, low, high, 0.0)
        for moment, shift in zip(chosen, shifts, strict=True):
            draw_body(axis, body, int(moment), np.array([shift, 0.0, 0.0]))
            place = project(np.array([body.q[moment, 0] + shift, 0.0, 0.35]))
            label = f"{body.cycle.percent[moment]:.0f} %"
            axis.annotate(
                label, (place[0], place[1]), fontsize=SMALL_FONT, color="#555555", ha="center", va="top"
            )
        walk_title(figure, solution, body.cycle)
        side_key(figure, {"right": RIGHT, "left": LEFT, "ground reaction": REACTION})
    return figure


def project(points: np.ndarray) -> np.ndarray:
    """Oblique projection of world points (..., 3): right and up on the page, m, and nearness to the eye."""
    x, y, z = np.moveaxis(np.asarray(points, dtype=float), -1, 0)
    return np.stack([x - OBLIQUE[0] * z, y - OBLIQUE[1] * z, z], axis=-1)


def extent(body: WholeBody, chosen: np.ndarray, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the page, m: all postures with their arms, room for the head and for arrows."""
    along = np.array([1.0, 0.0, 0.0])
    ground = project(np.outer(body.q[chosen, 0] + shifts, along))[:, :2]
    ends = np.concatenate(
        [list(places(body, int(m), s * along).values()) for m, s in zip(chosen, shifts, strict=True)]
    )
    across = np.concatenate([project(ends)[:, 0], ground[:, 0] - LEAST_ROOM, ground[:, 0] + LEAST_ROOM])
    tall = project(np.array([0.0, body.cycle.height, 0.0]))[1]
    low = np.array([across.min() - LIMB_ROOM, ground[:, 1].min() - 0.16])
    return low, np.array([across.max() + LIMB_ROOM, ground[:, 1].max() + tall + 0.06])


def stage(
    figure: Figure, place: tuple[float, float, float, float], low: np.ndarray, high: np.ndarray
) -> Axes:
    """Axes without a frame on which one metre has the same length both ways."""
    axis = figure.add_axes(place)
    axis.set_axis_off()
    axis.set_aspect("equal")
    axis.set_xlim(low[0], high[0])
    axis.set_ylim(low[1], high[1])
    return axis


def draw_ground(axis: Axes, low: np.ndarray, high: np.ndarray, start: float, every: float = 0.3) -> None:
    """Stripes across the way, `every` metres from x = start."""
    reach = high[0] - low[0] + 2.0
    count = int(np.ceil(reach / every))
    for k in range(-count, 2 * count):
        x = start + k * every
        ends = project(np.array([[x, 0.0, -0.45], [x, 0.0, 0.45]]))
        axis.plot(ends[:, 0], ends[:, 1], color="#E3E6E8", linewidth=0.8, zorder=0)
    for z in (-0.45, 0.45):
        ends = project(np.array([[start - count * every, 0.0, z], [start + 2 * count * every, 0.0, z]]))
        axis.plot(ends[:, 0], ends[:, 1], color="#E3E6E8", linewidth=0.8, zorder=0)


def draw_body(axis: Axes, body: WholeBody, moment: int, shift: np.ndarray) -> None:
    """One posture: limbs from far to near, head and reactions."""
    points = places(body, moment, shift)
    scale, size = points_per_metre(axis), body.cycle.height / TABLE_HEIGHT
    limbs = [(names, width, "", TRUNK) for names, width in TRUNK_LIMBS]
    for side, colour in (("r", RIGHT), ("l", LEFT)):
        limbs += [(names, width, side, colour) for names, width in SIDE_LIMBS]
    for order, (names, width, side, colour) in enumerate(limbs):
        joints = np.array([points[name.replace("SIDE", side)] for name in names])
        draw_limb(axis, joints, scale * width * size, colour, order)
    if body.cycle.person.backpack > 0.0:
        draw_limb(axis, pack_corners(body, moment, shift), scale * PACK_EDGE, PACK, len(limbs))
    draw_head(axis, points["face"], HEAD_RADIUS * body.cycle.height)
    draw_reactions(axis, body, moment, shift)


def draw_head(axis: Axes, centre: np.ndarray, radius: float) -> None:
    x, y, near = project(centre)
    rim = points_per_metre(axis) * SKIN
    axis.add_patch(
        Circle((x, y), radius, facecolor=TRUNK, edgecolor="white", linewidth=rim, zorder=NEAREST + near)
    )


def draw_limb(axis: Axes, points: np.ndarray, width: float, colour: str, order: int) -> None:
    """A rounded limb with a white rim, filled where it returns to its start; the nearer cover the others."""
    seen = project(points)
    depth = NEAREST + seen[:, 2].mean() + 1e-4 * order
    rim = points_per_metre(axis) * 2.0 * SKIN
    style: dict[str, Any] = {"solid_capstyle": "round", "solid_joinstyle": "round"}
    if np.array_equal(points[0], points[-1]):
        axis.fill(seen[:, 0], seen[:, 1], color=colour, linewidth=0.0, zorder=depth + 5e-5)
    axis.plot(seen[:, 0], seen[:, 1], color="white", linewidth=width + rim, zorder=depth, **style)
    axis.plot(seen[:, 0], seen[:, 1], color=colour, linewidth=width, zorder=depth + 5e-5, **style)


def places(body: WholeBody, moment: int, shift: np.ndarray) -> dict[str, np.ndarray]:
    """Points of one posture by name, (3,) m each, with face and fingers added to the skeleton's frames."""
    poses = dynamics.forward_kinematics(body.model, body.q[moment], FRAMES)
    found = {name: place + shift for name, place in zip(FRAMES, poses.position, strict=True)}
    ends = (("face", "head", HEAD_CENTRE), *((f"fingers_{s}", f"hand_{s}", -HAND_LENGTH) for s in "rl"))
    for name, frame, along in ends:
        upward = poses.rotation[FRAMES.index(frame)][:, 1]
        found[name] = found[frame] + along * body.cycle.height * upward
    return found


def pack_corners(body: WholeBody, moment: int, shift: np.ndarray) -> np.ndarray:
    """The backpack's outline in its plane of symmetry, closed, (5, 3) m."""
    pose = dynamics.forward_kinematics(body.model, body.q[moment], [PACK_CARRIER])
    around = 0.5 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [-1, -1, 0]]) * PACK_SIZE
    corners = body.cycle.height * np.array(PACK_CENTRE) + around
    return pose.position[0] + corners @ pose.rotation[0].T + shift


def draw_reactions(axis: Axes, body: WholeBody, moment: int, shift: np.ndarray) -> None:
    """The force on each loaded foot as an arrow from its centre of pressure."""
    for side in "rl":
        force = body.cycle.reaction(side)[moment, 3:] / body.cycle.weight
        if force[1] < LOADED:
            continue
        x, z = centre_of_pressure(body.cycle, side)[moment]
        start = np.array([x, 0.0, z]) + shift
        ends = project(np.array([start, start + FORCE_SCALE * force]))
        axis.annotate(
            "", tuple(ends[1, :2]), tuple(ends[0, :2]), zorder=20.0,
            arrowprops={
                "arrowstyle": "-|>", "color": REACTION, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0,
                "path_effects": [withStroke(linewidth=3.0, foreground="white")],
            },
        )  # fmt: skip


def points_per_metre(axis: Axes) -> float:
    """Points of 1/72 inch that one metre takes on the page."""
    width = axis.get_position().width * axis.figure.get_figwidth()  # type: ignore[union-attr]
    left, right = axis.get_xlim()
    return float(72.0 * width / (right - left))
