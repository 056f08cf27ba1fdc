"""Torques and terms of a certificate: what is proved for all times, and what stays sampled."""

from dataclasses import replace

import casadi
import numpy as np
import pytest
from hand_written import PointMasses
from tiers import every, fast_first

import dynamics
import problems
import trajopt
from trajopt.certificates.certificate import Certificate
from trajopt.checks.integral_checks import cost_checks
from trajopt.checks.violations import certificate_lines
from trajopt.taylor_models import suprema


def arm(**joint):
    """Two links under gravity, turned in one second with the least squared acceleration."""
    rows = [{"a": 0.5, "mass": 2.0, "centre_of_mass": [-0.2, 0.0, 0.0], **joint} for _ in range(2)]
    problem = trajopt.Problem(
        dynamics.from_dh(rows, gravity=(0.0, -9.81, 0.0)), trajopt.Trajectory.uniform(6, 4, duration=1.0)
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1.0, -0.7], v=0.0)
    problem.minimize(trajopt.a**2)
    return trajopt.solve(problem)


def line_of(solution, name, tol=1e-6):
    """The worst line of a statement."""
    named = [line for line in certificate_lines(solution, tol, tol) if line.name == name]
    return max(named, key=lambda line: line.ratio)


@fast_first(
    "problem",
    [problems.sliding_mass, problems.betts_robot_arm, problems.two_link_rr, problems.three_link_arm],
)
def test_certified_optima_in_minimum_time_are_proved(problem):
    solution = trajopt.solve(problem.build(), refine=trajopt.Certified(tol=1e-6))
    certificate = solution.certificate
    assert certificate is not None and certificate.verdict == "proved" and "sampled" not in str(certificate)
    torques = [line for line in certificate.lines if line.name == "torque limits"]
    assert {line.evidence for line in torques} == {"enclosure"}
    t = np.linspace(0.0, solution.duration, 50_001)
    limits, tau = solution.limits, solution.tau(t)
    violation = np.maximum(tau - limits.torque_upper, limits.torque_lower - tau).max(axis=0)
    assert np.all(violation <= np.array([line.value for line in torques]) + 1e-9)


@fast_first("offset", [-1e-2, -1e-5, 1e-5, 1e-2], 2)
def test_a_bound_near_the_largest_torque_is_proved_or_refused(offset):
    solution = arm()
    tau = solution.tau(np.linspace(0.0, 1.0, 200_001))
    limit = tau.max(axis=0) + offset
    solution.problem.subject_to(trajopt.tau, upper=limit, name="torques")
    lines = [line for line in certificate_lines(solution, 1e-6, 1e-6) if line.name == "torques"]
    assert [line.evidence for line in lines] == ["enclosure" if offset > 0.0 else "sampled"] * 2
    assert all(line.holds == (offset > 0.0) for line in lines)
    assert np.allclose([line.value for line in lines], -offset, rtol=2e-3, atol=2e-7)


def test_rotors_payloads_and_own_friction_and_springs_are_bounded():
    rotor = dynamics.Rotor(gear_ratio=50.0, inertia=np.diag([0.0, 0.0, 1e-4]))
    solution = arm(rotor=rotor)

    @trajopt.term
    def motor(node):
        return node.tau + 0.4 * node.v + 3.0 * (node.q - 0.2) + 0.1 * node.v**3

    values = solution.value(motor, np.linspace(0.0, 1.0, 100_001))
    solution.problem.subject_to(motor, values.min(axis=0) - 1e-3, values.max(axis=0) + 1e-3, name="motor")
    line = line_of(solution, "motor")
    assert line.evidence == "enclosure" and line.holds and np.isclose(line.value, -1e-3, rtol=1e-2)


def test_a_peak_between_all_samples_is_met():
    solution = arm()

    @trajopt.term
    def spike(node):
        return 1.0 / (1.0 + ((node.t - 0.31415926) / 1e-6) ** 2)

    solution.problem.subject_to(spike, upper=0.5, name="spike")
    line = line_of(solution, "spike")
    assert not line.holds and line.value > 1e-3 and abs(line.time - 0.31415926) < 3e-6


def largest(solution, term):
    """The largest value of every component, on a grid."""
    return solution.value(term, np.linspace(0.0, 1.0, 100_001)).max(axis=0)


