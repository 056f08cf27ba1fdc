"""Joint moments of a measured motion with measured forces, read from files, are those that made the files."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from osim_files import OPENSIM  # pyright: ignore  (tests/support is on the path)
from swinging_person import swinging_person  # pyright: ignore

import dynamics
from problems.cli.command_line import main
from problems.human.assessment.exports import export_body
from problems.human.measured.external_loads import read_external_loads, wrenches_on_links
from problems.human.measured.inverse_dynamics import joint_moments
from problems.human.motions.motion_file import MotionTable, read_motion
from problems.human.opensim.storage import Storage, read_storage, write_storage
from trajopt.base.errors import OptionError, ProblemError, UnknownNameError

SETUP = "external_loads.xml"
MOCO_WALK = os.environ.get("MOCO_WALK", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("measured")
    export_body(swinging_person(401), place)
    return place


@pytest.fixture(scope="module")
def osim(folder):
    return dynamics.load_osim(folder / "body.osim")


@pytest.fixture(scope="module")
def motion(folder):
    return read_motion(folder / "coordinates.mot")


def test_moments_of_the_files_are_those_of_the_motion_and_the_pelvis_is_balanced(folder, osim, motion):
    found = joint_moments(osim, motion, read_external_loads(folder / SETUP), cutoff=None, window=(0.05, 0.95))
    exact = read_storage(folder / "torques.sto")
    rows = np.isin(exact.time.round(9), found.time.round(9))
    assert rows.sum() == found.time.size
    assert sorted(found.residuals) == sorted(name for name in found.names if name.startswith("pelvis_"))
    for label, values in exact.columns.items():
        name = label.rpartition("_")[0]
        most = 1e-2 if name in found.residuals else 1e-4 * np.abs(values).max()
        assert np.abs(found.moment(name) - values[rows]).max() < most, name


def test_without_forces_the_pelvis_carries_what_they_would(folder, osim, motion):
    """No force turns the pelvis's slides, so that each is the sum of the forces along its axis."""
    found = joint_moments(osim, motion, cutoff=None, window=(0.05, 0.95))
    total = sum(each.at(found.time)[0] for each in read_external_loads(folder / SETUP))
    for i, axis in enumerate("xyz"):
        assert np.abs(found.moment(f"pelvis_t{axis}") - total[:, i]).max() < 1e-2
    assert "residual" in str(found) and "the residual force reaches" not in str(found)


@pytest.mark.long
def test_a_part_of_the_forces_leaves_a_residual_that_is_told(folder, osim, motion):
    forces = read_external_loads(folder / SETUP)
    partial = joint_moments(osim, motion, forces[:1])
    assert "the residual force reaches" in str(partial) and "the residual force" in partial.problems[-1]
    places = [partial.names.index(f"pelvis_t{axis}") for axis in "xyz"]
    worst = np.linalg.norm(partial.tau[:, places], axis=1).argmax()
    assert f" N at {partial.time[worst]:.4g} s, above 5 %" in partial.problems[-1]


@pytest.mark.long
def test_the_filter_keeps_slow_motion_and_removes_fast(osim, motion):
    """Forwards and backwards a Butterworth filter of third order passes 1 / (1 + (w / w_c)^6)."""
    time = np.arange(2001) * 5e-3
    slow, fast = np.sin(2.0 * np.pi * time), 0.1 * np.sin(2.0 * np.pi * 12.0 * time)
    table = MotionTable(time, {"knee_angle_r": slow + fast})
    found = joint_moments(osim, table, cutoff=6.0, window=(4.0, 6.0))
    left = found.q[:, found.names.index("knee_angle_r")] - np.interp(found.time, time, slow)
    assert np.abs(left).max() == pytest.approx(0.1 / 65.0, rel=0.15)
    assert "hip_flexion_r" in found.assumed


def test_forces_in_axes_of_a_body_act_as_the_same_forces_in_axes_of_the_ground(folder, osim, motion):
    right = next(each for each in read_external_loads(folder / SETUP) if each.body == "hindfoot_r")
    time = motion.time[::50]
    q = np.stack([motion.columns[name][::50] for name in osim.robot.joint_names], axis=1)
    pose = osim.robot.forward_kinematics(q, ["hindfoot_r"])
    R, p = pose.rotation[:, 0], pose.position[:, 0]
    force, point, moment = right.at(time)
    own = [np.einsum("kji,kj->ki", R, each) for each in (force, point - p, moment)]
    in_body = replace(
        right,
        force_axes="hindfoot_r",
        point_axes="hindfoot_r",
        time=time,
        force=own[0],
        point=own[1],
        moment=own[2],
    )
    expected = wrenches_on_links(osim.robot, q, time, (right,))
    assert np.abs(wrenches_on_links(osim.robot, q, time, (in_body,)) - expected).max() < 1e-9


