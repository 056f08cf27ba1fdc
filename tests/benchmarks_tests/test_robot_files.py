"""Robots of files beside Pinocchio and MuJoCo: files that agree, and differences that must be seen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from urdf_text import one_joint

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

import pinocchio
from tiers import every

import dynamics
from benchmarks.dynamics.robot_files import AGREES, main, pinocchio_difference, read_urdf

ROBOTS = Path(__file__).parents[1] / "support" / "robots"
LIMIT = '<axis xyz="0 1 0"/><origin xyz="0.1 0 0"/><limit effort="1" velocity="1" lower="-1" upper="1"/>'
WRONG = one_joint(LIMIT).replace('ixx="0.001"', 'ixx="7"')
MOTOR = """<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
<actuator><{} joint="j" ctrlrange="-1 1"/></actuator></mujoco>"""


def test_a_folder_of_files_is_counted_by_how_they_load(tmp_path, capsys):
    (tmp_path / "plain.urdf").write_text(one_joint(LIMIT), encoding="utf-8")
    (tmp_path / "wrong.urdf").write_text(WRONG, encoding="utf-8")
    (tmp_path / "still.urdf").write_text('<robot name="r"><link name="a"/></robot>', encoding="utf-8")
    (tmp_path / "motor.xml").write_text(MOTOR.format("motor"), encoding="utf-8")
    (tmp_path / "named.xml").write_text(MOTOR.format("position"), encoding="utf-8")
    (tmp_path / "package.xml").write_text("<package/>", encoding="utf-8")
    main([str(tmp_path)])
    urdf, still, mjcf = capsys.readouterr().out.splitlines()
    assert urdf.startswith(".urdf: 3 files, 3 that the peer loads, 2 that agree (66.7 %; ")
    assert "1 as it is" in urdf and "1 repaired" in urdf
    assert "still.urdf: refused: no joint of the robot moves" in still
    assert mjcf.startswith(".xml: 2 files, 2 that the peer loads, 2 that agree (100.0 %; 2 as it is)")


@every("file", sorted(ROBOTS.glob("*.urdf")), fast=3)
def test_robots_of_the_tests_agree(file):
    found = read_urdf(file)
    assert found.agrees and found.difference <= AGREES


@pytest.mark.parametrize("change", ["mass", "place"])
def test_another_mass_and_another_place_are_seen(change):
    model, peer = dynamics.load_urdf(one_joint(LIMIT)), pinocchio.buildModelFromXML(one_joint(LIMIT))
    (body,) = model.bodies
    other = {
        "mass": replace(body, mass=body.mass * (1.0 + 1e-6)),
        "place": replace(body, joint=replace(body.joint, position=np.array([0.1, 1e-6, 0.0]))),
    }
    assert pinocchio_difference(peer, model) <= AGREES
    assert pinocchio_difference(peer, replace(model, bodies=(other[change],))) > 1e-8
