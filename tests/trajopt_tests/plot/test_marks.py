"""Marks in figures: arcs, via points, joints without a motion, equal forces, obstacles and targets."""

# The stubs of matplotlib say ArrayLike and Axes for what are arrays and axes of three dimensions.
# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from tiers import fast_first

import dynamics
import problems
import trajopt
from trajopt.display.curves import held_at_zero
from trajopt.plot.canvas import settings
from trajopt.plot.curve_panels import fit, mark_borders, mark_switches, name_panel, via_points
from trajopt.plot.joint_curves import group_label, same_curves
from trajopt.plot.snapshots import draw_scenery
from trajopt.terms.term import Capsule, Target, scene_of

MIDDLE = trajopt.ArcNodes(0, "end")


def arm(*, arcs=2, elbow=1.0):
    """Two links that pass a given pose where two arcs meet, and end at rest."""
    one = trajopt.Trajectory.uniform(6, duration=0.5).arcs[0]
    link = dict(a=0.5, mass=1.0, centre_of_mass=(-0.25, 0, 0), inertia=np.diag([0.0, 0.02, 0.02]))
    robot = dynamics.from_dh([{**link, "name": "upper"}, {**link, "name": "lower"}], gravity=(0, 0, 0))
    problem = trajopt.Problem(robot, trajopt.Trajectory((one,) * arcs), name="arm")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1.0, elbow], v=0.0)
    problem.minimize(trajopt.tau**2)
    return problem


def test_via_points_are_marked_where_they_are_prescribed():
    problem = arm()
    problem.subject_to(trajopt.q, equals=[0.9, 0.2], over=MIDDLE)
    problem.subject_to(trajopt.v[1], equals=0.0, over=MIDDLE)
    solution = trajopt.solve(problem)
    assert via_points(problem, solution, "q") == [(0.5, 0, 0.9), (0.5, 1, 0.2)]
    assert via_points(problem, solution, "v") == [(0.5, 1, 0.0)]
    assert via_points(problem, solution, "a") == []  # boundary values are none
    axes = trajopt.plot.joints(solution, curves=["position"]).axes
    diamonds = [line for axis in axes for line in axis.lines if line.get_marker() == "D"]
    assert [(float(d.get_xdata()[0]), float(d.get_ydata()[0])) for d in diamonds] == [(0.5, 0.9), (0.5, 0.2)]
    for i, (t, value) in enumerate(((0.5, 0.9), (0.5, 0.2))):
        assert solution.q(t)[i] == pytest.approx(value, abs=1e-7)


def test_arcs_are_parted_and_numbered_once():
    axes = trajopt.plot.torques(trajopt.solve(arm(arcs=3))).axes
    assert [text.get_text() for text in axes[0].texts] == ["arc 0", "1", "2"] and not axes[1].texts
    for axis in axes:
        upright = {float(line.get_xdata()[0]) for line in axis.lines if len(set(line.get_xdata())) == 1}
        assert upright == {0.5, 1.0}


def test_one_arc_has_no_border():
    axis = trajopt.plot.torques(trajopt.solve(arm(arcs=1))).axes[0]
    assert not axis.texts and not [line for line in axis.lines if len(set(line.get_xdata())) == 1]


def test_joints_at_rest_are_named_and_not_drawn_unless_asked_for():
    problem = arm(elbow=0.0)
    problem.subject_to(trajopt.v[1], equals=0.0)
    solution = trajopt.solve(problem)
    figure = trajopt.plot.joints(solution, curves=["position"])
    assert len(figure.axes) == 1 and figure.get_suptitle().endswith("; at rest: lower")
    assert len(trajopt.plot.joints(solution, joints=["lower"]).axes) == 3


@pytest.mark.long
def test_equal_forces_are_one_curve_under_both_names():
    curves = np.array([[1.0, 1.0, 2.0], [3.0, 3.0, 4.0]])
    assert same_curves(curves, [0, 1, 2]) == [[0, 1], [2]]
    assert same_curves(curves, [2, 0]) == [[2], [0]]
    solution = trajopt.solve(arm(arcs=1))
    twice = replace(solution, joint_names=("hip x", "hip y", "knee"))
    object.__setattr__(twice, "wrench", lambda t: np.ones((np.size(t), 3, 6)) * np.array([1, 1, 2])[:, None])
    (axis,) = trajopt.plot.joint_forces(twice).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["hip x, hip y", "knee"]  # pyright: ignore


