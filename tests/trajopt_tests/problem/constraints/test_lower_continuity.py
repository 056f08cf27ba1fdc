"""Continuity of single coordinates where arcs meet: closed forms, derivatives, what is checked, bad input."""

from dataclasses import replace

import numpy as np
import pytest
from taylor_slopes import slopes
from tiers import fast_first

import dynamics
import trajopt
from trajopt.base.errors import OptionError, UnknownNameError
from trajopt.transcription.linked_program import linked_program

G, HEIGHT, RESTITUTION = 9.81, 1.2, 0.7
BOUNCE = trajopt.ArcNodes(0, "end"), trajopt.ArcNodes(1, "start")


@trajopt.term
def effort(node):
    return node.u**2


def bounce():
    """A ball falls and rises to its apex, while a cart is driven over a metre in the same time."""
    system = trajopt.system(
        ("y", "vy", "x", "vx"), ("u",), lambda node: [node.vy, -G, node.vx, node.u], units={"x": "m"}
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3, order=3, arcs=2), name="bounce")
    problem.continuity("vy", -1, after=0)
    problem.start_at(x=[HEIGHT, 0.0, 0.0, 0.0])
    problem.end_at(x=[None, 0.0, 1.0, 0.0])
    problem.subject_to(trajopt.state("y"), equals=0.0, over=BOUNCE[0], name="on the ground")
    problem.minimize(effort)
    phases = trajopt.Phases(problem)
    phases.link(
        lambda before, after: after.vy + RESTITUTION * before.vy,
        *map(problem.at, BOUNCE),
        name="restitution",
    )
    return phases


def two_carts(mesh):
    """Two masses that know nothing of each other, as accelerations: x'' = u and y'' = w."""
    rows = [dynamics.DhRow(name=name, kind="prismatic", mass=1.0) for name in ("x", "y")]
    return trajopt.Problem(dynamics.from_dh(rows, gravity=(0.0, 0.0, 0.0)), mesh)


def arcs(*durations, degree=3, continuity=1):
    basis = trajopt.SplineBasis.uniform(1, degree)
    return trajopt.Trajectory(tuple(trajopt.Arc(basis, each) for each in durations), continuity=continuity)


@trajopt.term
def accelerations(node):
    return node.a**2


def pushed(border, name="x", after=0):
    """Both coordinates over a metre in a second with least effort; the velocity of one may jump at a time."""
    problem = two_carts(arcs(border, 1.0 - border))
    if name:
        problem.continuity(name, 0, after=after)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(accelerations)
    return problem


@pytest.mark.long
def test_a_ball_bounces_beside_a_cart_whose_velocity_goes_on():
    """The cart needs 12 L^2 / T^3 in the time T = (1 + e) sqrt(2 h / g) of the ball."""
    solution = trajopt.solve(bounce())
    fall = np.sqrt(2.0 * HEIGHT / G)
    motion = solution.phases[0]
    assert motion.curve.durations == pytest.approx([fall, RESTITUTION * fall], rel=1e-9)
    assert solution.objective == pytest.approx(12.0 / (fall * (1.0 + RESTITUTION)) ** 3, rel=1e-9)
    before, after = motion.q(np.array([fall - 1e-9, fall + 1e-9]))
    assert after - before == pytest.approx([0.0, G * fall * (1.0 + RESTITUTION), 0.0, 0.0], abs=1e-6)
    report = solution.verify()
    assert report.holds
    assert report.phases[0][1].simulation.end_to_end < 1e-9
    names = [entry.label for entry in report.phases[0][1].violations]
    assert [name for name in names if "continuity" in name] == [
        "continuity of q, y", "continuity of q, x", "continuity of q, vx",
    ]  # fmt: skip


