"""The verdict of a verification on equations, costs and the solve itself, each with its reason."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses
from library_solutions import solved_at_defaults
from sliding_mass import bump, slide
from tiers import long_first

import problems
import trajopt
from trajopt.base.errors import SolutionFileError
from trajopt.checks.path_equations import scale_of
from trajopt.checks.violations import certificate_lines


@pytest.fixture(scope="module")
def plain():
    solution = trajopt.solve(slide())
    assert solution.verify().holds
    return solution


@pytest.mark.long
def test_an_underactuated_robot_on_few_spans_fails_by_the_motor_it_does_not_have():
    report = trajopt.solve(problems.cart_pole.build(intervals=6), starts=1, refine=None).verify()
    assert not report.holds and report.verdict == "FAIL" and report.holds_at_nodes
    assert str(report).startswith("FAIL: no motor at pole: missed by 0.445 N m between nodes")
    (equation,) = report.equations
    assert equation.residual == pytest.approx(0.445, abs=1e-3) and equation.relative > 0.05
    # Converged collocation gives 58.8077 from this guess: what the phantom motor gains, to first order.
    assert equation.cost == pytest.approx(58.8077 - report.objective, rel=0.1)
    assert report.simulation.end_to_end < 1e-9  # it applies the phantom torque
    assert report.free_simulation.restarted > 0.05 and report.free_simulation.end_to_end > 5.0


@pytest.mark.long
def test_the_verdict_on_an_equation_names_the_refinement_that_mends_it():
    """The cart and pole as a newcomer poses it; limit nodes would leave equations as they are."""
    problem = problems.cart_pole.build().on(trajopt.Trajectory.collocation(20, 4, duration=2.0))
    coarse = trajopt.solve(problem, starts=1, refine=None).verify()
    assert not coarse.holds and coarse.holds_at_nodes
    assert coarse.reason.endswith("; refine=trajopt.Refined(tol=0.01) halves intervals there")
    finer = trajopt.solve(problem, starts=1, refine=trajopt.Refined(tol=0.01))
    assert finer.verify().holds and len(finer.knot_times) <= 31


@pytest.mark.long
def test_the_same_robot_on_enough_spans_passes_and_says_how_finely_it_was_sampled():
    report = solved_at_defaults("cart_pole").verify()
    assert report.holds and str(report).startswith("PASS: ")
    assert f"at most {report.resolution:.2g} s apart" in " ".join(str(report).split())
    assert 0.0 < report.resolution < 0.01
    assert report.free_simulation.end_to_end < 1e-2


def test_a_cost_that_the_solution_does_not_report_fails_where_its_nodes_are_not_known_either(plain):
    report = plain.verify()
    unreported = replace(report.costs[0], value=np.nan, by_nodes=np.nan)
    wrong = replace(report, costs=(unreported, *report.costs[1:]))
    assert wrong.reason.startswith(f"cost '{unreported.name}': nan at the nodes")


def test_columns_of_the_report_stay_apart_where_times_are_long():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=123456.7))
    problem.start_at(x=[0.0])
    problem.end_at(x=[1.0])
    problem.minimize(trajopt.state("u") ** 2)
    rows = trajopt.solve(problem).verify().table.splitlines()
    (end,) = [row.split() for row in rows if row.startswith("x at the end, x")]
    assert end[5:] == ["0.000e+00", "123457", "0.000e+00", "123457", "0.0e+00", "evaluated"]


@pytest.mark.long
def test_two_nodes_per_span_fail():
    robot = problems.cart_pole.build().dynamics
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(30, duration=2.0, nodes_per_span=2))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1, np.pi], v=0.0)
    problem.minimize(problems.cart_pole.force**2)
    problem.subject_to(problems.cart_pole.pole_torque, equals=0.0, name="free joint")
    solution = trajopt.solve(problem, refine=None)
    report = solution.verify()
    assert solution.converged and "free joint: missed by" in report.reason
    assert report.free_simulation.end_to_end > 1.0  # also where the equation is the user's own


def test_changed_costs_of_a_problem_are_noticed(plain, tmp_path):
    plain.save(tmp_path / "x.npz")
    renamed = slide(lambda p: p.minimize(trajopt.v**2, name="speed squared"))
    with pytest.raises(SolutionFileError, match="did not minimize 'speed squared', which the problem does"):
        trajopt.Solution.load(tmp_path / "x.npz", problem=renamed)
    renamed.costs.pop(0)
    with pytest.raises(SolutionFileError, match="minimized 'force squared', which the problem does not"):
        trajopt.Solution.load(tmp_path / "x.npz", problem=renamed)
    heavier = slide()
    heavier.costs[0] = replace(heavier.costs[0], weight=1.001)
    report = trajopt.Solution.load(tmp_path / "x.npz", problem=heavier).verify()
    assert "whose cost must have changed" in report.reason


def test_a_cost_that_the_nodes_integrate_badly_fails(plain):
    at = 0.5 * (plain.node_times[9] + plain.node_times[10])
    spike = bump(at, 0.2 * (plain.node_times[10] - plain.node_times[9]), 1e4) + 0.0 * trajopt.q
    problem = slide(lambda p: p.minimize(spike, name="spike"))
    report = trajopt.solve(problem).verify()
    assert "cost 'spike'" in report.reason and "but its integral is" in report.reason


@pytest.mark.long
def test_a_cost_that_is_smoothed_is_compared_with_the_exact_one():
    """A mass of 1 kg moved by 1 m in 1 s: of a power of a few watts, a rounding of 1 W is a third."""

    def moved(rounding):
        problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(20, duration=1.0))
        problem.start_at(q=0.0, v=0.0)
        problem.end_at(q=1.0, v=0.0)
        problem.minimize(trajopt.library.mechanical_work(rounding))
        return trajopt.solve(problem)

    rough, fine = moved(1.0), moved(0.01)
    t = np.linspace(0.0, 1.0, 20001)
    work = np.abs(rough.tau(t) * rough.v(t)).mean()
    (cost,) = rough.verify().costs
    assert cost.integral == pytest.approx(work, rel=1e-4) and work > 1.3 * cost.value
    assert "its exact integral is 1.2" in rough.verify().reason
    assert fine.verify().holds and fine.objective == pytest.approx(1.07, rel=3e-3)
    lines = {each.name: each for each in certificate_lines(rough, 1e-6, 1e-6)}
    assert not lines["cost 'mechanical work'"].holds


@long_first("count", [4, 20])
def test_random_torques_at_a_joint_without_a_motor_are_found_to_their_size(count):
    """A curve that the passive joint follows only with a motor, however little it differs from a free one."""
    generator = np.random.default_rng(7)
    solution = solved_at_defaults("cart_pole")
    missed = []
    for case in range(count):
        points = solution.curve.control_points[0].copy()
        place = generator.integers(4, len(points) - 4)
        points[place, 1] += 10 ** generator.uniform(-4, -1)
        changed = replace(solution, curve=replace(solution.curve, control_points=(points,)))
        report = changed.verify()
        t = np.linspace(0.0, 2.0, 4001)
        phantom = np.abs(changed.tau(t)[:, 1]).max()
        (equation,) = report.equations
        if not (phantom - 1e-9 <= equation.residual and not report.holds):
            missed.append((case, phantom, equation.residual, report.reason))
    assert not missed


@pytest.mark.long
def test_turns_that_a_joint_has_made_before_do_not_loosen_an_equation():
    """A hundred turns more are the same robot, but partials by the angle times the angle grow with them."""
    once = trajopt.solve(problems.cart_pole.build(intervals=6), starts=1, refine=None)
    turned = problems.cart_pole.build(intervals=6)
    points = once.curve.control_points[0] + np.array([0.0, 200.0 * np.pi])
    again = replace(once, curve=replace(once.curve, control_points=(points,)), known_problem=turned).verify()
    (equation,), (other,) = once.verify().equations, again.equations
    assert other.scale < 2.5 * equation.scale  # instead of sixty-seven times
    assert other.residual == pytest.approx(equation.residual, rel=1e-6)
    assert other.relative > 0.04


def test_an_equation_at_an_added_node_alone_is_stated_there():
    basis = trajopt.SplineBasis.uniform(4, 5)
    problem = trajopt.Problem(
        PointMasses(1), trajopt.Trajectory((trajopt.Arc(basis, 1.0),), extra_points=((0.3,),))
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2)

    @trajopt.term
    def place(node):
        return node.q**2

    problem.subject_to(place, equals=0.25, over=(0.3 - 1e-6, 0.3 + 1e-6), name="there")
    solution = trajopt.solve(problem)
    assert solution.q(0.3)[0] ** 2 == pytest.approx(0.25, abs=1e-7) and solution.verify().holds_at_nodes


@pytest.mark.parametrize("left_over", [0.0, 1e-318, 1e-17])
def test_the_scale_of_a_motion_at_rest_is_one_unit_whatever_rounding_leaves(left_over):
    assert np.array_equal(scale_of(np.full((3, 2), left_over)), np.ones(2))


def test_a_component_below_a_millionth_of_the_largest_counts_as_that_millionth():
    sums = np.array([[1.0, 1e-12, 1e-5], [2.0, 0.0, 0.0]])
    np.testing.assert_allclose(scale_of(sums), [2.0, 2e-6, 1e-5], rtol=1e-12)
