"""`trajopt move`: a task from a file becomes a table; mistakes in it are one paragraph and status two."""

import json
from importlib.resources import files

import pytest
from click.testing import CliRunner

from problems.cli.command_line import main

STEPS = [
    {"start": {"q": [0.0, -1.2, 1.4, -1.8, -1.57, 0.0]}},
    {"to": {"frame": "tool0", "position": [0.5, 0.1, 0.4]}},
    {"limits": {"acceleration": 10.0, "jerk": 300.0}},
]


#: A turn of the first joint, whose answer is found in a tenth of the time
TURN = [*STEPS[:1], {"to": {"q": [0.5, -1.2, 1.4, -1.8, -1.57, 0.0]}}, {"limits": {"acceleration": 10.0}}]


def run(folder, steps, *options):
    source = (files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
    (folder / "ur5.urdf").write_text(source, encoding="utf-8")
    task = folder / "task.json"
    task.write_text(json.dumps({"robot": {"urdf": "ur5.urdf"}, "steps": steps}), encoding="utf-8")
    return CliRunner().invoke(main, ["move", str(task), "--out", str(folder / "motion.csv"), *options])


@pytest.mark.long
def test_a_table_and_a_trajectory_are_written(tmp_path):
    ros, saved = str(tmp_path / "motion.json"), str(tmp_path / "motion.npz")
    done = run(tmp_path, STEPS, "--json", "--ros", ros, "--save", saved)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert answer["converged"] and answer["duration"] > 0.1 and answer["status"] == "converged"
    rows = (tmp_path / "motion.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("t [s],q shoulder_pan_joint [rad]")
    assert "joint_names" in (tmp_path / "motion.json").read_text(encoding="utf-8")
    for file in ("ur5.urdf", "task.json"):
        (tmp_path / file).unlink()  # nothing but the saved motion is needed
    verified = CliRunner().invoke(main, ["verify", saved, "--json"])
    assert verified.exit_code == 0, verified.output
    assert json.loads(verified.output)["duration"] == answer["duration"]


@pytest.mark.long
def test_a_film_is_written_beside_a_c_header(tmp_path, few_pictures):
    header = tmp_path / "2 moves.h"  # no name of C
    done = run(tmp_path, TURN, "--json", "--view", str(tmp_path / "motion.gif"), "--out", str(header))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "motion.gif").read_bytes().startswith(b"GIF89a")
    text = header.read_text(encoding="utf-8")
    assert "#define _2_MOVES_JOINTS 6" in text and "static const double _2_moves_q[" in text


def test_a_mistake_is_a_paragraph_and_status_two(tmp_path):
    done = run(tmp_path, [*STEPS[:1], {"to": {"frame": "tool", "position": [0.5, 0.1, 0.4]}}])
    assert done.exit_code == 2
    assert "steps[1]: the robot has no frame 'tool' (did you mean 'tool0'" in " ".join(done.output.split())
