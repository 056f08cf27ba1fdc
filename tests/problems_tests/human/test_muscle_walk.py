"""A walk that muscles drive, on a model of OpenSim that is not part of this project."""

import numpy as np
import pytest
from muscled_arm import MUSCLE, muscled_arm  # pyright: ignore  (tests/support is on the path)
from osim_files import published  # pyright: ignore
from osim_text import body, joint, osim_text  # pyright: ignore

import dynamics
import trajopt
from problems.human.assessment.measured import TRIAL
from problems.human.assessment.score import mean_correlation, scores_of
from problems.human.muscles.squat import with_feet
from problems.human.muscles.walk import muscle_walk, solve_walk, walk_curves
from trajopt.base.errors import OptionError, ProblemError


@pytest.mark.long
def test_muscles_walk_as_people_do_without_their_data():
    model = dynamics.load_osim(published("gait10dof18musc.osim"), muscles=True)
    solution = solve_walk(model)
    assert solution.converged and solution.verify().holds
    found = scores_of(*walk_curves(solution), TRIAL)
    assert len(found) == 8 and mean_correlation(found) > 0.85
    t = np.linspace(0.0, solution.curve.duration, 41)
    q, v = solution.q(t), solution.v(t)
    assert q[-1, 0] - q[0, 0] == pytest.approx(1.25 * t[-1], abs=1e-9)
    assert q[-1, 3:6] == pytest.approx(q[0, 6:9], abs=1e-9) and v[-1, 6:9] == pytest.approx(
        v[0, 3:6], abs=1e-6
    )
    activation = solution.value(trajopt.state("activation"), t)
    assert activation[-1, :9] == pytest.approx(activation[0, 9:], abs=1e-6)
    reserve = solution.value(trajopt.state("reserve"), t)[:, :6]
    assert np.abs(reserve).max() < 1.0 and activation.max() > 0.2
    places = with_feet(model).robot.forward_kinematics(q, ["heel_r", "toe_r"]).position
    flat = (t > solution.curve.durations[0]) & (t < solution.curve.durations[:3].sum())
    assert np.ptp(places[flat, :, :2], axis=0).max() < 1e-4


def test_a_walk_needs_feet_and_a_speed():
    with pytest.raises(ProblemError, match="lacks calcn_r, toes_r, calcn_l"):
        muscle_walk(dynamics.load_osim(muscled_arm(), muscles=True))
    with pytest.raises(OptionError, match="speed"):
        muscle_walk(dynamics.load_osim(muscled_arm(), muscles=True), speed=0.0)
    with pytest.raises(OptionError, match="force_rate"):
        muscle_walk(dynamics.load_osim(muscled_arm(), muscles=True), force_rate=-1.0)
    with pytest.raises(OptionError, match="step_length"):  # before the first search
        solve_walk(dynamics.load_osim(legs(), muscles=True), step_length=-0.6)


def legs(*further):
    """Two legs, a trunk and a muscle of the right leg alone; further : joints"""
    hips = [joint("PlanarJoint", "hips", "ground", "pelvis", ("pelvis_tilt", "pelvis_tx", "pelvis_ty"))]
    links = ["pelvis", "torso"]
    hips.append(joint("PinJoint", "back", "pelvis", "torso", ("lumbar_extension",)))
    for side in "rl":
        chain = ["pelvis", *(f"{name}_{side}" for name in ("femur", "tibia", "talus", "calcn", "toes"))]
        coordinates = ("hip_flexion",), ("knee_angle",), ("ankle_angle",), (), ()
        for inner, outer, names in zip(chain, chain[1:], coordinates, strict=False):
            moved = tuple(f"{name}_{side}" for name in names)
            kind = "PinJoint" if moved else "WeldJoint"
            hips.append(joint(kind, f"to_{outer}", inner, outer, moved, at="0 -0.4 0"))
        links += chain[1:]
    muscle = MUSCLE.format(name="soleus_r", force=900, start="0 0.2 0", end="0.1 0 0")
    muscle = muscle.replace("/ground", "/bodyset/tibia_r").replace("/bodyset/fore", "/bodyset/calcn_r")
    links += ["arm"] * bool(further)
    return osim_text([body(name) for name in links], [*hips, *further], forces=muscle)


def test_a_walk_is_of_legs_and_a_trunk_alone_that_mirror_each_other():
    arm = joint("PinJoint", "shoulder", "torso", "arm", ("arm_flex",))
    with pytest.raises(ProblemError, match="does not move arm_flex: hold them"):
        muscle_walk(dynamics.load_osim(legs(arm), muscles=True))
    held = dynamics.load_osim(legs(arm), hold=["arm_flex"], muscles=True)
    with pytest.raises(ProblemError, match="no muscle of the other side is named like soleus_r"):
        muscle_walk(held)
