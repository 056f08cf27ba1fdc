"""Motions as tables: times, columns, units, CSV and data frames."""

import csv
import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from double_integrator import least_effort
from hand_written import two_link_minimum_time
from scipy.spatial.transform import Rotation

import dynamics
import trajopt
from dynamics.errors import UnknownNameError as UnknownLinkError
from trajopt.base.errors import OptionError, UnknownNameError
from trajopt.display.curves import quaternions, times_at_rate


@pytest.fixture(scope="module")
def arm():
    return trajopt.solve(two_link_minimum_time(8))


@pytest.mark.parametrize(
    ("duration", "rate"), [(0.39, 100.0), (1.0, 7.0), (0.3, 10.0), (2.0, 0.1), (1.1, 1e4)]
)
def test_times_are_multiples_of_the_step_and_the_end_of_the_motion(duration, rate):
    t = times_at_rate(duration, rate)
    assert t[0] == 0.0 and t[-1] == duration
    assert np.allclose(t[:-1] * rate, np.arange(t.size - 1), rtol=1e-15, atol=0.0)
    last = np.diff(t)[-1] * rate
    assert 1e-6 < last <= 1.0 + 1e-9  # no sample beside the end


def test_columns_are_the_curves_of_the_solution(arm):
    samples = arm.sample(50)
    assert list(samples.columns) == [
        "t",
        *(f"{quantity} {joint}" for quantity in ("q", "v", "a", "tau") for joint in arm.joint_names),
    ]
    for quantity in ("q", "v", "a", "tau"):
        for i, joint in enumerate(arm.joint_names):
            assert np.allclose(samples[f"{quantity} {joint}"], getattr(arm, quantity)(samples.t)[:, i])
    with pytest.raises(UnknownNameError, match=r"no column is called 'q elbov' .did you mean 'q elbow'"):
        samples["q elbov"]


def test_links_turn_by_the_angles_before_them():
    rod = {"a": 0.4, "mass": 0.5, "centre_of_mass": (-0.2, 0, 0), "inertia": np.diag([0.0, 0.1, 0.1])}
    problem = trajopt.Problem(dynamics.from_dh([rod, rod]), trajopt.Trajectory.uniform(4, duration=1.0))
    problem.start_at(q=[0.1, -0.2], v=0)
    problem.end_at(q=[1.0, 0.7], v=0)
    problem.minimize(trajopt.a**2)
    solution = trajopt.solve(problem)
    t = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    turned = Rotation.from_rotvec(solution.q(t).sum(axis=-1).reshape(6, 1) * np.array([0.0, 0.0, 1.0]))
    rotation = solution.rotation(problem.dynamics.link_names[-1])
    assert np.allclose(rotation(t), turned.as_matrix().reshape(2, 3, 3, 3), rtol=0.0, atol=1e-14)
    with pytest.raises(UnknownLinkError, match="no link or frame 'link9'"):
        solution.rotation("link9")


def test_quaternions_of_two_turns_are_smooth():
    angle, axis = np.linspace(0.0, 4.0 * np.pi, 90), np.array([0.6, 0.0, 0.8])
    found = quaternions(Rotation.from_rotvec(angle[:, None] * axis).as_matrix())
    known = np.column_stack([np.outer(np.sin(angle / 2.0), axis), np.cos(angle / 2.0)])
    assert np.allclose(found * np.sign(found[0, 3]), known, rtol=0.0, atol=1e-14)


def test_a_file_holds_the_same_numbers_and_the_units(tmp_path):
    problem = least_effort(3, system=with_units())
    solution = trajopt.solve(problem)
    solution.to_csv(tmp_path / "move.csv", rate=25)
    with open(tmp_path / "move.csv", newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    assert head == ["t [s]", "x [m]", "v [m/s]", "u"]
    samples = solution.sample(25)
    assert np.array_equal(np.array(rows, dtype=float).T, list(samples.columns.values()))  # bit for bit
    assert np.allclose(samples["u"], 6.0 - 12.0 * samples.t, atol=1e-6)  # the optimum, by hand


def with_units():
    return trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u], units={"x": "m", "v": "m/s"})


def test_a_solution_without_its_problem_has_positions_velocities_and_accelerations(arm, tmp_path):
    arm.save(tmp_path / "arm.npz")
    samples = trajopt.Solution.load(tmp_path / "arm.npz").sample(20)
    assert {name.split()[0] for name in samples.columns} == {"t", "q", "v", "a"}
    assert np.array_equal(samples["v elbow"], arm.sample(20)["v elbow"])


def test_quaternions_go_on_from_phase_to_phase():
    """At 300 degrees the matrix alone would give the other sign; phases know nothing of each other."""
    body = dynamics.Body("ball", dynamics.Joint("joint"), None, 1.0, np.zeros(3), np.eye(3))
    robot = dynamics.RigidBodyModel(dynamics.ball_joint(body), np.zeros(3))
    turns = np.deg2rad([[0.0, 0.0, 0.0], [0.0, 0.0, 300.0], [0.0, 0.0, 340.0]])
    parts = []
    for first, last in itertools.pairwise(turns):
        part = trajopt.Problem(robot, trajopt.Trajectory.collocation(3, 3, duration=1.0))
        part.start_at(q=first)
        part.end_at(q=last)
        part.minimize(trajopt.v**2)
        parts.append(part)
    solution = trajopt.solve(trajopt.Phases(*parts), progress="silent")
    table = solution.sample(50)
    each = np.stack([table[f"quaternion ball {axis}"] for axis in "xyzw"], axis=1)
    half = 0.5 * table["q joint_z"]
    np.testing.assert_allclose(each[:, 2:], np.stack([np.sin(half), np.cos(half)], axis=1), atol=1e-12)
    assert solution.phases[0].rotation("ball")([]).shape == (0, 3, 3)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf, "100", True, 1e12])
def test_rates_that_cannot_be_meant_are_refused(arm, rate):
    with pytest.raises(OptionError, match="rate"):
        arm.sample(rate)


def test_without_pandas_the_error_names_the_extra(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match=r"pip install 'trajopt-splines\[pandas\]'"):
        arm.to_dataframe()


def test_a_data_frame_is_made_of_the_columns(arm, monkeypatch):
    """A stand-in takes the place of pandas, which the tests do not need."""
    stand_in = SimpleNamespace(DataFrame=lambda columns: SimpleNamespace(columns=columns, attrs={}))
    monkeypatch.setitem(sys.modules, "pandas", stand_in)
    frame, samples = arm.to_dataframe(rate=20), arm.sample(20)
    assert list(frame.columns) == list(samples.columns)
    assert frame.attrs["units"]["t"] == "s"
