"""Files for other programs: headers that agree with their rows, and numbers that come back as they went."""

import csv

import numpy as np
import pytest
from library_solutions import solved_at_defaults

import dynamics
from problems.human.assessment import exports
from problems.human.assessment.whole_body import whole_body
from problems.human.gait.cycle import each_time_once, gait_cycle
from problems.human.opensim import storage, tables
from trajopt.base.errors import ProblemError


@pytest.fixture(scope="module")
def solution():
    return solved_at_defaults("planar_walker")


@pytest.fixture(scope="module")
def folder(solution, tmp_path_factory):
    place = tmp_path_factory.mktemp("exports")
    names = exports.export(solution, place, 11)
    assert sorted(names) == sorted(path.name for path in place.iterdir())
    return place


@pytest.mark.long
def test_headers_say_what_follows(folder):
    lines = (folder / "coordinates.mot").read_text().splitlines()
    assert lines[:6] == ["Coordinates", "version=1", "nRows=21", "nColumns=56", "inDegrees=yes", "endheader"]
    assert lines[6].split("\t")[:3] == ["time", "pelvis_tx", "pelvis_ty"] and len(lines) == 7 + 21


def test_coordinates_come_back_in_degrees_and_metres(folder, solution):
    table = storage.read_storage(folder / "coordinates.mot")
    t = table.time[:11]
    assert table.in_degrees and np.all(np.diff(table.time) > 0.0)
    names = solution.joint_names
    for name, theirs, factor in (
        ("global_ty", "pelvis_ty", 1.0),
        ("knee_r_flex", "knee_angle_r", 180.0 / np.pi),
    ):
        assert np.allclose(
            table.columns[theirs][:11], factor * solution.q(t)[:, names.index(name)], rtol=1e-10
        )
    assert np.all(table.columns["wrist_dev_l"] == 0.0)


@pytest.mark.parametrize("name", ["ground_reactions.mot", "torques.sto", "joint_forces.sto"])
def test_what_is_written_is_read_again(name, folder, solution):
    read = storage.read_storage(folder / name)
    body = whole_body(each_time_once(gait_cycle(solution, 11)))
    made = getattr(tables, name.partition(".")[0])(body)
    assert (read.name, list(read.columns)) == (made.name, list(made.columns)) and not read.in_degrees
    assert np.allclose(list(read.columns.values()), list(made.columns.values()), rtol=1e-10, atol=1e-12)


def test_forces_at_centres_of_pressure_with_free_moments_are_the_loads_at_every_time(solution):
    """Also where a foot is hardly loaded: the moment of what is dropped there is a residual for OpenSim."""
    body = whole_body(each_time_once(gait_cycle(solution, 101)))
    table = tables.ground_reactions(body)
    for side in "rl":
        force, place, free = (
            np.stack([table.columns[f"ground_{what}{axis}"] for axis in "xyz"], axis=1)
            for what in (f"force_{side}_v", f"force_{side}_p", f"torque_{side}_")
        )
        assert np.allclose(np.cross(place, force) + free, body.cycle.reaction(side)[:, :3], atol=1e-6)
        hardly = (force[:, 1] > 0.0) & (force[:, 1] < 0.05 * body.cycle.weight)
        assert hardly.sum() > 3 and np.abs(place[hardly, 0]).max() < 2.0


def test_torques_of_the_file_follow_from_its_coordinates_at_rest_of_the_frozen(folder, solution):
    table = storage.read_storage(folder / "torques.sto")
    t = table.time[:10]
    expected = solution.tau(t)[:, solution.joint_names.index("knee_r_flex")]
    assert np.allclose(table.columns["knee_angle_r_moment"][:10], expected, atol=1e-8)
    body = whole_body(each_time_once(gait_cycle(solution, 11)))
    neck = dynamics.rnea(body.model, body.q[0], body.v[0], body.a[0], body.loads[0])
    index = body.model.joint_names.index("neck1_flex")
    assert table.columns["neck_extension_moment"][0] == pytest.approx(-neck[index])


def test_in_the_middle_where_torques_jump_stands_the_mean_of_both_sides(folder, solution):
    table = storage.read_storage(folder / "torques.sto").columns["knee_angle_r_moment"]
    body = whole_body(gait_cycle(solution, 11))
    both = body.torque("knee_r_flex")[10:12]
    assert abs(both[1] - both[0]) > 1.0 and table[10] == pytest.approx(both.mean())


