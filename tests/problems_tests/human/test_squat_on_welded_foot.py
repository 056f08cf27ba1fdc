"""A leg whose foot is welded to the ground rises from a squat by its muscles; what is refused."""

import numpy as np
import pytest
from muscled_arm import muscled_arm  # pyright: ignore  (tests/support is on the path)
from osim_files import published  # pyright: ignore
from osim_text import body, joint, osim_text  # pyright: ignore

import dynamics
import trajopt
from problems.human.muscles.squat import solve_squat_on_welded_foot, squat_on_welded_foot
from trajopt.base.errors import OptionError, ProblemError, UnknownNameError

SQUAT = {"ankle": -0.3, "knee": 0.6, "hip": -0.5}  # rad
MUSCLE = """<Thelen2003Muscle name="{name}"><max_isometric_force>1000</max_isometric_force>
<optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.1</tendon_slack_length>
<GeometryPath name="path"><PathPointSet><objects><PathPoint name="a">
<socket_parent_frame>{below}</socket_parent_frame><location>{x} {y} 0</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>{above}</socket_parent_frame>
<location>{x} 0.1 0</location></PathPoint></objects></PathPointSet></GeometryPath></Thelen2003Muscle>"""


def leg():
    """Shank, thigh and trunk on the ground, with a muscle in front of and behind every joint."""
    chain = ("/ground", "/bodyset/shank", "/bodyset/thigh", "/bodyset/trunk")
    bodies = [
        body(name, mass, "0 0.2 0", f"{mass / 50} 0.01 {mass / 50} 0 0 0")
        for name, mass in (("shank", 4.0), ("thigh", 9.0), ("trunk", 40.0))
    ]
    joints, muscles = [], []
    for name, below, above in zip(SQUAT, chain, chain[1:], strict=False):
        height = 0.0 if below == "/ground" else 0.4
        inner = below.rpartition("/")[2]
        joints.append(
            joint("PinJoint", f"the {name}", inner, above.rpartition("/")[2], (name,), f"0 {height} 0")
        )
        for way, x in (("front", 0.06), ("back", -0.06)):
            muscles.append(MUSCLE.format(name=f"{name} {way}", below=below, above=above, x=x, y=height - 0.1))
    return osim_text(bodies, joints, forces="".join(muscles))


def assert_rises(solution, squat):
    assert solution.converged and solution.verify().holds
    names = list(solution.problem.dynamics.joint_names)
    first, last = solution.q(np.array([0.0, 1.0]))
    assert first == pytest.approx([squat[name] for name in names], abs=1e-9)
    assert last == pytest.approx(np.zeros(3), abs=1e-9)
    t = np.linspace(0.0, 1.0, 101)
    activation, reserve = (solution.value(trajopt.state(name), t) for name in ("activation", "reserve"))
    assert np.abs(reserve).max() < 0.1 and 0.2 < activation.max() <= 1.001
    moment, tau = solution.value(trajopt.Quantity("muscle_moment"), t), solution.tau(t)
    assert np.abs(moment + reserve - tau).max() < 0.02 * np.abs(tau).max()


@pytest.mark.long
def test_a_leg_on_a_welded_foot_rises_and_verifies():
    solution = solve_squat_on_welded_foot(dynamics.load_osim(leg(), muscles=True), squat=SQUAT)
    assert_rises(solution, SQUAT)
    weak = solve_squat_on_welded_foot(dynamics.load_osim(leg(), muscles=True), squat=SQUAT, strength=1.5)
    assert weak.objective > solution.objective


@pytest.mark.long
def test_the_leg_of_moco_rises_and_verifies():
    model = dynamics.load_osim(published("squatToStand_3dof9musc.osim"), muscles=True)
    solution = solve_squat_on_welded_foot(model)
    assert_rises(solution, {"ankle_angle_r": -0.5, "knee_angle_r": -2.0, "hip_flexion_r": -2.0})


def test_a_squat_names_coordinates_of_the_model():
    with pytest.raises(UnknownNameError, match="no coordinate is called 'ankle_angle_r'"):
        squat_on_welded_foot(dynamics.load_osim(leg(), muscles=True))
    with pytest.raises(OptionError, match="strength"):
        solve_squat_on_welded_foot(dynamics.load_osim(leg(), muscles=True), strength=0.0)
    with pytest.raises(ProblemError, match="muscles=True"):
        squat_on_welded_foot(dynamics.load_osim(muscled_arm()))
