"""Additional curves: unknowns that are not joints, contact forces above all."""

import numpy as np
import pytest
from hand_written import PointMasses
from scipy import sparse
from tiers import fast_first

import trajopt
from trajopt.base import errors
from trajopt.refinement.guess_search import perturbed


@trajopt.term
def work(node):
    """Couples an additional curve with positions, velocities and the duration."""
    return [node.extra("force")[0] * node.v[0] * node.q[0], node.extra("force")[1] ** 2 * node.a[0]]


@trajopt.term
def balance(node):
    return node.tau - node.extra("force")[0]


def pushed_mass(arcs=1):
    """A mass that an extra force drives: tau = force[0], least work and force."""
    arc = trajopt.Arc(trajopt.SplineBasis.uniform(4, 3), (0.3, 2.0))
    problem = trajopt.Problem(PointMasses(1, 2.0), trajopt.Trajectory((arc,) * arcs))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    force = problem.extra("force", 2, lower=[-30.0, -1.0], upper=[30.0, 1.0], guess=[1.0, 0.5])
    problem.subject_to(force, lower=[-np.inf, 0.25], over="start")
    problem.subject_to(balance, equals=0.0)
    problem.minimize(force**2, weight=0.01)
    problem.minimize(work, weight=0.02)
    problem.minimize(trajopt.duration)
    return problem


@fast_first("arcs", [1, 2], 1)
def test_derivatives_by_extra_curves_are_exact(arcs):
    nlp = trajopt.transcribe(pushed_mass(arcs))
    rng = np.random.default_rng(0)
    y = nlp.start + 0.1 * rng.standard_normal(nlp.variable_count)
    multipliers, h, n = rng.standard_normal(nlp.row_count), 1e-6, nlp.variable_count

    def gradient(point):
        values = nlp.gradient(point)
        np.add.at(values, nlp.jacobian_columns, nlp.jacobian(point) * multipliers[nlp.jacobian_rows])
        return values

    def lagrangian(point):
        return nlp.objective(point) + multipliers @ nlp.rows(point)

    triplets = (nlp.hessian(y, multipliers, 1.0), (nlp.hessian_rows, nlp.hessian_columns))
    lower = sparse.coo_array(triplets, shape=(n, n)).toarray()
    hessian = lower + np.tril(lower, -1).T
    slopes = [(lagrangian(y + h * e) - lagrangian(y - h * e)) / (2 * h) for e in np.eye(n)]
    bends = [(gradient(y + h * e) - gradient(y - h * e)) / (2 * h) for e in np.eye(n)]
    assert np.allclose(gradient(y), slopes, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())
    assert np.allclose(hessian, bends, rtol=1e-6, atol=1e-6 * np.abs(bends).max())


@pytest.mark.long
def test_extra_curves_are_found_and_bounded_for_all_times():
    solution = trajopt.solve(pushed_mass())
    t = np.linspace(0.0, solution.duration, 501)
    force = solution.value(trajopt.Quantity("extra:force"), t)
    assert solution.converged
    assert np.all(force >= [-30.0 - 1e-8, -1.0 - 1e-8])
    assert np.all(force <= [30.0 + 1e-8, 1.0 + 1e-8])
    assert force[0, 1] >= 0.25 - 1e-8
    assert np.allclose(
        solution.tau(solution.node_times)[:, 0],
        solution.value(trajopt.Quantity("extra:force"), solution.node_times)[:, 0],
        atol=1e-7,
    )
    assert solution.q(t).shape == (501, 1)


@pytest.mark.long
def test_an_extra_curve_survives_a_file(tmp_path):
    solution = trajopt.solve(pushed_mass())
    solution.save(tmp_path / "x.npz")
    again = trajopt.Solution.load(tmp_path / "x.npz", problem=pushed_mass())
    force = trajopt.Quantity("extra:force")
    assert np.array_equal(solution.value(force, 0.1), again.value(force, 0.1))


