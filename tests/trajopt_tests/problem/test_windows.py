"""Windows whose ends are no breakpoints of a collocation mesh: their optima in closed form."""

from itertools import pairwise

import numpy as np
import pytest
from hand_written import PointMasses

import trajopt
from trajopt.base.errors import OptionError


def crossing(intervals=6, points="radau", arcs=1, **mesh):
    """From 0 to 1 by x' = u in a second, with the least integral of u^2."""
    trajectory = trajopt.Trajectory.collocation(
        intervals, 3, points, arcs=arcs, **{"duration": 1.0 / arcs} | mesh
    )
    problem = trajopt.Problem(trajopt.system(("x",), ("u",), lambda node: [node.u]), trajectory)
    problem.start_at(x=[0.0])
    problem.end_at(x=[1.0])
    return problem


def least(*windows):
    """The least integral of u^2 with u <= cap in windows (first, last, cap), and one number elsewhere."""
    ends = np.unique([0.0, 1.0, *(end for window in windows for end in window[:2])])
    middles, widths = 0.5 * (ends[1:] + ends[:-1]), np.diff(ends)
    caps = np.full(widths.size, np.inf)
    for first, last, cap in windows:
        caps = np.where((middles > first) & (middles < last), np.minimum(caps, cap), caps)
    low, high = 0.0, 1e3
    for _ in range(200):
        level = 0.5 * (low + high)
        low, high = (low, level) if widths @ np.minimum(caps, level) > 1.0 else (level, high)
    return float(widths @ np.minimum(caps, high) ** 2)


def capped(windows, term=None, **mesh):
    problem = crossing(**mesh)
    problem.minimize(trajopt.state("u") ** 2)
    for number, (first, last, cap) in enumerate(windows):
        limited = trajopt.state("u") if term is None else term
        problem.subject_to(limited, upper=cap, over=(first, last), name=f"slow {number}")
    return problem


def breakpoints(problem):
    return problem.trajectory.arcs[0].basis.breakpoints


def solved(problem):
    solution = trajopt.solve(problem, starts=1)
    assert solution.verify().verdict == "PASS"
    return solution.objective


@trajopt.term
def traced(node):
    return node.u + 0.0 * node.x


@pytest.mark.long
@pytest.mark.parametrize(
    ("windows", "options"),
    [
        ([(0.27, 0.63, 0.5)], {}),
        ([(0.27, 0.63, 0.5)], {"term": traced}),
        ([(0.27, 0.63, 0.5)], {"points": "gauss"}),
        ([(0.27, 0.63, 0.5)], {"points": "lobatto", "intervals": 3}),
        ([(0.27, 0.63, 0.5)], {"intervals": 1}),
        ([(0.27, 0.63, 0.5)], {"intervals": 3, "arcs": 2}),
        ([(1 / 3, 2 / 3, 0.5)], {}),  # on breakpoints: the control may jump there
        ([(0.0, 0.43, 0.5), (0.91, 1.0, 0.2)], {}),
        ([(0.5, 0.501, 0.0), (0.3, 0.30002, 0.0)], {}),
        ([(0.11, 0.37, 0.5), (0.37, 0.71, 0.9)], {}),
        ([(0.11, 0.47, 0.5), (0.37, 0.71, 0.3)], {}),
        ([(0.1, 0.1 + 0.2, 0.5), (0.3, 0.71, 0.9)], {}),  # ends that differ by rounding
    ],
)
def test_a_control_has_its_limit_in_windows_and_is_free_beside_them(windows, options):
    assert solved(capped(windows, **options)) == pytest.approx(least(*windows), rel=1e-7)


