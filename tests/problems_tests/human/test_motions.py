"""Measured motions: files of angles and markers, names and signs, markers fitted, walks tracked."""

import numpy as np
import pytest
from osim_files import published
from osim_text import body, joint, osim_text

import dynamics
import trajopt
from problems import gait
from problems.human.motions.marker_file import Markers, read_markers
from problems.human.motions.marker_fit import fit_markers
from problems.human.motions.motion_file import read_motion
from problems.human.motions.names import joint_angles, opensim_names, read_names, write_names
from problems.human.opensim.coordinates import coordinate_values
from problems.human.opensim.storage import Storage, read_storage, write_storage
from trajopt.base.errors import OptionError, ProblemError

T = np.linspace(2.0, 3.0, 11)
ANGLES = {"knee_angle_r": 40.0 + 20.0 * np.sin(T), "pelvis_ty": 0.9 + 0.02 * np.cos(T)}


@pytest.fixture
def mot(tmp_path):
    write_storage(tmp_path / "a.mot", Storage("Coordinates", T, ANGLES, in_degrees=True))
    return tmp_path / "a.mot"


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_angles_become_radians_and_lengths_metres_whatever_the_file(mot, tmp_path):
    rows = "\n".join(f"{t},{a},{1000.0 * h}" for t, a, h in zip(T, *ANGLES.values(), strict=True))
    table = written(tmp_path / "a.csv", f"time [s],knee_angle_r [deg],pelvis_ty [mm]\n{rows}\n")
    for found in (read_motion(mot), read_motion(table)):
        np.testing.assert_allclose(
            found.columns["knee_angle_r"], np.deg2rad(ANGLES["knee_angle_r"]), rtol=1e-11
        )
        np.testing.assert_allclose(found.columns["pelvis_ty"], ANGLES["pelvis_ty"], rtol=1e-11)


def test_a_window_has_both_ends(mot):
    part = read_motion(mot).window(2.13, 2.48)
    assert part.time[[0, -1]].tolist() == [2.13, 2.48]
    assert part.columns["pelvis_ty"][0] == pytest.approx(0.9 + 0.02 * np.cos(2.13), abs=1e-4)
    with pytest.raises(ProblemError, match=r"the window is 1 to 2.5 s: the file has 2 to 3 s"):
        read_motion(mot).window(1.0, 2.5)


HEAD = "C\ninDegrees={}\nendheader\ntime\tknee_angle_r\n"
BAD = {
    "radians": ("a.mot", HEAD.format("no") + "0\t40\n1\t45\n", "reaches 45 rad, which looks like degrees"),
    "millimetres": ("a.csv", "time,pelvis_ty [m]\n0,900\n1,910\n", "reaches 910 m, which looks like mm"),
    "backwards": ("a.mot", HEAD.format("yes") + "0\t1\n1\t1\n0.5\t1\n", "row 3: time goes from 1 to 0.5 s"),
    "missing row": (
        "a.csv",
        "time,x [rad]\n0,1\n1,1\n2,1\n4,1\n",
        "line 5: 2 s without a row, where rows are 1 s apart",
    ),
    "empty cell": (
        "a.csv",
        "time,x [rad]\n0,1\n1,\n",
        "line 3: could not convert string to float: '' in 'x'",
    ),
    "unit": ("a.csv", "time,x [inch]\n0,1\n1,2\n", "'x .inch.' has unit 'inch': write deg, rad, m, mm, cm"),
    "no time": ("a.csv", "x,time\n0,1\n1,2\n", "line 1 begins with 'x'"),
    "no flag": (
        "a.mot",
        HEAD.replace("inDegrees={}\n", "") + "0\t4\n1\t5\n",
        "write inDegrees=yes, or no for rad",
    ),
    "flag": (
        "a.mot",
        HEAD.format("maybe") + "0\t4\n1\t5\n",
        "has inDegrees=maybe in its header: write yes or no",
    ),
    "no unit": ("a.csv", "time,x\n0,1\n1,2\n", "'x' has no unit: write one behind it, 'x .deg.'"),
    "length in degrees": ("a.csv", "time,x_tx [deg]\n0,1\n1,2\n", "has unit 'deg': write m, mm, cm"),
    "time in degrees": ("a.csv", "time [deg],x [m]\n0,1\n1,2\n", "has unit 'deg': write s"),
    "label twice": (
        "a.csv",
        "time,x [m],x [m]\n0,1,2\n1,2,2\n",
        "has the labels .*give each label, and once",
    ),
    "cell without end": (
        "a.csv",
        "time,x [m]\n0,'1\n" + "1" * 200000 + "\n",
        "no table of comma-separated values",
    ),
    "short": ("a.csv", "time,x\n0,1\n", "has 2 lines"),
}


