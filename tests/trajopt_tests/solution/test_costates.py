"""Costates are derivatives of the optimal cost by the state: against closed forms and sensitivities."""

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import problems
import trajopt
from trajopt.base.errors import OptionError, UnknownNameError

TIMES = np.linspace(0.0, 1.0, 7)
GRAVITY = 9.81


def double_integrator(mesh):
    problem = trajopt.Problem(trajopt.system(("x", "v"), ("u",), lambda n: [n.v, n.u]), mesh)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(0.5 * trajopt.state("u") ** 2, name="energy")
    return problem


@pytest.fixture(scope="module")
def brachistochrone():
    def rates(node):
        fall = GRAVITY * np.cos(node.angle)
        return [node.v * np.sin(node.angle), node.v * np.cos(node.angle), fall]

    problem = trajopt.Problem(
        trajopt.system(("x", "y", "v"), ("angle",), rates), trajopt.Trajectory.collocation(20)
    )
    problem.start_at(x=[0.0, 0.0, 0.1])
    problem.end_at(x=[2.0, None, None])
    problem.control("angle", 0.0, np.pi, guess=1.0)
    problem.minimize(trajopt.duration, name="time")
    return trajopt.solve(problem, trajopt.Ipopt(tol=1e-11), starts=1)


@pytest.mark.parametrize("points", ["radau", "gauss", "lobatto"])
@fast_first("arcs", [1, 2], 1)
def test_least_energy_has_the_costates_of_its_closed_form(points, arcs):
    """From rest to rest in 1 s, u = 6 - 12 t: H_u = u + lambda_v = 0, and lambda_x = dJ/dx = -12 at 0."""
    mesh = trajopt.Trajectory.collocation(4, 3, points, 1.0 / arcs, arcs)
    solution = trajopt.solve(double_integrator(mesh))
    assert np.allclose(solution.costate("x")(TIMES)[:, 0], -12.0, atol=1e-8)
    assert np.allclose(solution.costate("v")(TIMES)[:, 0], 12.0 * TIMES - 6.0, atol=1e-8)


def test_costates_at_the_start_are_sensitivities_by_the_initial_state(brachistochrone):
    found = [brachistochrone.costate(name)(0.0)[0] for name in ("x", "y", "v")]
    assert np.allclose(found, brachistochrone.sensitivity("x_start").objective, atol=2e-4)


def test_least_time_meets_transversality_and_a_constant_hamiltonian(brachistochrone):
    """y and v are free at the end, where their costates vanish; 1 + lambda f = 0 as the duration is free."""
    t = np.linspace(0.0, brachistochrone.duration, 9)
    x, y, v = (brachistochrone.costate(name)(t)[:, 0] for name in ("x", "y", "v"))
    speed, angle = (brachistochrone.value(trajopt.state(name), t)[:, 0] for name in ("v", "angle"))
    hamiltonian = x * speed * np.sin(angle) + y * speed * np.cos(angle) + v * GRAVITY * np.cos(angle)
    assert np.allclose(hamiltonian, -1.0, atol=1e-4)
    assert np.allclose([*y, v[-1]], 0.0, atol=1e-5)
    assert np.allclose(x, x[0], atol=1e-8)  # f does not depend on x


@pytest.mark.long
def test_further_states_of_a_robot_have_costates_which_files_keep(tmp_path):
    """Heat that is counted at the end alone has the costate of its weight all the time."""
    robot = PointMasses(1, 1.0)
    system = trajopt.system(
        {"heat": 2}, rates=lambda node: [node.tau[0] ** 2, node.v[0] ** 2], dynamics=robot
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, duration=1.0))
    problem.start_at(q=0.0, v=0.0, x=[0.0, 0.0])
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.state("heat"), over="end", name="heat")
    solution = trajopt.solve(problem)
    solution.save(tmp_path / "heat.npz")
    read = trajopt.Solution.load(tmp_path / "heat.npz", problem)
    for each in (solution, read):
        assert np.allclose(each.costate("heat")(TIMES), 1.0, atol=1e-6)
    labels = [axis.get_ylabel() for axis in trajopt.plot.costates(solution).axes if axis.get_visible()]
    assert labels == ["costate of heat 0", "costate of heat 1"]


def test_the_figure_of_costates_draws_them(brachistochrone):
    axes = [axis for axis in trajopt.plot.costates(brachistochrone, names=["v"]).axes if axis.get_visible()]
    t, values = (np.asarray(each) for each in axes[0].lines[0].get_data())
    assert len(axes) == 1 and np.allclose(values, brachistochrone.costate("v")(t)[:, 0])


def test_states_that_are_none_are_refused(brachistochrone):
    with pytest.raises(UnknownNameError, match="is called 'speed': there are x, y, v"):
        brachistochrone.costate("speed")
    robot = trajopt.solve(problems.two_link_rr.build(intervals=8))
    with pytest.raises(OptionError, match="no states of x' = f"):
        robot.costate("q")