@every("name", ["curved", "velocity", "corners", "place", "obstacle", "energy"], fast=1)
@every("offset", [-1e-5, 1e-5])
def test_what_taylor_models_enclose_is_proved_or_refused(name, offset):
    solution, link = arm(), "joint2_tip"

    @trajopt.term
    def corners(node):
        return [casadi.fabs(node.tau[0]) + casadi.fmax(node.v[1], 0.0), casadi.fmin(node.v[0], node.q[0])]

    @trajopt.term
    def curved(node):
        return [casadi.tanh(3.0 * node.tau[0]) + node.q[0], casadi.atan2(node.v[0], 2.0 + node.q[1])]

    @trajopt.term
    def obstacle(node):
        return -sphere(node)

    sphere = trajopt.library.sphere_clearance(link, [0.3, 0.8, 0.0], 0.1)
    terms = {
        "corners": corners,
        "curved": curved,
        "place": trajopt.position(link),
        "velocity": trajopt.Quantity(f"velocity:{link}"),
        "obstacle": sphere,
        "energy": trajopt.Quantity("kinetic_energy"),
    }
    term = terms[name]
    if name == "obstacle":
        bound = solution.value(term, np.linspace(0.0, 1.0, 100_001)).min() - offset
        solution.problem.subject_to(term, lower=bound, name=name)
    else:
        solution.problem.subject_to(term, upper=largest(solution, term) + offset, name=name)
    lines = [line for line in certificate_lines(solution, 1e-6, 1e-6) if line.name == name]
    moving = [line for line in lines if line.tolerance > 1e-8]  # what is zero has another scale
    assert {line.evidence for line in moving} == {"enclosure" if offset > 0.0 else "sampled"}
    assert all(line.holds == (offset > 0.0) for line in moving)


@pytest.mark.long
def test_a_sign_of_what_is_no_number_between_all_samples_is_not_proved():
    """The root has no value for a microsecond, and so has its sign none; elsewhere that is 1."""
    solution = arm()

    @trajopt.term
    def sign(node):
        x = (node.t[0] - 0.123456) / 1e-6
        return casadi.sign(casadi.sqrt(0.5 - casadi.exp(-x * x)))

    @trajopt.term
    def known_sign(node):
        return casadi.sign(node.q[0] - 0.3)

    solution.problem.subject_to(sign, upper=2.0, name="sign")
    solution.problem.subject_to(known_sign, upper=2.0, name="known")
    assert np.isnan(solution.value(sign, 0.123456)).all()
    assert line_of(solution, "sign").evidence == "sampled"
    assert line_of(solution, "known").evidence == "enclosure"
    (row,) = (v for v in solution.verify().violations if v.name == "sign")
    assert row.evidence == "sampled"


def test_operations_without_a_bound_stay_sampled():
    solution = arm()

    @trajopt.term
    def steps(node):
        return casadi.floor(node.tau)

    solution.problem.subject_to(steps, upper=1e3, name="steps")
    line = line_of(solution, "steps")
    assert line.evidence == "sampled" and line.holds and line.resolution > 0.0
    certificate = Certificate(1e-6, "none", None, 0, "", motion=solution)
    assert certificate.verdict == "holds, sampled"


@pytest.mark.long
def test_torques_under_loads_are_bounded():
    solution = arm()

    @trajopt.term
    def push(node):
        return [0.0, 0.0, 0.3, 5.0 * node.t, node.v[0] * node.q[1], 0.0]

    problem = solution.problem
    problem.load("joint2", push)
    loaded = replace(solution, known_problem=problem)
    bound = largest(loaded, trajopt.tau)
    problem.subject_to(trajopt.tau, upper=bound + 1e-5, name="torques")
    problem.subject_to(trajopt.tau, upper=bound - 1e-5, name="too strict")
    assert line_of(loaded, "torques").evidence == "enclosure" and line_of(loaded, "torques").holds
    assert not line_of(loaded, "too strict").holds


@pytest.mark.long
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_integrals_are_enclosed_or_refused(factor):
    solution = arm()

    @trajopt.term
    def strain(node):
        return [casadi.fabs(node.tau[0]), node.tau[1] * node.v[1]]

    t = np.linspace(0.0, 1.0, 400_001)
    values = solution.value(strain, t)
    whole = 0.5 * (values[1:] + values[:-1]).sum(axis=0) / (t.size - 1)
    bound = whole + (factor - 1.0) * np.abs(values).mean(axis=0)
    solution.problem.subject_to(trajopt.integral(strain), upper=bound, name="strain")
    lines = [line for line in certificate_lines(solution, 1e-6, 1e-6) if line.name == "strain"]
    assert {line.evidence for line in lines} == {"enclosure"}
    assert all(line.holds == (factor > 1.0) for line in lines)
    assert np.allclose([line.scale for line in lines], np.abs(bound), rtol=1e-12)
    (cost,) = (line for line in certificate_lines(solution, 1e-6, 1e-6) if line.name.startswith("cost"))
    assert cost.evidence == "enclosure" and cost.holds and cost.value <= 1e-8 * cost.scale