@pytest.mark.long
def test_integrals_costs_and_equations_over_windows_are_exact():
    effort = trajopt.state("u") ** 2
    dear = crossing()
    dear.minimize(effort)
    dear.minimize(effort, weight=2.0, over=(0.27, 0.63))
    assert solved(dear) == pytest.approx(1.0 / (0.64 + 0.36 / 3.0), rel=1e-9)
    part = crossing()
    part.minimize(effort)
    part.subject_to(trajopt.integral(trajopt.state("u"), over=(0.27, 0.63)), equals=0.1)
    assert solved(part) == pytest.approx(0.01 / 0.36 + 0.81 / 0.64, rel=1e-9)
    still = crossing()
    still.minimize(effort)
    still.subject_to(trajopt.state("u"), equals=0.0, over=trajopt.ArcNodes(0, (0.27, 0.63)))
    assert solved(still) == pytest.approx(1.0 / 0.64, rel=1e-9)
    # |u| costs 1 outside and 3 inside: 1 + 2 u is the same there as 3 + 2 (u - 1)
    sized = crossing()
    sized.minimize(effort)
    sized.minimize(trajopt.absolute(trajopt.state("u")))
    sized.minimize(trajopt.absolute(trajopt.state("u")), weight=2.0, over=(0.27, 0.63))
    assert solved(sized) == pytest.approx(0.64 * (1.36 + 1.36**2) + 0.36 * (1.08 + 0.36**2), rel=1e-7)


@pytest.mark.long
def test_a_free_duration_has_windows_of_its_normalised_time():
    problem = crossing(duration=(0.2, 9.0))
    problem.control("u", -1.0, 2.0)
    problem.subject_to(trajopt.state("u"), upper=1.0, over=(0.27, 0.63), name="slow")
    problem.minimize(trajopt.duration)
    assert solved(problem) == pytest.approx(1.0 / (0.36 + 2.0 * 0.64), rel=1e-7)


def in_three_phases(term, low, high):
    """The optimum from 0 to 1 with a limit in the middle one of three phases."""
    parts = [moved("before", 0.27), moved("slow", 0.36), moved("after", 0.37)]
    parts[0].start_at([0.0], [0.0])
    parts[1].subject_to(term, low, high)
    parts[2].end_at([1.0], [0.0])
    phases = trajopt.Phases(*parts)
    for before, after in pairwise(parts):
        for joined in (trajopt.q, trajopt.v):
            phases.link(joined, before.at("end"), after.at("start"))
    return solved(phases)


def in_a_window(term, low, high):
    problem = moved("whole", 1.0)
    problem.start_at([0.0], [0.0])
    problem.end_at([1.0], [0.0])
    problem.subject_to(term, low, high, over=(0.27, 0.63), name="limit")
    return solved(problem)


def moved(name, share, intervals=6):
    mesh = trajopt.Trajectory.collocation(intervals, 3, duration=2.0 * share)
    problem = trajopt.Problem(PointMasses(1, 1.0), mesh, name)
    problem.minimize(trajopt.tau**2)
    return problem


@trajopt.term
def speed_squared(node):
    return node.v**2


@pytest.mark.long
@pytest.mark.parametrize(
    ("term", "low", "high", "rel"),
    [
        (trajopt.v, None, 0.45, 1e-7),
        (speed_squared, None, 0.45**2, 1e-7),
        (trajopt.tau, -0.3, 0.2, 1e-3),  # the limit is left inside an interval
    ],
)
def test_a_limit_in_a_window_is_that_of_a_phase(term, low, high, rel):
    expected = in_three_phases(term, low, high)
    assert in_a_window(term, low, high) == pytest.approx(expected, rel=rel)


