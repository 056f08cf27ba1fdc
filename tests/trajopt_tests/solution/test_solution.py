"""Solutions: evaluated, verified, saved and read again."""

import errno
import os
import re
import tempfile
from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses, two_link_minimum_time

import dynamics
import trajopt
from trajopt.base.errors import SolutionFileError
from trajopt.problem.costs_and_constraints import Recipe


@pytest.fixture(scope="module")
def solution():
    return trajopt.solve(two_link_minimum_time(10))


def test_curves_are_derivatives_of_each_other(solution):
    t, h = np.linspace(0.01, solution.duration - 0.01, 7), 1e-6
    for curve, derivative in ((solution.q, solution.v), (solution.v, solution.a)):
        assert np.allclose((curve(t + h) - curve(t - h)) / (2 * h), derivative(t), rtol=1e-5, atol=1e-5)
    assert solution.q(0.1).shape == (2,) and solution.q(np.zeros((2, 3))).shape == (2, 3, 2)


def test_torques_drive_the_motion(solution):
    t = np.linspace(0.0, solution.duration, 9)
    dynamics = solution.problem.dynamics
    assert np.allclose(
        dynamics.forward_dynamics(solution.q(t), solution.v(t), solution.tau(t)), solution.a(t)
    )


def test_the_report_finds_what_a_dense_look_finds(solution):
    report = solution.verify()
    assert report.max_violation_nodes < 1e-7
    t = np.linspace(0.0, solution.duration, 20001)
    excess = np.abs(solution.tau(t)).max() - 10.0
    assert excess - 1e-9 <= report.max_violation_dense <= excess + 1e-6  # peaks between samples are found
    assert report.simulation_error < 1e-10 and report.simulation_error_end_to_end < 1e-9
    assert report.kkt_error < 1e-7
    text = report.table
    assert "torque limits, elbow" in text and "end to end" in text
    assert set(report.summary()) >= {
        "max_violation_nodes",
        "max_violation_dense",
        "kkt_error",
        "simulation_error",
    }


@pytest.mark.long
def test_a_constraint_that_holds_at_no_node_is_looked_at_between_them():
    basis = trajopt.SplineBasis.uniform(1, 3)
    arcs = tuple(trajopt.Arc(basis, 1.0, nodes_per_span=count) for count in (2, 4))
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory(arcs))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(trajopt.v, upper=0.1, over=trajopt.ArcNodes(0, "inside"), name="slow")
    (slow,) = (v for v in trajopt.solve(problem, refine=None).verify().violations if v.name == "slow")
    assert slow.node_violation == 0.0 and slow.dense_violation > 0.1
    (slow,) = (v for v in trajopt.solve(problem).verify().violations if v.name == "slow")
    assert slow.dense_violation <= 1e-4  # a limit node is the first that the limit has


def test_a_wrong_motion_is_caught_by_the_simulation(solution):
    """Torques of a heavier arm do not move this one along the same curve."""
    from trajopt.checks.simulation import simulate

    problem = two_link_minimum_time(10)
    problem.dynamics.forward_dynamics = lambda q, v, tau: (
        1.01 * type(problem.dynamics)().forward_dynamics(q, v, tau)
    )
    assert simulate(replace(solution, known_problem=problem)).restarted > 1e-4


