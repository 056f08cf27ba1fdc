"""A step of replanning in C is that of Python, built by gcc: systems, arms, limits that become active."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

import problems
import trajopt
from trajopt.adapters import foreign_term
from trajopt.base.errors import OptionError, ResultFolderError, UnknownNameError

NEW, BAD_INPUT, INFEASIBLE, NO_STEP = range(4)
PERIOD = 0.03  # no whole number of intervals
TIMES = (0.0, 0.013, 0.4)
TARGET = "aim */ int x;"  # as a name from a file may be
EQUAL = 1e-9
compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc here")


@dataclass
class Library:
    """The C of a program: one plan, in memory of its own."""

    code: ctypes.CDLL
    name: str
    states: int
    controls: int

    def __post_init__(self):
        self.plan = ctypes.create_string_buffer(self.code.size_of_plan())
        self._call("start")

    def step(self, inputs, samples=1):
        return self._call("step", np.array(inputs, dtype=float).ctypes.data_as(ctypes.c_void_p), samples)

    def outputs(self):
        found = np.zeros((len(TIMES), self.states)), np.zeros((len(TIMES), self.controls))
        self._call("outputs", *(each.ctypes.data_as(ctypes.c_void_p) for each in found))
        return found

    def gap(self, step):
        """The largest difference of states and controls from those of a step in Python."""
        x, u = self.outputs()
        return max(np.abs(x - step.x(TIMES)).max(), np.abs(u - step.u(TIMES)).max())

    def _call(self, what, *arguments):
        return getattr(self.code, f"{self.name}_{what}")(self.plan, *arguments)


def built(folder, name, states, controls):
    """The library of the files, without a warning of the ones that are ours."""
    (folder / "size.c").write_text(
        f'#include "{name}.h"\nint size_of_plan(void) {{ return sizeof({name}_plan); }}\n'
    )
    common = ["gcc", "-O1", "-std=c99", "-pedantic", "-Wall", "-fPIC", "-shared", "-o", "library.so"]
    sources = [f"{name}_step.c", f"{name}_terms.c", "size.c"]
    made = subprocess.run(
        [*common, "-Wextra", "-Wno-unused-parameter", *sources, "-lm"], cwd=folder, capture_output=True
    )
    assert made.returncode == 0 and not made.stderr, made.stderr.decode()
    return Library(ctypes.CDLL(str(folder / "library.so")), name, states, controls)


def pendulum(size=1.0):
    """A pendulum that is led to an angle, an input, by a limited torque."""

    def rates(node):
        return [node.spin, np.sin(node.angle) + node.torque / size]

    @trajopt.term
    def deviation(node):
        target = node.parameter(TARGET)
        return (node.angle - target) ** 2 + 0.1 * node.spin**2 + 0.01 * (node.torque / size) ** 2

    system = trajopt.system(("angle", "spin"), ("torque",), rates)
    mesh = trajopt.Trajectory.collocation(5, 2, "radau", duration=1.0)
    problem = trajopt.Problem(system, mesh, name="pendulum")
    problem.parameter(TARGET, 0.0, 0.0)
    problem.control("torque", -1.5 * size, 1.5 * size, degree=0)
    problem.start_at(x=[0.2, 0.0])
    problem.minimize(deviation)
    return problem


@pytest.fixture(scope="module")
def upright():
    compiled = trajopt.compile(pendulum())
    return compiled, compiled.step([0.2, 0.0])


@pytest.fixture
def written(upright, tmp_path):
    compiled, first = upright
    folder = compiled.to_c(
        tmp_path / "c", first, elapsed=PERIOD, inputs=[TARGET], times=TIMES, most_samples=2, name="pole"
    )
    return built(folder, "pole", 2, 1)


@compiler
@pytest.mark.long
def test_steps_are_those_of_python_with_limits_that_become_active(upright, written):
    compiled, step = upright
    random, at_limit = np.random.default_rng(0), 0
    assert written.gap(step) < EQUAL
    for k in range(12):
        state, target = step.x(PERIOD) + 0.15 * random.standard_normal(2), 0.2 * np.sin(k)
        samples = 1 + (k % 4 == 3)
        step = compiled.step(state, {TARGET: target}, before=step, elapsed=samples * PERIOD)
        assert step.is_new and written.step([*state, target], samples) == NEW
        assert written.gap(step) < EQUAL
        at_limit += np.abs(step.u(0.0)[0]) > 1.4999
    assert 0 < at_limit < 12

    # What cannot be used leaves the plan in place, which goes on; plans do not share what changes.
    other = Library(written.code, "pole", 2, 1)
    assert written.step([np.nan, 0.0, 0.0]) == BAD_INPUT
    held = compiled.step([np.nan, 0.0], before=step, elapsed=PERIOD)
    assert not held.is_new and written.gap(held) < EQUAL
    assert written.step([0.0, 0.0, 0.0], -1) == BAD_INPUT and written.gap(held) < EQUAL
    state = held.x(PERIOD) + 0.05
    step = compiled.step(state, before=held, elapsed=PERIOD)
    assert written.step([*state, 0.0]) == NEW and written.gap(step) < EQUAL
    _, first = upright
    assert other.gap(first) < EQUAL
    # Far beyond what one step of Newton's method meets: more follow, in both.
    state = np.array([1.2, -2.0])
    step = compiled.step(state, before=step, elapsed=PERIOD)
    assert step.is_new and step.result.iterations > 1
    assert written.step([*state, 0.0]) == NEW and written.gap(step) < EQUAL


@compiler
@pytest.mark.long
def test_a_plan_that_a_wrong_state_led_away_comes_back(upright, written):
    """No step leads back from it, but one from the plan that was written."""
    compiled, first = upright
    assert written.step([1e6, 1e6, 0.0]) == NEW
    assert written.step([0.2, 0.0, 0.0]) == NEW
    assert written.gap(compiled.step([0.2, 0.0], before=first)) < EQUAL


@trajopt.term
def following(node):
    return node.q - node.parameter("goal")


@compiler
@pytest.mark.long
def test_limits_are_inputs_in_whatever_unit(tmp_path):
    """Limits are as near to each other as the differences that find their influence are wide, and nearer."""
    problem = pendulum(size=1e-4)
    compiled = trajopt.compile(problem)
    step = compiled.step([0.2, 0.0])
    folder = compiled.to_c(tmp_path, step, elapsed=PERIOD, inputs=["torque"], times=TIMES, name="light")
    light = built(folder, "light", 2, 1)
    for k in range(4):
        state, limit = step.x(PERIOD) + 0.1 * np.cos(k), 1e-4 * (1.0 + 0.1 * k)
        step = compiled.step(state, before=step, elapsed=PERIOD, torque=(-limit, limit))
        assert step.is_new and light.step([*state, -limit, limit]) == NEW
        x, u = light.outputs()
        assert np.abs(x - step.x(TIMES)).max() < EQUAL and np.abs(u - step.u(TIMES)).max() < EQUAL * limit


@compiler
@pytest.mark.long
def test_an_arm_steps_as_in_python(tmp_path):
    """Two links follow a goal with limited torques, by the robot's own recursion.

    At first limits of speed bound the next control point, near the goal those of position.
    """
    model = problems.two_link_rr.build(gravity=(0.0, -9.81, 0.0)).dynamics
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(5, duration=0.4))
    problem.parameter("goal", [0.4, -0.4], [0.4, -0.4])
    problem.start_at(q=0.0, v=0.0)
    problem.minimize(following**2, weight=20.0)
    problem.minimize(trajopt.tau**2, weight=1e-3)
    problem.subject_to(trajopt.tau, -20.0, 20.0)
    problem.subject_to(trajopt.v, -4.0, 4.0, hold="hull")
    problem.subject_to(trajopt.q, -1.0, 0.6, hold="hull")
    compiled = trajopt.compile(problem)
    step = first = compiled.step(np.zeros(4))
    folder = compiled.to_c(tmp_path, step, elapsed=0.02, inputs=["goal", "tau"], times=TIMES, name="arm")
    arm, random, limited = built(folder, "arm", 4, 2), np.random.default_rng(0), set()
    assert arm.gap(step) < EQUAL
    for k in range(11):
        goal = [0.4 + 0.1 * k, -0.4 - 0.05 * k]
        state = step.x(0.02) + 0.01 * random.standard_normal(4)
        step = compiled.step(state, before=step, elapsed=0.02, goal=goal)
        assert step.is_new and arm.step([*state, *goal, -20.0, -20.0, 20.0, 20.0]) == NEW
        assert arm.gap(step) < EQUAL
        bounds = step.nlp.upper[:2]
        limited |= {bool(each) for each in bounds == 0.6}
    assert limited == {False, True}
    # Limits that become active nearly depend on those that are.
    again, state, goal, low, high = Library(arm.code, "arm", 4, 2), first.x(0.02), [1.0, -0.7], -2.0, 9.0
    step = compiled.step(state, before=first, elapsed=0.02, goal=goal, tau=(low, high))
    assert step.is_new and again.step([*state, *goal, low, low, high, high]) == NEW
    assert again.gap(step) < EQUAL


def test_the_interface_says_all_that_goes_in_and_out(upright, tmp_path):
    """Names are encoded: nothing of a problem's texts ends a comment or becomes a line of the program."""
    compiled, first = upright
    folder = compiled.to_c(tmp_path / "new", first, elapsed=PERIOD, inputs=[TARGET], times=TIMES, name="pole")
    assert {each.name for each in folder.iterdir()} == {
        "pole.h",
        "pole_step.c",
        "pole_terms.c",
        "pole_tables.h",
    }
    text = (folder / "pole.h").read_text()
    for line in (
        "pole_input_x_start = 0, /* angle, spin */",
        "pole_input_aim_int_x = 2, /* aim_int_x */",
    ):
        assert line in text
    assert 'extern "C" {' in text and "times: 0.0, 0.013, 0.4 s" in text
    assert "pole_times = 3" in text and "controls[times][controls]: torque" in text and "int x;" not in text
    with pytest.raises(ResultFolderError, match="not empty"):
        compiled.to_c(folder, first, elapsed=PERIOD)
    compiled.to_c(folder, first, elapsed=PERIOD, name="pole", overwrite=True)
    assert "pole_times = 1" in (folder / "pole.h").read_text()
    with pytest.raises(ResultFolderError, match="is a file"):
        compiled.to_c(folder / "pole.h", first, elapsed=PERIOD, overwrite=True)