def test_the_mesh_has_the_ends_of_windows_beside_data_and_single_times():
    problem = crossing(10, duration=1.0)
    problem.minimize(trajopt.state("x") ** 2, over=[0.3, 0.55])
    problem.subject_to(trajopt.state("u"), upper=3.0, over=(0.31, 0.62), name="slow")
    assert np.allclose(breakpoints(problem), [0.0, 0.1, 0.2, 0.31, 0.4, 0.5, 0.62, 0.7, 0.8, 0.9, 1.0])
    assert problem.trajectory.nodes.s[problem.costs[0].over.nodes(problem.trajectory)] == pytest.approx(
        [0.3, 0.55]
    )
    problem.data("wind", [0.0, 0.33, 1.0], [0.0, 1.0, 1.0], interpolation="steps")
    assert {0.31, 0.33, 0.62} <= set(breakpoints(problem).round(9).tolist())
    for mesh in (problem.trajectory, trajopt.Trajectory.collocation(4, 3, duration=1.0)):
        assert {0.31, 0.33, 0.62} <= set(breakpoints(problem.on(mesh)).round(9).tolist())
    assert np.array_equal(breakpoints(problem.on(problem.trajectory)), breakpoints(problem))


@pytest.mark.parametrize("count", [6, 10, 14])
@pytest.mark.parametrize("mesh", [(0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.1, 0.2, 0.3, 1.0)])
def test_windows_that_end_on_the_mesh_leave_data_their_breakpoints(mesh, count):
    """Four intervals have room for sixteen bends of data, whether windows are stated before or after them."""
    meshes = []
    for before in (True, False):
        problem = crossing(mesh, duration=1.0)
        for data in (not before, before):
            if data:
                problem.data(
                    "d", np.linspace(0.0, 1.0, count), np.arange(count) % 3.0, interpolation="linear"
                )
            else:
                for window in (mesh[1:3], mesh[2:4]):
                    problem.subject_to(trajopt.state("u"), upper=5.0, over=window)
        meshes.append(breakpoints(problem))
    assert meshes[0].size > 5
    assert np.allclose(*meshes)


def test_a_refused_start_time_leaves_the_former_one():
    problem = crossing(4)
    problem.start_at(time=2.0)
    with pytest.raises(trajopt.base.errors.TrajoptError):
        problem.start_at(time=(5.0, 1.0))
    assert problem.start_time == 2.0


def test_only_the_side_of_a_window_carries_what_may_jump():
    problem = crossing(4)
    problem.subject_to(trajopt.state("u"), upper=0.5, over=(0.25, 0.75), name="control")
    problem.subject_to(trajopt.state("x"), upper=2.0, over=(0.25, 0.75), name="state")
    for name, count in (("control", 6), ("state", 7)):
        (stated,) = [each for each in problem.constraints if each.name == name]
        assert stated.held_at(problem.trajectory).sum() == count


def test_windows_of_an_instant_and_on_splines_have_no_intervals_of_their_own():
    problem = crossing(10)
    problem.subject_to(trajopt.state("x"), upper=2.0, over=(0.3 - 1e-6, 0.3 + 1e-6), name="there")
    assert breakpoints(problem).size == 11
    spline = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(10))
    spline.subject_to(trajopt.v, upper=2.0, over=(0.27, 0.63))
    spline.minimize(trajopt.tau**2, over=(0.27, 0.63))
    assert breakpoints(spline).size == 11
    with pytest.raises(OptionError, match="needs breakpoints at its ends"):
        trajopt.transcribe(spline)


@pytest.mark.long
def test_compiled_programs_and_files_keep_windows(tmp_path):
    problem = capped([(0.27, 0.63, 0.5)])
    compiled = trajopt.compile(problem)
    assert compiled.solve().objective == pytest.approx(least((0.27, 0.63, 0.5)), rel=1e-7)
    solution = trajopt.solve(problem)
    solution.save(tmp_path / "window.trajopt")
    loaded = trajopt.Solution.load(tmp_path / "window.trajopt")
    assert loaded.verify().verdict == "PASS"
    assert trajopt.solve(loaded.problem).objective == pytest.approx(solution.objective, rel=1e-9)


