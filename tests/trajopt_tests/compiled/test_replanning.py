"""One step of replanning: near the optimum, its gains, and what it does with numbers that cannot be used."""

from dataclasses import replace

import numpy as np
import pytest

import problems
import trajopt
from benchmarks.solvers import mpc
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError, UnknownNameError
from trajopt.parametric.plan_shift import PlanShifts
from trajopt.parametric.replanning import TOLERANCE, WORST, next_step
from trajopt.solvers.newton.newton import FURTHER, RealTimeIteration
from trajopt.solvers.solver import Run, Status

PERIOD = mpc.HORIZON / mpc.INTERVALS
NOT_TAKEN = (Status.TIME_LIMIT, Status.EVALUATION_ERROR, Status.INFEASIBLE, Status.STEP_FAILED)


@pytest.fixture(scope="module")
def cart():
    compiled = mpc.compiled_problem()
    return compiled, compiled.step(mpc.FIRST)


def test_a_step_is_the_optimum_to_second_order_in_the_disturbance(cart):
    compiled, first = cart
    rng, gaps = np.random.default_rng(1), []
    direction = rng.standard_normal(4)
    for size in (0.02, 0.01):
        state = mpc.FIRST + size * direction
        step = compiled.step(state, before=first)
        best = compiled.solve(x_start=state)
        assert step.is_new and step.status is Status.ITERATION_LIMIT and step.violation < 1e-3
        assert np.abs(step.x(0.0) - state).max() < 1e-12
        gaps.append(abs(step.u(0.0)[0] - best.curve(0.0)[4]))
    assert gaps[0] < 0.01 and gaps[1] < 0.35 * gaps[0]


def test_a_plan_moves_along_with_the_time_that_went_by(cart):
    compiled, first = cart
    step = compiled.step(first.x(PERIOD), before=first, elapsed=PERIOD)
    best = compiled.solve(x_start=first.x(PERIOD))
    assert step.u(0.0)[0] == pytest.approx(best.curve(0.0)[4], abs=2e-3)
    np.testing.assert_allclose(step.x(0.3), first.x(PERIOD + 0.3), atol=1e-3)


def test_multipliers_move_by_whole_intervals_whatever_rows_are_scaled_by(cart):
    """Multipliers that are the rows' normalised times are those of an interval later."""
    _, first = cart
    nlp, shifts = first.nlp, PlanShifts(first.structure)
    times = np.array([label.s for label in nlp.row_labels])
    scales = np.linspace(0.5, 2.0, times.size)
    other = replace(nlp, scaling=replace(nlp.scaling, rows=scales, objective=3.0 * nlp.scaling.objective))
    point = replace(first.result.warm_start, row_multipliers=times / nlp.scaling.rows)
    moved = shifts.multipliers(other, nlp, first.structure, point, PERIOD)
    later = np.minimum(times + 1.0 / mpc.INTERVALS, 1.0)
    np.testing.assert_allclose(moved.row_multipliers * scales / 3.0, later, atol=1e-12)


def test_more_iterations_end_at_the_optimum(cart):
    compiled, first = cart
    state = first.x(PERIOD) + 0.02
    step = compiled.step(state, before=first, elapsed=PERIOD, iterations=6)
    best = compiled.solve(x_start=state)
    assert step.status is Status.CONVERGED and step.result.iterations <= 5
    assert step.solution.objective == pytest.approx(best.objective, rel=1e-7)


def test_gains_are_the_derivatives_of_the_first_controls(cart):
    compiled, first = cart
    first = compiled.step(first.x(PERIOD) + 0.01, before=first, elapsed=PERIOD, iterations=8)
    size, columns = 1e-4, []
    for i in range(4):
        near = [compiled.solve(x_start=first.x(0.0) + sign * size * np.eye(4)[i]) for sign in (-1.0, 1.0)]
        columns.append((near[1].curve(0.0)[4:] - near[0].curve(0.0)[4:]) / (2.0 * size))
    np.testing.assert_allclose(first.gains, np.transpose(columns), rtol=1e-4)
    state = first.x(0.02) + 1e-3
    np.testing.assert_allclose(first.control(0.02, state), first.u(0.02) + first.gains @ np.full(4, 1e-3))