@fast_first("weight", [1.0, 1e-9], 1)
def test_report_and_certificate_measure_a_cost_as_one(weight):
    """Beside a cost a billion times as large, too: both have the difference to the value that is reported."""
    solution = arm()
    solution.problem.minimize(trajopt.tau**2, weight=weight, name="torques")
    t = np.linspace(0.0, 1.0, 200_001)
    values = (solution.tau(t) ** 2).sum(axis=1)
    whole = weight * 0.5 * (values[1:] + values[:-1]).sum() / (t.size - 1)
    told = replace(solution, cost_terms={**solution.cost_terms, "torques": 1.25 * whole})
    (check,) = (each for each in cost_checks(told) if each.name == "torques")
    line = line_of(told, "cost 'torques'")
    assert check.integral == pytest.approx(whole, rel=1e-6)
    assert line.value == pytest.approx(check.value - check.integral, rel=1e-6)
    assert line.scale == pytest.approx(max(whole, 1e-6 * told.objective), rel=1e-6)


def test_a_spike_of_an_integral_between_all_samples_is_met():
    """A hundred-millionth of the time wide, its inverse high: quadratures see nothing of it."""
    solution = arm()

    @trajopt.term
    def spike(node):
        return 1e8 / (1.0 + ((node.t - 0.25001) / 1e-8) ** 2)

    solution.problem.subject_to(trajopt.integral(spike), upper=10.0, name="spike")
    solution.problem.subject_to(trajopt.integral(spike), upper=3.0, name="too strict")
    line = line_of(solution, "spike")  # pi
    assert line.evidence == "enclosure" and line.holds
    line = line_of(solution, "too strict")
    assert line.evidence == "enclosure" and not line.holds and abs(line.value - (np.pi - 3.0)) < 1e-2


def test_the_scale_of_an_integral_is_no_larger_than_the_integral_of_its_absolute_value():
    """A bump that a sample meets, but a tenth as wide as samples are apart, and a wave about zero."""
    solution = arm()
    middle, width = float(solution.node_times[7]), 1e-3

    @trajopt.term
    def bump(node):
        return 1.0 / (1.0 + ((node.t - middle) / width) ** 2)

    @trajopt.term
    def wave(node):
        return np.sin(40.0 * np.pi * node.t)

    solution.problem.subject_to(trajopt.integral(bump), upper=0.0, name="bump")
    solution.problem.subject_to(trajopt.integral(wave), equals=0.0, name="wave")
    whole = width * (np.arctan((1.0 - middle) / width) + np.arctan(middle / width))
    line = line_of(solution, "bump")
    assert line.evidence == "enclosure" and not line.holds
    assert 0.98 * whole <= 100.0 * line.scale <= whole and np.isclose(line.value, whole, rtol=1e-4)
    line = line_of(solution, "wave")
    assert line.evidence == "enclosure" and line.holds
    assert 0.98 * 2.0 / np.pi <= 100.0 * line.scale <= 2.0 / np.pi


def test_a_dynamics_of_numpy_stays_sampled():
    problem = trajopt.Problem(PointMasses(1, 1.0, 5.0), trajopt.Trajectory.uniform(6, 3, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=0.1, v=0.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to_joint_limits()
    line = line_of(trajopt.solve(problem), "torque limits")
    assert line.evidence == "sampled" and line.holds


def test_where_the_search_ends_without_a_bound_the_line_says_so(monkeypatch):
    solution = arm()

    @trajopt.term
    def hill(node):
        return 1.0 / (1.0 + ((node.t - 0.3) / 0.01) ** 2)

    solution.problem.subject_to(hill, upper=1.5, name="hill")
    line = line_of(solution, "hill")
    assert line.evidence == "enclosure" and np.isclose(line.value, -0.5, rtol=1e-3)
    monkeypatch.setattr(suprema, "MOST_ROUNDS", 1)
    line = line_of(solution, "hill")
    assert line.evidence == "sampled" and "no bound" in line.note and line.holds