@pytest.mark.long
def test_the_command_line_writes_everything_of_a_walk(solution, tmp_path, few_pictures):
    from problems.cli.figures import draw, how_to_open

    names = draw(solution, tmp_path, "png")
    assert f"Open Model... {tmp_path / 'body.osim'}\n" in how_to_open(tmp_path, names)
    assert how_to_open(tmp_path, ["motion.png"]) == ""
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    assert {"motion.png", "gait_angles.png", "gait.gif", "gait.md", "torques.sto"} <= set(names)
    assert "| knee, peak in swing |" in (tmp_path / "gait.md").read_text()


def test_the_summary_is_a_table_of_the_right_leg(folder):
    with (folder / "cycle.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 21 and rows[-1]["percent_gait_cycle"] == "100"
    assert max(float(row["knee_angle_deg"]) for row in rows) > 50.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Coordinates\ntime\tx\n", "has no line 'endheader': write a name, .*, a line each, above the line"),
        (
            "C,,\nnRows=2,,\nendheader,,\ntime,x,y\n",
            "line 3 is 'endheader,,', not .*: save .* with tabs between",
        ),
        ("C\nnRows=1\nnColumns=2\nendheader\ntime\tx\n0\tfar\n", "line 6: could not convert string"),
        ("C\nnRows=3\nendheader\ntime\tx\n0\t1\n1\t1", "has 2 as nRows, but its header says 3, and it ends"),
        ("C\nendheader\ntime\tx\n0\t1\n1\n", "line 5 has 1 numbers: 2 labels are above it"),
        ("C\nendheader\ntime\tx\n0\t1\n1\tnan\n", "line 5 has a gap .nan. in 'x'"),
        ("C\nendheader\nx\ttime\n0\t1\n", "line 3 begins with .'x'.: the first label must be time"),
        ("C\nendheader\ntime\tx\tx\n0\t1\t1\n1\t1\t1\n", "each label once"),
        ("C\nendheader\ntime\tx\ty\n", "has 0 rows under x, y: give two or more"),
    ],
)
def test_other_files_are_refused(text, message, tmp_path):
    (tmp_path / "a.mot").write_text(text)
    with pytest.raises(ProblemError, match=message):
        storage.read_storage(tmp_path / "a.mot")


@pytest.mark.parametrize("stated", [3, 1, "few"])
def test_tables_cut_between_rows_are_read_with_their_count(stated, tmp_path):
    (tmp_path / "a.mot").write_text(f"C\nnRows={stated}\nendheader\ntime\tx\n0\t1\n1\t2\n")
    with pytest.warns(UserWarning, match=f"has 2 as nRows, but its header says {stated}: the 2 are read"):
        read = storage.read_storage(tmp_path / "a.mot")
    assert read.columns["x"].tolist() == [1.0, 2.0]


def test_columns_of_one_label_are_left_out_and_named(tmp_path):
    """Files of OpenSim's gait2392 example repeat those of a second force plate beside the coordinates."""
    (tmp_path / "a.mot").write_text("C\nendheader\ntime\tf\tx\tf\n0\t1\t2\t3\n1\t4\t5\t6\n")
    with pytest.warns(UserWarning, match="same label and are left out: f$"):
        read = storage.read_storage(tmp_path / "a.mot")
    assert {name: values.tolist() for name, values in read.columns.items()} == {"x": [2, 5]}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, "many"])
def test_labels_say_how_many_columns_there_are(count, tmp_path):
    text = f"C\nnRows=2\nnColumns={count}\ninDegrees=no\nendheader\ntime\tx\ty\n0\t1\t2\n1\t3\t4\n"
    (tmp_path / "a.sto").write_text(text)
    read = storage.read_storage(tmp_path / "a.sto")
    assert {name: values.tolist() for name, values in read.columns.items()} == {"x": [1, 3], "y": [2, 4]}
    (tmp_path / "a.sto").write_text(text.replace("\t2\n", "\t2\t9\n").replace("\t4\n", "\t4\t9\n"))
    with pytest.raises(ProblemError, match="line 7 has 4 numbers: 3 labels are above it"):
        storage.read_storage(tmp_path / "a.sto")
