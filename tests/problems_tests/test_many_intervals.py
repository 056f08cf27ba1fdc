"""A thousand intervals and more: accelerations and jerks are then 1e4 to 1e9 times the control points."""

import pytest

import trajopt
from benchmarks.solvers.intervals import build
from trajopt.solvers.optimality.kkt import kkt_residuals

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("fine", "locked"), [(1280, False), (640, True)])
def test_fine_meshes_converge_to_the_optimum_of_coarser_ones(fine, locked):
    objectives = []
    for intervals in (160, fine):
        nlp = trajopt.transcribe(build(intervals, locked))
        result = trajopt.Ipopt(max_iterations=100).solve(nlp)
        assert result.converged and kkt_residuals(nlp, result).error < 1e-8
        objectives.append(result.objective)
    assert objectives[1] < objectives[0] == pytest.approx(objectives[1], rel=1e-4)
