"""`trajopt show` tells what a file holds, without solving; what `trajopt new` writes solves as it stands."""

import inspect
import json
import re
import shlex
import warnings
from base64 import b64encode
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from library_solutions import solved_at_defaults

import problems
import trajopt
from problems import catalogue
from problems.cli import figures
from problems.cli.command_line import main
from problems.cli.commands.new import KINDS
from problems.cli.problem_file import build_file, from_file, named
from problems.urdf_arm import source


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A problem of one's own, solved and saved; the file is gone."""
    folder = tmp_path_factory.mktemp("mine")
    file = folder / "mine.py"
    text = "import problems\ndef build(*, heavy=0.5):\n    "
    file.write_text(f"{text}return problems.two_link_rr.build(intervals=5, masses=(heavy, heavy))\n")
    outcome = run("solve", file, "--set", "heavy=0.7", "--out", folder / "out")
    assert outcome.exit_code == 0, outcome.output
    file.unlink()
    return folder / "out"


def test_a_saved_solution_is_shown_without_its_problem(solved):
    shown = run("show", solved)
    assert shown.exit_code == 0, shown.output
    solution = trajopt.Solution.load(solved / "solution.npz")
    assert f"duration   {solution.duration:.7g} s" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "parameters of mine.py: heavy=0.7"
    verbose = run("show", solved, "--verbose").stderr
    assert f"found with trajopt {trajopt.__version__}, python 3." in verbose and "Ipopt(tol=" in verbose
    told = json.loads(run("show", solved, "--json").stdout)
    assert told["parameters"] == {"heavy": 0.7} and told["verdict"] is None


def test_a_problem_is_shown_with_its_counts_before_it_is_solved():
    shown = run("show", "two_link_rr", "--set", "intervals=5")
    counts = problems.two_link_rr.build(intervals=5).summary()
    assert shown.exit_code == 0 and counts.counts in shown.stdout
    told = json.loads(run("show", "two_link_rr", "--set", "intervals=5", "--json").stdout)
    assert told["variables"] == counts.variables and told["parameters"]["intervals"] == 5
    assert [line["name"] for line in told["constraints"]] == [line.name for line in counts.constraints]


def test_phases_and_robots_are_shown(tmp_path):
    assert run("show", "goddard_in_phases").stdout.startswith("Phases 'goddard_in_phases': 3 phases")
    (tmp_path / "ur5.urdf").write_text(source("ur5"), encoding="utf-8")
    shown = run("show", tmp_path / "ur5.urdf")
    assert shown.exit_code == 0 and shown.stdout.count("_joint") >= 6
    refused = run("show", tmp_path / "ur5.urdf", "--set", "a=1")
    assert refused.exit_code == 2 and "--set is for problems: a robot is as it is" in refused.stderr


