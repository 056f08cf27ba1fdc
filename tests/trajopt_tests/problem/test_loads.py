"""Loads that follow from other quantities, through two dynamics blocks in sequence."""

from dataclasses import dataclass

import casadi
import numpy as np
import pytest
from hand_written import PointMasses
from scipy import sparse

import trajopt
from trajopt.base import errors


class LoadedMasses(PointMasses):
    """Masses on lines along x that feel a load through a lever: tau = m a - (1 + q^2) W_x."""

    def block(self, outputs, loads=()):
        from trajopt.graph.trace import trace

        def values(node):
            parts = {"base_wrench": casadi.vertcat(0, 0, 0, self.mass * casadi.sum1(node.a), 0, 0)}
            push = sum(node._symbol(f"load:{link}")[3] for link in loads) if loads else 0.0
            parts["tau"] = self.mass * node.a - (1 + node.q**2) * push
            return parts[outputs[0]]

        assert len(outputs) == 1
        return trace(values, outputs[0], lambda name: 6 if name.startswith("load:") else self.n)


@trajopt.term
def friction_of_ground(node):
    """A tenth of the squared ground reaction, against the motion."""
    return [0, 0, 0, -0.1 * node.base_wrench[3] ** 2 * node.v[0], 0, 0]


def loaded_problem():
    problem = trajopt.Problem(LoadedMasses(1, 2.0), trajopt.Trajectory.uniform(4, 3, duration=(0.5, 3.0)))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.load("cart", friction_of_ground)
    problem.minimize(trajopt.tau**2)
    problem.minimize(trajopt.duration)
    return problem


def test_torques_under_loads_contain_them():
    solution = trajopt.solve(loaded_problem())
    t = np.linspace(0.0, solution.duration, 7)
    q, v, a = (curve(t)[:, 0] for curve in (solution.q, solution.v, solution.a))
    load = -0.1 * (2.0 * a) ** 2 * v
    assert solution.converged
    assert np.allclose(solution.tau(t)[:, 0], 2.0 * a - (1 + q**2) * load, atol=1e-10)
    assert solution.verify().simulation_error is None


def test_second_derivatives_run_through_both_blocks():
    nlp = trajopt.transcribe(loaded_problem())
    rng = np.random.default_rng(0)
    y = nlp.start + 0.1 * rng.standard_normal(nlp.variable_count)
    h, none = 1e-6, np.zeros(nlp.row_count)
    lower = sparse.coo_array(
        (nlp.hessian(y, none, 1.0), (nlp.hessian_rows, nlp.hessian_columns)), shape=(y.size, y.size)
    ).toarray()
    hessian = lower + np.tril(lower, -1).T
    numeric = [(nlp.gradient(y + h * e) - nlp.gradient(y - h * e)) / (2 * h) for e in np.eye(y.size)]
    assert np.allclose(hessian, numeric, rtol=1e-6, atol=1e-6 * np.abs(hessian).max())


def test_a_load_that_depends_on_the_torque_it_changes_is_refused():
    @trajopt.term
    def circular(node):
        return [0, 0, 0, node.tau[0], 0, 0]

    problem = loaded_problem()
    problem.loads["cart"] = circular
    with pytest.raises(
        errors.GraphCycleError, match="load on 'cart', term 'circular', depends on tau, which it changes"
    ):
        trajopt.solve(problem)


def test_a_load_is_a_wrench():
    with pytest.raises(errors.ShapeError, match="has 1 components: give"):
        loaded_problem().load("pole", trajopt.q)


@trajopt.term
def device(node):
    """A spring about the joint and a force that grows with it."""
    return [0, 0, -20.0 * node.q[0], 5.0 * node.q[0] ** 2, 0, 0]


@trajopt.term
def both(node):
    """The friction of the ground and the device in one."""
    return [0, 0, -20.0 * node.q[0], 5.0 * node.q[0] ** 2 - 0.1 * node.base_wrench[3] ** 2 * node.v[0], 0, 0]


@dataclass(frozen=True)
class Plain:
    """A term of a user's own class, without arithmetic, that is the device."""

    quantity: str = "plain device"
    name: str = "plain device"

    def blocks(self, width_of):
        from trajopt.graph.trace import trace

        return (trace(device.function, self.quantity, width_of),)


def evaluated(*loads):
    """Objective, its gradient and its second derivatives of torques under these loads on one link."""
    problem = trajopt.Problem(LoadedMasses(1, 2.0), trajopt.Trajectory.uniform(4, 3, duration=(0.5, 3.0)))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    for load in loads:
        problem.load("cart", load)
    problem.minimize(trajopt.tau**2)
    nlp = trajopt.transcribe(problem)
    y = nlp.start + 0.1 * np.random.default_rng(0).standard_normal(nlp.variable_count)
    dense = np.zeros((y.size, y.size))
    np.add.at(dense, (nlp.hessian_rows, nlp.hessian_columns), nlp.hessian(y, np.zeros(nlp.row_count), 1.0))
    return nlp.objective(y), nlp.gradient(y), dense


@pytest.mark.parametrize(
    "loads",
    [
        (friction_of_ground, device),
        (device, friction_of_ground),
        (friction_of_ground, Plain()),
        (Plain(), friction_of_ground),
        (0.5 * device, friction_of_ground, device / 2),
        (0.5 * device, friction_of_ground, 0.5 * device),
    ],
)
def test_loads_on_one_link_are_their_sum(loads):
    for several, one in zip(evaluated(*loads), evaluated(both), strict=True):
        assert np.allclose(several, one, rtol=1e-12, atol=1e-12 * np.abs(one).max())


def test_a_second_load_that_depends_on_the_torque_is_refused():
    @trajopt.term
    def circular(node):
        return [0, 0, 0, node.tau[0], 0, 0]

    problem = loaded_problem()
    problem.load("cart", circular)
    with pytest.raises(errors.GraphCycleError, match=r"load on 'cart', .*circular.*, depends on tau"):
        trajopt.solve(problem)
