"""Closed loops: linkages against Newton-Euler of every link, gaps between nodes, what cannot close."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid

import dynamics
import trajopt
from tests.support import four_bar
from trajopt.base.errors import InfeasibleBoundsError, LoopWarning, OptionError, ProblemError, ShapeError
from trajopt.problem.contacts.closed_guess import ClosedGuess

ROBOT = four_bar.robot()
START = 0.5  # rad, of the crank
NEAR = [START, 0.5, 1.5]
SPEED = np.pi  # rad/s


def linkage(intervals=8, order=4, duration=2.0, points="radau", **options):
    problem = trajopt.Problem(
        ROBOT, trajopt.Trajectory.collocation(intervals, order, points, duration=duration), name="four_bar"
    )
    closure = problem.close_loop("coupler_end", "rocker_end", **{"near": NEAR, **options})
    problem.passive("coupler_joint", "rocker_joint")
    return problem, closure


def turning(intervals, order, points="radau"):
    """A whole turn of the crank at constant speed, in which nothing is left to choose."""
    problem, closure = linkage(intervals, order, 2.0 * np.pi / SPEED, points)
    problem.start_at(q=[START, None, None], v=[SPEED, None, None])
    problem.subject_to(trajopt.v[0], equals=SPEED, name="speed")
    problem.minimize(trajopt.tau**2)
    problem.guess(lambda s: np.stack([START + 2.0 * np.pi * s, 0.5 + 0.0 * s, 1.5 + 0.0 * s], axis=-1))
    return trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", refine=None, starts=1), closure


@pytest.fixture(scope="module")
def turn():
    return turning(12, 5)


def times_of(solution, count=601):
    return np.linspace(0.0, solution.duration, count)


def collocation_times(solution):
    """Those inside intervals: at their ends accelerations and forces may jump."""
    nodes = solution.problem.trajectory.nodes
    inside = ~np.isclose(nodes.s[:, None], nodes.s[nodes.weight == 0.0]).any(axis=1)
    return nodes.s[inside] * solution.duration


def absolute(values):
    """Angles, or their rates, of the links from those of the joints."""
    return np.stack([values[:, 0], values[:, 0] + values[:, 1], values[:, 2]], axis=-1)


# -- mechanics -----------------------------------------------------------------------------------------------


def test_forces_of_the_loop_and_the_motor_are_those_of_newton_and_euler(turn):
    """At the collocation points, for the accelerations found; the gap moves the pin by 1e-8 m."""
    solution, closure = turn
    t = collocation_times(solution)
    expected = four_bar.forces(*(absolute(curve(t)) for curve in (solution.q, solution.v, solution.a)))
    force = solution.value(closure.force, t)
    largest = np.abs(expected[:, 4:6]).max()
    assert_allclose(force[:, :2], expected[:, 4:6], rtol=0.0, atol=1e-6 * largest)
    assert_allclose(force[:, 2], 0.0, atol=1e-12)
    assert_allclose(solution.tau(t)[:, 0], expected[:, 8], rtol=0.0, atol=1e-6 * largest)


def test_the_linkage_moves_as_circles_that_intersect(turn):
    solution, _ = turn
    t = times_of(solution)
    angle, w, _ = four_bar.motion(START + SPEED * t, SPEED)
    assert_allclose(absolute(solution.q(t)), np.unwrap(angle, axis=0), atol=2e-6)
    assert_allclose(absolute(solution.v(t)), w, atol=2e-4)


def test_the_gap_stays_closed_between_nodes(turn):
    solution, closure = turn
    assert np.abs(solution.value(closure.misfit, times_of(solution, 5001))).max() < 1e-6


@pytest.mark.long
def test_forces_follow_the_closed_form_between_nodes_to_a_millionth():
    solution, closure = turning(24, 7)
    t = times_of(solution, 1501)
    expected = four_bar.forces(*four_bar.motion(START + SPEED * t, SPEED))[:, 4:6]
    assert np.abs(solution.value(closure.force, t)[:, :2] - expected).max() < 1e-6 * np.abs(expected).max()
    assert np.abs(solution.value(closure.misfit, t)).max() < 1e-9


@pytest.mark.long
@pytest.mark.parametrize(("points", "order"), [("radau", 3), ("radau", 4), ("gauss", 3)])
def test_gap_and_force_converge_to_the_order_of_the_scheme(points, order):
    """h^m of forces, h^(m+1) of the gap between nodes, h^(2m-1) and more of the gap at breakpoints."""
    errors = []
    for intervals in (16, 32):
        solution, closure = turning(intervals, order, points)
        t = times_of(solution, 1501)[1:-1]
        expected = four_bar.forces(*four_bar.motion(START + SPEED * t, SPEED))[:, 4:6]
        ends = solution.duration * np.linspace(0.0, 1.0, intervals + 1)
        errors.append(
            [
                np.abs(solution.value(closure.force, t)[:, :2] - expected).max(),
                np.abs(solution.value(closure.misfit, t)).max(),
                np.abs(solution.value(closure.misfit, ends)).max(),
            ]
        )
        print(f"{points} {order}, {intervals} intervals: force, gap, at breakpoints", *errors[-1])
    slopes = np.log2(np.array(errors[0]) / errors[1])
    assert slopes[0] > order - 0.9 and slopes[1] > order + 0.5 and slopes[2] > 2 * order - 1.5, slopes


@pytest.mark.long
def test_at_rest_forces_are_those_of_statics():
    problem, closure = linkage(3, 3, 1.0)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.minimize(trajopt.v**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", refine=None, starts=1)
    t = times_of(solution, 11)
    angle, rest, _ = four_bar.motion(np.full(t.size, START), 0.0)
    expected = four_bar.forces(angle, rest, rest)
    assert_allclose(solution.value(closure.force, t)[:, :2], expected[:, 4:6], atol=1e-6)
    assert_allclose(solution.tau(t)[:, 0], expected[:, 8], atol=1e-6)


@pytest.mark.long
def test_axes_that_a_file_has_rounded_close_within_a_tolerance():
    """A right angle written as 1.5708 tilts an axis by 3.7e-6 rad, and lifts the rocker's end."""
    crank, coupler, rocker = ROBOT.bodies
    tilt = np.array(
        [[1.0, 0.0, 0.0], [0.0, np.cos(3.7e-6), -np.sin(3.7e-6)], [0.0, np.sin(3.7e-6), np.cos(3.7e-6)]]
    )
    tilted = replace(rocker, joint=replace(rocker.joint, rotation=tilt))
    robot = dynamics.RigidBodyModel([crank, coupler, tilted], ROBOT.gravity, frames=list(ROBOT.frames))
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(12, 4, duration=1.0))
    with pytest.raises(InfeasibleBoundsError, match="tolerance=1e-5"):
        problem.close_loop("coupler_end", "rocker_end", "pin", axis=(0, 0, 1), near=NEAR)
    closure = problem.close_loop(
        "coupler_end", "rocker_end", "pin", axis=(0, 0, 1), near=NEAR, tolerance=1e-5
    )
    assert closure.left_out == ("z", "about x", "about y")
    problem.passive("coupler_joint", "rocker_joint")
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    gap = np.abs(solution.value(closure.misfit, times_of(solution)))
    assert solution.converged and 1e-6 < gap.max() < 1e-5
    assert solution.objective == pytest.approx(3.21574, rel=1e-4)