@pytest.mark.parametrize(
    ("values", "bounds", "lines", "told"),
    [
        ([0.0, 1.0], (-1.0, 1.2), {1.2}, "limit -1 N"),
        ([0.0, 1.0], (-9.0, 9.0), set(), "limits ±9 N"),
        ([0.0, 1.0], (-0.4, 1.4), {-0.4, 1.4}, ""),
        ([0.0, 1.0], (-np.inf, np.inf), set(), ""),
        ([0.0, 1.0], (-5.0, 9.0), set(), "limits -5 and 9 N"),
        ([1e-12, -1e-12], (-9.0, 9.0), set(), "limits ±9 N"),
        ([7.0, 7.0], (6.5, np.inf), {6.5}, ""),
        ([np.nan, np.nan], (0.0, 1.0), {0.0, 1.0}, ""),
    ],
)
def test_an_axis_is_as_high_as_its_curve(values, bounds, lines, told):
    axis = Figure().subplots()
    fit(axis, np.array(values), *bounds, "N")  # pyright: ignore
    low, high = axis.get_ylim()
    assert low < high and axis.get_title(loc="left") == told
    dashed = {float(line.get_ydata()[0]) for line in axis.lines if line.get_linestyle() == "--"}
    assert dashed == lines and all(low <= limit <= high for limit in lines)


@pytest.mark.long
def test_obstacles_and_targets_of_the_library_are_drawn():
    problem = arm(arcs=1)
    clear = trajopt.library.capsule_clearance("lower", "lower_tip", (2, 2, 0), (2, 3, 0), 0.3, 0.02)
    problem.subject_to(clear, lower=0.0)
    problem.subject_to(trajopt.library.sphere_clearance("lower_tip", (-3, 0, 0), 0.5), lower=0.1)
    problem.minimize(trajopt.library.position_error("lower_tip", (0.5, 0.6, 0.0)) ** 2, weight=0.1)
    problem.subject_to(trajopt.position("lower"), lower=-2.0, upper=2.0)  # bounds are no target
    axis = trajopt.plot.motion(trajopt.solve(problem)).axes[0]
    circles = {(*patch.center, patch.radius) for patch in axis.patches if isinstance(patch, Circle)}
    assert circles == {(2.0, 2.0, 0.3), (2.0, 3.0, 0.3), (-3.0, 0.0, 0.5)}
    assert sum(isinstance(patch, Polygon) for patch in axis.patches) == 1
    crosses = [line for line in axis.lines if line.get_marker() == "x"]
    assert [(float(x.get_xdata()[0]), float(x.get_ydata()[0])) for x in crosses] == [(0.5, 0.6)]
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    assert left < -3.5 and right > 2.3 and bottom < 0.0 and top > 3.3


def test_scenes_are_found_within_arithmetic_and_maxima():
    error = trajopt.library.position_error("tip", (1, 2, 3))
    ball = trajopt.library.sphere_clearance("tip", (0, 0, 1), 0.1, 0.05)
    assert list(scene_of(2.0 * error**2 - ball)) == [
        Target("tip", (1.0, 2.0, 3.0)),
        Capsule((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), 0.1),
    ]
    depth = trajopt.maximum(-ball, 0.0)
    assert list(scene_of(2.0 * depth)) == [Capsule((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), 0.1)]
    assert list(scene_of(trajopt.q[1])) == []


@pytest.mark.long
def test_a_spatial_motion_is_drawn_from_above_too():
    solution = trajopt.solve(problems.urdf_arm.build(intervals=6, u=0.5))
    figure = trajopt.plot.motion(solution)
    views = [(axis.get_xlabel(), axis.get_ylabel()) for axis in figure.axes if axis.get_xlabel()]
    assert len(views) == 2 and views[0][1] == "z (m)" and views[1][1] in ("x (m)", "y (m)")
    axis = Figure().subplots()
    trajopt.plot.motion(solution, ax=axis)
    assert axis.get_ylabel() == "z (m)"


def test_the_coordinates_of_a_floating_base_are_no_links():
    model = problems.planar_walker.build().dynamics
    massless = [body.name for body in model.bodies if body.mass == 0.0]
    moved = np.zeros((2, model.n))
    moved[1, :2] = 5.0  # the base far away from the ground's origin
    lines = model.skeleton(moved)
    longest = np.linalg.norm(np.diff(lines, axis=-2), axis=-1).max(axis=(1, 2))
    assert massless and longest[0] == pytest.approx(longest[1])


def test_phases_are_named_and_short_ones_numbered():
    figure = Figure(figsize=(4.0, 2.0))
    axis = figure.subplots()
    axis.plot([0.0, 1.0], [0.0, 1.0])
    mark_borders(axis, np.array([0.0, 0.005, 0.1, 1.0]), ["lift-off", "lift-off", "coast"])
    assert [text.get_text() for text in axis.texts] == ["1", "coast"]
    assert axis.get_ylim()[0] < 0.0  # the names stand below the curve


