"""Zeros are compared with a scale of the problem, never with what rounding leaves of it."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses

import dynamics
import trajopt
from benchmarks.published.textbook import aly_chan
from trajopt.checks.path_equations import least_sizes, part_sums
from trajopt.checks.peaks_between_nodes import dense_samples
from trajopt.checks.residual_forces import equation_scales


def mass(arcs=1, start=0.0, end=1.0):
    joint = dynamics.Joint("slide", "prismatic")
    cart = dynamics.RigidBodyModel([dynamics.Body("cart", joint, mass=1.0)], gravity=(0.0, 0.0, 0.0))
    arc = trajopt.Trajectory.uniform(6, duration=1.0 / arcs).arcs[0]
    problem = trajopt.Problem(cart, trajopt.Trajectory((arc,) * arcs))
    problem.start_at(q=start, v=0.0)
    problem.end_at(q=end, v=0.0)
    problem.minimize(trajopt.tau**2)
    return problem


@pytest.mark.long
def test_an_optimum_of_zero_passes():
    """Its residuals changed the objective "by 1e-11 of -2e-10"."""
    solution = trajopt.solve(aly_chan(20))
    report = solution.verify()
    assert abs(solution.objective) < 1e-8 and report.holds, report.reason


@pytest.mark.long
def test_a_motion_without_costs_is_not_compared_with_them():
    report = trajopt.solve(aly_chan(20)).verify()
    equations = tuple(replace(each, cost=4e-13) for each in report.equations)
    assert replace(report, equations=equations, costs=(), objective=0.0).holds
    assert not replace(report, equations=tuple(replace(each, cost=1.0) for each in equations)).holds


def test_a_robot_at_rest_travels_a_hundred_thousandth_of_a_unit_or_of_where_it_is():
    """Sums of parts of the velocity are compared with that travel, and not with what the solver leaves."""
    for place, travel in ((0.5, 5e-6), (7.0, 1e-5)):
        solution = trajopt.solve(mass(start=place, end=place), refine=None, starts=1)
        (sums,) = part_sums(solution, [trajopt.v], solution.node_times).values()
        assert sums.max() == pytest.approx(travel, rel=1e-3)


def held(over, equals):
    """A curve that is pulled to a half, and held at a value over a part of the motion."""
    problem = mass(arcs=1 if over == "path" else 2)
    push = problem.extra("push", 1, -5.0, 5.0)
    problem.minimize(trajopt.term(lambda node: (node.extra("push") - 0.5) ** 2, name="off"))
    problem.subject_to(push, equals=equals, over=over, name="held")
    return trajopt.solve(problem, refine=None)


@pytest.mark.parametrize(("over", "scale"), [(trajopt.ArcNodes(0, "whole"), 0.005), ("path", 0.01)])
def test_a_curve_that_is_held_at_zero_is_compared_with_its_size_elsewhere_or_its_bounds(over, scale):
    """Its own size there is what the solver leaves: it was missed by "100 % of its scale 4e-11"."""
    solution = held(over, 0.0)
    (line,) = [each for each in solution.verify().violations if each.name == "held"]
    assert line.scale == pytest.approx(scale, rel=0.05)
    points = solution.curve.control_points[0] + np.array([0.0, 1e-3])
    bent = replace(
        solution, curve=replace(solution.curve, control_points=(points, *solution.curve.control_points[1:]))
    )
    report = bent.verify()
    (line,) = [each for each in report.violations if each.name == "held"]
    assert line.dense_relative > 0.01 and report.verdict == "FAIL"


def of_time(function, **limits):
    problem = mass()
    problem.subject_to(trajopt.term(function, name="of time"), name="of time", **limits)
    report = trajopt.solve(problem, refine=None).verify()
    return report, next(each for each in report.violations if each.name == "of time")


def test_a_zero_limit_of_time_alone_is_compared_with_its_own_size():
    """One unit excused a dip of a thousandth between two nodes."""
    nodes = trajopt.solve(mass(), refine=None).node_times
    gap = int(np.argmax(np.diff(nodes)))
    middle, width = 0.5 * (nodes[gap] + nodes[gap + 1]), 0.1 * (nodes[gap + 1] - nodes[gap])
    report, dip = of_time(lambda n: 1e-4 - 1e-3 * np.exp(-(((n.t - middle) / width) ** 2)), lower=0.0)
    assert dip.dense_violation == pytest.approx(9e-4, rel=0.01) and dip.evidence == "sampled"
    assert report.verdict == "FAIL" and "of time" in report.reason
    report, held = of_time(lambda n: 1e-3 * (1.0 - n.t), lower=0.0)
    assert report.holds and held.scale == pytest.approx(1e-3)


def bounded(**limits):
    """An integral whose parts are large and cancel, with a bump that the nodes do not see."""
    nodes = trajopt.solve(mass(), refine=None).node_times
    gap = int(np.argmax(np.diff(nodes)))
    middle, width = 0.5 * (nodes[gap] + nodes[gap + 1]), 0.05 * (nodes[gap + 1] - nodes[gap])

    def travelled(node):
        bump = 0.5 / (np.sqrt(np.pi) * width) * np.exp(-(((node.t - middle) / width) ** 2))
        return node.v**2 + bump + 1e3 * (node.t - 0.5)

    problem = mass()
    problem.subject_to(trajopt.integral(trajopt.term(travelled)), name="travelled", **limits)
    solution = trajopt.solve(problem, refine=None)
    report = solution.verify()
    return report, next(each for each in report.violations if each.name == "travelled")


@pytest.mark.parametrize("limits", [{"upper": 1.25}, {"lower": -1e6, "upper": 1.25}, {"equals": 1.25}])
def test_a_bounded_integral_is_compared_with_its_bound(limits):
    """A hundredth of the integral of |f|, two and a half here, excused whatever the bound."""
    report, line = bounded(**limits)
    assert line.scale == 1.25 and line.dense_violation == pytest.approx(0.45, abs=0.06)
    assert report.verdict == "FAIL" and line.evidence == "sampled"


def test_an_integral_that_is_bounded_by_zero_is_not_proved_by_a_tolerance():
    problem = mass()
    problem.subject_to(trajopt.integral(trajopt.q), upper=0.0, name="place")
    solution = trajopt.solve(problem)
    (line,) = [each for each in solution.verify().violations if each.name == "place"]
    assert line.evidence == "proved" and line.scale < 0.01  # met to rounding
    points = solution.curve.control_points[0].copy()
    points[5] += 1e-4
    bent = replace(solution, curve=replace(solution.curve, control_points=(points,)))
    (line,) = [each for each in bent.verify().violations if each.name == "place"]
    assert line.dense_violation > 0.0 and line.evidence == "sampled"


def test_the_largest_tolerance_of_a_line_stands_in_the_headline_of_a_certificate():
    problem = mass()
    problem.subject_to(trajopt.tau, -100.0, 100.0)
    problem.subject_to(trajopt.integral(trajopt.v**2), upper=30.0, name="heat")
    certificate = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6)).certificate
    assert "tolerance 1.0e-06, up to 3.0e-01 of heat" in str(certificate).splitlines()[0]


def test_an_integral_of_rounding_is_compared_with_one_unit():
    """As the mean turn of a body that moves in a plane, 1e-27 rad."""
    problem = trajopt.Problem(PointMasses(2), trajopt.Trajectory.uniform(6, duration=1.0))
    problem.start_at(q=[0.0, 1e-25], v=0.0)
    problem.end_at(q=[1.0, 1e-25], v=0.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(trajopt.integral(trajopt.q[1]), equals=0.0)
    report = trajopt.solve(problem).verify()
    assert report.verdict == "PASS", report.reason


@pytest.mark.parametrize(("upper", "rounding"), [(0.2, 4.5e-17), (1e3, 2.3e-16), (1e12, 2.3e-16)])
def test_a_motion_at_a_limit_of_zero_is_not_compared_with_its_rounding(upper, rounding):
    """Values of 3e-32 below a floor of 0 with a ceiling failed by 36 % of their own size.

    A ceiling far beyond all that happens must not loosen the floor: 1e12 times rounding is 2e-4.
    """
    problem = mass(end=0.0)
    problem.subject_to(trajopt.q, lower=0.0, upper=upper)
    limit = problem.stated[-1]
    rest, reach = np.array([3e-32]), np.array([0.1])
    assert 0.9 * rounding <= limit.side_scales(rest, rest)[0, 0] <= rounding
    assert limit.side_scales(reach, reach)[:, 0].tolist() == [0.1, upper]


@pytest.mark.parametrize(("upper", "scale"), [(0.1, 0.1), (1e3, 1.0), (np.inf, 1.0)])
def test_a_value_that_ends_at_a_limit_of_zero_is_not_compared_with_itself(upper, scale):
    """x + x^2 / 10 where the motion ends, in [0, 0.1]: "violated by 7e-11 at a node, 1 of its scale"."""
    problem = trajopt.Problem(
        trajopt.system(("x",), ("u",), lambda node: [node.u]),
        trajopt.Trajectory.collocation(4, order=3, duration=1.0),
    )
    problem.start_at(x=[1.0])
    problem.subject_to(trajopt.term(lambda n: n.x + 0.1 * n.x**2, name="place"), 0.0, upper, over="end")
    problem.minimize(trajopt.term(lambda n: n.u**2, name="effort"))
    problem.minimize(trajopt.term(lambda n: (n.x + 1.0) ** 2, name="way"), over="end", weight=10.0)
    report = trajopt.solve(problem).verify()
    (line,) = [each for each in report.violations if each.name == "place"]
    assert line.scale == scale
    assert report.holds, report.reason


@pytest.mark.long
@pytest.mark.parametrize("solver", [trajopt.Ipopt(), trajopt.InteriorPoint()])
def test_a_bound_beyond_all_that_happens_does_not_loosen_a_limit_of_zero(solver):
    """Rows were divided by it: [0, 1e9] gave a motion that ends 0.1 m below zero, and 8.4 for 10.25."""
    system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3, 3, duration=2.0))
    problem.start_at(x=[1.0, 0.0])
    room = trajopt.term(lambda node: node.x + 0.1 * node.x**2, name="room")
    problem.subject_to(room, 0.0, 1e9, over="end")
    problem.minimize(trajopt.term(lambda node: node.u**2, name="effort"))
    problem.minimize(trajopt.term(lambda node: (node.x + 1.0) ** 2, name="way"), over="end", weight=10.0)
    solution = trajopt.solve(problem, solver=solver, refine=None)
    # From rest to zero in 2 s: u = 3 (t - 2) / 8, of which the integral of the square is 3 / 8
    assert solution.objective == pytest.approx(10.375, rel=1e-6)
    assert solution.verify().holds, solution.verify().reason


@pytest.mark.long
def test_a_limit_by_data_is_as_large_as_the_data_and_no_product_of_them_is():
    """A force of 2 MN below a cap of 1.5 to 3 MN: its rounding in IPOPT is 0.1 N, no violation of 1e-6.

    The cap counts where it is lowest, but not where it is zero: 0.1 % of 3 MN is all of a cap of 3 kN.
    """
    unit = 1e6
    system = trajopt.system(("momentum",), ("force",), lambda node: [node.force])
    cap = trajopt.term(lambda node: node.data("cap") - node.force, name="cap")

    def capped(times, caps):
        problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3, 3, duration=1.0))
        problem.start_at(x=[0.0])
        problem.end_at(x=[2.0 * unit])
        problem.data("cap", times, caps, interpolation="steps")
        problem.subject_to(cap, lower=0.0, name="cap")
        problem.minimize((1.0 / unit**2) * trajopt.state("force") ** 2)
        return problem

    solution = trajopt.solve(capped([0.0, 0.5, 1.0], [1.5 * unit, 3.0 * unit, 3.0 * unit]))
    report = solution.verify()
    assert report.holds, report.reason
    assert next(line for line in report.violations if line.name == "cap").scale == pytest.approx(1.5 * unit)
    for low, scale in ((3e3, 3e3), (0.0, 1.5 * unit)):
        lines = (
            replace(solution, known_problem=capped([0.0, 0.9, 0.95], [1.5 * unit, low, 1e15]))
            .verify()
            .violations
        )
        assert next(line for line in lines if line.name == "cap").scales[0] == pytest.approx(scale)
    power = trajopt.term(lambda node: (node.data("cap") - node.force) * node.momentum / unit**2, name="power")
    solution.problem.subject_to(power, lower=0.0, name="power")
    solution.problem.subject_to(cap - 2000.0, lower=0.0, name="margin")
    report = solution.verify()
    assert next(line for line in report.violations if line.name == "power").scale == 1.0
    assert not report.holds and report.reason.startswith("margin: violated by 2000 at a node")
    below = trajopt.term(lambda node: 2.4 * unit - node.force, name="below")
    for scale in (None, unit):
        solution.problem.subject_to(below, lower=0.0, name="below", scale=scale)
        reason = solution.verify().reason
        assert reason.startswith("below: violated by 1e+05 at a node"), reason
        assert ("zero is compared with one unit here" in reason) == (scale is None)
        solution.problem.constraints.pop()


@pytest.mark.long
def test_a_limit_by_data_at_one_time_is_as_large_as_the_data_there():
    """A cap of 100 N at first and of 1 MN at the end: what the end may exceed is measured by the latter."""
    system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, duration=1.0))
    problem.data("cap", [0.0, 0.5, 1.0], [100.0, 1e6, 1e6], interpolation="steps")
    problem.start_at(x=[0.0, 0.0])
    problem.subject_to(trajopt.Quantity("data:cap") - trajopt.state("u"), 0.0, over="end")
    problem.minimize((1e-6 * trajopt.state("u") - 2.0) ** 2)
    solution, limit = trajopt.solve(problem, starts=1), problem.constraints[-1]
    scale = equation_scales(solution, [limit], dense_samples(solution))[limit]
    assert solution.verify().holds and scale == pytest.approx(1e6, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("place", [0.4321, 0.5, 0.5 + 1e-9])
@pytest.mark.parametrize("shape", [[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.5, 1.0]])
def test_a_limit_by_data_that_go_through_zero_has_no_scale_from_the_nearest_sample(place, shape):
    """The sample nearest to zero had 200 N of 1 MN at one place and 1000 at another: IPOPT leaves 3e-4."""
    scales = []
    for intervals in (5, 8):
        mesh = trajopt.Trajectory.collocation(intervals, 3, duration=1.0)
        problem = trajopt.Problem(trajopt.system(("x",), ("u",), lambda node: [node.u]), mesh)
        problem.start_at(x=[0.0])
        problem.data("cap", [0.0, place, 1.0], [1e6 * each for each in shape], interpolation="linear")
        problem.minimize(trajopt.term(lambda node: (1e-6 * node.u - 3.0) ** 2, name="off"))
        problem.subject_to(trajopt.term(lambda node: node.data("cap") - node.u, name="cap"), lower=0.0)
        report = trajopt.solve(problem, refine=None, starts=1).verify()
        assert report.holds, report.reason
        (line,) = [line for line in report.violations if line.name == "cap"]
        scales.append(line.scale)
    assert scales[0] == pytest.approx(scales[1], rel=0.1)
    assert 5e3 < scales[0] < 5e4


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([8.0, 3.0, 8.0], 3.0, 3.1),  # a dip
        ([8.0, 8.0, 3.0], 3.0, 3.1),
        ([8.0, -8.0, -3.0], 0.16, 0.24),  # |values| below 0.2 over a hundredth of 2 s
        ([5.0, 5.0, 0.0], 0.08, 0.12),
        ([0.0, 0.0, 8.0], 0.06, 0.1),  # a hundredth of the second that is not zero
        ([0.0, 0.0, 0.0], np.inf, np.inf),
    ],
)
def test_the_least_size_of_parts_is_a_dip_or_lasts_a_hundredth_of_the_time(values, low, high):
    times = np.linspace(0.0, 2.0, 401)
    for extra in (0.7, 1.5 + 1e-7, 2.0 - 1e-7):  # a sample anywhere, also beside zero
        at = np.sort(np.append(times, extra))
        parts = np.interp(at, [0.0, 1.0, 2.0], values)[:, None]
        (found,) = least_sizes(parts, at, np.full(1, 1e-9))
        assert low <= found <= high


def brought_down(kind, bound):
    """x from 1 towards -1 in 2 s, or from 0 towards 1, held by a bound near zero; optimum, x at the end."""
    mesh = trajopt.Trajectory.collocation(3, 3, duration=2.0)
    problem = trajopt.Problem(trajopt.system(("x",), ("u",), lambda node: [node.u]), mesh)
    problem.minimize(trajopt.state("u") ** 2)
    x = trajopt.state("x")
    if kind == "parameter":
        problem.start_at(x=[0.0])
        problem.end_at(x=[1.0])
        problem.minimize(problem.parameter("room", bound, 5.0, guess=1.0))
        return problem, 0.5 + bound, 1.0
    problem.start_at(x=[0.0 if kind == "below" else 1.0])
    target = 1.0 if kind == "below" else -1.0
    problem.minimize((x - target) ** 2, over="end")
    if kind == "path":
        problem.subject_to(x, lower=bound)
    else:
        bent = trajopt.term(lambda node: node.x + 0.1 * node.x**2, name="bent")
        problem.subject_to(bent, **{"upper" if kind == "below" else "lower": bound}, over="end")
    end = bound if kind == "path" else (np.sqrt(1.0 + 0.4 * bound) - 1.0) / 0.2
    moved = end if kind == "below" else 1.0 - end
    return problem, 0.5 * moved**2 + (end - target) ** 2, end


@pytest.mark.long
@pytest.mark.parametrize("solver", [trajopt.Ipopt(), trajopt.InteriorPoint()])
@pytest.mark.parametrize("kind", ["path", "row", "below", "parameter"])
@pytest.mark.parametrize("bound", [1e-5, 1e-6, 1e-8])
def test_a_bound_near_zero_is_met_to_a_part_of_itself(solver, kind, bound):
    """A state that stays above 1e-6 was "violated by 6.8e-11, 7e-5 of its scale", where interiors begin."""
    problem, optimum, end = brought_down(kind, bound)
    solution = trajopt.solve(problem, solver=solver, refine=None)
    report = solution.verify()
    assert report.verdict == "PASS", report.reason
    assert solution.objective == pytest.approx(optimum, rel=1e-8)
    # Beyond the bound by 2e-6 of it, as a whole
    beyond = (1.0 + 2e-6 if kind == "below" else 1.0 - 2e-6) * end if kind != "parameter" else end
    points = tuple(each + beyond - each[-1] for each in solution.curve.control_points)
    parameters = {name: np.full(1, (1.0 - 2e-6) * bound) for name in solution.parameters}
    missed = replace(
        solution, curve=replace(solution.curve, control_points=points), parameters=parameters
    ).verify()
    assert not missed.holds and " of its scale" in missed.reason, missed.reason


@pytest.mark.long
def linked_in_units_of(size):
    """x'' = u from 0 to 2 in two phases, of which the second begins at most where the first ends."""
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    first, second = (
        trajopt.Problem(system, trajopt.Trajectory.collocation(2, duration=1.0), name=name)
        for name in ("first", "second")
    )
    first.start_at(x=[0.0, 0.0])
    second.end_at(x=[2.0 * size, 0.0])
    first.guess(x=[[0.0, 0.0], [size, size]])
    second.guess(x=[[size, size], [2.0 * size, 0.0]])
    for part in (first, second):
        part.minimize(trajopt.state("u") ** 2, weight=size**-2.0)
    phases = trajopt.Phases(first, second)
    ends = first.at("end"), second.at("start")
    phases.link(lambda end, start: end.v - start.v, *ends, name="speed")
    phases.link(lambda end, start: start.x - end.x, *ends, upper=0.0, name="place")
    return phases


@pytest.mark.long
def test_a_link_of_zero_is_compared_with_what_it_adds_up_in_any_unit():
    """Interior points leave 2e-4 of 1e6: that was compared with one unit in the phase that has the row."""
    solution = trajopt.solve(linked_in_units_of(1e6))
    report = solution.verify()
    assert report.holds, report.reason
    assert solution.objective == pytest.approx(6.0, rel=1e-3)

    first, second = solution.phases
    moved = first.curve.control_points[0] * [1.0 - 1e-5, 1.0]
    apart = replace(first, curve=replace(first.curve, control_points=(moved,)))
    other = replace(solution, phases=(apart, second)).verify()
    place = next(line for line in other.links if line.name == "place")
    assert not other.holds and 1e-6 < place.dense_relative < 1e-5


def test_a_phase_that_goes_to_its_shortest_duration_of_a_microsecond_passes():
    """It was exceeded by 9e-11 s, 9e-5 of it; bringing it back missed rows of 1 / T."""
    phases = []
    for name, bounds in (("move", (0.2, 9.0)), ("wait", (1e-6, 9.0))):
        mesh = trajopt.Trajectory.collocation(3, 3, duration=bounds)
        phase = trajopt.Problem(trajopt.system(("x",), ("u",), lambda node: [node.u]), mesh, name)
        phase.minimize(trajopt.term(lambda node: node.u**2 + 1.0, name="effort and time"))
        phases.append(phase)
    phases[0].start_at(x=[0.0])
    phases[1].end_at(x=[1.0])
    phases[1].subject_to(trajopt.state("u"), -0.1, 0.1)
    problem = trajopt.Phases(*phases)
    problem.link(trajopt.q, phases[0].at("end"), phases[1].at("start"))
    solution = trajopt.solve(problem)
    assert solution.verify().verdict == "PASS"
    assert solution.objective == pytest.approx(2.0, rel=1e-5)  # x^2 / T + T at T = x = 1
