"""Figures of a gait cycle: they show what the cycle says, over what was measured."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from library_solutions import solved_at_defaults
from matplotlib.figure import Figure
from PIL import Image
from tiers import fast_first

import trajopt
from problems.human import plot
from problems.human.assessment.measured import measured
from problems.human.assessment.whole_body import whole_body
from problems.human.body.person import Person
from problems.human.gait.cycle import gait_cycle
from problems.human.plot.mannequin import draw_body, pack_corners, places, project
from trajopt.base.errors import OptionError

CURVES = ("angles", "torques", "reactions", "forces")


@pytest.fixture(scope="module")
def solution():
    return solved_at_defaults("planar_walker")


@pytest.mark.long
@pytest.mark.parametrize("name", [*CURVES, "snapshots"])
def test_every_figure_is_drawn_without_a_warning(name, solution, tmp_path):
    before = dict(matplotlib.rcParams)
    figure = getattr(plot, name)(solution)
    figure.savefig(tmp_path / "figure.png")
    assert isinstance(figure, Figure) and (tmp_path / "figure.png").stat().st_size > 20_000
    assert dict(matplotlib.rcParams) == before


@pytest.mark.long
@pytest.mark.parametrize("name", [*CURVES, "snapshots"])
def test_titles_tell_speed_step_length_and_failure(name, solution):
    title = getattr(plot, name)(solution).get_suptitle()
    assert title == "planar_walker, 1.2 m/s, step 0.6 m"
    failed = replace(solution, status=trajopt.Status.ITERATION_LIMIT)
    assert getattr(plot, name)(failed).get_suptitle().endswith(", not converged")


@pytest.mark.parametrize(("cost", "ending"), [("sourced", "step 0.6 m"), ("thesis", ", cost=thesis")])
def test_titles_tell_a_cost_that_is_not_the_default(cost, ending, solution):
    recipe = replace(solution.recipe, parameters={**solution.recipe.parameters, "cost": cost})
    assert plot.angles(replace(solution, recipe=recipe)).get_suptitle().endswith(ending)


@pytest.mark.long
def test_snapshots_leave_no_limb_beside_the_page(solution):
    raised = np.array(solution.curve.control_points[0])
    raised[:, solution.joint_names.index("hip_r_flex")] = 1.5
    raised[:, solution.joint_names.index("hip_l_flex")] = 1.5
    sitting = replace(solution, curve=replace(solution.curve, control_points=(raised,)))
    (axis,) = plot.snapshots(sitting).axes
    left, right = axis.get_xlim()
    drawn = np.concatenate([line.get_xdata() for line in axis.lines if line.get_zorder() > 0])
    assert left < drawn.min() and drawn.max() < right


@pytest.mark.long
def test_snapshots_say_which_side_has_which_colour(solution):
    (legend,) = plot.snapshots(solution).legends
    assert [text.get_text() for text in legend.get_texts()] == ["right", "left", "ground reaction"]


@fast_first("name", CURVES)
def test_curves_run_over_one_cycle_in_four_panels(name, solution):
    axes = getattr(plot, name)(solution).axes
    assert len(axes) == 4 and all(axis.get_xlim() == (0.0, 100.0) for axis in axes)
    assert [axis.get_xlabel() for axis in axes] == ["", "", "gait cycle (%)", "gait cycle (%)"]


@pytest.mark.long
def test_predicted_angles_lie_over_measured_ones(solution):
    knee = plot.angles(solution).axes[2]
    predicted = max(knee.lines, key=lambda line: line.get_zorder())
    assert np.allclose(predicted.get_ydata(), gait_cycle(solution).angle("knee_r_flex"))
    winter = measured("knee angle")[0]
    assert any(np.array_equal(line.get_ydata(), winter.mean) for line in knee.lines)
    assert len(knee.collections) == 1  # the band of Winter's deviation


def test_torques_of_the_plot_are_extensors_per_mass(solution):
    ankle = plot.torques(solution).axes[3]
    predicted = max(ankle.lines, key=lambda line: line.get_zorder())
    t = np.linspace(0.0, solution.duration, 201)
    expected = -solution.tau(t)[:, solution.joint_names.index("ankle_r_dorsi")] / 75.0
    assert np.allclose(predicted.get_ydata()[:201], expected, atol=1e-9)


def test_the_sagittal_plane_keeps_its_shape_on_the_page():
    square = np.array([[0, 0, 0.2], [1, 0, 0.2], [1, 1, 0.2]], dtype=float)
    assert np.allclose(np.linalg.norm(np.diff(project(square)[:, :2], axis=0), axis=1), 1.0)


def test_the_mannequin_is_as_tall_as_the_person(solution):
    body = whole_body(gait_cycle(solution, 3))
    points = places(body, 1, np.zeros(3))
    assert 1.5 < points["face"][1] < 1.75 and points["fingers_r"][1] < points["hand_r"][1]
    assert points["hindfoot_r"][2] > points["hindfoot_l"][2]


def test_a_pack_hangs_behind_the_upper_thorax(solution):
    """An upright walker's pack is as deep and high as its box, behind the back and below the neck."""
    body = whole_body(gait_cycle(solution, 3))
    corners, points = pack_corners(body, 0, np.zeros(3)), places(body, 0, np.zeros(3))
    sides = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    assert sides == pytest.approx([0.20, 0.45, 0.20, 0.45]) and np.array_equal(corners[0], corners[-1])
    assert corners[:, 0].max() < points["thorax_upper"][0] and corners[:, 1].max() < points["face"][1]
    packed = replace(body, cycle=replace(body.cycle, person=Person(backpack=9.0)))
    counts = []
    for each in (body, packed):
        axis = Figure().subplots()
        draw_body(axis, each, 0, np.zeros(3))
        counts.append(len(axis.patches))
    assert counts[1] == counts[0] + 1  # its filled outline


@pytest.mark.long
def test_the_animation_repeats_and_runs_at_natural_speed(solution, tmp_path):
    path = tmp_path / "solution.gif"
    plot.animate(solution, path, rate=10, dpi=40)
    with Image.open(path) as film:
        assert film.n_frames == 10 and film.info["duration"] == 100 and film.info["loop"] == 0
        assert film.size == (144, 172)


def test_too_few_pictures_are_refused(solution, tmp_path):
    with pytest.raises(OptionError, match="1 pictures per second are 1 in this cycle"):
        plot.animate(solution, tmp_path / "solution.gif", rate=1)
    with pytest.raises(OptionError, match="count is 1: give at least 2"):
        plot.snapshots(solution, count=1)
