"""Problems without limits, without costs, with limits of zero or infinity: solved, or refused by name."""

import dataclasses

import numpy as np
import pytest

import dynamics
import problems
import trajopt
from trajopt.base import errors
from trajopt.solution.answers import outcome
from trajopt.solvers.solver import Status
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.nlp import scaling_at_start
from trajopt.transcription.transcribe import transcribe


def arm(trajectory=None, model=None):
    model = model or problems.two_link_rr.build().dynamics
    problem = trajopt.Problem(model, trajectory or trajopt.Trajectory.uniform())
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    return problem


def with_limits(model, **limits):
    joints = [dataclasses.replace(b.joint, limits=dynamics.JointLimits(**limits)) for b in model.bodies]
    bodies = [dataclasses.replace(b, joint=j) for b, j in zip(model.bodies, joints, strict=True)]
    return dynamics.RigidBodyModel(bodies, gravity=model.gravity, name="zero")


# -- no limits ---------------------------------------------------------------------------------------------


def test_minimum_time_without_limits_is_unbounded():
    problem = arm()
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.q, -2.0, 2.0, name="cage")
    with pytest.raises(errors.UnboundedError, match="nothing limits the speed"):
        trajopt.solve(problem)


@pytest.mark.parametrize(
    "limit",
    [
        lambda p: p.subject_to(trajopt.v, -2.0, 2.0),
        lambda p: p.subject_to(trajopt.v, -2.0, 2.0, hold="hull"),
        lambda p: p.subject_to(trajopt.tau, -50.0, 50.0),
        lambda p: p.subject_to(trajopt.duration, 0.5),
        lambda p: p.minimize(trajopt.tau**2, 1e-6),
    ],
)
def test_any_limit_that_depends_on_time_bounds_it(limit):
    problem = arm()
    problem.minimize(trajopt.duration)
    limit(problem)
    solution = trajopt.solve(problem)
    assert solution.converged and solution.duration > 0.01


def test_a_shortest_duration_bounds_it():
    problem = arm(trajopt.Trajectory.uniform(duration=(0.25, np.inf)))
    problem.minimize(trajopt.duration)
    assert trajopt.solve(problem).duration == pytest.approx(0.25, abs=1e-6)


def test_a_limit_that_limits_nothing_does_not_end_as_converged():
    problem = arm()
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.v, lower=[-np.inf, 0.0], name="forwards")
    solution = trajopt.solve(problem)
    assert solution.status is Status.UNBOUNDED and not solution.converged
    assert "limit torques or velocities" in str(solution)


def test_a_problem_that_states_no_start_and_end_is_told_apart_from_one_without_limits():
    model = with_limits(problems.two_link_rr.build().dynamics, torque_lower=-10.0, torque_upper=10.0)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(6))
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    assert solution.status is Status.UNBOUNDED
    assert "nothing has to move" in str(solution) and "limits the speed" not in str(solution)


def test_a_state_far_from_zero_rests_to_rounding():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3))
    problem.start_at(x=[7e6])
    problem.end_at(x=[7e6])
    problem.minimize(trajopt.duration)
    assert "nothing has to move" in trajopt.solve(problem).detail


@pytest.mark.parametrize("ended", [Status.CONVERGED, Status.ACCEPTABLE])
def test_a_shortest_duration_that_nobody_gave_is_no_optimum_however_the_solver_ended(ended):
    problem = arm()
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.v, lower=[-np.inf, 0.0], name="forwards")
    nlp = transcribe(problem)
    result = trajopt.Ipopt().solve(nlp)
    duration = nlp.unknowns.curve(result.y).duration
    status, advice = outcome(problem, nlp, dataclasses.replace(result, status=ended), duration)
    assert status is Status.UNBOUNDED and "limit torques or velocities of all joints" in advice
    given = problem.on(trajopt.Trajectory.uniform(duration=(2e-4, 1.0)))
    assert outcome(given, nlp, dataclasses.replace(result, status=ended), duration)[0] is ended


@pytest.mark.long
def test_an_effort_that_a_longer_motion_always_lowers_has_no_minimum():
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(mass)  # of free duration, which was forgotten
    problem.start_at(x=0.0)
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    solution = trajopt.solve(problem)
    assert solution.status is Status.NO_BEST_DURATION and not solution.converged
    assert "give the trajectory a duration, or minimize trajopt.duration, too" in str(solution)
    problem.minimize(trajopt.duration)
    assert trajopt.solve(problem, starts=1).converged


@pytest.mark.long
def test_a_system_in_minimum_time_without_bounds_of_its_controls_says_so():
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(mass)
    problem.start_at(x=0.0)
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)
    assert solution.status is Status.UNBOUNDED and "limit controls and rates, or" in str(solution)


# -- no costs ----------------------------------------------------------------------------------------------