@pytest.mark.long
def test_a_frame_that_lies_askew_in_the_plane_feels_the_same_force():
    """A row along any axis of the frame could be left out; the force across the plane is the one that is."""
    turned = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    turned *= np.linalg.det(turned)
    frames = [replace(frame, rotation=turned) for frame in ROBOT.frames]
    robot = dynamics.RigidBodyModel(list(ROBOT.bodies), ROBOT.gravity, frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(3, 3, duration=1.0))
    closure = problem.close_loop("coupler_end", "rocker_end", near=NEAR)
    assert closure.kept == (0, 1) and closure.left_out == ("across the plane",)
    problem.passive("coupler_joint", "rocker_joint")
    problem.start_at(q=[START, None, None], v=0.0)
    problem.minimize(trajopt.v**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", refine=None, starts=1)
    angle, rest, _ = four_bar.motion(np.array([START]), 0.0)
    expected = [*four_bar.forces(angle, rest, rest)[0, 4:6], 0.0]
    assert_allclose(solution.value(closure.force, 0.5), expected, atol=1e-6)


@pytest.fixture(scope="module")
def swung():
    problem, _ = linkage(12, 4, 1.0)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1)
    report = solution.verify()
    assert report.verdict == "PASS", report.reason
    return solution


def test_the_report_proves_the_linkage_closed_and_the_motor_does_the_work(swung):
    report = swung.verify()
    (closure,) = swung.asked.closures.values()
    between = [v for v in report.violations if v.name == f"loop {closure.name} between nodes"]
    assert len(between) == 3 and all(v.evidence == "proved" and v.dense_violation < 1e-6 for v in between)
    t = times_of(swung, 4001)
    work = trapezoid(swung.tau(t)[:, 0] * swung.v(t)[:, 0], t)
    potential = swung.value(trajopt.Quantity("potential_energy"), np.array([0.0, swung.duration]))
    assert work == pytest.approx(float(np.diff(potential[:, 0])[0]), rel=1e-4)


