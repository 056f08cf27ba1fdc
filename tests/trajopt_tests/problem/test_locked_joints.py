"""A joint may be locked at any value, and equations that say the same twice are no contradiction."""

import numpy as np
import pytest
from tiers import fast_first

import problems
import trajopt
from trajopt.base import errors

FREE = np.inf


def arm(value, degree=3, spans=20, repeats=1, nodes=4):
    basis = trajopt.SplineBasis.clamped(np.linspace(0.0, 1.0, spans + 1), degree, [repeats] * (spans - 1))
    trajectory = trajopt.Trajectory((trajopt.Arc(basis, nodes_per_span=nodes),))
    problem = trajopt.Problem(problems.two_link_rr.build().dynamics, trajectory)
    problem.start_at(q=[value, -2.0], v=0.0)
    problem.end_at(q=[value, -1.0], v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


@fast_first(("degree", "repeats"), [(3, 1), (4, 2), (5, 3)])
@fast_first("value", [-1.7, 0.5, 0.0])
def test_a_joint_is_locked_by_its_position_over_the_path(value, degree, repeats):
    problem = arm(value, degree, 20, repeats)
    problem.subject_to(trajopt.q, [value, -FREE], [value, FREE], name="locked")
    solution = trajopt.solve(problem)
    motion = solution.q(np.linspace(0.0, solution.duration, 500))
    assert solution.converged and np.abs(motion[:, 0] - value).max() < 1e-9


@pytest.mark.long
def test_a_joint_is_locked_by_its_velocity_and_by_both():
    durations = []
    for locked in ([trajopt.v], [trajopt.q, trajopt.v], [trajopt.q]):
        problem = arm(0.5)
        for term, value in ((trajopt.v, 0.0), (trajopt.q, 0.5)):
            if term in locked:
                problem.subject_to(term, [value, -FREE], [value, FREE], name=f"locked {term.quantity}")
        solution = trajopt.solve(problem)
        assert solution.converged
        durations.append(solution.duration)
    assert np.ptp(durations) < 1e-7 * durations[0]


def test_a_locked_joint_that_starts_elsewhere_is_named_with_the_mesh():
    problem = arm(0.5)
    problem.subject_to(trajopt.q, [0.50001, -FREE], [0.50001, FREE], name="locked")
    with pytest.raises(
        errors.DegreesOfFreedomError,
        match=r"'locked, shoulder at s = 0 .node 0.' contradicts 'q at the start, shoulder' by 1e-05: .*"
        r"now degree 3, interior knots 1 times, 20 spans of 4 nodes",
    ):
        trajopt.solve(problem)


@pytest.mark.long
@pytest.mark.parametrize(("degree", "repeats"), [(3, 1), (8, 4), (5, 3), (2, 1)])
def test_lock_holds_a_joint_for_all_times_at_any_degree(degree, repeats):
    """With degree 8, positions fixed at the nodes leave freedom between them; control points leave none."""
    problem = arm(0.7, degree, 10, repeats)
    before = trajopt.transcribe(problem).variable_count
    problem.lock("shoulder", at=0.7)
    count = problem.trajectory.arcs[0].basis.count
    nlp = trajopt.transcribe(problem)
    assert nlp.variable_count == before - (count - 4)
    for y in np.random.default_rng(8).normal(size=(20, nlp.variable_count)):
        assert np.abs(nlp.unknowns.curve(y).control_points[0][:, 0] - 0.7).max() < 1e-12

    # Solved with a node for every coefficient: with fewer, rounding decides between optima of 0.2 and 18 s.
    problem = arm(0.7, degree, 10, repeats, nodes=max(4, degree + 1))
    problem.lock("shoulder", at=0.7)
    solution = trajopt.solve(problem)
    motion = solution.q(np.linspace(0.0, solution.duration, 500))
    assert solution.converged and np.abs(motion[:, 0] - 0.7).max() < 1e-12


def test_lock_refuses_what_it_cannot_mean():
    problem = arm(0.5)
    with pytest.raises(errors.UnknownNameError, match="did you mean 'elbow'"):
        problem.lock("elbo", at=0.0)
    with pytest.raises(errors.OptionError, match="no joint is named"):
        problem.lock(at=0.0)
    with pytest.raises(errors.NotFiniteError, match="position of a lock"):
        problem.lock("elbow", at=np.inf)
    with pytest.raises(errors.ShapeError, match="position of a lock"):
        problem.lock("elbow", "shoulder", at=[0.0, 1.0, 2.0])
    problem.lock("elbow", at=-1.5)
    with pytest.raises(errors.DegreesOfFreedomError, match=r"'lock of elbow, .*contradicts 'q at the start"):
        trajopt.solve(problem)


def test_equal_position_limits_lock_a_joint_on_several_arcs():
    bases = [trajopt.SplineBasis.uniform(6, 4), trajopt.SplineBasis.uniform(8, 3)]
    trajectory = trajopt.Trajectory(tuple(trajopt.Arc(basis) for basis in bases))
    problem = arm(0.5).on(trajectory)
    problem.subject_to(trajopt.q, [0.5, -3.0], [0.5, 3.0], hold="hull", name="limits")
    solution = trajopt.solve(problem)
    assert solution.converged
    assert np.abs(solution.q(np.linspace(0.0, solution.duration, 200))[:, 0] - 0.5).max() < 1e-12


@pytest.mark.long
def test_a_mesh_without_coefficients_for_an_equation_says_which_mesh_has_them():
    cart_pole = problems.cart_pole.build()
    problem = trajopt.Problem(cart_pole.dynamics, trajopt.Trajectory.uniform(20, duration=2.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1.0, np.pi], v=0.0)
    problem.minimize(trajopt.tau**2)
    problem.passive("pole")
    said = str(trajopt.solve(problem))
    assert "61 of them 'no motor at pole'" in said and "degree 3, interior knots 1 times, 20 spans" in said
    assert "Trajectory.collocation" in said