def test_labels_of_states_are_read_as_coordinates(folder, osim, motion, tmp_path):
    text = (folder / "coordinates.mot").read_text()
    for name in osim.robot.joint_names:
        text = text.replace(f"\t{name}\t", f"\t/jointset/a_joint/{name}/value\t")
        text = text.replace(f"\t{name}\n", f"\t/jointset/a_joint/{name}/value\n")
    (tmp_path / "states.sto").write_text(text)
    states = read_motion(tmp_path / "states.sto", osim.robot.joint_names)
    assert all(np.array_equal(states.columns[name], motion.columns[name]) for name in osim.robot.joint_names)


def test_labels_of_states_of_one_name_keep_their_joints(tmp_path):
    labels = "time\t/jointset/hip/rz/value\t/jointset/knee/rz/value\t/jointset/knee/rz/speed"
    head = "states\nversion=1\nnRows=2\nnColumns=4\ninDegrees=no\nendheader\n"
    (tmp_path / "states.sto").write_text(f"{head}{labels}\n0\t1\t2\t9\n1\t3\t4\t9\n")
    columns = read_motion(tmp_path / "states.sto", ("hip/rz", "knee/rz")).columns
    assert {name: x.tolist() for name, x in columns.items()} == {"hip/rz": [1.0, 3.0], "knee/rz": [2.0, 4.0]}


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("hindfoot_r_v", "hindfoot_q_v", UnknownNameError, "the columns 'hindfoot_q_vx'"),
        ("loads.mot", "elsewhere.mot", ProblemError, "elsewhere.mot', which is not there.*--table"),
        ("ExternalForce", "Else", ProblemError, "has no ExternalForce"),
        ("<applied_to_body>hindfoot_r", "<applied_to_body>", ProblemError, "name one in applied_to_body"),
        ("</objects>", "", ProblemError, "is no setup of external loads"),
    ],
)  # fmt: skip
def test_setups_that_do_not_fit_their_table_are_refused(folder, tmp_path, old, new, error, message):
    (tmp_path / SETUP).write_text((folder / SETUP).read_text().replace(old, new))
    (tmp_path / "loads.mot").write_text((folder / "loads.mot").read_text())
    with pytest.raises(error, match=message):
        read_external_loads(tmp_path / SETUP)


def test_forces_whose_times_do_not_increase_are_refused(folder, tmp_path):
    """Straight lines between samples that go back in time would be others' forces without a word."""
    (tmp_path / SETUP).write_text((folder / SETUP).read_text())
    lines = (folder / "loads.mot").read_text().splitlines()
    lines[-1] = "\t".join(["0", *lines[-1].split("\t")[1:]])
    (tmp_path / "loads.mot").write_text("\n".join(lines) + "\n")
    with pytest.raises(ProblemError, match=r"time goes from .* to 0 s, it must increase"):
        read_external_loads(tmp_path / SETUP)


def test_what_cannot_be_computed_is_refused_by_what_is_missing(folder, osim, motion):
    forces = read_external_loads(folder / SETUP)
    with pytest.raises(UnknownNameError, match="'calcn_r', which the model does not have"):
        joint_moments(osim, motion, (replace(forces[0], body="calcn_r"),))
    short = {k: getattr(forces[0], k)[:201] for k in ("time", "force", "point", "moment")}
    with pytest.raises(ProblemError, match=r"measured from 0 to 0\.5 s"):
        joint_moments(osim, motion, (replace(forces[0], **short),))
    with pytest.raises(ProblemError, match="no time of the motion is in the window"):
        joint_moments(osim, motion, window=(3.0, 4.0))
    with pytest.raises(ProblemError, match="none of the model's coordinates"):
        joint_moments(osim, MotionTable(motion.time, {"elbow": motion.time}))
    with pytest.raises(OptionError, match="below half of the 400 rows per second"):
        joint_moments(osim, motion, cutoff=300.0)
    with pytest.raises(ProblemError, match="needs a fixed rate"):
        joint_moments(osim, replace(motion, time=motion.time**1.5))
    shaken = motion.time + 4e-4 * np.sin(100.0 * motion.time)  # as little as rounding, and not rounded
    with pytest.raises(ProblemError, match="needs a fixed rate"):
        joint_moments(osim, replace(motion, time=shaken))
    for rate in (120, 200, 1000):  # a row that is missing is no rounding
        time = np.delete(np.round(np.arange(motion.time.size + 1) / rate, 3), 200)
        with pytest.raises(ProblemError, match="needs a fixed rate"):
            joint_moments(osim, replace(motion, time=time))
    first = {name: values[:1] for name, values in motion.columns.items()}
    with pytest.raises(ProblemError, match="has 1 rows: give more than 5"):
        joint_moments(osim, MotionTable(motion.time[:1], first))


