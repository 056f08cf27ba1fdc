"""A walk that muscles drive, on a model of OpenSim that is not part of this project."""

import numpy as np
import pytest
from click.testing import CliRunner
from muscled_arm import MUSCLE, muscled_arm  # pyright: ignore  (tests/support is on the path)
from osim_files import published  # pyright: ignore
from osim_text import body, joint, osim_text  # pyright: ignore

import dynamics
import trajopt
from problems import gait
from problems.cli.command_line import main
from problems.human.assessment.measured import TRIAL
from problems.human.assessment.score import mean_correlation, scores_of
from problems.human.muscles.gait_by_muscles import intervals_of
from problems.human.muscles.walk import muscle_walk, solve_walk, walk_curves
from problems.human.opensim.storage import read_storage
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
    places = solution.problem.dynamics.robot.forward_kinematics(q, ["heel_r", "toe_r"]).position
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


def test_gait_by_muscles_needs_their_model_and_refuses_what_it_cannot_do():
    arm = joint("PinJoint", "shoulder", "torso", "arm", ("arm_flex",))
    for given, message in (
        ({}, "needs the muscles of a model: give model=..."),
        ({"backpack": 10.0}, "backpack is 10.0, but with muscles=True .* It takes model, speed, step_length"),
        ({"contact": "imposed"}, "contact is 'imposed', but with muscles=True"),
        ({"cost": "thesis"}, "cost is 'thesis', but with muscles=True"),
        ({"model": legs(), "intervals": 1.5}, "intervals = 1.5: expected a whole number, 1 or more"),
        ({"model": legs(), "smoothness": -1.0}, "smoothness = -1.0"),
    ):
        with pytest.raises(OptionError, match=message):
            gait.build(muscles=True, **given)
    with pytest.raises(ProblemError, match="no muscle of the other side"):  # the arm is held
        gait.build(muscles=True, model=legs(arm), contact="predicted")
    assert intervals_of(None) == (4, 3, 8, 8) and intervals_of(4) == (2, 2, 4, 4)
    assert intervals_of(1) == (1, 1, 1, 1)


@pytest.mark.long
def test_the_command_walks_by_muscles_and_writes_motion_muscles_and_figures(tmp_path):
    path = published("gait10dof18musc.osim")
    settings = [f"--set=model={path}", "--set=muscles=True", "--set=intervals=4", "--set=speed=1.25"]
    settings += ["--set=step_length=0.634", "--mesh-alone", "--plot"]
    run = ["solve", "gait", *settings, "--out", str(tmp_path)]
    done = CliRunner().invoke(main, run)
    assert done.exit_code == 0, done.output
    assert f"correlation with {TRIAL}: hip angle 0.9" in done.output
    assert "the trunk's motor gives" in done.output
    motion = read_storage(tmp_path / "coordinates.mot")
    assert motion.in_degrees and np.ptp(motion.columns["pelvis_tx"]) == pytest.approx(2 * 0.634, abs=1e-6)
    for right, left in (("hip_flexion_r", "hip_flexion_l"), ("ankle_angle_l", "ankle_angle_r")):
        first, second = motion.columns[right][:101], motion.columns[left][100:]
        assert np.abs(first[1:] - second[1:]).max() < 1e-9
    states = read_storage(tmp_path / "muscles.sto").columns
    assert states["/forceset/soleus_r/activation"].max() > 0.2
    assert "/forceset/reserve_lumbar_extension" in states
    assert (tmp_path / "gait_curves.png").is_file() and (tmp_path / "gait_muscles.png").is_file()