@pytest.mark.parametrize(("name", "text", "message"), BAD.values(), ids=BAD)
def test_files_that_cannot_be_read_are_refused_with_the_line(name, text, message, tmp_path):
    with pytest.raises(ProblemError, match=message):
        read_motion(written(tmp_path / name, text))


@pytest.mark.parametrize("name", ["a.mot", "a.csv", "a.trc"])
def test_files_that_are_no_text_are_refused(name, tmp_path):
    (tmp_path / name).write_bytes(b"time\xff\xfe")
    with pytest.raises(ProblemError, match="is no text in UTF-8"):
        (read_markers if name == "a.trc" else read_motion)(tmp_path / name)


OTHER_FILES = {
    "forces": ("ground_force_r_vx", "ground_force_r_vy", "ground_force_r_px", "ground_torque_r_x"),
    "forces of plates": ("FP1_Fx", "FP1_Fy", "FP1_Px", "FP1_Mz"),
    "forces of joints": ("hip_flexion_r_moment", "knee_angle_r_moment", "pelvis_tx_force"),
    "muscle activity": ("gasmed_r", "soleus_r", "tibant_r", "vaslat_r", "recfem_r"),
    "muscle activity of sensors": ("EMG1", "EMG2"),
}


@pytest.mark.parametrize("kind", OTHER_FILES)
@pytest.mark.parametrize("name", ["a.mot", "a.csv"])
def test_files_of_forces_and_of_muscles_are_named(kind, name, tmp_path):
    labels = ("time", *OTHER_FILES[kind])
    rows = [" ".join(str(700.0 + i) for i in range(len(labels)))] * 2
    text = "\n".join(["C", "endheader", " ".join(labels), *rows]) if name == "a.mot" else "\n".join(
        each.replace(" ", ",") for each in (" ".join(labels), *rows)
    )  # fmt: skip
    with pytest.raises(OptionError, match=f"has {kind.partition(' of ')[0]}, "):
        read_motion(written(tmp_path / name, text))


def test_forces_beside_coordinates_that_never_change_are_named_and_a_pose_is_a_motion(tmp_path):
    """As SIMM writes a trial of force plates: a table of the whole model, whose coordinates are all zero."""
    head = "name trial.mot\ndatacolumns 6\ndatarows 2\nendheader\n"
    coordinates, forces = "time knee_angle_r pelvis_ty", " ground_force_vx ground_force_vy ground_torque_x"
    rows = "0 0 0 1 700 2\n0.01 0 0 2 710 2\n"
    with pytest.raises(OptionError, match="has forces, ground_force_vx, ground_force_vy"):
        read_motion(written(tmp_path / "a.mot", f"{head}{coordinates}{forces}\n{rows}"))
    pose = HEAD.format("yes") + "0\t30\n1\t30\n"
    assert list(read_motion(written(tmp_path / "b.mot", pose)).columns) == ["knee_angle_r"]


def test_labels_of_coordinates_are_no_other_kind(tmp_path):
    for label in (each.column for each in opensim_names()):
        table = f"time,{label} [rad]\n0,0.1\n1,0.2\n"
        assert list(read_motion(written(tmp_path / "a.csv", table)).columns) == [label]


