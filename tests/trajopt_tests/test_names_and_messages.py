"""Names that users give stand in reports, and what is written in a wrong way is told with the right one."""

import numpy as np
import pytest

import dynamics
import problems
import trajopt
from trajopt.base.errors import OptionError, ShapeError, UnknownNameError


@pytest.mark.long
def test_terms_made_in_a_loop_have_names_of_their_own():
    problem = problems.two_link_rr.build(intervals=6)
    for joint, limit in enumerate((9.0, 8.0)):

        @trajopt.term(name=f"torque of joint {joint}", unit="N m")
        def torque(node, joint=joint):
            return node.tau[joint]

        problem.subject_to(torque, -limit, limit)
    labels = trajopt.solve(problem).verify().table
    assert "torque of joint 0" in labels and "torque of joint 1" in labels
    with pytest.raises(OptionError, match="the name of a term"):
        trajopt.term(name=3)(lambda node: node.q)  # pyright: ignore


def test_a_frame_is_held_at_both_ends_under_two_names():
    problem = problems.six_axis_arm.build(intervals=4)
    for over in ("start", "end"):
        trajopt.library.frame_at(problem, "wrist_3_link", [0.4, 0.2, 0.4], np.eye(3), over=over)
    names = [each.name for each in problem.constraints]
    assert names[-4:] == [
        "wrist_3_link at the target, at the start",
        "turn of wrist_3_link, at the start",
        "wrist_3_link at the target, at the end",
        "turn of wrist_3_link, at the end",
    ]
    trajopt.library.frame_at(
        problem, "wrist_3_link", [0.4, 0.2, 0.4], over=(0.4, 0.6), name="through the gate"
    )
    assert problem.constraints[-1].name == "through the gate"


@pytest.mark.long
def test_a_solution_is_no_dictionary_and_no_problem():
    solution = trajopt.solve(problems.van_der_pol.build(intervals=4), refine=None)
    with pytest.raises(OptionError, match=r"has no entry 'x': write solution.value\(trajopt.state"):
        solution["x"]  # pyright: ignore
    for name, meant in (("objectiv", "objective"), ("T", "duration"), ("final_time", "duration")):
        with pytest.raises(AttributeError, match=rf"has no '{name}' \(did you mean '{meant}'"):
            getattr(solution, name)
    with pytest.raises(ShapeError, match=r"write trajopt.diagnose\(solution.problem, solution=solution\)"):
        trajopt.diagnose(solution)  # pyright: ignore
    with pytest.raises(ShapeError, match=r"solution is 3: give the trajopt.Solution of this problem"):
        trajopt.diagnose(solution.problem, solution=3)  # pyright: ignore


def test_an_unknown_state_is_told_with_every_known_name_once():
    system = trajopt.system(states=("h", "v"), controls=("u",), rates=lambda node: [node.v, node.u])
    with pytest.raises(UnknownNameError) as caught:
        trajopt.Problem(system).minimize(trajopt.state("w"))
    known = str(caught.value).rpartition("known are ")[2].split(", ")
    assert known[:3] == ["h", "v", "u"] and len(known) == len(set(known)) and "extra:u" not in known


def test_what_sampling_and_summaries_return_is_public():
    solution = trajopt.solve(problems.two_link_rr.build(intervals=6))
    assert isinstance(solution.sample(10), trajopt.Samples)
    assert isinstance(solution.problem.summary(), trajopt.ProblemSummary)


@pytest.mark.long
def test_systems_have_states_and_no_torques():
    solution = trajopt.solve(problems.van_der_pol.build(intervals=4), refine=None)
    assert "states     x" in repr(solution) and "2 states" in repr(solution.problem)
    for draw, what in ((trajopt.plot.torques, "torques"), (trajopt.plot.joint_forces, "joint forces")):
        with pytest.raises(OptionError, match=rf"has no {what}: trajopt.plot.states\(solution\) draws"):
            draw(solution)
    assert all(type(value) is float for value in solution.cost_terms.values())


def test_a_misspelt_problem_is_told_with_the_names_that_are_near():
    with pytest.raises(AttributeError, match=r"'two_link_r' \(did you mean 'two_link_rr' or [^:]*\)$"):
        problems.two_link_r  # noqa: B018 # pyright: ignore
    with pytest.raises(AttributeError, match=r"no problem 'qqqqqq': there are acrobot, "):
        problems.qqqqqq  # noqa: B018 # pyright: ignore


@pytest.mark.parametrize(
    ("package", "name", "meant"),
    [
        (dynamics, "inverse_dynamics", "rnea"),
        (dynamics, "mass_matrix", "crba"),
        (dynamics, "load_mjcf", "from_mujoco"),
        (trajopt, "minimize", "Problem"),
    ],
)
def test_a_name_of_another_program_is_told_with_ours_first(package, name, meant):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}' \(did you mean '{meant}'"):
        getattr(package, name)