@fast_first("border", [0.25, 1.0 / 3.0, 0.5, 0.8], 2)
def test_a_push_at_a_given_time_saves_what_the_costate_says(border):
    """Where v may jump its costate is zero: a = c (b - t), c = 3 / (b^3 + (1 - b)^3), and c is the effort."""
    solution = trajopt.solve(pushed(border))
    c = 3.0 / (border**3 + (1.0 - border) ** 3)
    assert solution.objective == pytest.approx(12.0 + c, rel=1e-9)
    sides = solution.v(np.array([border - 1e-9, border + 1e-9]))
    assert sides[1] - sides[0] == pytest.approx([c * ((1.0 - border) ** 2 - border**2) / 2.0, 0.0], abs=1e-6)
    report = solution.verify()
    assert report.holds
    assert report.simulation.end_to_end < 1e-9
    assert trajopt.solve(pushed(border, name="")).objective == pytest.approx(24.0, rel=1e-9)


def test_a_bounded_push_is_the_parabola_between_none_and_the_best():
    problem = pushed(1.0 / 3.0)
    problem.subject_to(
        trajopt.v, [-0.5, -np.inf], [0.5, np.inf], over=trajopt.Neighbours(after=0), name="push"
    )
    solution = trajopt.solve(problem)
    assert solution.objective == pytest.approx(12.0 + 9.0 + 3.0 * (1.0 - 0.5 / 1.5) ** 2, rel=1e-8)
    assert solution.verify().holds


def bang_bang_beside_smooth(lower=True):
    """x in least time under |u| <= 1, y with least effort in that time: T = 2, and 12 / T^3 for y."""
    free = 0.1, 10.0
    problem = two_carts(arcs(free, free, degree=4, continuity=2))
    if lower:
        problem.continuity("x", 1)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.a, [-1.0, -np.inf], [1.0, np.inf])
    problem.minimize(trajopt.duration)
    problem.minimize(trajopt.Quantity("a")[1] ** 2, weight=0.1)
    return problem


@pytest.mark.long
def test_a_bang_bang_coordinate_stands_beside_a_smooth_one():
    """At T = 2 less time is dearer for y alone than it gains: 1 - 3.6 / T^4 > 0, so x decides."""
    solution = trajopt.solve(bang_bang_beside_smooth())
    assert solution.objective == pytest.approx(2.0 + 0.1 * 12.0 / 2.0**3, rel=1e-7)
    before, after = solution.a(solution.curve.starts[1] + np.array([-1e-9, 1e-9]))
    assert before[0] == pytest.approx(1.0, abs=1e-6)
    assert after[0] == pytest.approx(-1.0, abs=1e-6)
    assert after[1] == pytest.approx(before[1], abs=1e-6)
    assert trajopt.solve(bang_bang_beside_smooth(lower=False)).objective > 2.2


def test_the_lowest_of_several_statements_holds_and_only_at_its_border():
    problem = two_carts(arcs(1.0, 1.0, 1.0, continuity=2, degree=4))
    problem.continuity("x", 1)
    problem.continuity("x", -1, after=1)
    problem.continuity("y", 0, after=0)
    assert problem.continuity_at_borders.tolist() == [[1, 0], [-1, 2]]


def test_the_summary_tells_who_may_jump():
    told = str(pushed(0.5).summary())
    assert "continuity of x" in told
    assert "its rate may jump" in told
    assert "after arc 0" in told


