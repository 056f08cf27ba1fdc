"""A thousand intervals and more: accelerations and jerks are then 1e4 to 1e9 times the control points."""

import pytest
from tiers import long_first

import dynamics
import trajopt
from benchmarks.solvers.intervals import build
from trajopt.solvers.kkt import kkt_residuals


@long_first("fine, locked", [(320, True), (320, False), (640, False), (1280, False), (640, True)])
def test_fine_meshes_converge_to_the_optimum_of_coarser_ones(fine, locked):
    objectives = []
    for intervals in (160, fine):
        nlp = trajopt.transcribe(build(intervals, locked))
        result = trajopt.Ipopt(max_iterations=100).solve(nlp)
        assert result.converged and kkt_residuals(nlp, result).error < 1e-8
        objectives.append(result.objective)
    assert objectives[1] < objectives[0] == pytest.approx(objectives[1], rel=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("intervals", [300, 1000, 5000])
def test_a_mass_moves_with_least_effort_on_any_number_of_intervals(intervals):
    """Rounding leaves 1e-4 of the slope of the Lagrangian on 1000: IPOPT went on to its limit, and FAIL."""
    joint = dynamics.Joint("slide", "prismatic")
    cart = dynamics.RigidBodyModel([dynamics.Body("cart", joint, mass=1.0)], gravity=(0.0, 0.0, 0.0))
    problem = trajopt.Problem(cart, trajopt.Trajectory.uniform(intervals, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, refine=None, starts=1)
    assert solution.status is trajopt.Status.CONVERGED and solution.iterations <= 20
    assert solution.objective == pytest.approx(12.0, rel=1e-9)
    if intervals <= 1000:  # the forward simulation of 5000 spans takes minutes
        assert solution.verify().holds
