"""`trajopt identify`: the report and files that it writes, and what it says to tables that it cannot use."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from identified_arms import harmonic_motion

import dynamics
from problems.cli.command_line import main

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0.03"/><mass value="3"/>
<inertia ixx="0.02" iyy="0.09" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.15 0 -0.02"/><mass value="1.5"/>
<inertia ixx="0.01" iyy="0.04" izz="0.035" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<dynamics damping="0.8" friction="1.5"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
<origin xyz="0.4 0 0"/><dynamics damping="0.3" friction="0.7"/></joint></robot>"""


def run(folder, *options, change=lambda lines: lines):
    (folder / "arm.urdf").write_text(URDF, encoding="utf-8")
    model = dynamics.load_urdf(URDF)
    q, v, a = harmonic_motion(2, 1, seconds=6.0)
    tau = dynamics.rnea(model, q, v, a) - dynamics.friction(model, v).force
    tau += 0.05 * np.random.default_rng(0).normal(size=tau.shape)
    lines = ["t [s],q shoulder [rad],q elbow [rad],tau shoulder [N m],tau elbow [N m]"]
    lines += [",".join(map(repr, map(float, [k / 200, *q[k], *tau[k]]))) for k in range(len(q))]
    (folder / "data.csv").write_text("\n".join(change(lines)), encoding="utf-8")
    out = "--out", str(folder / "found.csv")
    files = str(folder / "arm.urdf"), str(folder / "data.csv")
    return CliRunner().invoke(main, ["identify", *files, *out, *options])


@pytest.mark.long
def test_report_table_and_robot_are_written(tmp_path):
    done = run(tmp_path)
    assert done.exit_code == 0, done.output
    assert "10 base parameters of 24" in done.output and "written:" in done.output
    rows = (tmp_path / "found.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("base parameter,estimate") and len(rows) == 11
    found = dynamics.RigidBodyModel.from_json((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found.bodies[1].joint.friction == pytest.approx(0.7, abs=0.05)


def test_the_answer_for_programs(tmp_path):
    done = run(tmp_path, "--json", "--no-friction", "--bandwidth", "5")
    answer = json.loads(done.output)
    assert len(answer["base_parameters"]) == 6
    assert answer["noise"]["elbow"] == pytest.approx(0.05, rel=0.1)
    assert answer["condition"] < 100.0


@pytest.mark.long
def test_rotors_have_parameters_when_asked_for(tmp_path):
    answer = json.loads(run(tmp_path, "--json", "--rotors").output)
    assert any("rotor_inertia" in row["combination"] for row in answer["base_parameters"])


def test_a_table_that_lacks_a_column_is_misuse(tmp_path):
    done = run(tmp_path, change=lambda lines: [lines[0].replace("tau elbow", "elbow"), *lines[1:]])
    assert done.exit_code == 2
    assert "no column 'tau elbow'" in " ".join(done.output.split())
    assert not (tmp_path / "found.csv").exists()
