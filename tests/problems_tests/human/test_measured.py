"""Joint moments of a measured motion with measured forces, read from files, are those that made the files."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import dynamics
from problems.cli.command_line import main
from problems.human.assessment.exports import export_body
from problems.human.assessment.whole_body import whole_body
from problems.human.body.person import Person
from problems.human.body.tables import freedoms
from problems.human.gait.cycle import Cycle
from problems.human.measured.external_loads import read_external_loads, wrenches_on_links
from problems.human.measured.inverse_dynamics import joint_moments
from problems.human.motions.motion_file import MotionTable, read_motion
from problems.human.opensim.storage import read_storage
from trajopt.base.errors import OptionError, ProblemError, UnknownNameError

SETUP = "external_loads.xml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All 55 joints of a person swing smoothly, and both feet share what the ground must give."""
    rng, time = np.random.default_rng(0), np.linspace(0.0, 1.0, 401)
    person, n = Person(), len(freedoms())
    model = person.skeleton()
    phase, rate = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(2.0, 8.0, n)
    size = np.where([joint.kind == "prismatic" for joint in freedoms().values()], 0.05, 0.25)
    angle = rate * time[:, None] + phase
    q = size * np.sin(angle)
    q[:, model.joint_names.index("global_ty")] += 0.95
    v, a = size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)
    total = dynamics.base_wrench(model, q, v, a)
    share = 0.5 + 0.3 * np.sin(5.0 * time)[:, None]
    loads = {"hindfoot_r": share * total, "hindfoot_l": (1.0 - share) * total}
    place = tmp_path_factory.mktemp("measured")
    export_body(whole_body(Cycle(model.joint_names, time, q, v, a, loads, loads, 1.0, 0.5, person)), place)
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


def test_without_forces_the_pelvis_carries_the_weight(osim, motion):
    found = joint_moments(osim, motion, cutoff=None)
    assert found.moment("pelvis_ty").mean() == pytest.approx(Person().weight, rel=0.5)
    assert "residual" in str(found) and "check masses" not in str(found)


def test_half_of_the_forces_is_told_to_leave_a_residual(folder, osim, motion):
    (right, _) = read_external_loads(folder / SETUP)
    assert "the residual force reaches" in str(joint_moments(osim, motion, (right,)))


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
    (right, _) = read_external_loads(folder / SETUP)
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


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("hindfoot_r_v", "hindfoot_q_v", UnknownNameError, "the columns 'hindfoot_q_vx'"),
        ("loads.mot", "elsewhere.mot", ProblemError, "elsewhere.mot', which is not there"),
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


def test_the_command_writes_what_opensim_reads(folder, tmp_path):
    out = tmp_path / "moments.sto"
    files = [str(folder / name) for name in ("body.osim", "coordinates.mot", SETUP)]
    done = CliRunner().invoke(main, ["inverse-dynamics", *files, "--cutoff", "0", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "residual" in done.output and f"written: {out}" in done.output
    assert read_storage(out).columns.keys() == read_storage(folder / "torques.sto").columns.keys()
