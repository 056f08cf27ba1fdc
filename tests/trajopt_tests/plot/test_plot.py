"""Figures: they show what the solution says, in the units and within the limits of each joint."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from hand_written import PointMasses
from matplotlib.figure import Figure
from tiers import every

import problems
import trajopt
from trajopt.base.errors import OptionError, ShapeError, UnknownNameError
from trajopt.plot.curve_panels import columns_for, limit_switches
from trajopt.plot.snapshots import drawing_axes

FIGURES = ("torques", "joint_forces", "joints", "motion")


@pytest.fixture(scope="module")
def rr():
    return trajopt.solve(problems.two_link_rr.build(intervals=20))


@pytest.fixture(scope="module")
def pr():
    return trajopt.solve(problems.two_link_pr.build(intervals=8))


def visible(figure):
    return [axis for axis in figure.axes if axis.get_visible()]


def texts(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


@pytest.mark.long
@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("fixture", ["rr", "pr"])
def test_every_figure_is_drawn_without_a_warning_and_without_pyplot(name, fixture, request, tmp_path):
    before = dict(matplotlib.rcParams)
    figure = getattr(trajopt.plot, name)(request.getfixturevalue(fixture))
    figure.savefig(tmp_path / "figure.png")
    assert isinstance(figure, Figure) and (tmp_path / "figure.png").stat().st_size > 5000
    assert dict(matplotlib.rcParams) == before  # the user's own style stays


def test_torques_are_drawn_as_they_are_within_their_limits(rr):
    axis = visible(trajopt.plot.torques(rr))[0]
    curve = next(line for line in axis.lines if len(line.get_xdata()) > 100)
    t, values = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    assert np.allclose(values, rr.tau(t)[:, 0]) and (t[0], t[-1]) == (0.0, rr.duration)
    heights = {float(line.get_ydata()[0]) for line in axis.lines if len(set(line.get_ydata())) == 1}
    assert {-10.0, 10.0} <= heights


def test_switches_are_written_where_the_bang_bang_optimum_switches(rr):
    written = [float(text.removesuffix(" s")) for text in texts(trajopt.plot.torques(rr))]
    assert np.allclose(written, [0.195927, 0.045709, 0.235300], atol=2e-3)


def test_units_follow_the_kind_of_the_joint(pr):
    first, second = visible(trajopt.plot.torques(pr))
    assert (first.get_ylabel(), second.get_ylabel()) == ("force (N)", "torque (N m)")
    labels = [axis.get_ylabel() for axis in visible(trajopt.plot.joints(pr))]
    shown = ["position (m)", "velocity (m/s)", "acceleration (m/s²)"]
    assert labels == shown + [label.replace("m", "rad") for label in shown]


def test_joint_forces_are_norms_of_transmitted_forces(rr):
    axis = visible(trajopt.plot.joint_forces(rr))[0]
    assert [line.get_label() for line in axis.lines[:2]] == ["shoulder", "elbow"]
    for i, line in enumerate(axis.lines[:2]):
        t = np.asarray(line.get_xdata())
        assert np.allclose(line.get_ydata(), np.linalg.norm(rr.wrench(t)[:, i, 3:], axis=-1))
    assert axis.lines[0].get_linestyle() != axis.lines[1].get_linestyle()


def test_the_motion_starts_and_ends_where_the_problem_says(rr):
    axis = visible(trajopt.plot.motion(rr, snapshots=4))[0]
    thick = [line for line in axis.lines if line.get_linestyle() == "-" and line.get_linewidth() > 1.0]
    links = [line.get_xydata() for line in thick]
    assert len(links) == 3 * 4
    first, last = links[:3], links[-3:]
    assert np.allclose(first[0], [[0, 0], [0.4, 0]]) and np.allclose(first[-1][0], [0.4, 0])
    elbow = 0.4 * np.array([np.cos(1.0), np.sin(1.0)])
    tip = elbow + np.array([0.4, 0.0])
    assert np.allclose(last[-1], [elbow, tip])  # 1 - 1 = 0: the forearm ends level
    assert axis.get_aspect() == 1.0
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("x (m)", "y (m)")


def test_the_plane_of_a_motion_is_the_one_it_fills():
    points = np.random.default_rng(3).normal(size=(5, 4, 2, 3))
    for flat, expected in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))):
        assert drawing_axes(points * (np.arange(3) != flat)) == expected
    assert drawing_axes(points * [1.0, 0.1, 1.0]) == (0, 2)  # z stays up where a motion is spatial


def test_a_slide_stands_on_a_rail_and_an_arm_on_a_base(rr, pr):
    square, rail = (visible(trajopt.plot.motion(solution))[0].lines[0] for solution in (rr, pr))
    assert square.get_marker() == "s" and rail.get_linewidth() > 5.0


def test_joints_are_selected_by_name(rr):
    assert len(visible(trajopt.plot.torques(rr, joints=["elbow"]))) == 1
    for name in FIGURES[:3]:
        with pytest.raises(UnknownNameError, match=r"no joint is called 'elbov' .did you mean 'elbow'"):
            getattr(trajopt.plot, name)(rr, joints=["elbov"])
    with pytest.raises(UnknownNameError, match=r"no joint is called 'xyz': there are shoulder, elbow"):
        trajopt.plot.torques(rr, joints=["xyz"])


def test_knots_are_marked_on_request(rr):
    marked = visible(trajopt.plot.joints(rr, knots=True))[0].lines[-1]
    assert np.allclose(marked.get_xdata(), rr.knot_times)


def test_an_answer_that_did_not_converge_says_so():
    problem = problems.two_link_rr.build(intervals=5)
    solution = trajopt.solve(problem, trajopt.Ipopt(max_iterations=1))
    assert "not converged" in trajopt.plot.joints(solution).get_suptitle()


def test_positions_of_a_motion_without_its_problem_are_drawn_without_limits(rr, tmp_path):
    replace(rr, recipe=None, known_problem=None).save(tmp_path / "alone.npz")
    figure = trajopt.plot.joints(trajopt.Solution.load(tmp_path / "alone.npz"))
    assert visible(figure)[0].get_ylabel() == "position"


@pytest.mark.long
def test_limits_of_positions_and_velocities_are_shown():
    """Limits near the curve are lines; those far from it are words, so that they do not flatten it."""
    problem = problems.two_link_rr.build(intervals=5, q_upper=1.2, q_lower=-9.0, velocity=4.0)
    solution = trajopt.solve(problem)
    position, velocity = visible(trajopt.plot.joints(solution))[:2]
    for axis, limits in ((position, {1.2}), (velocity, {4.0})):
        assert limits <= {float(line.get_ydata()[0]) for line in axis.lines}
    assert position.get_title(loc="left") == "limit -9 rad"
    low, high = position.get_ylim()
    motion = np.ptp(solution.q(np.linspace(0.0, solution.duration, 200))[:, 0])
    assert high - low < 1.7 * motion


@pytest.mark.long
def test_many_joints_get_a_panel_each_and_unused_places_stay_empty():
    assert [columns_for(n) for n in (1, 3, 4, 12, 13)] == [1, 1, 2, 2, 3]
    assert [columns_for(n, 3) for n in (1, 9, 10)] == [3, 3, 6]
    problem = trajopt.Problem(PointMasses(5, force=3.0), trajopt.Trajectory.uniform(4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=0.1, v=0.0)
    problem.minimize(trajopt.tau**2)
    figure = trajopt.plot.torques(trajopt.solve(problem))
    assert len(visible(figure)) == 5 and len(figure.axes) == 6
    assert visible(figure)[0].get_ylabel() == "torque or force (N m or N)"


def test_more_than_seven_joint_forces_are_drawn_apart(rr):
    names = tuple(f"joint {i}" for i in range(8))
    many = replace(rr, joint_names=names, name="eight")
    wrench = np.random.default_rng(4).normal(size=(8, 6))
    object.__setattr__(many, "wrench", lambda t: np.broadcast_to(wrench, (*np.shape(t), 8, 6)))
    assert len(visible(trajopt.plot.joint_forces(many))) == 8


def test_pictures_of_the_motion_need_segments():
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=0.1, v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem)
    with pytest.raises(OptionError, match=r"has no skeleton.q.: a picture needs line segments"):
        trajopt.plot.motion(solution)
    problem.dynamics.skeleton = lambda q: np.zeros((3, 3))
    with pytest.raises(ShapeError, match=r"skeleton.q. returned shape .3, 3.: expected .9, segments, 2, 3."):
        trajopt.plot.motion(solution)


def test_a_motion_is_at_least_two_snapshots(rr):
    with pytest.raises(OptionError, match=r"snapshots = 1: expected a whole number, 2 or more"):
        trajopt.plot.motion(rr, snapshots=1)


def test_slow_passages_and_open_limits_are_no_switches():
    t = np.linspace(0.0, 1.0, 101)
    sudden, slow = np.where(t < 0.305, 1.0, -1.0), 1.0 - 2.0 * t
    assert np.allclose(limit_switches(t, sudden, -1.0, 1.0), [0.305])
    assert limit_switches(t, slow, -1.0, 1.0) == []
    assert limit_switches(t, sudden, -np.inf, 1.0) == []
    lopsided = np.where(t < 0.305, 3.0, 1.0)
    assert np.allclose(limit_switches(t, lopsided, 1.0, 3.0), [0.305])


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["torques", *(pytest.param(name, marks=pytest.mark.long) for name in FIGURES[1:])]
)
def test_a_notebook_is_given_a_picture_of_the_whole_figure(rr, name):
    figure = getattr(trajopt.plot, name)(rr)
    picture = figure._repr_png_()
    assert picture.startswith(b"\x89PNG")
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))  # of the header
    assert np.allclose([width, height], 100.0 * figure.get_size_inches(), atol=1.0)


@every("name", [*FIGURES, "states"])
@every("wrong", ["solution.npz", None, problems.two_link_rr])
def test_what_is_no_solution_is_refused(name, wrong):
    with pytest.raises(OptionError, match=r"is no solution: give what trajopt.solve\(problem\) returned"):
        getattr(trajopt.plot, name)(wrong)


def test_animations_studies_and_pages_of_what_is_no_solution_are_refused(tmp_path):
    for draw in (lambda: trajopt.plot.animate("x", "a.gif"), lambda: trajopt.report.html("x")):
        with pytest.raises(OptionError, match="'x' is no solution"):
            draw()
    with pytest.raises(OptionError, match="'x' is no sweep"):
        trajopt.plot.study("x")  # pyright: ignore[reportArgumentType]


def two_moves(second=None):
    """A robot in two phases, from rest to rest."""
    parts = []
    for name, dynamics in (("there", None), ("on", second)):
        mesh = trajopt.Trajectory.uniform(5, duration=0.5)
        problem = trajopt.Problem(dynamics or problems.two_link_rr.build().dynamics, mesh, name=name)
        problem.minimize(trajopt.tau**2, name="effort")
        parts.append(problem)
    parts[0].start_at(q=0.0, v=0.0)
    parts[1].end_at(q=0.7, v=0.0)
    both = trajopt.Phases(*parts)
    if second is None:
        for term in (trajopt.q, trajopt.v):
            both.link(term, parts[0].at("end"), parts[1].at("start"))
    return both


@pytest.mark.long
def test_phases_follow_each_other_in_every_figure(tmp_path):
    solution = trajopt.solve(two_moves())
    whole, last = solution.duration, solution.phases[1]
    for draw in (trajopt.plot.torques, trajopt.plot.joint_forces, trajopt.plot.joints):
        axes = draw(solution, knots=True).axes
        assert axes[0].get_xlim() == pytest.approx((0.0, whole))
        assert {text.get_text() for text in axes[0].texts} >= {"there", "on"}
    torques = trajopt.plot.torques(solution, joints=["elbow"]).axes[0].lines
    t, values = torques[1].get_data()
    assert np.allclose(values, last.tau(np.clip(t - 0.5, 0.0, last.duration))[:, 1], atol=1e-6)
    picture = trajopt.plot.motion(solution, snapshots=5)
    assert picture.axes[-1].get_ylim()[1] == pytest.approx(whole)
    trajopt.plot.animate(solution, tmp_path / "moves.gif", rate=5)
    assert (tmp_path / "moves.gif").stat().st_size > 0


@pytest.mark.long
def test_a_joint_that_one_phase_has_is_drawn_there_and_other_robots_are_no_picture():
    three = problems.six_axis_arm.build().dynamics
    both = two_moves(three)
    solution = trajopt.solve(both, trajopt.Ipopt(max_iterations=3), starts=1)
    names = [axis.get_title(loc="right") for axis in trajopt.plot.joints(solution, curves="position").axes]
    assert len(names) > 2
    forces = trajopt.plot.joint_forces(solution)
    assert all(np.isfinite(axis.get_ylim()).all() for axis in forces.axes)
    with pytest.raises(OptionError, match="have other segments from phase to phase: draw one phase"):
        trajopt.plot.motion(solution)


@pytest.mark.long
def test_a_certificate_of_phases_is_no_solution():
    phases = trajopt.solve(problems.goddard_in_phases.build(intervals=6), refine=trajopt.Certified(rounds=1))
    for wrong in (phases.certificate, phases.verify(), problems.goddard_in_phases.build(intervals=6)):
        for draw in (trajopt.plot.joints, trajopt.plot.states):
            with pytest.raises(OptionError, match="is no solution"):
                draw(wrong)


def test_a_figure_without_curves_is_refused_with_advice(rr):
    for empty in (lambda: trajopt.plot.costates(rr), lambda: trajopt.plot.torques(rr, joints=[])):
        with pytest.raises(OptionError, match="nothing to draw of two_link_rr: name curves that it has"):
            empty()