@pytest.mark.parametrize("pushed", [0.0, 1e-4, 0.3])
def test_all_spans_at_once_give_the_gap_of_one_after_the_other(pushed):
    """A pendulum that falls from its top, under torques that are right, nearly right, and wrong."""
    from trajopt.checks.simulation import _SystemIntegration

    def rates(node):
        return [node.w, 9.81 * np.sin(node.q) + node.u]

    system = trajopt.system(("q", "w"), ("u",), rates)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(12, 3, duration=1.0))
    problem.start_at(q=[0.1, 0.0])
    problem.end_at(q=[0.5, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    integration = _SystemIntegration(trajopt.solve(problem, refine=None, starts=1))
    inputs = integration._inputs(integration._stage_times(4))
    (name,) = (each for each in inputs if each.endswith("u"))
    inputs[name] = inputs[name] + pushed
    integration._inputs = lambda times: inputs
    one_by_one = integration._one_by_one(inputs, 4, np.inf)
    assert one_by_one > 0.1 * pushed
    assert integration.end_to_end(4, 4, np.inf) == pytest.approx(one_by_one, rel=2e-3, abs=1e-11)
    assert integration.end_to_end(4, 4, 1e-9) > 1e-9


def differences_of_ends(integration, steps, h=1e-6):
    """Central differences of the states at the ends of spans by those at their starts."""
    first, inputs = integration.first, integration.inputs(steps)
    m, spans, n = first.shape
    slopes = np.zeros((spans, m, n, m, n))
    for i, j in np.ndindex(m, n):
        step = np.zeros((m, 1, n))
        step[i, 0, j] = h
        change = integration._through(first + step, inputs, steps) - integration._through(
            first - step, inputs, steps
        )
        slopes[..., i, j] = change.transpose(1, 0, 2) / (2.0 * h)
    return slopes.reshape(spans, m * n, m * n)


def pushed_pendulum():
    """A pendulum under a force that its own motion changes."""
    joint = dynamics.Joint("hinge", "revolute", axis=(0.0, 1.0, 0.0))
    pole = dynamics.Body("pole", joint, mass=1.0, centre_of_mass=(0.0, 0.0, 0.5), inertia=0.1 * np.eye(3))
    problem = trajopt.Problem(dynamics.RigidBodyModel([pole]), trajopt.Trajectory.uniform(4, duration=0.8))
    problem.start_at(q=0.3, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.load("pole", trajopt.term(lambda node: [0.0, node.v[0], 0.0, 2.0 * node.q[0], 0.0, 3.0]))
    problem.minimize(trajopt.a**2)
    return problem


def falling_system():
    system = trajopt.system(
        ("q", "w"), ("u",), lambda node: [node.w, 9.81 * np.sin(node.q) - node.w**3 + node.u]
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=0.5))
    problem.start_at(q=[0.1, 0.0])
    problem.end_at(q=[0.5, 1.0])
    problem.minimize(trajopt.state("u") ** 2)
    return problem


@pytest.mark.parametrize("make", [two_link_minimum_time, pushed_pendulum, falling_system])
def test_slopes_of_spans_are_those_of_their_ends(make, monkeypatch):
    """Torques, loads and controls are functions of time there, also where a motion determines them."""
    from trajopt.checks import simulation

    seen = []
    end_to_end = simulation._Integration.end_to_end
    monkeypatch.setattr(
        simulation._Integration, "end_to_end", lambda self, *a: seen.append(self) or end_to_end(self, *a)
    )
    simulation.simulate(trajopt.solve(make(), refine=None, starts=1))
    (integration,) = seen
    expected, exact = differences_of_ends(integration, 2), integration._slopes(integration.first, 2)
    np.testing.assert_allclose(exact, expected, rtol=0.0, atol=2e-8 * np.abs(expected).max())
    monkeypatch.setattr(simulation, "MOST_SLOPES", 2 * exact[0].size)  # two spans at a time
    np.testing.assert_allclose(integration._slopes(integration.first, 2), exact, rtol=1e-13, atol=1e-13)
    monkeypatch.setattr(type(integration), "_rate_slopes", simulation._Integration._rate_slopes)
    by_differences = integration._slopes(integration.first, 2)
    np.testing.assert_allclose(by_differences, expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())


def test_without_forward_dynamics_the_report_says_so(solution):
    class Kinematic(PointMasses):
        forward_dynamics = None

    problem = trajopt.Problem(Kinematic(), trajopt.Trajectory.uniform(3, 3, duration=1.0))
    problem.end_at(q=1.0)
    problem.minimize(trajopt.a**2)
    report = trajopt.solve(problem).verify()
    assert report.simulation_error is None and "no forward dynamics" in report.table


def test_a_solution_that_did_not_converge_names_its_worst_constraints():
    problem = two_link_minimum_time(10, duration=(0.05, 0.2))
    solution = trajopt.solve(problem, starts=1)
    assert not solution.converged and "not converged" in str(solution)
    report = solution.verify()
    assert report.reason.startswith("the solve did not converge")
    worst = report.worst(1)[0]
    assert worst.name == "torque limits" and worst.component in ("shoulder", "elbow")
    assert worst.node_violation > 1.0 and "at nodes (t = " in str(worst)


def test_saving_and_loading_is_exact(solution, tmp_path):
    solution.save(tmp_path / "x.npz")
    again = trajopt.Solution.load(tmp_path / "x.npz", problem=two_link_minimum_time(10))
    t = np.linspace(0.0, solution.duration, 13)
    for name in ("q", "v", "a", "jerk", "tau"):
        assert np.array_equal(getattr(solution, name)(t), getattr(again, name)(t))
    assert again.status is solution.status and again.objective == solution.objective
    assert np.array_equal(again.multipliers["torque limits"], solution.multipliers["torque limits"])
    read, kept = again.verify().summary(), solution.verify().summary()
    assert read.pop("error_of_optimum") == pytest.approx(kept.pop("error_of_optimum"), rel=1e-6)
    assert read == kept


def test_a_loaded_solution_without_problem_knows_its_motion_but_not_its_torques(solution, tmp_path):
    solution.save(tmp_path / "x.npz")
    bare = trajopt.Solution.load(tmp_path / "x.npz")
    assert np.array_equal(bare.q(0.1), solution.q(0.1))
    with pytest.raises(SolutionFileError, match="saved without its problem"):
        bare.tau(0.1)


def test_foreign_files_are_refused(solution, tmp_path):
    (tmp_path / "text.npz").write_text("not a solution")
    np.savez(tmp_path / "foreign.npz", x=np.zeros(3))
    np.savez(tmp_path / "pickle.npz", header=np.array([{"a": 1}], dtype=object))
    np.save(tmp_path / "single.npy", np.zeros(3))
    for name, message in (
        ("text.npz", "is not a solution that trajopt saved .BadZipFile"),
        ("foreign.npz", "is not a solution that trajopt saved"),
        ("pickle.npz", "no .npz archive of plain arrays"),
        ("single.npy", "holds one array"),
        ("missing.npz", "does not exist"),
    ):
        with pytest.raises(SolutionFileError, match=message) as refusal:
            trajopt.Solution.load(tmp_path / name)
        assert "allow_pickle" not in str(refusal.value)  # no advice to run what a stranger made


def test_others_may_read_what_was_saved(solution, tmp_path):
    solution.save(tmp_path / "x.npz")
    assert (tmp_path / "x.npz").stat().st_mode & 0o777 == 0o644


def test_a_solution_of_other_joints_is_refused(solution, tmp_path):
    solution.save(tmp_path / "x.npz")
    other = trajopt.Problem(PointMasses(2))
    with pytest.raises(SolutionFileError, match=r"moves the joints \(shoulder, elbow\)"):
        trajopt.Solution.load(tmp_path / "x.npz", problem=other)


def test_a_newer_format_or_another_kind_is_refused(solution, tmp_path):
    import json

    solution.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"]))
    for change, message in (
        ({"version": 99}, "reads up to 2"),
        ({"format": "diary"}, "is a 'diary'"),
        ({"certificate": {"tolerance": 1e-6}}, "is not a solution that trajopt saved"),
    ):
        np.savez(tmp_path / "y.npz", **(arrays | {"header": np.array(json.dumps(header | change))}))
        with pytest.raises(SolutionFileError, match=message):
            trajopt.Solution.load(tmp_path / "y.npz")


def test_a_failed_save_leaves_the_earlier_file_alone(solution, tmp_path, monkeypatch):
    target = tmp_path / "x.npz"
    solution.save(target)
    before = target.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(SolutionFileError, match=r"disk full.: no temporary folder can take it either"):
        solution.save(target)
    assert target.read_bytes() == before and list(tmp_path.iterdir()) == [target]


@pytest.mark.long
def test_a_motion_that_was_changed_after_the_solve_does_not_verify(solution, tmp_path):
    points = solution.curve.control_points[0].copy()
    points[4:7] += 0.05
    changed = replace(solution, curve=replace(solution.curve, control_points=(points,)))
    changed.save(tmp_path / "x.npz")
    report = trajopt.Solution.load(tmp_path / "x.npz", problem=two_link_minimum_time(10)).verify()
    assert solution.verify().holds and solution.verify().kkt_recomputed
    assert not report.holds and report.kkt_recomputed
    assert report.kkt_error > 1e-3


def test_a_solution_is_not_checked_against_a_problem_without_its_constraints(solution, tmp_path):
    solution.save(tmp_path / "x.npz")
    problem = two_link_minimum_time(10)
    problem.constraints.pop()
    with pytest.raises(
        SolutionFileError, match="was solved under 'torque limits', which the problem does not have"
    ):
        trajopt.Solution.load(tmp_path / "x.npz", problem=problem)


def test_a_recipe_that_no_installed_library_knows_is_told(solution, tmp_path, monkeypatch):
    from trajopt.solution import rebuilt_problem

    replace(solution, recipe=Recipe("lost", {})).save(tmp_path / "x.npz")
    monkeypatch.setattr(rebuilt_problem, "entry_points", lambda group: ())
    with pytest.raises(SolutionFileError, match="no installed library builds 'lost'"):
        trajopt.Solution.load(tmp_path / "x.npz").tau(0.1)


def test_what_cannot_be_saved_is_kept_in_a_temporary_folder_that_the_message_names(
    solution, tmp_path, monkeypatch
):
    """A folder that is missing, a full disk, a folder that may not be written."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = r"it is kept in (\S+\.npz); make room, or give another folder"
    with pytest.raises(SolutionFileError, match="is no folder, make it first.*" + kept) as caught:
        solution.save(tmp_path / "missing" / "x.npz")
    saved = re.search(kept, str(caught.value))[1]
    again = trajopt.Solution.load(saved)
    assert np.array_equal(again.curve.control_points[0], solution.curve.control_points[0])

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(
        SolutionFileError, match=r"x.npz cannot be written \(No space left.*" + kept
    ) as caught:
        solution.save(tmp_path / "x.npz")
    assert trajopt.Solution.load(re.search(kept, str(caught.value))[1]).converged
    assert not list(tmp_path.glob(".*")) and not (tmp_path / "x.npz").exists()


def test_a_recipe_that_json_cannot_hold_is_left_out_with_a_warning(solution, tmp_path):
    odd = replace(solution, recipe=Recipe("own.py", {"model": object()}))
    with pytest.warns(UserWarning, match="saved without its recipe.*parameter 'model' of own.py is <object"):
        odd.save(tmp_path / "x.npz")
    assert trajopt.Solution.load(tmp_path / "x.npz").recipe is None


@pytest.mark.long
def test_a_saved_solution_tells_versions_processor_solver_options_and_limits_of_time(tmp_path):
    solver = trajopt.Ipopt(tol=1e-7, time_limit=60.0)
    solved = trajopt.solve(two_link_minimum_time(6), solver, starts=2, time_limit=90.0)
    solved.save(tmp_path / "x.npz")
    run = trajopt.Solution.load(tmp_path / "x.npz").run
    assert run == solved.run and re.fullmatch("[0-9a-f]{32}", run.id)
    assert run.versions["numpy"] == np.__version__ and run.machine["processor"]
    assert "tol=1e-07" in run.solver and "time_limit=60.0" in run.solver
    assert run.arguments["starts"] == "2" and run.arguments["time_limit"] == "90.0"
    assert trajopt.solve(two_link_minimum_time(6)).run.id != run.id
