"""Copies of problems on other trajectories, and guesses taken from motions that are known."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hand_written import TwoLinkArm, two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.problem.guess import Motion
from trajopt.problem.problem_graph import limit_order
from trajopt.splines.basis import Curve


@dataclass
class KnownMotion:
    """A motion that no solver made: q = (s, -s) over two seconds."""

    joint_names: tuple = TwoLinkArm.joint_names
    parameters: dict = field(default_factory=lambda: {"load": np.array([3.0]), "other": np.ones(2)})
    extra_widths = None
    basis = trajopt.SplineBasis.uniform(1, 3)

    @property
    def curve(self):
        line = self.basis.greville[:, None] * np.array([1.0, -1.0])
        return Curve((self.basis,), (line,), np.array([2.0]))


def test_arrays_that_change_after_they_were_given_change_no_problem():
    problem = trajopt.Problem(TwoLinkArm(), trajopt.Trajectory.uniform(4))
    given = [np.zeros(2), np.ones(2), np.full(2, -9.0), np.array([[0.0, 0.0], [1.0, 1.0]]), np.arange(4.0)]
    start, end, lower, guess, data = given
    problem.start_at(q=start, v=0)
    problem.end_at(q=end, v=0)
    problem.subject_to(trajopt.q - end, lower=lower)
    problem.guess(guess, duration=1.0)
    problem.data("seen", data, data)
    problem.minimize((trajopt.q - end) ** 2)
    before = trajopt.solve(problem, refine=None, starts=1).objective
    for each in given:
        each[:] = np.nan
    assert trajopt.solve(problem, refine=None, starts=1).objective == before


def problem_with_everything():
    problem = two_link_minimum_time(5)
    problem.parameter("load", 0.0, 5.0)
    problem.extra("force", 2)
    problem.data("seen", [0.0, 1.0, 2.0, 3.0], np.arange(4.0))
    problem.guess(np.zeros((3, 2)), duration=1.0)
    return problem


def sizes(problem):
    return {name: len(value) for name, value in vars(problem).items() if isinstance(value, list | dict | set)}


def test_a_copy_on_another_trajectory_shares_nothing_that_changes():
    problem = problem_with_everything()
    before = sizes(problem)
    finer = trajopt.Trajectory.uniform(9)
    copy = problem.on(finer)
    assert copy.trajectory is finer and problem.trajectory is not finer
    assert copy.guessed_curve is None and copy.guessed_durations is None and problem.guessed_curve is not None
    assert [c.name for c in copy.constraints] == [c.name for c in problem.constraints]
    copy.minimize(trajopt.tau**2, name="another")
    copy.subject_to(trajopt.a, upper=1.0)
    copy.subject_to_periodic(trajopt.q)
    copy.parameter("more")
    copy.extra("more")
    copy.data("more", [0.0, 1.0, 2.0, 3.0], np.arange(4.0))
    copy.guess(KnownMotion())
    assert copy.parameters["load"].guess == 3.0 and problem.parameters["load"].guess == 2.5
    assert before == sizes(problem) and len(before) >= 9


def test_a_motion_of_any_kind_is_a_guess():
    problem = problem_with_everything()
    motion = KnownMotion()
    assert isinstance(motion, Motion) and isinstance(trajopt.solve(two_link_minimum_time(5)), Motion)
    problem.guess(motion)
    assert np.allclose(problem.guessed_curve([0.0, 0.5, 1.0]), [[0.0, 0.0], [0.5, -0.5], [1.0, -1.0]])
    assert problem.guessed_durations.tolist() == [2.0] and problem.parameters["load"].guess == 3.0
    assert not isinstance(lambda s: s, Motion)


def test_a_duration_beside_a_motion_is_the_guessed_one():
    problem = problem_with_everything()
    problem.guess(KnownMotion(), duration=0.5)
    assert problem.guessed_durations.tolist() == [0.5]
    assert np.allclose(problem.guessed_curve([0.5]), [[0.5, -0.5]])
    with pytest.raises(errors.NotFiniteError, match="duration is -1"):
        problem.guess(KnownMotion(), duration=-1.0)


def test_the_arcs_of_a_motion_keep_their_shares_of_a_guessed_duration():
    @dataclass
    class TwoArcs(KnownMotion):
        @property
        def curve(self):
            line = self.basis.greville[:, None] * np.array([1.0, -1.0])
            return Curve((self.basis, self.basis), (line, 1.0 + line), np.array([1.5, 0.5]))

    arc = trajopt.Arc(trajopt.SplineBasis.uniform(4, 3), (0.1, 9.0))
    problem = trajopt.Problem(TwoLinkArm(), trajopt.Trajectory((arc, arc)))
    for duration, expected in ((None, [1.5, 0.5]), (4.0, [3.0, 1.0]), ([1.0, 2.0], [1.0, 2.0])):
        problem.guess(TwoArcs(), duration=duration)
        assert problem.guessed_durations.tolist() == expected


def test_a_motion_of_other_joints_is_refused():
    with pytest.raises(errors.ShapeError, match="the solution moves a, b but the problem"):
        two_link_minimum_time(5).guess(KnownMotion(joint_names=("a", "b")))


def test_path_limits_are_the_inequalities_over_the_path_and_have_an_order():
    problem = two_link_minimum_time(5)
    problem.subject_to(trajopt.v, -3.0, 3.0, name="slow")
    problem.subject_to(trajopt.a, -9.0, 9.0, over=(0.0, 0.4), name="window")
    problem.subject_to(trajopt.jerk, -9.0, 9.0, name="smooth")
    problem.subject_to(trajopt.a, equals=0.0, name="same")
    limits = {limit.name: limit_order(problem, limit) for limit in problem.path_limits()}
    assert "window" not in limits and "same" not in limits
    assert (limits["slow"], limits["smooth"]) == (1, None) and 2 in limits.values()
