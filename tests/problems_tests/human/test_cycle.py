"""A step becomes a gait cycle of the whole skeleton: mirrored halves, free bodies, energies, criteria.

The identities are those of any step that repeats itself, so a step that is far from optimal serves as well.
"""

from dataclasses import replace

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from tiers import every

import dynamics
import trajopt
from problems import gait, planar_walker, two_link_rr
from problems.human.assessment import free_body
from problems.human.assessment.criteria import credibility, table
from problems.human.assessment.identities import identities
from problems.human.assessment.measured import measured, quantities
from problems.human.assessment.whole_body import centre_of_pressure, sole, thigh_inclination, whole_body
from problems.human.body import tables
from problems.human.gait.cycle import each_time_once, gait_cycle, mirrored_load
from trajopt.base.errors import ProblemError, UnknownNameError

WEIGHT = 75.0 * 9.81


@pytest.fixture(scope="module")
def solution():
    """The planar walker, solved."""
    return solved_at_defaults("planar_walker")


@pytest.fixture(scope="module")
def step():
    """A step of 38 joints after one iteration: not optimal, but periodic."""
    return trajopt.solve(gait.build(cost="thesis"), trajopt.Ipopt(max_iterations=1), progress="silent")


@pytest.mark.long
def test_the_second_half_of_the_cycle_is_the_left_leg(step):
    cycle = gait_cycle(step, 31)
    t = np.linspace(0.0, step.duration, 31)
    left = step.q(t)[:, step.joint_names.index("knee_l_flex")]
    assert np.allclose(cycle.angle("knee_r_flex")[31:], np.rad2deg(left), atol=1e-12)
    assert cycle.percent[[0, 30, 31, -1]] == pytest.approx([0.0, 50.0, 50.0, 100.0])
    assert cycle.step_length == pytest.approx(0.6) and cycle.duration == pytest.approx(1.0)


def test_a_cycle_ends_as_it_began_one_stride_further_on(step):
    cycle = gait_cycle(step, 31)
    forward = step.joint_names.index("global_tx")
    moved = cycle.q[-1] - cycle.q[0]
    assert moved[forward] == pytest.approx(1.2) and np.allclose(np.delete(moved, forward), 0.0, atol=1e-9)
    assert np.allclose(cycle.v[-1], cycle.v[0], atol=1e-9)
    assert np.allclose(cycle.q[30], cycle.q[31], atol=1e-9)  # the two steps meet


def test_feet_carry_what_the_body_needs_in_both_halves(step):
    """The mirrored reactions are those of the mirrored motion, found anew by inverse dynamics."""
    cycle = gait_cycle(step, 11)
    needed = dynamics.base_wrench(step.problem.dynamics, cycle.q, cycle.v, cycle.a)
    assert np.allclose(cycle.reaction("r") + cycle.reaction("l"), needed, rtol=0, atol=1e-8)
    assert cycle.stance_end == pytest.approx(60.0)  # the last of 11 samples before toe-off at 64 %


@pytest.mark.long
def test_devices_are_loads_but_not_the_ground():
    """An ankle device on shank and foot: balance has both ends, the reaction of the ground none."""
    problem = planar_walker.build()
    ankle = problem.dynamics.joint_names.index("ankle_r_dorsi")
    device = trajopt.ExpressionTerm(lambda node: [0, 0, -100.0 * node.q[ankle], 0, 0, 0], "device")
    problem.load("shank_r", device)
    problem.load("hindfoot_r", -device)
    cycle = gait_cycle(trajopt.solve(problem, trajopt.Ipopt(max_iterations=1), progress="silent"), 11)
    for each in (cycle, each_time_once(cycle), cycle.of_left_leg):
        assert set(each.loads) == {"hindfoot_r", "hindfoot_l", "shank_r", "shank_l"}
        assert set(each.ground) == {"hindfoot_r", "hindfoot_l"}
    needed = dynamics.base_wrench(problem.dynamics, cycle.q, cycle.v, cycle.a)
    assert np.allclose(cycle.reaction("r") + cycle.reaction("l"), needed, rtol=0, atol=1e-8)
    couple = -100.0 * cycle.q[:11, ankle]
    on_foot = cycle.loads["hindfoot_r"] - cycle.ground["hindfoot_r"]
    assert np.allclose(cycle.loads["shank_r"][:11, 2], couple) and np.abs(couple).max() > 5.0
    assert np.allclose(on_foot[:11, 2], -couple) and np.allclose(on_foot[:11, [0, 1, 3, 4, 5]], 0.0)