def test_a_force_of_the_loop_that_is_off_by_a_tenth_fails(swung):
    """Bodies would then need motors that they do not have."""
    (group,) = swung.curve.apart
    larger = replace(group, control_points=tuple(1.1 * points for points in group.control_points))
    report = replace(swung, curve=replace(swung.curve, apart=(larger,))).verify()
    assert report.verdict == "FAIL"
    broken = {v.name for v in report.violations if v.dense_relative > 1e-2}
    assert {"no motor at coupler_joint", "no motor at rocker_joint"} <= broken


def test_a_rocker_that_is_a_tenth_of_a_millimetre_away_fails(swung):
    """Joint velocities stay as they are: the places between nodes show it."""
    points = tuple(each + np.array([0.0, 0.0, 2e-4]) for each in swung.curve.control_points)
    report = replace(swung, curve=replace(swung.curve, control_points=points)).verify()
    assert report.verdict == "FAIL"
    gap = [v for v in report.violations if v.name.endswith("between nodes")]
    assert max(v.dense_violation for v in gap) == pytest.approx(1e-4, rel=0.2)


def test_a_loop_that_is_open_between_nodes_fails():
    """Too coarse a mesh for its tolerance, and not refined."""
    problem, _ = linkage(4, 3, 1.0, tolerance=1e-9)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    report = solution.verify()
    assert solution.converged and report.verdict == "FAIL"
    gap = [v for v in report.violations if v.name.endswith("between nodes")]
    assert max(v.dense_relative for v in gap) > 1e-2


# -- rows ----------------------------------------------------------------------------------------------------


def chain(rng, bodies=7):
    """A spatial chain of revolute joints with random axes, with a frame turned against its last link."""
    made, parent = [], None
    for number in range(bodies):
        axis, place = rng.normal(size=3), rng.uniform(-0.4, 0.4, 3)
        joint = dynamics.Joint(f"joint {number}", axis=axis, position=place)
        made.append(dynamics.Body(f"link {number}", joint, parent, 1.0, (0.1, 0.0, 0.0), 0.02 * np.eye(3)))
        parent = made[-1].name
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned *= np.linalg.det(turned)
    frames = [
        dynamics.Frame("base", None, turned.T, np.array([0.1, 0.2, 0.3])),
        dynamics.Frame("first", "link 0", turned, np.array([0.3, 0.1, 0.0])),
        dynamics.Frame("tip", parent, turned, np.array([0.2, 0.0, 0.1])),
    ]
    return dynamics.RigidBodyModel(made, name="chain", frames=frames)


def node_of(model, closure, q, v, **curves):
    """What a term reads of a node, of numbers."""

    class Node:
        def __init__(self):
            names = [closure.frame_a, closure.frame_b]
            wanted = [
                f"{what}:{frame}" for what in ("position", "orientation", "velocity") for frame in names
            ]
            self.values = model.block(wanted).value({"q": q[None], "v": v[None]})

        def position(self, frame):
            return self.values[f"position:{frame}"][0]

        def orientation(self, frame):
            return self.values[f"orientation:{frame}"][0]

        def velocity(self, frame):
            return self.values[f"velocity:{frame}"][0]

        def extra(self, name):
            return curves[name]

    return Node()


