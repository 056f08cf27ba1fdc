"""A load on a link that a contact or a loop holds adds to its force, in either order."""

import numpy as np
import pytest
from closed_linkage import NEAR, ROBOT

import trajopt
from problems.gallery.legged.one_legged_hopper import BENT, hopper


@trajopt.term
def device(node):
    """The wrench of a spring and a damper at the last joint, about y and z, and a force."""
    couple = -2.0 * node.q[-1] - 0.3 * node.v[-1]
    return [0, couple, couple, 5.0 * node.q[-1] ** 2, 0, 1.0]


def standing(first, second):
    """A hopper that stands on its shank, which both fill with loads."""
    problem = trajopt.Problem(hopper(), trajopt.Schedule.standing(("foot",), 0.2).trajectory(2))
    for add in (first, second):
        add(problem)
    problem.passive_base()
    problem.guess(np.array([[0.0, 0.0, 0.44, 0.0, 0.0, 0.0, *BENT]] * 2))
    return problem, problem.contacts["foot"].wrench, "shank"


def closed(first, second):
    """A linkage that is closed on the rocker, which both fill with loads."""
    problem = trajopt.Problem(ROBOT, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    for add in (first, second):
        add(problem)
    (closure,) = problem.closures.values()
    ends = {closure.link_a: closure.wrench_on_a, closure.link_b: closure.wrench_on_b}
    return problem, ends["rocker"], "rocker"


def stand(problem):
    problem.contact("foot", [0])


def close(problem):
    problem.close_loop("coupler_end", "rocker_end", near=NEAR)


def push(link):
    return lambda problem: problem.load(link, device)


def leave(problem):
    """No load."""


def derivatives(problem):
    """Rows, their derivatives and those of the objective, of squared torques, near the first guess."""
    problem.minimize(trajopt.tau**2)
    nlp = trajopt.transcribe(problem)
    rng = np.random.default_rng(0)
    y = nlp.start + 0.1 * rng.standard_normal(nlp.variable_count)
    multipliers = rng.standard_normal(nlp.row_count)
    values = nlp.objective(y), nlp.rows(y), nlp.gradient(y), nlp.jacobian(y)
    dense = np.zeros((y.size, y.size))
    np.add.at(dense, (nlp.hessian_rows, nlp.hessian_columns), nlp.hessian(y, multipliers, 1.0))
    return (*values, dense)


@pytest.mark.long
@pytest.mark.parametrize(
    ("held", "hold", "link"),
    [pytest.param(standing, stand, "shank", marks=pytest.mark.long), (closed, close, "rocker")],
)
def test_a_load_adds_to_the_force_that_holds_a_link(held, hold, link):
    problem, force, _ = held(hold, leave)
    problem.loads[link] = trajopt.ExpressionTerm(
        lambda node: [one + other for one, other in zip(force(node), device.function(node), strict=True)],
        "force and device",
    )
    wanted = derivatives(problem)
    alone = derivatives(held(hold, leave)[0])
    assert abs(alone[0] - wanted[0]) > 1e-3 * abs(wanted[0])
    for order in ((hold, push(link)), (push(link), hold)):
        for found, known in zip(derivatives(held(*order)[0]), wanted, strict=True):
            assert np.shape(found) == np.shape(known)
            assert np.allclose(found, known, rtol=1e-11, atol=1e-11 * np.abs(known).max())
