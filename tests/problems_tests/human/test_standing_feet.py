"""Where standing feet are, which way they point, and how they lie on the ground; arms beside the trunk."""

import io
from importlib.resources import files

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trajopt
from problems import gait
from problems.human.body.tables import contact_points, freedoms
from problems.human.gait.formulation import FORMULATIONS
from problems.human.gait.step import SOLE_HALF_WIDTH, Step

DATA = files("problems.human").joinpath("data", "rajagopal2016_adult_1p25ms_angles.csv")
TRIAL = np.genfromtxt(io.StringIO(DATA.read_text(encoding="utf-8")), delimiter=",", names=True)
TURNED = Step(0.6, 1.2, 1.75, 75.0, line=0.06, toe_out=10.0)

# Some are of imposed contact with the cost with sources, which warns.
pytestmark = pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")


def test_the_step_width_is_a_part_of_the_leg_and_grows_with_the_person():
    """0.13 leg lengths of 0.53 H between both heels; 0.1 m for 1.75 m with the cost of the thesis."""
    sourced, thesis = FORMULATIONS["sourced"], FORMULATIONS["thesis"]
    for height in (1.25, 1.75):
        assert 2.0 * sourced.chosen_foot_line(None, height) == pytest.approx(0.13 * 0.53 * height)
    assert thesis.chosen_foot_line(None, 1.75) == 0.05
    assert sourced.chosen_foot_line(0.08, 1.25) == 0.08


def test_the_trial_sets_its_feet_down_closer_and_straighter_than_people_do():
    """Its heels in double support, for our skeleton; the right foot while it is flat."""
    for percent in (*range(0, 13, 3), *range(50, 59, 2)):
        right, left = (measured_foot(percent, side) for side in "rl")
        assert 0.08 < right[0][2] - left[0][2] < 0.115
    for percent in range(4, 29, 4):
        x, _, z = measured_foot(percent, "r")[1]
        assert 1.0 < np.rad2deg(np.arctan2(z, x)) < 6.0


def measured_foot(percent, side):
    """Heel from the pelvis, m, and direction of the foot, of our skeleton with the trial's angles."""
    own = percent if side == "r" else (percent + 50) % 100  # columns of each leg begin with its heel strike
    outward = 1.0 if side == "r" else -1.0

    of_pelvis = [np.deg2rad(TRIAL[f"pelvis_{name}_deg"][percent]) for name in ("tilt", "list", "rotation")]
    pelvis = Rotation.from_euler("ZXY", of_pelvis)
    flexed, added, rotated = (
        np.deg2rad(TRIAL[f"hip_{name}_deg_{side}"][own]) for name in ("flexion", "adduction", "rotation")
    )
    thigh = pelvis * Rotation.from_euler("ZXY", [flexed, outward * added, outward * rotated])
    shank = thigh * Rotation.from_euler("Z", -np.deg2rad(TRIAL[f"knee_flexion_deg_{side}"][own]))
    foot = shank * Rotation.from_euler("Z", np.deg2rad(TRIAL[f"ankle_dorsiflexion_deg_{side}"][own]))
    knee, ankle = (1.75 * freedoms()[name].offset for name in ("knee_r_flex", "ankle_r_dorsi"))
    hip = 1.75 * np.array(freedoms()["hip_r_flex"].offset) * [1.0, 1.0, outward]
    heel = 1.75 * np.array(contact_points()["heel_r"][1])
    place = pelvis.apply(hip) + thigh.apply(knee) + shank.apply(ankle) + foot.apply(heel)
    along = foot.apply([1.0, 0.0, 0.0])
    return place, along * [1.0, 1.0, outward]


@pytest.mark.parametrize(("side", "outward"), [("r", 1.0), ("l", -1.0)])
def test_feet_point_outward_from_their_heels(side, outward):
    (x, z), (ball_x, ball_z) = TURNED.place(f"heel_{side}"), TURNED.place(f"ball_{side}")
    assert z == pytest.approx(outward * 0.06)
    along = np.array([ball_x - x, ball_z - z])
    assert np.linalg.norm(along) == pytest.approx(TURNED.sole["ball"])
    assert np.rad2deg(np.arctan2(outward * along[1], along[0])) == pytest.approx(10.0)
    assert np.all(TURNED.footprint(side)[:, 0] + 0.6 * (side != TURNED.leads) > -0.01)


@pytest.mark.parametrize("side", ["r", "l"])
def test_a_footprint_is_the_sole_about_the_line_of_the_foot(side):
    heel, toe = (np.array(TURNED.place(f"{point}_{side}")) for point in ("heel", "toe"))
    along = (toe - heel) / np.linalg.norm(toe - heel)
    apart = TURNED.footprint(side) - heel
    across = apart[:, 0] * along[1] - apart[:, 1] * along[0]
    assert np.allclose(np.sort(apart @ along), [0.0, 0.0, TURNED.sole["toe"], TURNED.sole["toe"]])
    assert np.allclose(np.abs(across), SOLE_HALF_WIDTH) and across.sum() == pytest.approx(0.0)
    x, height, z = TURNED.reaction_point(side)
    pushed = np.array([x, z]) - heel
    assert height == 0.0 and 0.0 < pushed @ along < TURNED.sole["toe"]
    assert pushed[0] * along[1] - pushed[1] * along[0] == pytest.approx(0.0)


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
def test_a_standing_foot_rolls_onto_its_edge_unless_its_sole_has_a_width():
    """Heel, ball and toe lie on one line: without a width, nothing but the ankle keeps it from rolling."""
    on_a_line, flat = (
        trajopt.solve(gait.build(contact="imposed", sole=sole), starts=1) for sole in (0.0, None)
    )
    assert np.rad2deg(np.arcsin(rise_of_lateral_axis(on_a_line))).max() > 15.0
    report, drift = flat.verify(), 5e-3
    assert flat.converged and report.holds, report.reason
    assert SOLE_HALF_WIDTH * rise_of_lateral_axis(flat).max() < drift + 1e-6


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
def test_feet_of_a_walk_point_outward_and_elbows_are_beside_the_trunk():
    solution = trajopt.solve(gait.build(contact="imposed"), starts=1)
    t = np.linspace(0.2, 0.65, 101) * solution.duration  # the right foot is flat
    orientation = solution.value(trajopt.Quantity("orientation:hindfoot_r"), t)
    turned = np.rad2deg(np.arctan2(orientation[:, 6], orientation[:, 0]))
    # Heel and ball, 0.19 m apart, are each within 5 mm of their places.
    assert np.all(np.abs(turned - 7.0) < np.rad2deg(2.0 * 5e-3 / TURNED.sole["ball"]) + 0.1)
    t = np.linspace(0.0, solution.duration, 1001)
    trunk = solution.value(trajopt.position("lumbar_upper"), t)[:, 2]
    for side, outward in (("r", 1.0), ("l", -1.0)):
        elbow = solution.value(trajopt.position(f"forearm_{side}"), t)[:, 2]
        assert np.all(outward * (elbow - trunk) > 0.18 - 2e-3)


def rise_of_lateral_axis(solution):
    """|R_yz| of the right foot at the nodes of single support, during all of which its ball stands."""
    t = solution.node_times
    t = t[(t >= 0.28 * solution.duration) & (t <= solution.duration)]
    return np.abs(solution.value(trajopt.Quantity("orientation:hindfoot_r"), t)[:, 5])