def test_what_is_no_file_and_no_problem_is_refused_with_the_near_names():
    outcome = run("show", "two_link")
    assert outcome.exit_code == 2 and "did you mean 'two_link_rr'" in outcome.stderr


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "walk"])
def test_a_new_problem_solves_and_passes_as_it_is_written(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = run("new", "mine", "--kind", kind)
    assert written.exit_code == 0 and "solve it: trajopt solve mine.py" in written.stdout
    text = (tmp_path / "mine.py").read_text(encoding="utf-8")
    assert "NAME" not in text and text.startswith('"""mine: ')
    solution = trajopt.solve(build_file(tmp_path / "mine.py", {}))
    assert solution.name == "mine"
    assert solution.verify().holds, solution.verify()


def new_walk(folder):
    """The file of `trajopt new --kind walk`, the default walk, and squared torques of knees at times (k,)."""
    assert run("new", "mine.py", "--kind", "walk").exit_code == 0

    def knees(solution, t):
        i = [solution.joint_names.index(f"knee_{side}_flex") for side in "rl"]
        return np.square(solution.tau(t)[:, i]).sum(axis=1)

    return folder / "mine.py", solved_at_defaults("gait"), knees


@pytest.mark.long
def test_a_new_walk_has_the_costs_of_the_default_one_and_one_of_the_knees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, walk, knees = new_walk(tmp_path)
    problem, t = build_file(file, {"knee_weight": 1e-4}), np.linspace(0.0, walk.duration, 50)
    *others, own = problem.costs
    assert [(each.name, each.weight) for each in others] == [
        (each.name, each.weight) for each in walk.problem.costs
    ]
    assert own.name == "torques of the knees" and own.weight == 1e-4 and own.over.integrates
    np.testing.assert_allclose(walk.value(own.term, t).ravel(), knees(walk, t), rtol=1e-12)
    assert callable(from_file(file).draw)  # the figures of the walk


@pytest.mark.thorough("the cost in the test above stands for it: a minimum lowers what is added")
def test_a_new_walk_adds_a_cost_that_relieves_the_knees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, walk, knees = new_walk(tmp_path)
    relieved = trajopt.solve(build_file(file, {"knee_weight": 1e-4}), refine=None)
    assert relieved.converged
    means = [knees(each, np.linspace(0.0, each.duration, 200)).mean() for each in (relieved, walk)]
    assert means[0] < 0.9 * means[1]


OWN_FIGURE = """
import problems

build = lambda: problems.double_integrator.build()


def draw(solution, folder, ending):
    (folder / f"own.{ending}").write_bytes(b"a picture of %d joints" % len(solution.joint_names))
    return [f"own.{ending}"]
"""


@pytest.mark.long
def test_a_problem_file_adds_figures_of_its_own(tmp_path, monkeypatch):
    """Beside one figure of every solution: the others change nothing about it."""
    monkeypatch.setattr(figures, "figures_of", lambda _: ["joints"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN_FIGURE, encoding="utf-8")
    solved = run("solve", "mine.py", "--plot", "--report", "--out", "out")
    assert solved.exit_code == 0, solved.output
    assert (tmp_path / "out" / "own.png").read_bytes() == b"a picture of 1 joints"
    picture = b64encode(b"a picture of 1 joints").decode("ascii")
    assert picture in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    drawn = run("plot", "out", "--problem", "mine.py", "--format", "svg")
    assert drawn.exit_code == 0 and (tmp_path / "out" / "own.svg").is_file()
    (tmp_path / "mine.py").write_text(OWN_FIGURE.replace("len(", "lem("), encoding="utf-8")
    failed = run("plot", "out", "--problem", "mine.py")
    assert failed.exit_code == 2 and "mine.py, line 8: NameError" in failed.stderr


@pytest.mark.parametrize("name", sorted(catalogue.names()))
def test_figures_of_the_library_are_not_the_pictures_of_its_systems(name):
    """`draw` of a module with one argument, a node, is what `trajopt.system` takes."""
    draw = named(name).draw
    assert draw is None or list(inspect.signature(draw).parameters)[:3] == ["solution", "folder", "ending"]


PICTURED = """
import trajopt

def draw(node):
    return [(node.x, 0.0), (node.x, 1.0)]

def build():
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u], draw=DRAW)
    return trajopt.Problem(mass, trajopt.Trajectory.collocation(3, duration=1.0))
"""


def test_the_picture_of_a_system_in_a_file_is_no_figure_of_its_own(tmp_path):
    (tmp_path / "mine.py").write_text(PICTURED.replace("DRAW", "draw"), encoding="utf-8")
    pictured = from_file(tmp_path / "mine.py")
    assert pictured.draw is None
    pictured.build()  # without a warning


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        (OWN_FIGURE.replace("draw(solution, folder, ending)", "draw(solution)"), "(solution)"),
        (
            OWN_FIGURE.replace("draw(solution, folder, ending)", "draw(solution, folder)"),
            "(solution, folder)",
        ),
        (OWN_FIGURE.replace("draw(solution,", "draw(more, solution,"), "(more, solution, folder, ending)"),
        (PICTURED.replace("DRAW", "None"), "(node)"),
        (
            PICTURED.replace("draw(node)", "draw(node, t)").replace("DRAW", "lambda node: draw(node, 0)"),
            "(node, t)",
        ),
    ],
)
def test_a_draw_that_nothing_calls_is_told(tmp_path, source, arguments):
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    mine = from_file(tmp_path / "mine.py")
    assert mine.draw is None
    with pytest.warns(
        UserWarning, match=re.escape(f"mine.py: draw{arguments} is not called: figures of your own")
    ):
        mine.build()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("'own.png'", "draw returned 'own.png': return a list of the names"),
        ("[3]", "draw returned the name 3, which is no string"),
        ("['other.png']", "draw returned 'other.png', and its folder has no such file"),
        ("['motion.png']", "draw returned 'motion.png', the name of a figure that every solution has"),
    ],
)
def test_what_draw_returns_must_name_files_of_its_own(returned, message, tmp_path):
    text = OWN_FIGURE.replace('[f"own.{ending}"]', returned)
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(trajopt.TrajoptError, match=message):
        from_file(tmp_path / "mine.py").draw(SimpleNamespace(joint_names=()), tmp_path, "png")


@pytest.mark.long
def test_commands_in_the_head_of_a_new_problem_exist(tmp_path, monkeypatch):
    """Problems of commands with --set are built, so that a renamed parameter is seen."""
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        run("new", f"my_{kind}", "--kind", kind)
        head = (tmp_path / f"my_{kind}.py").read_text(encoding="utf-8").partition('\n"""')[0]
        for line in head.splitlines():
            command = line.partition("trajopt solve ")[2]
            if "--set" in command and "urdf" not in command:
                shown = run("show", *shlex.split(command))
                assert shown.exit_code == 0, shown.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("taken", "taken.py is there already and is not overwritten"),
        ("my-arm", "'my-arm' is no name of a module"),
        ("class", "'class' is no name of a module"),
        ("random", "a file random.py would hide the module random"),
        ("dynamics", "would hide the module dynamics"),
        ("nowhere/arm", "the folder nowhere does not exist"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_and_nothing_is_written(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.py").write_text("mine")
    outcome = run("new", name)
    assert outcome.exit_code == 2 and message in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken.py"]
    assert (tmp_path / "taken.py").read_text() == "mine"


def test_a_file_that_is_not_there_gets_the_near_match_whatever_its_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("arm.urdf", "mine.py", "solution.npz"):
        (tmp_path / name).write_text("", encoding="utf-8")
    for wrong, right in (("arm.udrf", "arm.urdf"), ("mine.yp", "mine.py"), ("solution.npy", "solution.npz")):
        outcome = run("show", wrong)
        assert outcome.exit_code == 2 and f"{wrong} does not exist (did you mean '{right}'" in outcome.stderr


def test_warnings_are_lines_that_name_files_of_the_user_alone(tmp_path):
    robot = (
        '<link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
    )
    limit = '<axis xyz="0 0 1"/><limit lower="-180" upper="180" velocity="1" effort="1"/></joint>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{robot}{limit}</robot>', encoding="utf-8")
    text = "    warnings.warn('old')\n    return problems.kirk.build()\n"
    text = f"import warnings, problems\ndef build():\n{text}"
    (tmp_path / "mine.py").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        of_robot, of_script = run("show", tmp_path / "r.urdf"), run("show", tmp_path / "mine.py")
    assert of_robot.exit_code == 0 and "click" not in of_robot.stderr
    assert of_robot.stderr.startswith("warning: ") and "'j'" in of_robot.stderr
    assert of_script.stderr == f"{tmp_path / 'mine.py'}, line 3: warning: old\n"