def test_a_mirrored_load_pushes_from_the_mirrored_place():
    place, force = np.array([0.3, 0.0, 0.1]), np.array([5.0, 700.0, 20.0])
    load = np.concatenate([np.cross(place, force), force])
    image = np.concatenate([np.cross([0.9, 0.0, -0.1], force * [1, 1, -1]), force * [1, 1, -1]])
    assert np.allclose(mirrored_load(load[None], 0.6)[0], image)


@pytest.mark.long
@pytest.mark.parametrize("which", ["solution", "step"])
def test_identities_hold_for_every_periodic_step(which, request):
    found = identities(request.getfixturevalue(which))
    assert len(found) == 8 and all(each.met for each in found), table(found)


def test_free_bodies_see_what_is_wrong(step):
    """A force of 1 N that no joint knows, and a moment of 2 N m, are what is missing; power notices too."""
    body = whole_body(gait_cycle(step, 3))
    moving = free_body.motion(body.model, body.q, body.v, body.a)
    link = body.model.link_index("head")
    loads = body.loads.copy()
    loads[:, link, 3] += 1.0
    loads[:, link, :3] += np.cross(moving.centre[0][:, link], [1.0, 0.0, 0.0])
    loads[:, link, 1] += 2.0
    missing = free_body.imbalance(body.model, moving, body.wrenches, loads)
    assert np.allclose(missing[:, link], [0, 2, 0, 1, 0, 0], atol=1e-9)
    assert np.allclose(np.delete(missing, link, axis=1), 0.0, atol=1e-9)
    assert (
        np.abs(free_body.power_of_loads(moving, loads) - free_body.power_of_loads(moving, body.loads)).max()
        > 0.1
    )


def test_energy_of_free_bodies_is_that_of_the_recursion(step):
    body = whole_body(gait_cycle(step, 5))
    moving = free_body.motion(body.model, body.q, body.v, body.a)
    known = dynamics.kinetic_energy(body.model, body.q, body.v) + dynamics.potential_energy(
        body.model, body.q
    )
    assert np.allclose(free_body.energy(body.model, moving)[0], known, rtol=1e-12)
    assert np.allclose(
        np.einsum("n,kni->ki", [b.mass for b in body.model.bodies], moving.centre[0]) / 75.0,
        dynamics.centre_of_mass(body.model, body.q),
        atol=1e-12,
    )


def test_joints_held_rigidly_carry_load(step):
    """The neck holds the head up against gravity, though it does not move in the solve."""
    body = whole_body(gait_cycle(step, 21))
    head = (tables.segments()["head"].fraction + tables.segments()["neck"].fraction) * WEIGHT
    link = body.model.joint_link_index("neck1_flex")
    upward = dynamics.forward_kinematics(body.model, body.q, [body.model.link_names[link]]).rotation[:, 0, 1]
    carried = np.einsum("ki,ki->k", upward, body.wrenches[:, link, 3:])
    assert 0.5 * head < carried.mean() < 1.5 * head
    assert np.abs(body.torque("neck1_flex")).max() > 0.1 and "neck1_flex" not in step.joint_names
    assert body.force("hip_r_flex").max() > 0.5


