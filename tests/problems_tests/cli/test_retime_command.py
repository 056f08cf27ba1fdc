"""`trajopt retime`: the table that it writes, and what it says to files that it cannot read."""

import json

import pytest
from click.testing import CliRunner

import problems
from problems.cli.command_line import main
from problems.moves.waypoint_file import read_waypoints
from trajopt.base.errors import OptionError

NAMES = "shoulder_pan_joint,shoulder_lift_joint,elbow_joint,wrist_1_joint,wrist_2_joint,wrist_3_joint"
ROWS = "0,-1.2,1.4,-1.8,-1.5,0\n0.5,-1,1.2,-1.6,-1.2,0.4\n"


def run(folder, text, *options, name="waypoints.csv"):
    (folder / "robot.urdf").write_text(problems.urdf_arm.source("ur5"), encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    files = str(folder / "robot.urdf"), str(folder / name)
    out = "--out", str(folder / "motion.csv")
    return CliRunner().invoke(main, ["retime", *files, *out, "--intervals", "200", *options])


def test_a_table_of_the_motion_is_written(tmp_path):
    done = run(tmp_path, ROWS, "--acceleration", "15", "--rate", "50")
    assert done.exit_code == 0, done.output
    assert "every limit holds" in done.output and "written:" in done.output
    lines = (tmp_path / "motion.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("t [s],q shoulder_pan_joint [rad]")
    assert [float(x) for x in lines[1].split(",")[1:7]] == [0.0, -1.2, 1.4, -1.8, -1.5, 0.0]


def test_names_in_the_first_line_order_the_columns(tmp_path):
    mixed = NAMES.split(",")[::-1]
    rows = "\n".join(",".join(row.split(",")[::-1]) for row in ROWS.splitlines())
    one = run(tmp_path, ROWS, "--json")
    other = run(tmp_path, f"{','.join(mixed)}\n{rows}\n", "--json")
    assert one.exit_code == 0 and json.loads(one.output) == json.loads(other.output)


def test_a_mark_of_the_encoding_in_front_is_no_part_of_the_first_number(tmp_path):
    one, other = run(tmp_path, ROWS, "--json"), run(tmp_path, "\ufeff" + ROWS, "--json")
    assert one.exit_code == 0 and one.output == other.output


def test_waypoints_as_json_and_a_limit_of_every_joint(tmp_path):
    rows = [[float(x) for x in row.split(",")] for row in ROWS.splitlines()]
    options = "--json", "--velocity", "[1, 1, 1, 1, 1, 2]"
    done = run(tmp_path, json.dumps(rows), *options, name="waypoints.json")
    answer = json.loads(done.output)
    assert answer["converged"] and answer["duration"] > 0.5
    assert {line["name"]: line["evidence"] for line in answer["limits"]} == {
        "speed": "proved",
        "position": "proved",
        "torque": "sampled",
    }


@pytest.mark.long
def test_a_tube_of_joints_and_of_a_frame_makes_the_motion_faster(tmp_path):
    options, rows = ("--acceleration", "15", "--json"), f"{ROWS}1,-1.3,1,-1.2,-1,0.2\n"
    on_path = json.loads(run(tmp_path, rows, *options).output)
    done = run(tmp_path, rows, *options, "--tube", "0.3", "--tool-tube", "tool0=0.05")
    answer = json.loads(done.output)
    assert answer["converged"] and answer["duration"] < on_path["duration"]
    assert [line["joint"] for line in answer["limits"] if line["name"] == "tube"][1:] == ["tool0"]


def test_a_file_that_is_no_text_and_one_that_is_not_there_are_named(tmp_path):
    file = tmp_path / "waypoints.csv"
    with pytest.raises(OptionError, match=r"waypoints.csv cannot be read as text: .*No such file"):
        read_waypoints(file, NAMES.split(","))
    file.write_bytes(b"\x00\xff")
    with pytest.raises(OptionError, match=r"waypoints.csv cannot be read as text: .*invalid start byte"):
        read_waypoints(file, NAMES.split(","))


def test_a_tube_that_is_none_is_refused_in_one_line(tmp_path):
    for tube, said in (
        (("--tube", "-1"), "tube of joint 'shoulder_pan_joint' is -1.0"),
        (("--tool-tube", "tool0=0.1"), "without tube="),
        (("--tube", "0.1", "--tool-tube", "nix=0.1"), "no link or frame 'nix'"),
    ):
        done = run(tmp_path, ROWS, *tube)
        assert done.exit_code == 2 and said in done.output, done.output


def test_a_limit_that_is_exceeded_is_exit_status_one(tmp_path, monkeypatch):
    monkeypatch.setattr("problems.moves.certificate.TOLERANCE", -1.0)
    done = run(tmp_path, ROWS)
    assert done.exit_code == 1 and "a limit is exceeded" in done.output


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("0,1,2\n", "w.csv", "line 1 has 3 values: expected 6"),
        (ROWS + "0,0,x,0,0,0\n", "w.csv", "line 3 holds 'x': give numbers"),
        (NAMES.replace("elbow", "elbo") + "\n" + ROWS, "w.csv", "did you mean 'elbow_joint'?"),
        (NAMES.replace("elbow", "wrist_1") + "\n" + ROWS, "w.csv", "0 columns of joint 'elbow_joint'"),
        ("", "w.csv", "give (k, 6), at least two rows"),
        ("[1, ", "w.json", "is no JSON"),
        (ROWS, "w.txt", "has the ending '.txt'"),
        (ROWS + "0,0,9,0,0,0\n", "w.csv", "waypoint 2, joint 'elbow_joint' is at 9, outside its limits"),
        (ROWS + "0,0,90,0,0,0\n", "w.csv", "(rad or m, not degrees): move the waypoint"),
        (ROWS.replace(",", ";"), "w.csv", "line 1 has no comma: give 6 columns with commas between"),
    ],
)
def test_files_that_are_no_waypoints_are_misuse(tmp_path, text, name, message):
    done = run(tmp_path, text, name=name)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_a_name_whose_ending_says_no_format_is_refused_before_the_work(tmp_path):
    done = run(tmp_path, ROWS, "--out", str(tmp_path / "motion.xyz"))
    assert done.exit_code == 2
    assert "motion.xyz: write a name that ends in .csv, .json, .yaml, .yml, .h" in " ".join(
        done.output.split()
    )
    assert not (tmp_path / "motion.xyz").exists()


def test_the_folder_of_the_table_is_made_and_a_file_in_its_place_is_named(tmp_path):
    out = tmp_path / "runs" / "today" / "motion.csv"
    assert run(tmp_path, ROWS, "--out", str(out), "--quiet").exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("t [s],")
    done = run(tmp_path, ROWS, "--out", str(tmp_path / "waypoints.csv" / "motion.csv"))
    assert done.exit_code == 2
    assert "waypoints.csv' is no folder that can be made" in " ".join(done.output.split())