def rotation_between(model, a, b, q):
    found = dynamics.forward_kinematics(model, q, frames=[a, b]).rotation
    return found[0].T @ found[1]


@pytest.mark.parametrize("first", ["base", "first"])
@pytest.mark.parametrize(
    ("kind", "axis", "width"),
    [("point", None, 3), ("pin", (0, 0, 2), 5), ("pin", (1, -2, 0.5), 5), ("weld", None, 6)],
)
def test_the_gap_changes_as_its_velocity_says_and_forces_do_its_work(first, kind, axis, width):
    rng = np.random.default_rng(4)
    model = chain(rng)
    q, v = rng.uniform(-1.0, 1.0, (2, model.n))
    problem = trajopt.Problem(model, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    rotation = rotation_between(model, first, "tip", q)
    closure = problem.close_loop(first, "tip", kind, axis=axis, rotation=rotation, near=q)
    assert closure.kept == tuple(range(width)) and closure.left_out == ()
    pose = closure.pose
    assert np.abs(closure.misfit.function(node_of(model, closure, pose, v))).max() < 1e-9

    def gap(t):
        return np.array(closure.gap.function(node_of(model, closure, pose + t * v, v)), dtype=float)

    speed = np.array(closure.speed.function(node_of(model, closure, pose, v)), dtype=float)
    step = 1e-5
    assert_allclose((gap(step) - gap(-step)) / (2.0 * step), speed, atol=1e-8)

    values = {name: rng.normal(size=len(rows)) for name, rows in closure.curves.items()}
    node = node_of(model, closure, pose, v, **values)
    on_a, on_b = (np.array(f(node), dtype=float) for f in (closure.wrench_on_a, closure.wrench_on_b))
    assert_allclose(on_a, -on_b, atol=0.0)
    power = 0.0
    for link, wrench in ((closure.link_a, on_a), (closure.link_b, on_b)):
        if link is not None:
            external = np.zeros((1, model.link_count, 6))
            external[0, model.link_index(link)] = wrench
            still = np.zeros((1, model.n))
            loaded = dynamics.rnea(model, pose[None], still, still, external)
            power -= float(((loaded - dynamics.rnea(model, pose[None], still, still)) @ v)[0])
    assert power == pytest.approx(float(np.concatenate(list(values.values())) @ speed), rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "axis", "kept", "left"),
    [
        ("point", None, (0, 1), ("z",)),
        ("pin", (0, 0, 1), (0, 1), ("z", "about x", "about y")),
    ],
)
def test_rows_across_the_plane_repeat_others_and_are_named(kind, axis, kept, left):
    _, closure = linkage(2, 3, kind=kind, axis=axis)
    assert closure.kept == kept and closure.left_out == left


