"""Robots with joints that turn without end."""

import numpy as np

from problems.urdf_arm import build

LINK = """<inertial><origin xyz="0.1 0 0"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>"""
ROBOT = f"""<robot name="turntable">
  <link name="base"/><link name="table">{LINK}</link><link name="arm">{LINK}</link>
  <joint name="pan" type="continuous"><parent link="base"/><child link="table"/><axis xyz="0 0 1"/>
    <limit effort="20" velocity="3"/></joint>
  <joint name="lift" type="revolute"><parent link="table"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="20" velocity="3"/></joint>
</robot>"""


def test_continuous_joints_have_default_poses_around_zero():
    problem = build(robot=ROBOT, intervals=4)
    start, end = (
        next(each.lower for each in problem.constraints if each.name == f"q at the {place}")
        for place in ("start", "end")
    )
    assert np.allclose(start, [-0.6, 1.0]) and np.allclose(end, [0.6, 0.0])
