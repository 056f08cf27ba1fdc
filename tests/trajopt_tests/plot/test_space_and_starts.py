"""Motions in three dimensions and as GIFs, and figures of several starts."""

# The stubs of matplotlib say ArrayLike and Axes for what are arrays and axes of three dimensions.
# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import dynamics
import problems
import trajopt
from trajopt.base.errors import OptionError
from trajopt.plot.snapshots import surface
from trajopt.solution.records import MeshSolve, StartSolves, StartTable
from trajopt.terms.term import Capsule


@pytest.fixture(scope="module")
def reach():
    """A spatial arm of two links past a ball."""
    link = dict(a=0.4, mass=1.0, centre_of_mass=(-0.2, 0, 0), inertia=np.diag([0.0, 0.02, 0.02]))
    robot = dynamics.from_dh([{**link, "alpha": 1.2, "name": "upper"}, {**link, "name": "lower"}])
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(6, duration=0.5), name="reach")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1.0, 0.6], v=0.0)
    problem.minimize(trajopt.tau**2)
    clearance = trajopt.library.sphere_clearance("lower_tip", (0.2, 0.9, 0.3), 0.1)
    problem.subject_to(clearance, lower=0.0, name="ball")
    return trajopt.solve(problem)


def test_a_motion_in_space_has_every_link_at_its_place_and_one_scale(reach):
    (axis, *_) = trajopt.plot.motion(reach, view="space", snapshots=3).axes
    links = [np.array(line.get_data_3d()).T for line in axis.lines if len(line.get_data_3d()[0]) == 2]
    shown = reach.problem.dynamics.skeleton(reach.q(np.linspace(0.0, reach.duration, 3))).reshape(-1, 2, 3)
    expected = [segment for segment in shown if np.ptp(segment, axis=0).any()]
    for segment in expected:
        assert any(np.allclose(segment, link) for link in links if link.shape == (2, 3))
    spans = np.array([np.ptp(limits) for limits in (axis.get_xlim(), axis.get_ylim(), axis.get_zlim())])
    assert np.ptp(spans / axis.get_box_aspect()) < 1e-9 * spans.max()
    assert [axis.get_xlabel(), axis.get_ylabel(), axis.get_zlabel()] == ["x (m)", "y (m)", "z (m)"]
    assert len(axis.collections) >= 1  # the ball