def test_a_problem_without_costs_is_solved_for_a_feasible_point(tmp_path):
    problem = arm()
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    assert solution.status is Status.FEASIBLE_POINT and solution.converged and solution.objective == 0.0
    assert "converged to a feasible point in" in str(solution)
    report = solution.verify()
    assert report.holds and report.max_violation_nodes == 0.0
    solution.save(tmp_path / "feasible.npz")
    assert trajopt.Solution.load(tmp_path / "feasible.npz", problem).status is Status.FEASIBLE_POINT


def test_a_problem_with_linear_conditions_only_is_solved():
    solution = trajopt.solve(arm())
    assert solution.status is Status.FEASIBLE_POINT
    assert np.abs(solution.q([0.0, solution.duration]) - [[0.0, 0.0], [1.0, 1.0]]).max() < 1e-12


@pytest.mark.long
def test_an_infeasible_problem_without_costs_does_not_converge():
    problem = arm(trajopt.Trajectory.uniform(duration=0.02))
    problem.subject_to_joint_limits()
    assert not trajopt.solve(problem, starts=1).converged


# -- limits of zero and infinity ----------------------------------------------------------------------------


def test_limits_that_are_all_zero_are_named():
    model = problems.two_link_rr.build().dynamics
    for limits, kind in (
        ({"torque_lower": 0.0, "torque_upper": 0.0}, "torque"),
        ({"velocity": 0.0}, "velocity"),
        ({"q_lower": 0.0, "q_upper": 0.0}, "position"),
    ):
        problem = arm(model=with_limits(model, **limits))
        with pytest.raises(errors.InfeasibleBoundsError, match=f"all {kind} .*{kind}=False"):
            problem.subject_to_joint_limits()
        problem.subject_to_joint_limits(**{kind: False})


@pytest.mark.parametrize(
    "bounds", [{"lower": np.inf}, {"upper": -np.inf}, {"equals": np.inf}, {"equals": [0.5, -np.inf]}]
)
def test_bounds_that_nothing_can_meet_are_refused(bounds):
    with pytest.raises(errors.NotFiniteError, match="'tau'"):
        arm().subject_to(trajopt.tau, **bounds)


def test_huge_bounds_are_none():
    problem = arm()
    problem.subject_to(trajopt.tau, lower=[-10.0, -1e20], upper=[1e300, 5.0])
    assert problem.constraints[-1].lower.tolist() == [-10.0, -np.inf]
    assert problem.constraints[-1].upper.tolist() == [np.inf, 5.0]
    problem.parameter("mass", -1e25, 3.0)
    assert problem.parameters["mass"].lower == -np.inf


@pytest.mark.long
def test_one_side_of_a_limit_does_not_loosen_the_other():
    """A torque limit of -1e12 that stands for none, beside one of 10 N m."""
    durations = []
    for absent in (-1e12, -np.inf):
        problem = problems.two_link_rr.build(intervals=10).on(trajopt.Trajectory.uniform(10))
        problem.subject_to(trajopt.tau, lower=absent, upper=10.0, name="weak")
        solution = trajopt.solve(problem, refine=None)
        assert trajopt.solve(problem).limit_excess <= 1e-3
        tau = solution.tau(solution.node_times)
        assert solution.converged and tau.max() < 10.0 + 1e-5
        durations.append(solution.duration)
    assert durations[0] == pytest.approx(durations[1], rel=1e-6)


def test_rows_are_divided_by_the_limit_that_is_near():
    bounds = Bounds(np.array([-1e12, -10.0, 0.0, -30.0]), np.array([10.0, np.inf, 10.0, 10.0]))
    scaling = scaling_at_start(bounds, np.arange(4), np.ones(4), 1.0, np.ones(2))
    assert np.allclose(scaling.rows, [1 / 100.0, 1 / 10.0, 1 / 10.0, 1 / 30.0])


@pytest.mark.long
def test_a_phase_that_is_not_needed_is_named_with_remedies_that_help():
    """A mass waits where it has arrived in least time."""

    def part(name, shortest):
        given = {} if shortest is None else {"duration": (shortest, 9.0)}
        mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
        problem = trajopt.Problem(mass, trajopt.Trajectory.collocation(4, 3, **given), name=name)
        problem.control("u", -1.0, 1.0)
        problem.minimize(trajopt.duration)
        problem.end_at(x=[1.0, 0.0])
        return problem

    for shortest in (None, 1e-3):
        move, wait = part("move", 0.1), part("wait", shortest)
        move.start_at(x=[0.0, 0.0])
        both = trajopt.Phases(move, wait)
        both.link(trajopt.q, move.at("end"), wait.at("start"))
        solution = trajopt.solve(both)
        report = solution.verify()
        if shortest is None:
            assert solution.status is Status.UNBOUNDED and not report.holds
            assert "phase 'wait': nothing limits the speed; limit controls and rates" in report.reason, (
                report.reason
            )
            assert "a shortest duration, or leave the phase out" in report.reason, report.reason
        else:
            assert report.holds and solution.objective == pytest.approx(2.0 + shortest, abs=1e-7)
