"""Values of revolute joints beyond two turns look like degrees: they are warned of where they are written."""

import warnings

import numpy as np
import pytest

import dynamics
import trajopt
from trajopt.base.errors import DegreesWarning

LINK = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def robot(kind, limit='<limit lower="-3" upper="3" effort="9" velocity="9"/>'):
    return dynamics.load_urdf(
        f"""<robot name="r"><link name="a"/><link name="b">{LINK}</link><joint name="j" type="{kind}">
        <parent link="a"/><child link="b"/><axis xyz="0 0 1"/>{limit}</joint></robot>"""
    )


STATED = {
    "start": lambda problem, angle: problem.start_at(q=angle),
    "goal": lambda problem, angle: problem.end_at(q=[angle]),
    "bound": lambda problem, angle: problem.subject_to(trajopt.q, lower=-angle),
    "bound of a component": lambda problem, angle: problem.subject_to(trajopt.q[0], upper=angle),
    "lock": lambda problem, angle: problem.lock("j", at=angle),
    "guess": lambda problem, angle: problem.guess([[0.0], [angle]]),
}


@pytest.mark.parametrize("stated", STATED)
def test_a_revolute_joint_beyond_two_turns_is_warned_of(stated):
    problem = trajopt.Problem(robot("revolute"))
    with pytest.warns(DegreesWarning, match=r"90 rad, 14.3 turns, .*'j'.* 90 degrees are 1.571") as told:
        STATED[stated](problem, 90.0)
    assert len(told) == 1 and told[0].filename == __file__


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize(
    ("model", "angle"),
    [
        (robot("prismatic"), 90.0),
        (robot("continuous", '<limit effort="9" velocity="9"/>'), 90.0),
        (robot("revolute"), 12.5),
        (robot("revolute"), 1e3),  # said in place of no limit
    ],
)
def test_other_joints_and_values_are_not(stated, model, angle):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        STATED[stated](trajopt.Problem(model), angle)


def test_a_joint_made_by_hand_says_that_it_turns_without_end():
    def made(continuous):
        joint = dynamics.Joint("j", continuous=continuous)
        return dynamics.RigidBodyModel([dynamics.Body("b", joint, mass=1.0, inertia=np.eye(3))])

    with pytest.warns(DegreesWarning, match=r"dynamics\.Joint\(continuous=True\)"):
        trajopt.Problem(made(False)).end_at(q=50.0)
    trajopt.Problem(made(True)).end_at(q=50.0)
    assert dynamics.RigidBodyModel.from_json(made(True).to_json()).joints[0].continuous
    assert "continuous" not in made(False).to_json()
    with pytest.raises(dynamics.JointError, match="continuous is 'yes'"):
        made("yes")


def test_hinges_without_a_range_turn_without_end():
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="b"><joint name="j" {} axis="0 0 1"/>
      <geom size="0.1"/></body></worldbody></mujoco>"""
    trajopt.Problem(dynamics.from_mujoco(text.format(""))).end_at(q=50.0)
    limited = dynamics.from_mujoco(text.format('range="-90 90" limited="true"'))
    with pytest.warns(DegreesWarning):
        trajopt.Problem(limited).end_at(q=50.0)