def test_two_parallel_rockers_need_no_row_but_one():
    """A parallelogram with a third crank turns although its constraints outnumber its freedoms."""

    def rod(name, parent, at, length):
        joint = dynamics.Joint(f"{name}_joint", position=np.array(at))
        return dynamics.Body(name, joint, parent, 1.0, (length / 2, 0, 0), 0.01 * np.eye(3))

    bodies = [
        rod("first", None, (0, 0, 0), 0.3),
        rod("second", None, (0.5, 0, 0), 0.3),
        rod("third", None, (1.0, 0, 0), 0.3),
        rod("bar", "first", (0.3, 0, 0), 1.0),
    ]
    frames = [
        dynamics.Frame(f"{name} end", name, position=np.array([0.3, 0, 0])) for name in ("second", "third")
    ]
    frames += [dynamics.Frame(f"{x} m", "bar", position=np.array([x, 0.0, 0.0])) for x in (0.5, 1.0)]
    robot = dynamics.RigidBodyModel(bodies, (0, -9.81, 0), "legs", frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(4, 4, duration=1.0))
    near = [1.0, 1.0, 1.0, -1.0]
    one = problem.close_loop("second end", "0.5 m", near=near)
    two = problem.close_loop("third end", "1.0 m", near=near)
    assert len(one.kept) == 2 and len(two.kept) == 1 and "z" in two.left_out
    problem.passive("second_joint", "third_joint", "bar_joint")
    problem.start_at(q=[1.0, None, None, None], v=0.0)
    problem.end_at(q=[1.5, None, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    t = times_of(solution)
    assert solution.converged
    assert max(np.abs(solution.value(each.misfit, t)).max() for each in (one, two)) < 1e-6


# -- starts and guesses --------------------------------------------------------------------------------------


def test_values_that_do_not_fit_move_to_the_loop_and_are_named():
    problem, _ = linkage()
    with pytest.warns(
        LoopWarning, match=r"q at the start .* coupler_joint from 0.4 to 0.1976.*rocker_joint from 1.3"
    ):
        problem.start_at(q=[START, 0.4, 1.3])
    (start,) = [each for each in problem.constraints if each.name == "q at the start"]
    assert start.lower.tolist() == [START, -np.inf, -np.inf]


def test_velocities_and_accelerations_that_do_not_fit_are_named():
    problem, _ = linkage()
    with pytest.warns(LoopWarning, match="v at the start"):
        problem.start_at(q=[START, None, None], v=[1.0, 0.0, 0.0])
    other, _ = linkage()
    _, w, alpha = four_bar.motion(np.array([START]), SPEED)
    joints = [[each[0, 0], each[0, 1] - each[0, 0], each[0, 2]] for each in (w, alpha)]
    other.start_at(q=[START, None, None], v=joints[0], a=joints[1])  # these fit
    with pytest.warns(LoopWarning, match="a at the end"):
        other.end_at(q=[START, None, None], v=joints[0], a=0.0)


@pytest.mark.parametrize("before", [True, False])
def test_closed_values_of_all_joints_may_be_given_in_either_order(before):
    pose = four_bar.pose(np.array([START]))[0]
    problem = trajopt.Problem(ROBOT, trajopt.Trajectory.collocation(8, 4, duration=1.0))
    if before:
        problem.start_at(q=pose, v=0.0)
    problem.close_loop("coupler_end", "rocker_end", near=NEAR)
    problem.passive("coupler_joint", "rocker_joint")
    if not before:
        problem.start_at(q=pose, v=0.0)
    problem.end_at(q=four_bar.pose(np.array([1.0]))[0], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    assert solution.converged
    assert_allclose(solution.q(0.0), pose, atol=1e-8)
    assert_allclose(solution.q(1.0), four_bar.pose(np.array([1.0]))[0], atol=1e-4)
    assert_allclose(solution.v([0.0, 1.0]), 0.0, atol=1e-9)


def test_a_closed_pose_holds_the_joints_that_are_named():
    problem, _ = linkage()
    crank = np.linspace(0.0, 6.0, 9)
    for expected in four_bar.pose(crank):
        found = problem.closed_pose(expected + np.array([0.0, 0.1, -0.1]), "crank_joint")
        assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(trajopt.base.errors.UnknownNameError, match="crank_joint"):
        problem.closed_pose(NEAR, "krank_joint")


def test_a_guess_is_closed_on_one_branch():
    problem, _ = linkage(6)
    s = np.linspace(0.0, 1.0, 40)

    def crank_turns(s):
        return np.stack([START + 6.0 * s, 0.5 + 0.0 * s, 1.5 + 0.0 * s], axis=-1)

    guess = ClosedGuess.of(problem, crank_turns)
    angle = four_bar.pose(START + 6.0 * s)
    difference = (guess(s) - angle + np.pi) % (2.0 * np.pi) - np.pi
    assert_allclose(difference, 0.0, atol=1e-9)


# -- what cannot be meant ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"frame_a": "coupler_and"}, dynamics.UnknownNameError, "coupler_and"),
        ({"frame_a": "rocker_end"}, OptionError, "both fixed to rocker"),
        ({"kind": "hinge"}, OptionError, "'point', a ball joint"),
        ({"kind": "pin"}, OptionError, "needs the axis"),
        ({"axis": (0, 0, 1)}, OptionError, "has no axis"),
        ({"kind": "pin", "axis": (0, 0, 0)}, ShapeError, "three numbers"),
        ({"kind": "weld", "rotation": 2 * np.eye(3)}, ShapeError, "no rotation matrix"),
        ({"near": [0.0]}, ShapeError, "one number per joint"),
        ({"arcs": [1]}, OptionError, "1 arcs count from 0"),
        ({"arcs": []}, OptionError, "in no arc"),
        ({"tolerance": 0.0}, OptionError, "above 0"),
        ({"kind": "weld"}, InfeasibleBoundsError, "cannot close.*least gap.*axes off"),
    ],
)
def test_what_is_no_loop_is_refused_and_leaves_nothing_behind(options, error, message):
    problem = trajopt.Problem(ROBOT, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    given = {"frame_a": "coupler_end", "frame_b": "rocker_end", "near": NEAR, **options}
    with pytest.raises(error, match=message):
        problem.close_loop(given.pop("frame_a"), given.pop("frame_b"), given.pop("kind", "point"), **given)
    assert not (problem.closures or problem.constraints or problem.loads or problem.extras)
    assert problem.close_loop("coupler_end", "rocker_end", near=NEAR).kept == (0, 1)


def test_links_that_are_too_short_are_told_with_the_gap_that_is_left():
    bodies = list(ROBOT.bodies)
    frames = [
        dynamics.Frame("end", "rocker"),
        dynamics.Frame("far", None, position=np.array([1.5, 0.0, 0.0])),
    ]
    robot = dynamics.RigidBodyModel(bodies, (0, -9.81, 0), frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    with pytest.raises(InfeasibleBoundsError, match="'end-far' 1 m apart"):
        problem.close_loop("end", "far")


def test_a_start_from_which_the_loop_cannot_close_is_refused_and_leaves_the_problem():
    problem, _ = linkage(near=NEAR)
    before = len(problem.constraints)
    with pytest.raises(InfeasibleBoundsError, match="joints that are fixed there"):
        problem.start_at(q=[None, None, np.pi])
    assert len(problem.constraints) == before


def test_a_pose_in_which_links_are_in_line_is_called_singular():
    """The parallelogram that lies flat may go on as one or turn over."""
    lengths = (0.3, 0.5)

    def rod(name, parent, at):
        return dynamics.Body(
            name,
            dynamics.Joint(f"{name}_joint", position=np.array(at)),
            parent,
            1.0,
            inertia=0.01 * np.eye(3),
        )

    bodies = [
        rod("a", None, (0, 0, 0)),
        rod("b", "a", (lengths[0], 0, 0)),
        rod("c", None, (lengths[1], 0, 0)),
    ]
    frames = [
        dynamics.Frame("b end", "b", position=np.array([lengths[1], 0, 0])),
        dynamics.Frame("c end", "c", position=np.array([lengths[0], 0, 0])),
    ]
    robot = dynamics.RigidBodyModel(bodies, (0, -9.81, 0), frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    with pytest.raises(ProblemError, match=r"singular.*near=q"):
        problem.close_loop("b end", "c end", near=[0.0, 0.0, 0.0])
    assert problem.close_loop("b end", "c end", near=[1.0, -1.0, 1.0]).kept == (0, 1)


def test_a_loop_that_is_held_already_or_named_twice_is_refused():
    problem, _ = linkage()
    with pytest.raises(OptionError, match="closed already"):
        problem.close_loop("coupler_end", "rocker_end", near=NEAR)
    with pytest.raises(OptionError, match="held already"):
        problem.close_loop("rocker_end", "coupler_end", near=NEAR)


def test_periodic_joints_and_shared_collocation_points_are_refused():
    problem, _ = linkage()
    with pytest.raises(OptionError, match=r"subject_to_periodic\(trajopt.q\[0\]\)"):
        problem.subject_to_periodic(trajopt.q)
    problem.subject_to_periodic(trajopt.q[0])
    with pytest.raises(OptionError, match="radau"):
        linkage(points="lobatto")
    plain = trajopt.Problem(ROBOT, trajopt.Trajectory.uniform(4, duration=1.0))
    with pytest.raises(OptionError, match="collocation"):
        plain.close_loop("coupler_end", "rocker_end", near=NEAR)


def test_a_link_with_another_load_is_refused():
    problem = trajopt.Problem(ROBOT, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    problem.load("rocker", trajopt.term(name="push")(lambda node: [0, 0, 0, 0.1 * node.q[0], 0, 0]))
    with pytest.raises(OptionError, match="has a load already"):
        problem.close_loop("coupler_end", "rocker_end", near=NEAR)


def test_a_compiled_linkage_starts_from_another_angle_of_its_crank():
    problem, closure = linkage(8, 4, 1.0)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    compiled = trajopt.compile(problem)
    assert "between_nodes" not in str(compiled.inputs)
    solution = compiled.solve(q_start=[0.8, None, None])
    assert solution.converged
    assert_allclose(solution.q(0.0), four_bar.pose(np.array([0.8]))[0], atol=1e-8)
    assert np.abs(solution.value(closure.misfit, times_of(solution))).max() < 1e-4


@pytest.mark.long
def test_a_chain_that_ends_at_the_ground_is_the_same_linkage():
    """Opened at the rocker's pivot, whose force is that of the ground; the effort is the same.

    The closed form has the pivot at rest: the acceleration of the gap is zero to a lower order than the gap.
    """
    _, b, c = four_bar.LENGTHS
    crank, coupler, rocker = ROBOT.bodies
    joint = dynamics.Joint("rocker_joint", position=np.array([b, 0.0, 0.0]))
    last = dynamics.Body("rocker", joint, "coupler", rocker.mass, (c / 2, 0.0, 0.0), rocker.inertia)
    frames = [
        dynamics.Frame("end", "rocker", position=np.array([c, 0.0, 0.0])),
        dynamics.Frame("pivot", None, position=np.array([four_bar.GROUND, 0.0, 0.0])),
    ]
    chain = dynamics.RigidBodyModel([crank, coupler, last], (0.0, -four_bar.GRAVITY, 0.0), frames=frames)
    problem = trajopt.Problem(chain, trajopt.Trajectory.collocation(24, 5, duration=1.0))
    closure = problem.close_loop("pivot", "end", near=[START, -0.3, -2.0])
    assert closure.link_a is None and set(problem.loads) == {"rocker"}
    problem.passive("coupler_joint", "rocker_joint")
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", starts=1, refine=None)
    assert solution.objective == pytest.approx(3.21574105, rel=1e-5)
    t = collocation_times(solution)
    q, v, acceleration = (np.cumsum(curve(t), axis=1) for curve in (solution.q, solution.v, solution.a))
    q[:, 2] += np.pi  # the rocker points away from the ground in the closed form
    expected = four_bar.forces(q, v, acceleration)
    largest = np.abs(expected[:, 6:8]).max()
    assert_allclose(solution.value(closure.force, t)[:, :2], expected[:, 6:8], rtol=0.0, atol=1e-4 * largest)


def test_a_loop_may_close_in_the_second_arc():
    """The rocker moves by itself, then the coupler's end takes hold of it without an impact."""
    mesh = trajopt.Trajectory.collocation(6, 4, duration=0.7, arcs=2)
    problem = trajopt.Problem(ROBOT, mesh)
    closure = problem.close_loop("coupler_end", "rocker_end", near=NEAR, arcs=[1])
    problem.start_at(q=[0.2, 1.0, 1.8], v=0.0)  # an open pose
    problem.end_at(q=[1.0, None, None], v=0.0)
    problem.minimize(trajopt.a**2)
    problem.minimize(trajopt.tau**2, weight=1e-3)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    assert solution.converged
    assert_allclose(solution.q(0.0), [0.2, 1.0, 1.8], atol=1e-9)
    assert np.abs(solution.value(closure.misfit, np.linspace(0.7 + 1e-9, 1.4, 501))).max() < 1e-6
    assert_allclose(solution.value(closure.force, np.linspace(0.0, 0.7 - 1e-9, 51)), 0.0, atol=1e-9)
    assert np.abs(solution.value(closure.gap, 0.1)).max() > 1e-2


def test_a_problem_with_loops_can_be_sent_to_other_processes():
    problem, _ = linkage(2, 3)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    other = pickle.loads(pickle.dumps(problem))
    assert_allclose(trajopt.transcribe(other).start, trajopt.transcribe(problem).start)