def test_the_surface_of_a_capsule_is_as_far_from_its_segment_as_its_radius():
    start, end = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.2, -0.1])
    points = surface(Capsule(tuple(start), tuple(end), 0.05)).reshape(3, -1).T
    along = np.clip((points - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
    away = np.linalg.norm(points - (start + along[:, None] * (end - start)), axis=1)
    assert np.allclose(away, 0.05)


def test_wrong_views_are_refused(reach):
    with pytest.raises(OptionError, match="view = '3d': expected 'planes' or 'space'"):
        trajopt.plot.motion(reach, view="3d")
    with pytest.raises(OptionError, match=r"ax has two dimensions: give one of figure.add_subplot"):
        trajopt.plot.motion(reach, view="space", ax=Figure().subplots())


@pytest.mark.long
def test_a_gif_has_a_picture_for_every_moment_and_runs_at_natural_speed(reach, tmp_path):
    trajopt.plot.animate(reach, tmp_path / "reach.gif", rate=5, dpi=40)
    with Image.open(tmp_path / "reach.gif") as picture:
        count = picture.n_frames
        assert count >= 5.0 * reach.duration and picture.info["duration"] == 200  # ms
    trajopt.plot.animate(reach, tmp_path / "slow.gif", rate=5, speed=0.5, dpi=40)
    with Image.open(tmp_path / "slow.gif") as picture:
        assert picture.n_frames >= 10.0 * reach.duration and picture.n_frames > count


@pytest.mark.long
def test_a_film_in_space_moves_the_links(reach, tmp_path):
    trajopt.plot.animate(reach, tmp_path / "reach.gif", rate=10, dpi=40, view="space")
    with Image.open(tmp_path / "reach.gif") as picture:
        assert picture.n_frames >= 6


def test_gifs_that_cannot_be_are_refused(reach, tmp_path, monkeypatch):
    with pytest.raises(OptionError, match=r"is no GIF or MP4: give a name that ends in .gif or .mp4"):
        trajopt.plot.animate(reach, tmp_path / "reach.png")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match=r"needs the program ffmpeg, which is not installed here"):
        trajopt.plot.animate(reach, tmp_path / "reach.mp4")
    with pytest.raises(OptionError, match=r"view = 'side': expected 'planes' or 'space'"):
        trajopt.plot.animate(reach, tmp_path / "reach.gif", view="side")
    with pytest.raises(OptionError, match="rate = 0: expected a whole number, 1 or more"):
        trajopt.plot.animate(reach, tmp_path / "reach.gif", rate=0)
    with pytest.raises(OptionError, match=r"1 pictures per second are 1 of this motion of 0.5 s"):
        trajopt.plot.animate(reach, tmp_path / "reach.gif", rate=1, speed=3.0)


def start(number, objective, converged=True, finished=True):
    solve = MeshSolve(10, "converged" if converged else "failed", converged, objective, 5, 0.1)
    return StartSolves(number, (solve,), finished=finished)


def test_starts_are_told_apart_by_what_became_of_them():
    table = StartTable((start(0, 2.0), start(1, 1.5), start(2, 1.4, finished=False), start(3, 9.0, False)), 1)
    (axis,) = trajopt.plot.starts(table).axes
    drawn = {line.get_label(): np.asarray(line.get_xdata()).tolist() for line in axis.lines}
    assert drawn["on its own mesh"] == [0, 1] and drawn["on a coarse mesh"] == [2] and drawn["failed"] == [3]
    assert axis.lines[-1].get_ydata()[0] == 1.5  # the lowest of those on the problem's own mesh


@pytest.mark.long
def test_starts_of_both_kinds_are_drawn_and_others_refused():
    problem = problems.two_link_rr.build(intervals=8)
    solution = trajopt.solve(problem, starts=2)
    table = trajopt.multistart(problem, starts=2, processes=1)
    for result in (solution, solution.journal.starts, table):
        assert trajopt.plot.starts(result).axes[0].get_xlabel() == "start"
    with pytest.raises(OptionError, match="there is no table of starts in"):
        trajopt.plot.starts(trajopt.solve(problem, starts=1))


@pytest.mark.long
def test_all_solves_of_a_journal_are_drawn_by_what_asked_for_them():
    solution = trajopt.solve(problems.two_link_rr.build(intervals=8), starts=3, refine=None)
    objective, iterations = trajopt.plot.journal(solution).axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in objective.lines}
    rows = solution.journal.rows
    assert drawn["levels"] == [rows[0].objective]
    assert drawn["starts"] == [row.objective for row in rows[1:]]
    assert iterations.lines[0].get_ydata()[0] == rows[0].iterations
    with pytest.raises(OptionError, match="is empty: it is a motion that no solve led to"):
        trajopt.plot.journal(replace(solution, journal=replace(solution.journal, rows=())))


@pytest.mark.long
def test_the_rounds_of_a_refinement_are_drawn_as_their_record_says():
    problem = problems.van_der_pol.build(intervals=4)
    solution = trajopt.solve(problem, refine=trajopt.Refined(tol=1e-4))
    spans, errors = trajopt.plot.refinement(solution).axes
    record = solution.journal.refinement
    assert np.array_equal(spans.lines[0].get_ydata(), [each.spans for each in record.rounds])
    drawn = {line.get_label(): line.get_ydata() for line in errors.lines}
    assert np.array_equal(drawn["equations"], [each.equation_error for each in record.rounds])
    assert np.array_equal(drawn["optimality"], [each.optimality_error for each in record.rounds])
    with pytest.raises(OptionError, match="was not refined: solve it with refine="):
        trajopt.plot.refinement(replace(solution, journal=replace(solution.journal, refinement=None)))