def test_the_plan_before_goes_on_where_there_is_no_new_one(cart):
    compiled, first = cart
    state = first.x(PERIOD)
    bad = {
        Status.EVALUATION_ERROR: dict(state=np.array([0.0, np.nan, 0.0, 0.0])),
        Status.TIME_LIMIT: dict(state=state, seconds=1e-9),
    }
    for status, given in bad.items():
        held = compiled.step(given.pop("state"), before=first, elapsed=PERIOD, **given)
        assert held.status is status and not held.is_new and held.reason
        assert held.age == PERIOD and status in NOT_TAKEN
        np.testing.assert_array_equal(held.x(0.05), first.x(0.05 + PERIOD))
        again = compiled.step(first.x(2 * PERIOD), before=held, elapsed=PERIOD)
        assert again.is_new and again.age == 0.0
    late = first.held(10.0, Status.TIME_LIMIT, "late")
    np.testing.assert_array_equal(late.u(0.0), first.u(mpc.HORIZON))  # a plan that is over stays at its end


def test_misuse_raises_and_so_does_what_is_asked_to(cart):
    compiled, first = cart
    with pytest.raises(ShapeError, match="3 components: give all 4"):
        compiled.step(np.zeros(3), before=first)
    with pytest.raises(UnknownNameError, match="speed_limit"):
        compiled.step(np.zeros(4), before=first, speed_limit=1.0)
    with pytest.raises(NotFiniteError):
        compiled.step(np.full(4, np.nan), before=first, strict=True)
    with pytest.raises(NotFiniteError):
        compiled.step(np.full(4, np.nan))
    with pytest.raises(OptionError, match="iterations"):
        compiled.step(np.zeros(4), before=first, iterations=0)
    with pytest.raises(ShapeError, match="the state is 'upright'"):
        compiled.step("upright", before=first)
    with pytest.raises(ShapeError, match="3 components: give all 4"):
        first.control(0.0, np.zeros(3))
    with pytest.raises(ShapeError, match="the times is 'now'"):
        first.u("now")
    with pytest.raises(OptionError, match="x_start is given besides the state"):
        compiled.step(np.zeros(4), before=first, x_start=np.ones(4))
    with pytest.raises(OptionError, match="before is 1: give the step before"):
        compiled.step(np.zeros(4), before=1)


def test_a_plan_that_is_late_is_not_taken(cart):
    """The deadline passes between the last evaluation of the steps and their end."""
    _, first = cart
    steps = Unhurried(TOLERANCE, worst=WORST)
    late = next_step(first.problem, PlanShifts(first.structure), first, 0.0, steps, Run().within(1e-9))
    assert late.status is Status.TIME_LIMIT and not late.is_new and late.result is first.result


class Unhurried(RealTimeIteration):
    def solve(self, nlp, start=None, run=None):
        return super().solve(nlp, start)


@pytest.fixture(scope="module")
def arm():
    """Two links that hang and swing to a goal that is an input, torques limited."""
    model = problems.two_link_rr.build(gravity=(0.0, -9.81, 0.0)).dynamics
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(10, duration=0.4))
    problem.parameter("goal", lower=[0.4, -0.4], upper=[0.4, -0.4])
    problem.start_at(q=0.0, v=0.0)
    problem.minimize(distance**2, name="distance")
    problem.minimize(trajopt.v**2, weight=1e-2)
    problem.minimize(trajopt.tau**2, weight=1e-4)
    problem.subject_to_joint_limits(position=False)
    return trajopt.compile(problem)


@trajopt.term
def distance(node):
    return node.q - node.parameter("goal")


