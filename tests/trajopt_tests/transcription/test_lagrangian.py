"""The Lagrangian of problems on seeded random trees: slopes and Taylor remainders through every layer."""

import numpy as np
import pytest
from random_trees import random_tree
from scipy import sparse
from slopes import both_ways
from tiers import fast_first

import trajopt

TREES = [0, 1, 2, 3]


def problem_on(seed: int) -> trajopt.Problem:
    """Torques, an internal wrench and the base wrench of a tree with both joint types, free duration."""
    model = random_tree(seed, 5)
    rng = np.random.default_rng(seed)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(3, 4, duration=(0.2, 3.0)))
    problem.start_at(q=rng.uniform(-0.5, 0.5, model.n), v=0.0)
    problem.end_at(q=rng.uniform(-0.5, 0.5, model.n))
    problem.subject_to(trajopt.tau, -30.0, 30.0)
    problem.subject_to(trajopt.wrench(model.joint_names[-1]), -50.0, 50.0)
    problem.minimize(trajopt.base_wrench**2, weight=1e-3)
    problem.minimize(trajopt.tau**2, weight=1e-2)
    problem.minimize(trajopt.duration)
    return problem


def point_of(nlp, seed):
    rng = np.random.default_rng(100 + seed)
    y = nlp.start + 0.2 * rng.standard_normal(nlp.variable_count)
    y[-1] = 0.8
    return y, rng.standard_normal(nlp.row_count)


def gradient_of_lagrangian(nlp, y, multipliers):
    gradient = nlp.gradient(y).astype(y.dtype)
    np.add.at(gradient, nlp.jacobian_columns, nlp.jacobian(y) * multipliers[nlp.jacobian_rows])
    return gradient


def hessian_of_lagrangian(nlp, y, multipliers):
    triplets = (nlp.hessian(y, multipliers, 1.0), (nlp.hessian_rows, nlp.hessian_columns))
    lower = sparse.coo_array(triplets, shape=(y.size, y.size)).toarray()
    return lower + np.tril(lower, -1).T


@both_ways
@fast_first("seed", TREES)
def test_first_and_second_derivatives_are_slopes_of_values_and_gradients(seed, slope):
    nlp = trajopt.transcribe(problem_on(seed))
    y, multipliers = point_of(nlp, seed)
    gradient, hessian = (
        gradient_of_lagrangian(nlp, y, multipliers),
        hessian_of_lagrangian(nlp, y, multipliers),
    )
    for i in range(y.size):
        e = np.arange(y.size) == i

        def lagrangian(t, e=e):
            return nlp.objective(y + t * e) + multipliers @ nlp.rows(y + t * e)

        column = slope(lambda t, e=e: gradient_of_lagrangian(nlp, y + t * e, multipliers))
        assert np.isclose(gradient[i], slope(lagrangian), rtol=1e-11, atol=1e-11 * np.abs(gradient).max())
        assert np.allclose(hessian[:, i], column, rtol=1e-11, atol=1e-11 * np.abs(hessian).max())


@pytest.mark.parametrize("seed", TREES)
def test_taylor_remainders_fall_with_slopes_two_and_three(seed):
    nlp = trajopt.transcribe(problem_on(seed))
    y, multipliers = point_of(nlp, seed)
    direction = np.random.default_rng(seed).standard_normal(y.size)
    direction /= np.linalg.norm(direction)

    def lagrangian(point):
        return nlp.objective(point) + multipliers @ nlp.rows(point)

    value = lagrangian(y)
    slope = gradient_of_lagrangian(nlp, y, multipliers) @ direction
    bend = direction @ hessian_of_lagrangian(nlp, y, multipliers) @ direction
    steps = np.array([8e-3, 4e-3, 2e-3])
    values = np.array([lagrangian(y + step * direction) for step in steps])
    first = np.abs(values - value - steps * slope)
    second = np.abs(values - value - steps * slope - 0.5 * steps**2 * bend)
    assert np.allclose(np.diff(np.log2(first)), -2.0, atol=0.3)
    assert np.allclose(np.diff(np.log2(second)), -3.0, atol=0.3)