def test_the_flag_of_degrees_may_be_in_capitals(tmp_path):
    table = read_motion(written(tmp_path / "a.mot", HEAD.format("Yes") + "0\t90\n1\t45\n"))
    np.testing.assert_allclose(table.columns["knee_angle_r"], [np.pi / 2.0, np.pi / 4.0])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("walk.c3d", "C3DFileAdapter of the application OpenSim"),
        ("Walk.BVH", "write places of its joints as markers, .trc"),
        ("walk.xlsx", "save it as a .csv of coordinates with a column time"),
    ],
)
def test_files_of_motion_capture_and_spreadsheets_say_how_to_convert_them(name, advice, tmp_path):
    file = tmp_path / name
    file.write_bytes(b"HIERARCHY\nROOT Hips\n" if "BVH" in name else b"\x02P\xff\x00")
    with pytest.raises(OptionError, match=rf"give a .mot, .sto or .csv; .*{advice}"):
        read_motion(file)
    for read in (read_markers, read_storage):
        with pytest.raises(ProblemError, match=rf"is not read: .*{advice}"):
            read(file)


def test_other_files_and_no_file_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"is a .txt: give a .mot, .sto or .csv"):
        read_motion(written(tmp_path / "a.txt", ""))
    with pytest.raises(ProblemError, match="there is no file"):
        read_motion(tmp_path / "b.mot")


def trc(unit="mm", rows=("1\t0.00\t1\t2\t3\t4\t5\t6", "2\t0.01\t1\t2\t3\t\t\t"), frames=2):
    return (
        "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n"
        f"100\t100\t{frames}\t2\t{unit}\nFrame#\tTime\tone\t\t\ttwo\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
    ) + "\n".join(rows) + "\n"  # fmt: skip


def test_markers_are_metres_and_what_was_not_seen_is_nan(tmp_path):
    found = read_markers(written(tmp_path / "a.trc", trc()))
    np.testing.assert_allclose(found.places["one"], 1e-3 * np.array([[1, 2, 3], [1, 2, 3]]))
    np.testing.assert_allclose(found.places["two"][0], [4e-3, 5e-3, 6e-3])
    assert found.gaps == {"two": 1}


BAD_TRC = {
    "unit": (trc("inch"), "line 3 has the unit 'inch' of length: write m, mm, cm"),
    "markers": (trc().replace("\t2\tmm", "\t3\tmm"), "has 2 as NumMarkers, but its header says 3"),
    "ends in a number": (trc(frames=7)[:-1], "says 7, and it ends within a row or right behind it: delete"),
    "ends in a row": (
        trc(rows=("1\t0\t1\t2\t3\t4\t5\t6", "2\t1\t1"), frames=7),
        "says 7, and it ends within",
    ),
    "text": (trc(rows=("1\t0\ta\t2\t3\t4\t5\t6",) * 2), "line 7: could not convert string to float: 'a'"),
    "long": (trc(rows=("1\t0\t1\t2\t3\t4\t5\t6\t7",) * 2), "line 7 has 9 numbers: 8 are expected"),
    "time": (trc(rows=("1\t0\t1\t2\t3\t4\t5\t6",) * 2), "time goes from 0 to 0 s"),
    "one frame": (trc(rows=("1\t0\t1\t2\t3\t4\t5\t6",), frames=1), "has 1 rows of numbers: give two or more"),
    "no frame": (trc(rows=(), frames=0), "has 0 rows of numbers: give two or more"),
    "no time": (trc(rows=("1\t\t1\t2\t3\t4\t5\t6",) * 2), "line 7 has no time"),
    "infinite": (trc(rows=("1\t0\tinf\t2\t3\t4\t5\t6",) * 2), "line 7 has no time, or an infinite number"),
    "equal names": (trc().replace("two", "one"), "has the markers .*give at least one, and each name once"),
    "other": ("time,x\n", "does not begin with 'PathFileType'"),
}


