"""A problem that is given no trajectory has one that fits the equations of its dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base.errors import OptionError


@pytest.mark.long
def test_a_system_without_a_mesh_is_collocated():
    """x'' = u from rest to rest in least time, |u| <= 1: 2 s for one metre."""
    problem = trajopt.Problem(trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u]))
    problem.control("u", -1.0, 1.0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)
    assert solution.duration == pytest.approx(2.0, rel=1e-9)  # 20 intervals have a breakpoint at the switch
    assert solution.verify().holds


def test_the_default_mesh_takes_the_order_of_the_dynamics():
    robot = problems.double_integrator.build().dynamics
    further = trajopt.system(("heat",), (), lambda node: node.tau**2, dynamics=robot)
    assert trajopt.Problem(robot).trajectory.scheme is None
    mesh = trajopt.Problem(further).trajectory
    assert mesh.scheme is not None
    assert mesh.continuity == 1
    assert mesh.arcs[0].basis.degree == mesh.scheme.order + 1


def test_what_is_no_trajectory_is_still_refused():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    for given in (20, np.linspace(0.0, 1.0, 5), "radau"):
        with pytest.raises(OptionError, match="the trajectory is"):
            trajopt.Problem(system, given)  # type: ignore[arg-type]