def test_what_is_no_c_is_refused_by_name(upright, tmp_path):
    compiled, first = upright
    for name in ("1st", "a b", "Math", "x;", ""):
        with pytest.raises(OptionError, match="name is"):
            compiled.to_c(tmp_path, first, elapsed=PERIOD, name=name)
    for inputs in (TARGET, None):
        with pytest.raises(OptionError, match="give a list of names"):
            compiled.to_c(tmp_path, first, elapsed=PERIOD, inputs=inputs)
    with pytest.raises(OptionError, match="weight_deviation"):
        compiled.to_c(tmp_path, first, elapsed=PERIOD, inputs=["weight_deviation"])
    with pytest.raises(UnknownNameError, match="aim"):
        compiled.to_c(tmp_path, first, elapsed=PERIOD, inputs=["aim"])
    with pytest.raises(OptionError, match="no new plan"):
        compiled.to_c(tmp_path, first.held(0.1, first.status, "late"), elapsed=PERIOD)
    for times in ([-1.0], np.inf):
        with pytest.raises(OptionError, match="from 0 on"):
            compiled.to_c(tmp_path, first, elapsed=PERIOD, times=times)
    problem = pendulum()
    problem.minimize(foreign_term(lambda q: 0.1 * q[:1] ** 2, "numpy", name="callback"))
    called = trajopt.compile(problem)
    with pytest.raises(OptionError, match="term 'callback' is computed by functions of Python"):
        called.to_c(tmp_path, called.step([0.2, 0.0]), elapsed=PERIOD)
    narrowed = pendulum()
    for name, limit in (("wall", 0.6), ("door", 0.8)):
        narrowed.subject_to(trajopt.q, upper=[limit, np.inf], hold="hull", name=name)
    twice = trajopt.compile(narrowed)
    with pytest.raises(OptionError, match="'wall' bounds positions as 'door' does"):
        twice.to_c(tmp_path, twice.step([0.2, 0.0]), elapsed=PERIOD, inputs=["wall"])
    assert not list(tmp_path.iterdir())
