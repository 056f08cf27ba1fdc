"""Certificates of phases: a line for every statement and link, planted faults, limits between nodes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import OptionError

PEAK = 1e-4  # m: where the planted term is large, a ten-thousandth of the way


@trajopt.term
def effort(node):
    return node.u**2


@trajopt.term
def spike(node):
    """Ten at x = 0.3, next to nothing a millimetre away."""
    return 10.0 * np.exp(-(((node.x - 0.3) / PEAK) ** 2))


@trajopt.term
def speed_squared(node):
    return node.v**2


def part(name, order=3, intervals=3, duration=(0.2, 5.0)):
    """A mass on a spring whose stiffness all phases share."""
    oscillator = trajopt.system(
        ("x", "v"), ("u",), lambda node: [node.v, node.u - node.parameter("stiffness") * node.x]
    )
    mesh = trajopt.Trajectory.collocation(intervals, order, duration=duration)
    problem = trajopt.Problem(oscillator, mesh, name=name)
    problem.parameter("stiffness", 0.5, 4.0, guess=1.0)
    problem.minimize(effort)
    return problem


def way(order=3, intervals=3, top=np.inf):
    """From rest at 0 to rest at 1 in two phases of a second, no faster than `top` in the second one."""
    first, second = (part(name, order, intervals, 1.0) for name in ("first", "second"))
    first.start_at(x=[0.0, 0.0])
    second.end_at(x=[1.0, 0.0])
    if np.isfinite(top):
        second.subject_to(speed_squared, upper=top, name="slow")
    both = trajopt.Phases(first, second, name="way")
    both.link(trajopt.q, first.at("end"), second.at("start"), name="meet")
    return both


def everything():
    """One of every kind of statement, in phases, links and costs."""
    first, second = part("first"), part("second")
    first.start_at(x=[0.0, 0.0])
    first.control("u", -30.0, 30.0)
    first.subject_to(trajopt.state("x"), -2.0, 2.0, name="room")
    first.subject_to(speed_squared, upper=90.0, over=(0.2, 0.8), name="slow in the middle")
    first.subject_to(trajopt.integral(effort), upper=400.0, name="energy")
    first.subject_to(speed_squared, upper=80.0, over="end", name="slow at the end")
    second.end_at(x=[1.0, 0.0])
    second.subject_to_periodic(trajopt.state("u"), signs=-1.0, name="turned")
    load = second.extra("load", lower=-1.0, upper=1.0)
    second.minimize(load**2, name="loads")
    second.subject_to(speed_squared, upper=70.0, over=trajopt.Neighbours(), name="steps")
    both = trajopt.Phases(first, second, name="everything")
    both.link(lambda a, b: [a.x - b.x, a.v - b.v], first.at("end"), second.at("start"), name="meet")
    both.link(lambda a: a.x, first.at("end"), lower=0.1, upper=0.9, name="half-way")
    both.minimize(
        lambda a, b: (a.u - b.u) ** 2, first.at("end"), second.at("start"), weight=1e-3, name="kick"
    )
    both.minimize(trajopt.duration, weight=0.1)
    both.subject_to(trajopt.duration, upper=4.0)
    return both


STATED = {
    "first: state equations", "second: state equations",
    "first: x at the start", "second: x at the end",
    "first: bounds of u", "first: room", "first: slow in the middle", "first: energy",
    "first: slow at the end",
    "second: turned", "second: bounds of load", "second: steps",
    "first: bounds of stiffness", "second: bounds of stiffness",
    "first: duration", "second: duration",
    "first: cost 'effort'", "second: cost 'effort'", "second: cost 'loads'", "second: cost 'kick'",
    "first: cost 'total duration'", "second: cost 'total duration'",
    "meet", "half-way", "total duration", "stiffness of all phases",
}  # fmt: skip


@pytest.fixture(scope="module")
def certified():
    return trajopt.solve(everything(), refine=trajopt.Certified(tol=1e-6, time_limit=600.0))


def failing(solution):
    return {line.name for line in solution.certificate.failing}


def moved(solution, k, **changes):
    """The solution with another phase k; everything that is computed from motions is computed again."""
    parts = list(solution.phases)
    parts[k] = replace(parts[k], **changes)
    return replace(solution, phases=tuple(parts))


def bent(solution, k, point, by):
    """With one control point of phase k moved by (coordinates)."""
    curve = solution.phases[k].curve
    points = curve.control_points[0].copy()
    points[point, :2] += by
    return moved(solution, k, curve=replace(curve, control_points=(points,)))


@pytest.mark.long
def test_no_statement_is_without_a_line(certified):
    certificate = certified.certificate
    assert {line.name for line in certificate.lines} >= STATED
    assert certificate.holds, certificate.why_not
    assert certificate.verdict == "holds, sampled"  # differences of neighbouring nodes are
    sampled = {line.name for line in certificate.lines if line.evidence == "sampled"}
    assert sampled == {"second: steps"}
    told = str(certificate)
    assert all(part in told for part in ("phase 'first'", "half-way", "forward simulation"))
    assert "<svg" in certificate._repr_html_()
    assert f"{len(certificate.lines)} lines" in repr(certificate)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "point", "by", "names"),
    [
        (0, 3, [1e-3, 0.0], {"first: state equations"}),
        (0, -1, [1e-3, 0.0], {"first: state equations", "meet"}),
        (1, 0, [0.0, 1e-3], {"second: state equations", "meet"}),
        (1, -1, [1e-3, 0.0], {"second: x at the end"}),
        (0, -1, [0.5, 0.0], {"half-way", "meet"}),
    ],
)
def test_a_motion_that_is_bent_fails_where_it_was_bent(certified, k, point, by, names):
    tampered = bent(certified, k, point, by)
    assert not tampered.certificate.holds
    assert failing(tampered) >= names


@pytest.mark.long
def test_parameters_that_differ_or_leave_their_bounds_are_seen(certified):
    own = certified.phases[1].parameters
    other = moved(certified, 1, parameters={**own, "stiffness": own["stiffness"] + 1e-3})
    assert "stiffness of all phases" in failing(other)
    assert not other.verify().holds
    everywhere = certified
    for k, each in enumerate(certified.phases):
        everywhere = moved(everywhere, k, parameters={**each.parameters, "stiffness": np.array([4.5])})
    assert failing(everywhere) >= {"first: bounds of stiffness", "second: bounds of stiffness"}
    worst = max(everywhere.verify().links, key=lambda link: link.dense_relative)
    assert worst.name == "bounds of stiffness"
    assert worst.value == pytest.approx(0.5)


@pytest.mark.long
def test_a_looser_tolerance_than_the_run_was_asked_for_is_seen(certified):
    looser = replace(certified.certification, tolerance=1e9)
    forged = replace(certified, certification=looser)
    assert certified.certificate.holds and not forged.certificate.holds
    assert "its run asked for" in forged.certificate.why_not and forged.verify().verdict == "FAIL"


@pytest.mark.long
def test_a_copy_that_lies_about_the_other_phase_is_seen(certified):
    """The linked cost is computed from copies: one of them is changed in the phase that uses it."""
    own = certified.phases[1].parameters
    name = next(name for name in own if name.startswith("extra:u at"))
    lying = moved(certified, 1, parameters={**own, name: own[name] + 1e-2})
    assert any(name in line for line in failing(lying))


@pytest.mark.long
def test_a_cost_that_is_told_wrongly_is_seen(certified):
    told = certified.phases[1].cost_terms
    cheap = moved(certified, 1, cost_terms={**told, "kick": told["kick"] + 1e-3})
    assert "second: cost 'kick'" in failing(cheap)


@pytest.mark.long
def test_a_peak_of_one_phase_that_no_sample_meets_is_not_proved():
    """x passes 0.3 within a ten-thousandth of its way in the first phase; nothing is near in the second."""
    both = way()
    for problem in both.problems:
        problem.subject_to(spike, upper=1.0, name="no spike")
    solution = trajopt.solve(both)
    assert max(solution.phases[0].value(spike, solution.phases[0].node_times)) < 1.0
    solution = trajopt.solve(both, refine=trajopt.Certified(tol=1e-6, rounds=1, time_limit=600.0))
    certificate = solution.certificate
    assert not certificate.holds
    assert "first: no spike" in failing(solution)
    line = next(line for line in certificate.lines if line.name == "first: no spike")
    assert line.value == pytest.approx(9.0, rel=1e-3)
    assert next(line for line in certificate.lines if line.name == "second: no spike").evidence == "enclosure"


def slow_between(solution):
    """By how much the limit of the second phase is violated at any time, of its bound."""
    entries = solution.verify().phases[1][1].violations
    return next(entry.dense_relative for entry in entries if entry.name == "slow")


@pytest.mark.long
def test_limits_between_nodes_are_lowered_by_limit_nodes():
    coarse = trajopt.solve(way(order=3, intervals=2, top=0.4), refine=None)
    assert slow_between(coarse) > 1e-2
    fine = trajopt.solve(way(order=3, intervals=2, top=0.4))
    assert fine.converged
    assert fine.iterations > coarse.iterations
    assert slow_between(fine) <= 1e-3
    assert any(map(len, fine.phases[1].limit_points))
    assert not any(map(len, fine.phases[0].limit_points))


@pytest.mark.long
def test_a_certified_way_is_proved_and_its_optimum_is_that_of_fine_meshes(tmp_path):
    finest = trajopt.solve(way(order=5, intervals=60, top=0.4))
    solution = trajopt.solve(
        way(order=5, intervals=4, top=0.4), refine=trajopt.Certified(tol=1e-6, time_limit=600.0)
    )
    certificate = solution.certificate
    assert certificate.verdict == "proved", str(certificate)
    assert certificate.rounds >= 1
    assert solution.objective == pytest.approx(finest.objective, rel=1e-3)
    solution.save(tmp_path / "way.npz")
    read = trajopt.PhasesSolution.load(tmp_path / "way.npz", way(order=5, intervals=4, top=0.4))
    assert read.certificate.verdict == "proved"
    assert read.certificate.rounds == certificate.rounds
    alone = trajopt.PhasesSolution.load(tmp_path / "way.npz")
    assert not alone.certificate.holds
    assert "pass them, PhasesSolution.load(path, phases)" in alone.certificate.why_not
    assert alone.certificate.summary()["verdict"] == "DOES NOT HOLD"


def test_phases_that_were_not_certified_have_no_certificate():
    assert trajopt.solve(way()).certificate is None


def test_a_solve_that_did_not_converge_is_not_certified():
    solution = trajopt.solve(way(), trajopt.Ipopt(max_iterations=1), refine=trajopt.Certified())
    assert solution.certificate.why_not.startswith("the solve did not converge")


@pytest.fixture
def pass_time_of_certification(monkeypatch):
    """A function that moves the clock of the certification by seconds; nothing else does."""
    from trajopt.certified import certified

    passed = [0.0]
    monkeypatch.setattr(certified, "time", SimpleNamespace(perf_counter=lambda: sum(passed)))
    return passed.append


def test_an_error_of_the_certification_is_told_and_loses_nothing(monkeypatch, pass_time_of_certification):
    from trajopt.certified import certified

    def broken(*_):
        pass_time_of_certification(300.0)
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(certified, "path_equations", broken)
    solution = trajopt.solve(way(), refine=trajopt.Certified())
    assert solution.converged
    assert "ended in an error (ZeroDivisionError: on purpose)" in solution.certificate.why_not
    assert "to do" not in str(solution.certificate)  # neither intervals nor tolerances are to blame
    assert solution.seconds >= 300.0


@pytest.mark.long
def test_seconds_of_certified_phases_count_the_checks(monkeypatch, pass_time_of_certification):
    from trajopt.certified import added_nodes

    search = added_nodes.times_of_violations

    def slow(*arguments):
        pass_time_of_certification(300.0)
        return search(*arguments)

    monkeypatch.setattr(added_nodes, "times_of_violations", slow)
    assert trajopt.solve(way(), refine=trajopt.Certified(rounds=1)).seconds >= 600.0  # of two phases


def test_another_refinement_is_refused_with_those_that_there_are():
    class Own:
        def refine(self, solution, solver, progress=None):
            return solution

    with pytest.raises(OptionError, match=r"Own is for single problems: .*Refined.*LimitNodes.*Certified"):
        trajopt.solve(way(), refine=Own())