@pytest.mark.parametrize("window", [(0.3, 0.3 + 1e-6), (0.3 - 1e-6, 0.3)])
@pytest.mark.parametrize("bound", ["upper", "equals"])
def test_an_instant_at_a_breakpoint_keeps_a_row(window, bound):
    problem = crossing(10)
    problem.subject_to(trajopt.state("u"), over=window, **{bound: 0.5})
    assert problem.constraints[-1].held_at(problem.trajectory).any()


def test_a_single_time_beside_the_end_of_a_window_takes_no_row_away():
    """0.1 + 0.2 is not 0.3: three nodes stand there, and the span that ends there has its own."""
    alone, beside = crossing(7), crossing(7)
    beside.minimize(trajopt.state("x") ** 2, over=[0.3])
    rows = []
    for problem in (alone, beside):
        problem.subject_to(trajopt.state("u"), upper=0.5, over=(0.1, 0.1 + 0.2))
        held = problem.constraints[-1].held_at(problem.trajectory)
        rows.append(int(held.sum()))
    assert rows[0] == rows[1] > 0


@pytest.mark.parametrize("part", [(0.2, 0.4, 0.6), (0.2,), (0.5, 0.2), (-0.2, 0.5), (0.5, np.nan)])
def test_a_part_of_an_arc_that_is_no_window_is_refused(part):
    with pytest.raises(OptionError, match=r"the part of an arc is .* a window is"):
        trajopt.ArcNodes(0, part)


def test_a_refused_cost_leaves_no_breakpoint():
    problem = crossing(10)
    before = problem.trajectory
    with pytest.raises(trajopt.TrajoptError, match="convex"):
        problem.minimize(-trajopt.absolute(trajopt.state("u")), over=(0.27, 0.63))
    with pytest.raises(trajopt.TrajoptError, match="name"):
        problem.minimize(trajopt.absolute(trajopt.state("u")), over=(0.27, 0.63), name=3)
    assert problem.trajectory is before and not problem.slacks and not problem.costs


@pytest.mark.long
def test_a_state_may_use_a_cap_that_steps_where_its_window_begins():
    """x is near 0.45 at 0.27 s, where a cap on x steps from 0.2 to 0.5, which is what the window sees."""
    problem = crossing(10)
    problem.data("cap", [0.0, 0.27, 1.0], [0.2, 0.5, 0.5], interpolation="steps")
    problem.subject_to(trajopt.Quantity("data:cap") - trajopt.state("x"), 0.0, over=(0.27, 0.4))
    problem.minimize((trajopt.state("x") - 0.45) ** 2, over=(0.2, 0.35))
    solution = trajopt.solve(problem, starts=1)
    assert solution.verify().holds and solution.objective < 1e-9


@pytest.mark.parametrize("points", ["radau", "lobatto"])
def test_where_arcs_meet_a_window_has_the_node_of_its_own_arc(points):
    problem = crossing(2, points, arcs=2)
    problem.subject_to(trajopt.state("x"), upper=2.0, over=(0.5, 1.0))
    held = problem.constraints[-1].held_at(problem.trajectory)[:, 0]
    before, after = problem.trajectory.border(0)
    chosen = problem.constraints[-1].over.nodes(problem.trajectory)
    assert not held[chosen == before].any() and held[chosen == after].all()