def test_the_foot_is_pushed_where_its_reaction_says(solution):
    body = whole_body(gait_cycle(solution, 21))
    place = centre_of_pressure(body.cycle, "r")
    single = (body.cycle.percent > 13.0) & (body.cycle.percent < 49.0)
    back, front = sole(body, "r")
    assert np.all((place[single, 0] > back[single] - 0.02) & (place[single, 0] < front[single] + 0.02))
    assert np.isnan(place[body.cycle.percent > 70.0]).all()


def test_the_thigh_inclines_by_hip_minus_pelvis_in_the_sagittal_plane(solution):
    cycle = gait_cycle(solution, 11)
    expected = cycle.angle("hip_r_flex") - cycle.angle("global_tilt")
    assert np.allclose(thigh_inclination(whole_body(cycle)), expected, atol=1e-9)


def test_criteria_say_what_is_met(solution):
    found = {each.name: each for each in credibility(solution)}
    assert len(found) == 15
    assert found["knee, peak in swing"].met and 55.0 < found["knee, peak in swing"].value < 75.0
    text = table([replace(found["knee, peak in swing"], value=80.0)])
    assert "| 80 deg | 45 .. 75 deg | **no** |" in text


def test_a_motion_that_repeats_itself_without_a_mirror_is_the_cycle_already(solution):
    points = solution.curve.control_points[0].copy()
    points[-1] = points[0]
    points[-1, solution.joint_names.index("global_tx")] += 1.2
    stride = replace(solution, curve=replace(solution.curve, control_points=(points,)))
    cycle = gait_cycle(stride, 11)
    assert cycle.time.size == 11 and cycle.duration == solution.duration
    assert cycle.step_length == pytest.approx(0.6) and np.allclose(cycle.q, stride.q(cycle.time))


def test_motions_that_do_not_repeat_themselves_have_no_cycle(solution):
    points = solution.curve.control_points[0].copy()
    points[-1, solution.joint_names.index("knee_r_flex")] += 0.1
    broken = replace(solution, curve=replace(solution.curve, control_points=(points,)))
    with pytest.raises(ProblemError, match=r"ends 0\.\d+ from where '.*' began, and is not its mirror"):
        gait_cycle(broken)


def test_motions_of_others_have_no_cycle(solution):
    with pytest.raises(UnknownNameError, match=r"is called 'knee_flex' \(did you mean 'knee_"):
        gait_cycle(solution, 3).angle("knee_flex")
    with pytest.raises(UnknownNameError, match="no joint of the motion is called 'global_tx'"):
        gait_cycle(trajopt.solve(two_link_rr.build(intervals=4), progress="silent"))


@every("quantity", quantities())
def test_measured_curves_cover_the_cycle(quantity):
    for curve in measured(quantity):
        assert curve.percent[0] == 0.0 and curve.percent[-1] in (98.0, 100.0)
        assert np.isfinite(curve.mean).all() and not curve.mean.flags.writeable
        assert curve.deviation is None or (curve.deviation > 0.0).all()


def test_measured_curves_have_the_peaks_of_the_literature():
    winter = {q: measured(q)[0] for q in ("knee angle", "vertical reaction")}
    assert winter["knee angle"].mean.max() == pytest.approx(64.9, abs=0.05)
    assert winter["vertical reaction"].mean.max() == pytest.approx(1.103, abs=5e-4)
    assert measured("ankle moment")[0].mean.max() == pytest.approx(1.69, abs=5e-3)
    with pytest.raises(UnknownNameError, match=r"is called 'knee angel' \(did you mean 'knee angle'"):
        measured("knee angel")


def test_cells_that_are_no_numbers_are_refused():
    rows = tables.checked_rows("name,mass\na,1\nb,heavy\nc,nan\n", "t.csv", ["name", "mass"])
    assert tables.vector(rows[0], ["mass"]) == [1.0]
    with pytest.raises(
        ProblemError, match=r"line 3 of table t\.csv has 'heavy' in column mass: give a number"
    ):
        tables.vector(rows[1], ["mass"])
    with pytest.raises(ProblemError, match=r"line 4 of table t\.csv has 'nan' in column mass"):
        tables.number(rows[2], "mass")
