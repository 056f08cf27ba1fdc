"""Bounded integrals and integrals as costs: known optima, certificates, windows, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from double_integrator import double_integrator, effort, least_effort

import trajopt
from trajopt.base.errors import OptionError


def budget(energy):
    """Minimum time from rest to rest over one metre with the integral of u^2 bounded: T^3 = 12 / energy."""
    problem = trajopt.Problem(double_integrator(), trajopt.Trajectory.collocation(4, 3))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.integral(effort), upper=energy, name="energy")
    return problem


@pytest.mark.long
def test_a_bounded_integral_gives_the_least_time_within_an_energy_budget(tmp_path):
    solution = trajopt.solve(budget(1.5))
    assert solution.duration == pytest.approx(2.0, abs=1e-8)
    report = solution.verify()
    assert report.holds and any(v.name == "energy" for v in report.violations)
    # dT / dE of T = (12 / E)^(1/3), of either sign by convention
    assert abs(solution.multipliers["energy"][0, 0]) == pytest.approx(2.0 / 3.0 / 1.5, rel=1e-6)
    solution.save(tmp_path / "x.npz")
    assert trajopt.Solution.load(tmp_path / "x.npz", budget(1.5)).verify().holds


def test_a_certificate_has_a_line_for_a_bounded_integral():
    certified = trajopt.solve(budget(1.5), refine=trajopt.Certified(tol=1e-4))
    assert certified.certificate is not None
    assert "energy" in str(certified.certificate)


def test_an_integral_over_a_window_and_as_a_cost():
    problem = least_effort(intervals=4)
    problem.subject_to(trajopt.integral(effort, over=(0.0, 0.5)), equals=4.0)
    problem.minimize(trajopt.integral(effort), weight=1.0, name="again")
    solution = trajopt.solve(problem)
    t = (np.arange(2000) + 0.5) / 4000
    assert np.mean(solution.value(effort, t)) / 2 == pytest.approx(4.0, rel=1e-5)
    assert solution.cost_terms["again"] == pytest.approx(solution.cost_terms["effort"])


def test_an_integral_over_a_window_takes_the_windows_side_of_a_jump():
    problem = least_effort(intervals=4, points="lobatto")
    problem.control("u", degree=0)
    problem.minimize(effort, over=(0.5, 1.0), name="second half")
    solution = trajopt.solve(problem)
    u = solution.value(trajopt.state("u"), [0.6, 0.9])[:, 0]
    assert solution.cost_terms["second half"] == pytest.approx(np.mean(u**2) / 2)


def test_integrals_that_cannot_be_meant_are_refused():
    problem = least_effort()
    with pytest.raises(OptionError, match="nothing can be integrated over 'start'"):
        trajopt.integral(effort, over="start")
    with pytest.raises(OptionError, match="says itself what it is over"):
        problem.subject_to(trajopt.integral(effort), upper=1.0, over="end")