def test_velocities_that_the_trajectory_lets_jump_are_no_gap_of_the_simulation():
    problem = two_carts(arcs(0.3, 0.7, continuity=0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(accelerations)
    solution = trajopt.solve(problem)
    assert solution.objective == pytest.approx(2.0 * 3.0 / (0.3**3 + 0.7**3), rel=1e-9)
    assert solution.verify().simulation.end_to_end < 1e-9


def test_derivatives_of_a_program_with_jumps_and_their_law_are_exact():
    program, rng = linked_program(bounce()), np.random.default_rng(5)
    y = program.start + 0.3 * rng.uniform(0.5, 1.0, program.variable_count)
    direction = rng.uniform(-1.0, 1.0, program.variable_count)
    multipliers = rng.uniform(-1.0, 1.0, program.row_count)
    assert slopes(program, y, direction, multipliers) == pytest.approx((2.0, 2.0), abs=0.05)


def test_a_jump_that_is_not_stated_is_seen():
    """The motion of the problem that may jump, checked by the one that may not."""
    jumps = trajopt.solve(pushed(1.0 / 3.0))
    report = replace(jumps, known_problem=pushed(1.0 / 3.0, name="")).verify()
    assert not report.holds
    worst = max(report.violations, key=lambda entry: entry.node_relative)
    assert worst.label == "continuity of v, x"
    assert worst.node_violation == pytest.approx(1.5, rel=1e-6)


def test_a_certificate_has_a_line_for_what_goes_on_and_none_for_what_may_jump():
    solution = trajopt.solve(bang_bang_beside_smooth(), refine=trajopt.Certified(tol=1e-6))
    labels = {(line.name, line.component) for line in solution.certificate.lines if "continuity" in line.name}
    assert labels == {(f"continuity of {leaf}", name) for leaf in ("q", "v") for name in ("x", "y")} | {
        ("continuity of a", "y")
    }
    assert solution.certificate.holds


def test_the_statement_goes_to_finer_meshes_and_copies_but_no_further():
    problem = pushed(1.0 / 3.0)
    refined = trajopt.solve(problem, refine=trajopt.Refined(tol=1e-6))
    assert refined.objective == pytest.approx(21.0, rel=1e-8)
    copy = problem.on(arcs(0.5, 0.5))
    copy.continuity("y", 0)
    assert problem.continuity_at_borders.tolist() == [[0, 1]]
    with pytest.raises(OptionError, match="the trajectory has one arc: cut it"):
        problem.on(trajopt.Trajectory.uniform(4, duration=1.0))
    longer = two_carts(arcs(0.5, 0.5, 0.5))
    longer.continuity("x", 0, after=1)
    with pytest.raises(OptionError, match=r"after is 1, but borders follow arcs 0 to 0 of the 2 arcs"):
        longer.on(arcs(0.5, 0.5))


def test_a_saved_motion_with_a_jump_is_read_and_verified(tmp_path):
    trajopt.solve(pushed(0.25)).save(tmp_path / "pushed.npz")
    read = trajopt.Solution.load(tmp_path / "pushed.npz", pushed(0.25))
    assert read.verify().holds


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("z", 0), UnknownNameError, "no coordinate is called 'z'"),
        ((0, 0), UnknownNameError, "no coordinate is called 0"),
        (("x", 1), OptionError, r"the continuity of 'x' is 1, but where arcs meet .* has 1, and only less"),
        (("x", -2), OptionError, r"use -1 \(its value may jump\) or 0 \(its rate may jump\)"),
        (("x", True), OptionError, "the continuity of 'x' is True"),
        (("x", 0, 1), OptionError, "after is 1, but borders follow arcs 0 to 0"),
        (("x", 0, -1), OptionError, "after, the number of the arc before the border = -1: expected"),
        (("x", 0, "end"), OptionError, "before the border = 'end': expected a whole number"),
    ],
)
def test_bad_statements_are_refused_where_they_are_made(arguments, error, message):
    problem = pushed(0.5, name="")
    with pytest.raises(error, match=message):
        problem.continuity(*arguments)
    assert not problem.lower_continuities


def test_one_arc_has_no_border():
    with pytest.raises(OptionError, match=r"one arc: cut it .* arcs=2"):
        two_carts(trajopt.Trajectory.uniform(4)).continuity("x", 0)


@pytest.mark.parametrize("count", [0, 1.5, True, 1001])
def test_a_collocation_mesh_has_one_arc_or_several(count):
    with pytest.raises(OptionError, match="arcs = "):
        trajopt.Trajectory.collocation(3, arcs=count)