def test_far_limits_and_a_long_name_do_not_share_a_line():
    narrow, wide = (Figure(figsize=(width, 2.0)).subplots() for width in (2.0, 8.0))
    for axis in (narrow, wide):
        fit(axis, np.array([0.0, 0.1]), -6.0, 6.0, "rad")
        name_panel(axis, "shoulder_pan_joint")
        assert axis.get_title(loc="right") == "shoulder_pan_joint"
    assert narrow.get_title(loc="left") == "limits \u00b16 rad\n"
    assert wide.get_title(loc="left") == "limits \u00b16 rad"


@fast_first("stated", ["component", "tau", "passive"], 2)
def test_torques_that_are_held_at_zero_are_told_and_not_drawn(stated):
    problem = arm(arcs=1)
    problem = problem.on(trajopt.Trajectory.collocation(8, duration=1.0))
    problem.costs.clear()
    problem.minimize(trajopt.tau[0] ** 2)
    if stated == "passive":
        problem.passive("lower", over=(0.0, 0.5))
        problem.passive("lower", over=(0.5, 1.0), where="later")
    elif stated == "tau":
        problem.subject_to(trajopt.tau, [-np.inf, 0.0], [np.inf, 0.0])
    else:
        problem.subject_to(trajopt.tau[1], equals=0.0)
    solution = trajopt.solve(problem, starts=1, refine=None)
    assert held_at_zero(solution).tolist() == [False, True]
    figure = trajopt.plot.torques(solution)
    (upper,) = figure.axes
    assert upper.get_title(loc="right") == "upper"
    assert "no motor: lower (residual between nodes at most " in figure.get_suptitle()
    assert len(trajopt.plot.torques(solution, joints=["lower"]).axes) == 1


def test_torques_that_are_zero_in_a_part_alone_are_drawn():
    problem = arm(arcs=1).on(trajopt.Trajectory.collocation(8, duration=1.0))
    problem.passive("lower", over=(0.0, 0.5))
    problem.subject_to(trajopt.tau[1], equals=0.0, over="end")
    solution = trajopt.solve(problem, starts=1, refine=None)
    assert held_at_zero(solution).tolist() == [False, False]


def test_limits_far_away_fit_their_panel():
    figure = Figure(figsize=(6.0, 1.5), dpi=100)
    wide, narrow, short, tiny = (figure.add_axes((left, 0.2, width, 0.6)) for left, width in WIDTHS)
    with settings():
        for axis in (wide, narrow, short, tiny):
            fit(axis, np.array([0.0, 1.0]), -158.7456, 83.3333, "N m")
    assert wide.get_title(loc="left") == "limits -158.7 and 83.33 N m"
    assert narrow.get_title(loc="left") == "limits -159 and 83.3 N m"
    assert short.get_title(loc="left") == "limits -159, 83.3" and tiny.get_title(loc="left") == "-159, 83.3"
    fit(tiny, np.array([0.0, 1.0]), -np.inf, 83.3333, "N m")
    assert tiny.get_title(loc="left") == "limit 83.3"


WIDTHS = ((0.02, 0.4), (0.45, 0.23), (0.7, 0.17), (0.9, 0.1))


def test_names_of_neighbouring_targets_stand_below_and_above():
    axis = Figure().add_subplot()
    targets = [Target(name, (x, 0.0, 0.0)) for name, x in (("ball", 0.2), ("heel", 0.0), ("toe", 0.3))]
    draw_scenery(axis, targets, (0, 1))
    sides = {text.get_text().strip(): text.get_verticalalignment() for text in axis.texts}
    assert sides == {"target of heel": "top", "target of ball": "bottom", "target of toe": "top"}


def test_times_of_switches_do_not_overlap():
    figure = Figure(figsize=(4.0, 2.0), dpi=100)
    axis = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    axis.set_xlim(0.0, 4.0)
    for switches, told in (
        ([0.5, 3.0], ["0.5000 s", "3.0000 s"]),
        ([1.18531, 1.6], ["1.19", "1.6"]),
        ([1.18531, 1.19, 1.82], ["1.19", "1.82"]),
    ):
        for text in axis.texts:
            text.remove()
        mark_switches(axis, switches, 1.0)
        assert [text.get_text() for text in axis.texts] == told


def test_joints_that_share_a_curve_have_a_name_that_fits_their_panel():
    assert group_label(["hip_r_flex", "hip_r_add"], short=False) == "hip_r_flex, hip_r_add"
    assert group_label(["hip_r_flex", "hip_r_add", "hip_r_rot"], short=True) == "hip_r (3 joints)"
    assert group_label(["turn", "lift"], short=True) == "turn and 1 more"
    assert group_label(["knee"], short=True) == "knee"
