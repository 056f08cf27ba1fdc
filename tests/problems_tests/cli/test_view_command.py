"""`trajopt view`: the page that it writes, and what it says to files that it cannot show."""

import json

import pytest
from click.testing import CliRunner

import dynamics
import problems
import trajopt
from problems.cli.command_line import main


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    pytest.importorskip("viser")
    folder = tmp_path_factory.mktemp("view")
    trajopt.solve(problems.three_link_arm.build(), refine=None, starts=1).save(folder / "solution.npz")
    return folder


def view(*arguments):
    return CliRunner().invoke(main, ["view", *map(str, arguments)])


@pytest.mark.long
def test_a_page_is_written_beside_the_solution(saved):
    scene = saved / "scene.json"
    dynamics.Scene([dynamics.box((0.1, 0.1, 0.1), (1.0, 1.0, 0.0), name="crate")]).save(scene)
    done = view(saved, "--scene", scene, "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    page = saved / "view.html"
    assert answer["file"] == str(page) and answer["bytes"] == page.stat().st_size
    assert answer["drawn"] == "lines" and answer["missing"] == []


def test_a_file_that_is_no_solution_is_refused(tmp_path):
    (tmp_path / "notes.npz").write_text("not a solution", encoding="utf-8")
    done = view(tmp_path / "notes.npz")
    assert done.exit_code == 2 and "notes.npz" in done.output and "solution" in done.output
    done = view(tmp_path / "gone.npz")
    assert done.exit_code == 2 and "give a file that `trajopt solve` or solution.save wrote" in done.output
    done = view("two_link_rr")
    assert done.exit_code == 2 and "a problem: solve it first, trajopt solve two_link_rr" in done.output


@pytest.mark.long
def test_a_frame_and_an_ending_that_are_unknown_are_named(saved):
    done = view(saved, "--tool", "hand")
    assert done.exit_code == 2 and "no link or frame 'hand'" in done.output
    done = view(saved, "--out", saved / "page.htm")
    assert done.exit_code == 2 and "page.htm: write a name that ends in .html, .gif, .mp4" in done.output
