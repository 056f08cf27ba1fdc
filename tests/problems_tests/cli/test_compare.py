"""`trajopt compare` and `trajopt.plot.comparison`: what they say of solutions, and what they refuse."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import problems
import trajopt
from problems.cli.command_line import main
from problems.cli.commands.compare import labels_of
from trajopt.base.errors import OptionError
from trajopt.plot.comparison import compared_curves


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    for name, mass in (("light", 0.5), ("heavy", 1.0)):
        problem = problems.two_link_rr.build(masses=(mass, 1.0))
        trajopt.solve(problem, refine=None, starts=1).save(folder / f"{name}.npz")
    trajopt.solve(problems.sliding_mass.build(), refine=None, starts=1).save(folder / "mass.npz")
    return folder


def compare(*arguments):
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_the_table_has_results_costs_and_only_parameters_that_differ(saved):
    done = compare(saved / "light.npz", saved / "heavy.npz", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    rows = answer["rows"]
    assert answer["labels"] == ["light", "heavy"]
    assert [name for name in rows if name.startswith("--set")] == ["--set masses"]
    assert rows["--set masses"] == [[0.5, 1.0], [1.0, 1.0]]
    assert rows["objective"][0] < rows["objective"][1]  # less mass in less time
    assert rows["cost, duration"] == rows["objective"]


def test_the_table_is_one_line_for_each_row(saved):
    lines = compare(saved / "light.npz", saved / "heavy.npz", saved / "mass.npz").stdout.splitlines()
    assert lines[0].split() == ["light", "heavy", "mass"]
    assert next(line for line in lines if line.startswith("problem")).split()[1:] == [
        "two_link_rr", "two_link_rr", "sliding_mass",
    ]  # fmt: skip


@pytest.mark.long
def test_the_figure_has_a_line_for_each_solution_where_both_have_the_joint(saved):
    done = compare(
        saved / "light.npz", saved / "heavy.npz", saved / "mass.npz", "--out", saved / "new" / "c.svg"
    )
    assert done.exit_code == 0, done.output
    assert (saved / "new" / "c.svg").read_text(encoding="utf-8").startswith("<?xml")
    figure = trajopt.plot.comparison(
        [trajopt.Solution.load(saved / f"{name}.npz") for name in ("light", "heavy")]
    )
    drawn = [axis for axis in figure.axes if axis.get_visible()]
    assert len(drawn) == 4  # position and torque of two joints
    assert all(len([line for line in axis.lines if len(line.get_xdata()) > 2]) == 2 for axis in drawn)


def test_curves_that_differ_most_are_drawn_first_and_the_rest_is_counted(saved):
    both = [trajopt.Solution.load(saved / f"{name}.npz") for name in ("light", "heavy")]
    figure = trajopt.plot.comparison(both, most=1)
    assert figure.get_suptitle() == "3 more curves differ less"
    spreads = {(each.what, each.name): each.spread for each in compared_curves(both)}
    s = np.linspace(0.0, 1.0, 201)
    for what, name in spreads:
        if what == "q":
            i = both[0].joint_names.index(name)
            q = [each.q(s * each.duration)[:, i] for each in both]
            assert spreads[what, name] == pytest.approx(np.abs(q[0] - q[1]).max(), abs=1e-3)


def test_one_solution_and_other_motions_are_refused(saved):
    done = compare(saved / "light.npz")
    assert done.exit_code == 2 and "one solution is given: name two or more" in done.output
    done = compare(saved / "light.npz", saved / "mass.npz", "--out", saved / "d.png")
    assert done.exit_code == 2 and "have no curve in common" in done.output
    assert not (saved / "d.png").exists()
    with pytest.raises(OptionError, match="a comparison needs two or more"):
        trajopt.plot.comparison([])


def moved(name, units):
    """A motion of states that have these units."""
    system = trajopt.system(tuple(units), ("u",), lambda node: [node.u] * len(units), units=units)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=1.0), name=name)
    problem.start_at(x=[0.0] * len(units))
    problem.end_at(x=[1.0] + [None] * (len(units) - 1))
    problem.minimize(trajopt.state("u") ** 2)
    return trajopt.solve(problem, refine=None, starts=1)


@pytest.mark.long
def test_curves_in_other_units_are_not_drawn_over_each_other_and_every_line_has_its_name():
    metres, kilometres = moved("metres", {"way": "m"}), moved("kilometres", {"way": "km"})
    assert [each.name for each in compared_curves([metres, kilometres])] == ["u"]
    both = moved("both", {"way": "m", "height": "km"})
    figure = trajopt.plot.comparison([metres, moved("high", {"height": "km"}), both])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["metres", "high", "both"]
    drawn = [axis for axis in figure.axes if axis.get_visible()]
    assert len([line for line in drawn[0].lines if len(line.get_xdata()) > 2]) == 2  # of three solutions


def test_figures_that_cannot_be_written_and_labels_that_do_not_fit_are_refused_before_anything_is_done(saved):
    done = compare(saved / "light.npz", saved / "heavy.npz", "--out", saved / "other" / "c.npz")
    assert done.exit_code == 2 and "c.npz: write a name that ends in .png, .pdf, .svg" in done.output
    assert not (saved / "other").exists()
    both = [trajopt.Solution.load(saved / f"{name}.npz") for name in ("light", "heavy")]
    with pytest.raises(OptionError, match="1 labels are given for 2 solutions: give one for each"):
        trajopt.plot.comparison(both, labels=["a"])
    with pytest.raises(OptionError, match="most = 0"):
        trajopt.plot.comparison(both, most=0)


def test_labels_are_folders_where_files_have_one_name(tmp_path):
    assert labels_of([tmp_path / "a" / "solution.npz", tmp_path / "b" / "solution.npz"]) == ["a", "b"]
    assert labels_of([tmp_path / "a.npz", tmp_path / "a.npz"]) == [f"{tmp_path.name} 1", f"{tmp_path.name} 2"]
