"""Links that no motion can meet are refused before the solve, with phases, link and both intervals."""

import numpy as np
import pytest
from tiers import fast_first

import trajopt
from trajopt.base.errors import InfeasibleBoundsError


def phase(name, start=None, end=None, **bounds):
    system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3, 2, duration=1.0), name=name)
    problem.control("u", -50.0, 50.0)
    problem.start_at(x=start)
    problem.end_at(x=end)
    if bounds:
        problem.subject_to(trajopt.state("x"), **bounds)
    problem.minimize(trajopt.state("u") ** 2)
    return problem


def met(first, second, link):
    both = trajopt.Phases(first, second)
    link(both, first.at("end"), second.at("start"))
    return trajopt.solve(both)


def continuous(both, end, start):
    both.link(trajopt.q, end, start, name="continuity")


def positions(both, end, start):
    both.link(lambda a, b: [a.x - b.x, a.v - b.v], end, start, name="handover")


@pytest.mark.parametrize("link", [continuous, positions])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (phase("first", (0.0, 0.0), (1.0, 0.0)), phase("second", (2.0, 0.0), (3.0, 0.0))),
        (phase("first", (0.0, 0.0), upper=1.0), phase("second", end=(3.0, 0.0), lower=2.0)),
        (phase("first", (0.0, 0.0), (1.0, None)), phase("second", end=(3.0, 0.0), lower=2.0)),
    ],
)
def test_phases_whose_ends_cannot_meet_are_named(first, second, link):
    with pytest.raises(
        InfeasibleBoundsError, match=r"phases 'first' and 'second' cannot meet: .* 0, is .*free one of"
    ):
        met(first, second, link)


def test_a_function_of_fixed_values_is_evaluated_whatever_it_is():
    first, second = phase("first", (0.0, 0.0), (2.0, 1.0)), phase("second", (1.0, 1.0), (3.0, 0.0))

    def energy(both, end, start):
        both.link(lambda a, b: a.x * a.v - b.x**2, end, start, name="energy")

    with pytest.raises(InfeasibleBoundsError, match="'energy' is 1 but has to be 0"):
        met(first, second, energy)


def test_bounds_of_controls_and_links_with_bounds_count():
    first, second = phase("first", (0.0, 0.0)), phase("second", end=(3.0, 0.0))

    def thrust(both, end, start):
        both.link(lambda a, b: a.u - b.u, end, start, lower=101.0, name="thrust")

    with pytest.raises(
        InfeasibleBoundsError, match="'thrust' is between -100 and 100 but has to be between 101"
    ):
        met(first, second, thrust)


@fast_first("link", [positions, continuous])
def test_ends_that_touch_may_meet(link):
    """From 0 to 1 at the bound of both, and on to 3: what two phases can, they do."""
    found = met(phase("first", (0.0, 0.0), upper=1.0), phase("second", end=(3.0, 0.0), lower=1.0), link)
    assert found.converged
    np.testing.assert_allclose(found.phases[0].q(1.0)[0], 1.0, atol=1e-6)