def test_times_rounded_to_milliseconds_are_those_of_a_fixed_rate(osim, motion):
    every = slice(None, 397, 3)  # 133 Hz, up to 0.99 s
    motion = replace(
        motion, time=motion.time[every], columns={k: x[every] for k, x in motion.columns.items()}
    )
    exact = joint_moments(osim, motion)
    rounded = joint_moments(osim, replace(motion, time=np.round(motion.time, 3)))
    assert rounded.time == pytest.approx(exact.time, abs=1e-12)
    assert rounded.tau == pytest.approx(exact.tau, abs=1e-6)


@pytest.mark.long
def test_the_command_writes_what_opensim_reads(folder, tmp_path):
    out = tmp_path / "moments.sto"
    files = [str(folder / name) for name in ("body.osim", "coordinates.mot", SETUP)]
    done = CliRunner().invoke(main, ["inverse-dynamics", *files, "--cutoff", "0", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "residual" in done.output and f"written: {out}" in done.output
    found = read_storage(out).columns
    assert found.keys() == read_storage(folder / "torques.sto").columns.keys()
    arguments = ["--cutoff", "0", "--as-opensim", "--out", str(out)]  # no joint here turns about three axes
    again = CliRunner().invoke(main, ["inverse-dynamics", *files, *arguments])
    assert again.exit_code == 0, again.output
    assert all(np.array_equal(x, found[name]) for name, x in read_storage(out).columns.items())


@pytest.mark.long
@pytest.mark.skipif(not (OPENSIM and MOCO_WALK), reason="MOCO_WALK=FOLDER, pip install -e '.[opensim]'")
def test_a_measured_walk_has_the_moments_of_opensim_beside_its_tool(tmp_path):
    """Moco's example walk, with what OpenSim takes for the rate of an axis of the knees.

    The coordinate of the patella, in degrees there, follows that of the knee: its force is part of the knee's
    moment here, and stands by itself in OpenSim's table.
    """
    source = Path(MOCO_WALK)
    for name in ("subject_walk_scaled.osim", "grf_walk.xml", "grf_walk.mot"):
        shutil.copy(source / name, tmp_path / name)
    osim = dynamics.load_osim(tmp_path / "subject_walk_scaled.osim")
    motion = read_motion(source / "coordinates.sto", osim.robot.joint_names)
    followers = {name: motion.columns[leader] for name, leader in osim.coupled.items()}
    write_storage(tmp_path / "coordinates.mot", Storage("walk", motion.time, {**motion.columns, **followers}))
    tool = ElementTree.Element("OpenSimDocument", Version="40000")
    entry = ElementTree.SubElement(tool, "InverseDynamicsTool", name="walk")
    for tag, text in {
        "results_directory": ".",
        "model_file": "subject_walk_scaled.osim",
        "time_range": "0.5 1.6",
        "forces_to_exclude": "Muscles",
        "external_loads_file": "grf_walk.xml",
        "coordinates_file": "coordinates.mot",
        "lowpass_cutoff_frequency_for_coordinates": "6",
        "output_gen_force_file": "theirs.sto",
    }.items():
        ElementTree.SubElement(entry, tag).text = text
    ElementTree.ElementTree(tool).write(tmp_path / "inverse_dynamics.xml")
    code = "import opensim; opensim.InverseDynamicsTool('inverse_dynamics.xml').run()"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    theirs = read_storage(tmp_path / "theirs.sto")
    loads = read_external_loads(tmp_path / "grf_walk.xml")
    ours, own = (
        joint_moments(osim, motion, loads, window=(0.55, 1.55), as_opensim=each) for each in (True, False)
    )
    off = np.zeros_like(ours.tau)
    for i, (name, length) in enumerate(zip(ours.names, ours.is_length, strict=True)):
        columns = [f"{name}_{'force' if length else 'moment'}"]
        columns += [f"{patella}_force" for patella, knee in osim.coupled.items() if knee == name]
        expected = sum(np.interp(ours.time, theirs.time, theirs.columns[each]) for each in columns)
        off[:, i] = ours.tau[:, i] - expected
    rms = dict(zip(ours.names, np.sqrt(np.mean(off**2, axis=0)), strict=True))
    assert max(rms.values()) < 1e-3, rms
    of_knee = ours.moment("knee_angle_r") - own.moment("knee_angle_r")
    assert np.sqrt(np.mean(of_knee**2)) > 0.05  # N m, which no filter or derivative explains