@pytest.mark.long
@pytest.mark.parametrize("arcs", [1, 2])
def test_a_start_from_an_answer_carries_its_extra_curves_and_their_jumps(arcs):
    first = trajopt.solve(pushed_mass(arcs))
    again = pushed_mass(arcs)
    again.guess(first)
    nlp = trajopt.transcribe(again)
    assert np.allclose(nlp.start, first.point.y, atol=1e-8)


@pytest.mark.long
def test_knots_are_refined_where_there_are_extra_curves():
    coarse = trajopt.solve(pushed_mass())
    for refine in (trajopt.Refined(rounds=1), trajopt.Certified(tol=1e-5)):
        fine = trajopt.solve(pushed_mass(), refine=refine)
        assert fine.converged and fine.objective <= coarse.objective + 1e-4


def test_the_starts_of_a_multistart_leave_extra_curves_where_the_guess_has_them():
    problem = pushed_mass(2)
    before = trajopt.transcribe(problem).start
    after = trajopt.transcribe(perturbed(problem, [0], spread=0.0))
    motion = np.setdiff1d(np.arange(before.size), after.unknowns.durations)
    assert np.allclose(after.start[motion], before[motion], atol=1e-9)


def test_a_guessed_curve_of_another_width_is_refused():
    problem = pushed_mass()
    problem.guess(lambda s: np.zeros((len(s), 2)))
    with pytest.raises(errors.ShapeError, match=r"give \(7, 1\), or \(7, 3\) with the additional curves"):
        trajopt.transcribe(problem)


def test_bounds_of_the_wrong_shape_or_order_are_refused():
    problem = pushed_mass()
    with pytest.raises(errors.ShapeError, match="extra 'lift' has bounds and guess of shapes"):
        problem.extra("lift", 3, lower=[0.0, 1.0])
    with pytest.raises(errors.InfeasibleBoundsError, match="'extra lift' has lower bound"):
        problem.extra("lift", lower=1.0, upper=0.0)
    with pytest.raises(errors.UnknownNameError, match="did you mean 'extra:force'"):
        problem.minimize(trajopt.Quantity("extra:forse"))


@pytest.mark.long
@pytest.mark.parametrize("arcs", [1, 2])
def test_the_rate_of_an_additional_curve_is_its_derivative_by_time(arcs):
    problem = pushed_mass(arcs)
    problem.minimize(trajopt.ExpressionTerm(lambda node: node.rate("force")[0] ** 2, "haste"), weight=0.1)
    solution = trajopt.solve(problem)
    curve, rate = trajopt.Quantity("extra:force"), trajopt.Quantity("rate:force")
    t = (np.arange(7) + 0.4) / 7.0 * solution.duration
    slopes = (solution.value(curve, t + 1e-6) - solution.value(curve, t - 1e-6)) / 2e-6
    assert np.abs(slopes).max() > 0.1 and np.allclose(solution.value(rate, t), slopes, rtol=1e-6, atol=1e-6)


def test_the_least_rate_of_a_control_is_that_of_the_closed_form():
    """Unit mass, unit distance, 1 s, rest to rest: u' = -60 t (1 - t) as u is free at its ends; cost 120."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(4, 5, 1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.control("push", degree=3, continuous=True)
    problem.subject_to(
        trajopt.ExpressionTerm(lambda node: node.tau[0] - node.extra("push")[0], "driven"), equals=0.0
    )
    problem.minimize(trajopt.ExpressionTerm(lambda node: node.rate("push")[0] ** 2, "haste"))
    solution = trajopt.solve(problem)
    t = np.linspace(0.05, 0.95, 7)
    assert solution.objective == pytest.approx(120.0, rel=1e-8)
    assert np.allclose(
        solution.value(trajopt.Quantity("rate:push"), t)[:, 0], -60.0 * t * (1.0 - t), atol=1e-4
    )


def test_a_control_that_jumps_has_no_rate():
    trajectory = trajopt.Trajectory.collocation(4, order=3, duration=1.0)
    problem = trajopt.Problem(PointMasses(1, 1.0), trajectory)
    problem.control("push", degree=1)
    with pytest.raises(errors.TrajoptError, match="'push' may jump, so it has no rate"):
        problem.minimize(trajopt.ExpressionTerm(lambda node: node.rate("push")[0], "haste"))