@pytest.mark.parametrize(("text", "message"), BAD_TRC.values(), ids=BAD_TRC)
def test_marker_files_that_cannot_be_read_are_refused(text, message, tmp_path):
    with pytest.raises(ProblemError, match=message):
        read_markers(written(tmp_path / "a.trc", text))


@pytest.mark.parametrize("frames", [1, 7, "all"])
def test_files_cut_between_rows_are_read_with_their_count(frames, tmp_path):
    with pytest.warns(UserWarning, match=f"has 2 as NumFrames, but its header says {frames}: the 2 are read"):
        found = read_markers(written(tmp_path / "a.trc", trc(frames=frames)))
    assert found.time.tolist() == [0.0, 0.01]


def test_a_marker_of_which_a_cell_is_empty_was_not_seen(tmp_path):
    found = read_markers(
        written(tmp_path / "a.trc", trc(rows=("1\t0\t1\t\t3\t4\t5\t6", "2\t1\t1\t2\t3\t4\t5\t6")))
    )
    assert np.isnan(found.places["one"][0]).all() and found.gaps == {"one": 1}


def test_a_marker_at_the_origin_to_all_digits_was_lost(tmp_path):
    rows = ("1\t0\t0\t0.000\t-0\t4\t0\t0", "2\t1\t1\t2\t3\t0\t0\t6")
    with pytest.warns(UserWarning, match="places 0, 0, 0 are taken as gaps: one in 1 rows$"):
        found = read_markers(written(tmp_path / "a.trc", trc("MM", rows=rows)))
    assert found.gaps == {"one": 1}
    np.testing.assert_allclose(found.places["two"], [[4e-3, 0.0, 0.0], [0.0, 0.0, 6e-3]])


def arm(first="p"):
    """Three hinges between -1.5 and 1.5 rad, a coordinate of another range as text."""
    frame = "<socket_parent_frame>/bodyset/{}</socket_parent_frame>"
    marker = "<Marker name='{}'>" + frame + "<location>{}</location></Marker>"
    places = [
        ("a", "x", "0 -0.3 0.05"),
        ("b", "x", "0.1 -0.2 0"),
        ("c", "y", "0 -0.3 0"),
        ("d", "y", "0.05 0 0.1"),
    ]
    joints = [
        joint("UniversalJoint", "one", "ground", "x", [first, "r"]),
        joint("PinJoint", "two", "x", "y", ["k"], "0 -0.4 0"),
    ]
    markers = "".join(marker.format(*place) for place in places)
    return dynamics.load_osim(osim_text([body("x"), body("y")], joints, markers=markers))


def test_coordinates_are_found_again_from_markers_also_where_one_is_hidden():
    osim = arm()
    t = np.linspace(0.0, 1.0, 9)
    q = np.stack([np.sin(t), 0.5 * np.cos(2.0 * t), 1.2 * t], axis=1)
    places = dynamics.forward_kinematics(osim.robot, q, osim.markers).position
    seen = {name: places[:, i].copy() for i, name in enumerate(osim.markers)}
    seen["d"][3] = np.nan
    renamed = {"elbow": seen.pop("c")} | seen
    found = fit_markers(osim.robot, Markers(t, renamed), np.zeros(3), frames={"elbow": "c"})
    np.testing.assert_allclose(found.q, q, rtol=0.0, atol=1e-7)
    assert found.distance.max() < 1e-7


def placed(osim, count):
    places = dynamics.forward_kinematics(osim.robot, np.zeros((count, 3)), osim.markers).position
    return np.linspace(0.0, 1.0, count), {name: places[:, i] for i, name in enumerate(osim.markers)}