@pytest.mark.long
@pytest.mark.parametrize("points", ["radau", "gauss", "lobatto"])
@pytest.mark.parametrize("limit", [{"upper": 0.3}, {"equals": 0.3}])
@pytest.mark.parametrize("term", [trajopt.state("v"), trajopt.term(lambda node: node.v + 0.0 * node.x)])
@pytest.mark.parametrize("slow_first", [False, True])
def test_a_state_that_jumps_between_arcs_has_a_window_from_its_own_side(points, limit, term, slow_first):
    """v = u T before the border is free: u^2 T + 1000 (v - 1)^2 is least at 1 / (1 + 0.001 / T)."""
    share = 0.5
    mesh = trajopt.Trajectory.collocation(2, 3, points, arcs=2, duration=share)
    problem = trajopt.Problem(trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u]), mesh)
    (problem.end_at if slow_first else problem.start_at)(x=[0.0, 0.0])
    problem.subject_to(term, over=(0.0, 0.5) if slow_first else (0.5, 1.0), **limit)
    problem.continuity("v", -1, after=0)
    problem.minimize(trajopt.state("u") ** 2)
    fast = trajopt.term(lambda node: (node.v - 1.0) ** 2, name="fast")
    there = trajopt.ArcNodes(1, "start") if slow_first else trajopt.ArcNodes(0, "end")
    problem.minimize(fast, weight=1e3, over=there)
    solution = trajopt.solve(problem, refine=None, starts=1)
    fastest = 1.0 / (1.0 + 1e-3 / share)
    least = fastest**2 / share + 1e3 * (fastest - 1.0) ** 2
    assert solution.objective == pytest.approx(least, rel=1e-6)
    assert solution.verify().verdict == "PASS"
    before, after = solution.value(term, np.array([share - 1e-9, share + 1e-9]))[
        :: -1 if slow_first else 1, 0
    ]
    assert before == pytest.approx(fastest, rel=1e-6) and after <= 0.3 + 1e-6


@pytest.mark.parametrize("jumps", [40, 42])
def test_windows_do_not_change_how_many_breakpoints_data_may_add(jumps):
    problem = crossing(10)
    times = np.linspace(0.011, 0.989, jumps)
    problem.data("wind", np.append(0.0, times), np.arange(jumps + 1.0), interpolation="steps")
    problem.subject_to(trajopt.state("u"), upper=3.0, over=(0.273, 0.637))
    inside = np.abs(times[:, None] - breakpoints(problem)).min(axis=1) < 1e-9
    assert inside.all() if jumps <= 40 else not inside.all()
    assert np.array_equal(breakpoints(problem.on(problem.trajectory)), breakpoints(problem))


@pytest.mark.long
def test_windows_that_end_a_hair_apart_leave_the_optimum_as_it_is():
    windows = (0.0, 0.3, 0.9), (0.3 + 2e-6, 0.6, 0.5)
    assert solved(capped(windows, intervals=4)) == pytest.approx(least(*windows), rel=1e-7)


@pytest.mark.parametrize("gap", [4e-7, 1e-8, 2e-9])
def test_an_interval_that_splines_cannot_tell_is_refused_with_both_ends(gap):
    """`verify` ended in "singular matrix" where it halved the interval between the two windows."""
    for before, refused, arcs in (
        ([(0.0, 0.3)], (0.3 + gap, 0.6), 1),
        ([], (gap, 0.6), 1),
        ([], (0.5 - gap, 0.8), 2),
    ):
        problem = crossing(8, arcs=arcs)
        for window in before:
            problem.subject_to(trajopt.state("u"), upper=0.5, over=window)
        count, between = len(problem.constraints), r"in arc 0, .* and .* are too close.*: make them equal"
        with pytest.raises(OptionError, match=between):
            problem.subject_to(trajopt.state("u"), upper=0.5, over=refused)
        assert len(problem.constraints) == count
    problem = crossing(8)
    with pytest.raises(OptionError, match=r"windows or steps of data at .* are too close"):
        problem.data("wind", [0.0, 0.3, 0.3 + gap], [0.0, 0.5, 1.0], interpolation="steps")
    assert not problem.datasets
    problem.subject_to(trajopt.state("u"), upper=0.5, over=(0.3, 0.6))
    problem.data(
        "wind", [0.0, 0.3 - gap, 0.45, 0.45 + gap, 1.0], [0.0, 1.0, 0.0, 1.0, 1.0], interpolation="linear"
    )
    assert np.diff(breakpoints(problem)).min() > 0.01  # lines that bend beside a breakpoint need none
    assert np.abs(breakpoints(problem) - 0.45).min() < 1e-12
