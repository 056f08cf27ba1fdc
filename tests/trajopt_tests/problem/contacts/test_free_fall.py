"""A robot in free fall: starts and ends that gravity joins are accepted, others refused before a solve."""

from pathlib import Path

import numpy as np
import pytest

import dynamics
import trajopt
from problems.gallery.legged.solo import STANDING
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.problem.contacts.free_fall import refuse_free_fall

ROBOTS = Path(__file__).parents[3] / "support" / "robots"
SOLO = dynamics.load_urdf(ROBOTS / "solo12.urdf", floating_base="free")
T, THROW, DOWN = 0.5, np.array([0.3, 0.0, 2.0]), np.array([0.0, 0.0, -9.81])


def thrown(duration=T, late=0.0, end=True):
    """From a throw at rest relative to the base to where it is after T seconds; late : m/s off at the end."""
    problem = trajopt.Problem(SOLO, trajopt.Trajectory.collocation(2, 3, duration=duration))
    problem.passive_base()
    rates = np.zeros((2, SOLO.n))
    rates[0, :3], rates[1, :3] = THROW, THROW + DOWN * T
    rates[1, 2] += late
    place = STANDING.copy()
    place[:3] += (THROW + 0.5 * DOWN * T) * T
    problem.start_at(q=STANDING, v=rates[0])
    if end:
        problem.end_at(q=place, v=rates[1])
    problem.minimize(trajopt.tau**2)
    problem.guess(np.array([STANDING, place]))
    return problem


@pytest.mark.long
def test_a_throw_is_accepted_and_its_duration_found():
    for problem in (thrown(), thrown((0.1, 2.0)), thrown((0.1, 0.2), end=False)):
        refuse_free_fall(problem)
    found = trajopt.solve(thrown(), refine=None, starts=1, progress="silent")
    assert found.converged and found.objective == pytest.approx(0.0, abs=1e-9)


def test_what_no_fall_joins_is_refused_before_a_solve():
    for problem in (thrown(late=0.01), thrown(0.51), thrown((0.1, 0.4))):
        with pytest.raises(InfeasibleBoundsError, match=r"nothing but gravity .* Add contacts that carry it"):
            trajopt.solve(problem, progress="silent")
    still = thrown(2.0, end=False)
    still.end_at(q=STANDING, v=0)
    with pytest.raises(
        InfeasibleBoundsError, match=r"after 2 s in free fall .* is 15\.\d+ m .* and 17\.\d+ m/s"
    ):
        trajopt.solve(still, progress="silent")


def test_whoever_is_carried_or_driven_is_left_alone():
    carried = thrown(late=1.0)
    carried.contact("FL_FOOT", [0])
    refuse_free_fall(carried)
    driven = trajopt.Problem(SOLO, trajopt.Trajectory.collocation(2, 3, duration=T))
    driven.start_at(q=STANDING, v=0)
    driven.end_at(q=STANDING, v=0)
    refuse_free_fall(driven)
    held = dynamics.load_urdf(ROBOTS / "solo12.urdf", floating_base=False)
    refuse_free_fall(trajopt.Problem(held, trajopt.Trajectory.collocation(2, 3, duration=T)))