@pytest.mark.long
def test_a_fit_of_noisy_markers_is_that_of_a_general_trust_region():
    """Scipy's trust region from the pose that was found, and from the true one, gets no lower."""
    from scipy.optimize import least_squares

    osim, rng = arm(), np.random.default_rng(3)
    t = np.linspace(0.0, 1.0, 5)
    q = np.stack([np.sin(t), 0.5 * np.cos(2.0 * t), 1.2 * t], axis=1)
    exact = dynamics.forward_kinematics(osim.robot, q, osim.markers).position
    noisy = exact + 0.03 * rng.standard_normal(exact.shape)
    found = fit_markers(
        osim.robot, Markers(t, dict(zip(osim.markers, noisy.swapaxes(0, 1), strict=True))), q[0]
    )
    for k, wanted in enumerate(noisy):

        def error(x, wanted=wanted):
            return (dynamics.forward_kinematics(osim.robot, x, osim.markers).position - wanted).ravel()

        least = min(
            (least_squares(error, x, xtol=1e-14, ftol=1e-14, gtol=1e-14) for x in (q[k], found.q[k])),
            key=lambda each: each.cost,
        )
        np.testing.assert_allclose(found.q[k], least.x, atol=1e-6)
        assert found.distance[k] == pytest.approx(np.sqrt(2.0 * least.cost / len(wanted)), rel=1e-9)


@pytest.mark.long
def test_a_body_that_turns_round_is_followed_from_pose_to_pose():
    """Angles go on where a turn is full: the same pose by another turn would be a jump."""
    osim = arm("<Coordinate name='p'><range>-1 9.5</range></Coordinate>")
    t = np.linspace(0.0, 1.0, 60)
    q = np.stack([9.0 * t, np.zeros_like(t), np.full_like(t, 0.5)], axis=1)
    places = dynamics.forward_kinematics(osim.robot, q, osim.markers).position
    found = fit_markers(
        osim.robot, Markers(t, dict(zip(osim.markers, places.swapaxes(0, 1), strict=True))), q[0]
    )
    assert found.distance.max() < 1e-7
    np.testing.assert_allclose(found.q, q, atol=1e-6)


def test_distances_of_markers_are_metres_whatever_the_weights():
    """A marker without weight, 5 cm away, is one of four: the root of the mean square is 2.5 cm."""
    osim = arm()
    t, places = placed(osim, 2)
    places["a"] = places["a"] + np.array([0.0, 0.05, 0.0])
    found = fit_markers(osim.robot, Markers(t, places), np.zeros(3), weights={"a": 1e-12})
    np.testing.assert_allclose(found.distance, 0.025, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"z": 1.0}}, "weights has 'z', no marker: there are a, b, c, d"),
        ({"weights": {"a": -1.0}}, "the weight of 'a' = -1.0: expected a finite number above 0"),
        ({"frames": {"z": "a"}}, "frames has 'z', no marker"),
        ({"frames": {"a": "z"}}, "frames has 'z' for 'a', no frame: there are a, b, c, d"),
        ({"start": [0.0, 0.0]}, r"start has shape \(2,\): give 3 finite numbers"),
        ({"start": [0.0, 0.0, np.nan]}, "give 3 finite numbers, rad or m"),
    ],
)
def test_options_of_a_fit_that_make_no_sense_are_refused(options, message):
    osim = arm()
    with pytest.raises(OptionError, match=message):
        fit_markers(osim.robot, Markers(*placed(osim, 2)), **{"start": np.zeros(3), **options})


def test_markers_that_the_robot_does_not_have_and_too_few_are_refused():
    osim, t = arm(), np.linspace(0.0, 1.0, 3)
    with pytest.raises(ProblemError, match="no marker is a frame of the robot: the file has q"):
        fit_markers(osim.robot, Markers(t, {"q": np.zeros((3, 3))}), np.zeros(3))
    far = {name: np.full((3, 3), np.inf) for name in ("a", "b", "c")}
    with pytest.raises(ProblemError, match="marker 'a' is infinitely far at 0 s: NaN means"):
        fit_markers(osim.robot, Markers(t, far), np.zeros(3))
    with pytest.raises(ProblemError, match="at 0 s 1 markers are seen: three are needed"):
        fit_markers(osim.robot, Markers(t, {"a": np.zeros((3, 3))}), np.zeros(3))