@pytest.mark.long
def test_an_arm_follows_a_goal_that_moves(arm):
    step, worst = arm.step(np.zeros(4)), 0.0
    for k in range(1, 6):
        goal = np.array([0.4, -0.4]) + 0.02 * k
        state = step.x(0.02) + 1e-3 * np.sin(np.arange(4) + k)
        step = arm.step(state, before=step, elapsed=0.02, goal=goal)
        best = arm.solve(q_start=state[:2], v_start=state[2:], goal=goal)
        worst = max(worst, float(np.abs(step.u(0.0) - best.tau(0.0)).max()))
        assert step.is_new, step.reason
    assert worst < 0.1
    assert arm._composed is None or arm._composed.prepare(step, ("q at the start", "v at the start")) is None
    held = arm.step(step.x(0.02), before=step, elapsed=0.02, goal=[np.inf, 0.0])
    assert held.status is Status.EVALUATION_ERROR and not held.is_new


@pytest.mark.long
def test_gains_of_an_arm_are_those_of_its_torques(arm):
    state = np.array([0.1, -0.05, 0.3, 0.2])
    step = arm.step(state)
    for i in range(4):
        e = 1e-4 * np.eye(4)[i]
        high, low = (arm.solve(q_start=(state + s)[:2], v_start=(state + s)[2:]).tau(0.0) for s in (e, -e))
        np.testing.assert_allclose(step.gains[:, i], (high - low) / 2e-4, rtol=1e-3, atol=1e-3)


@pytest.mark.long
def test_a_trot_under_pushes_goes_on_where_feet_change():
    """Two programs in turns: multipliers of a plan go to the other one by contact and arc.

    Under these pushes steps to saddles would lead to plans of an objective of 36.
    """
    pytest.importorskip("mujoco")
    from benchmarks.receding_horizon.quadruped import PERIOD as SAMPLE
    from benchmarks.receding_horizon.quadruped import PushedTrot

    plant, rng = PushedTrot(), np.random.default_rng(9)
    state = plant.reset(rng)
    step, held, before, taken = plant.first_step(state), 0, plant.stance[0], []
    for sample in range(26):
        changed = plant.stance[0] != before
        before = plant.stance[0]
        step = plant.next_step(state, step, SAMPLE * (sample > 0))
        held += not step.is_new
        assert step.result.objective < 2.0
        if changed:
            assert step.is_new
            taken.append(step.result.iterations)
        state = plant.move(step, rng)
    # A step of before the second change leaves a saddle, to either side by the last digits.
    assert taken[0] <= 3 and taken[1] <= 1 + FURTHER
    assert not plant.has_fallen() and not held
    assert {each.change for each in step.relaxations} <= {"held there", "velocity changed", "limit widened"}


@pytest.mark.long
def test_torques_of_a_delayed_trot_keep_their_limits_from_the_first_instant():
    """Limited at nodes alone, which begin after the start, the plan of sample 23 begins with 4.2 of 4 N m."""
    pytest.importorskip("mujoco")
    from benchmarks.receding_horizon.loop import closed_loop
    from benchmarks.receding_horizon.quadruped import PushedTrot

    trial = closed_loop(PushedTrot(), 8, 24, 3)
    assert trial.excess == 0.0 and not trial.fell


@pytest.mark.long
def test_a_goal_out_of_reach_leaves_the_plan_before():
    """One second at 1 m/s^2 from rest to rest leads 0.25 m far."""
    system = trajopt.system(("x", "speed"), ("push",), lambda node: [node.speed, node.push])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, "radau", duration=1.0))
    problem.control("push", -1.0, 1.0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[0.2, 0.0])
    problem.minimize(trajopt.state("push") ** 2)
    compiled = trajopt.compile(problem)
    first = compiled.step(np.zeros(2))
    near = compiled.step(np.zeros(2), before=first, x_end=(0.21, 0.0))
    far = compiled.step(np.zeros(2), before=first, elapsed=0.1, x_end=(3.0, 0.0))
    assert near.is_new and not far.is_new and far.status is not Status.CONVERGED and far.reason
    np.testing.assert_array_equal(far.u(0.0), first.u(0.1))
    begun = compiled.step(np.zeros(2), x_end=(3.0, 0.0))
    assert not begun.is_new and begun.reason and not begun.status.converged
    assert first.is_new and not first.reason
    other = trajopt.compile(problem.on(trajopt.Trajectory.collocation(7, 3, "radau", duration=1.0)))
    with pytest.raises(OptionError, match="give one with as many intervals"):
        other.step(np.zeros(2), before=first)