def test_names_and_signs_give_back_the_angles_that_were_exported(tmp_path):
    q = np.random.default_rng(3).uniform(-0.3, 0.3, (4, 55))
    from problems.human.body.tables import freedoms
    from problems.human.motions.motion_file import MotionTable

    joints = tuple(freedoms())
    write_names(tmp_path / "names.csv")
    names = read_names(tmp_path / "names.csv")
    found = joint_angles(MotionTable(T[:4], coordinate_values(q)), names, joints)
    assert len(found) == len(opensim_names()) == 43
    for joint_name, values in found.items():
        np.testing.assert_allclose(values, q[:, joints.index(joint_name)], rtol=0.0, atol=1e-6)


def test_tables_of_names_are_checked(tmp_path):
    head = "column,joint,sign,zero_deg\n"
    with pytest.raises(ProblemError, match=r"line 2 of table n.csv has 'knie' in column joint"):
        read_names(written(tmp_path / "n.csv", head + "k,knie,1,0\n"))
    with pytest.raises(ProblemError, match=r"line 2 of table n.csv has 2 in column sign: write 1 or -1"):
        read_names(written(tmp_path / "n.csv", head + "k,knee_r_flex,2,0\n"))
    with pytest.raises(ProblemError, match="'knee_r_flex' in column joint a second time: leave one line out"):
        read_names(written(tmp_path / "n.csv", head + "k,knee_r_flex,1,0\nj,knee_r_flex,1,0\n"))
    with pytest.raises(ProblemError, match=r"table n.csv has no column zero_deg"):
        read_names(written(tmp_path / "n.csv", "column,joint,sign\n"))
    with pytest.raises(ProblemError, match="there is no table of names"):
        read_names(tmp_path / "m.csv")


def test_a_motion_without_any_joint_that_moves_is_refused(tmp_path):
    path = written(tmp_path / "a.csv", "time,elephant [rad]\n0,1\n1,1\n2,1\n")
    with pytest.raises(
        ProblemError, match="no column of the measured motion is a joint that moves: it has elephant"
    ):
        gait.build(cost="thesis", track=str(path))
    with pytest.raises(OptionError, match="track_weight = 0"):
        gait.build(cost="thesis", track=str(path), track_weight=0.0)


@pytest.mark.thorough("test_tracking stands for it")
def test_a_walk_comes_nearer_to_the_measured_one_the_heavier_it_weighs(tmp_path):
    plain = trajopt.solve(gait.build(cost="thesis"), refine=None, progress="silent")
    t = np.linspace(0.0, plain.duration, 41)
    place = plain.joint_names.index("knee_r_flex")
    knee = np.rad2deg(plain.q(t)[:, place]) + 6.0 * np.sin(np.pi * t / t[-1]) ** 2
    write_storage(
        tmp_path / "m.mot", Storage("Coordinates", 5.0 + t, {"knee_angle_r": knee}, in_degrees=True)
    )
    apart = [6.0 * np.sqrt(3.0 / 8.0)]  # of the walk without tracking, by the mean of sin^4
    for weight in (0.1, 10.0):
        problem = gait.build(cost="thesis", track=str(tmp_path / "m.mot"), track_weight=weight)
        walk = trajopt.solve(problem, refine=None, progress="silent")
        assert walk.converged
        apart.append(np.sqrt(np.mean((np.rad2deg(walk.q(t)[:, place]) - knee) ** 2)))
    assert apart[0] > 2.0 * apart[1] > 2.0 * apart[2]
    assert apart[0] > 8.0 * apart[2]


def test_files_of_others_are_read_as_they_are():
    run, walk = read_motion(published("hamner_run_ik.mot")), read_markers(published("rajagopal_walk.trc"))
    assert 1.5 < np.ptp(run.columns["knee_angle_r"]) < 2.5
    assert len(walk.places) == 41 and not walk.gaps
    assert np.all(np.abs(walk.places["R.Heel"][:, 1]) < 0.5)
