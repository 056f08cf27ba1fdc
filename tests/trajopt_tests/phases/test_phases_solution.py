"""Solutions of phases: their checks, files, and what happens to those that are tampered with."""

from dataclasses import replace

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import SolutionFileError
from trajopt.solution.records import RefinementRecord, RefinementRound


@trajopt.term
def effort(node):
    return node.u**2


def hop(stiffness=40.0, names=("stance", "flight")):
    """A point on a leg with a spring that it may tension, and its flight, to where the leg lands again."""

    def stance_rates(node):
        return [node.v, stiffness * (1.0 - node.y) - 9.81 + node.u]

    stance = trajopt.Problem(
        trajopt.system(("y", "v"), ("u",), stance_rates),
        trajopt.Trajectory.collocation(6, order=4, duration=(0.2, 1.0)),
        name=names[0],
    )
    stance.minimize(effort)
    flight = trajopt.Problem(
        trajopt.system(("y", "v", "x"), (), lambda node: [node.v, -9.81, node.parameter("speed")]),
        trajopt.Trajectory.collocation(2, order=2, duration=(0.1, 1.0)),
        name=names[1],
    )
    speed = flight.parameter("speed", 0.1, 5.0, guess=1.0)
    flight.start_at(x=[1.0, None, 0.0])
    flight.end_at(x=[1.0, None, 0.5])
    flight.minimize(speed, weight=0.1)
    both = trajopt.Phases(stance, flight, name="hop")
    both.link(lambda a, b: [a.y - b.y, a.v - b.v], stance.at("end"), flight.at("start"), name="take-off")
    both.link(lambda a, b: [a.y - b.y, 0.8 * a.v - b.v], flight.at("end"), stance.at("start"), name="landing")
    stance.guess([[1.0, -1.0], [0.9, 0.0], [1.0, 1.0]], duration=0.5)
    flight.guess([[1.0, 1.0, 0.0], [1.0, -1.0, 0.5]], duration=0.3)
    return both


@pytest.fixture(scope="module")
def solved():
    solution = trajopt.solve(hop())
    assert solution.converged, solution.status
    return solution


def test_phases_of_different_dimensions_close_a_cycle(solved):
    stance, flight = solved.phases
    report = solved.verify()
    assert report.verdict == "PASS", report.reason
    assert report.kkt_recomputed and report.kkt_error < 1e-6
    assert stance.q(stance.duration) == pytest.approx(flight.q(0.0)[:2], abs=1e-9)
    assert stance.q(0.0)[1] == pytest.approx(0.8 * flight.q(flight.duration)[1], abs=1e-9)
    fall = flight.q(0.0)[1] - 9.81 * flight.duration
    assert flight.q(flight.duration)[1] == pytest.approx(fall, abs=1e-9)
    assert set(solved.multipliers) == {"take-off", "landing"}
    assert str(report).startswith("PASS: all phases and links hold")
    assert "phase 'flight'" in report.table and "landing, 1" in report.table


def test_every_phase_is_a_solution_that_can_be_checked_by_itself(solved):
    for phase in solved.phases:
        report = phase.verify()
        assert report.kkt_recomputed and report.kkt_error < 1e-5
        assert report.max_violation_nodes < 1e-7
    assert solved.duration == pytest.approx(sum(phase.duration for phase in solved.phases))
    with pytest.raises(
        AttributeError, match=r"every phase has its own 'tau': ask one, solution\.phases\[0\]"
    ):
        solved.tau(0.0)
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        assert solved.nothing


@pytest.mark.long
def test_an_integration_of_both_phases_arrives_where_the_cycle_began(solved):
    """Shooting, by SciPy, under the spring's tension that was found."""
    from scipy.integrate import solve_ivp

    stance, flight = solved.phases
    tension = trajopt.state("u")

    def rates(t, x):
        return [x[1], 40.0 * (1.0 - x[0]) - 9.81 + stance.value(tension, min(t, stance.duration))[0]]

    start = stance.q(0.0)
    up = solve_ivp(
        rates, (0.0, stance.duration), start, rtol=1e-10, atol=1e-12, max_step=stance.duration / 60
    )
    y, v = up.y[:, -1]
    T = flight.duration
    landed = [y + v * T - 0.5 * 9.81 * T**2, 0.8 * (v - 9.81 * T)]
    assert landed == pytest.approx(start, abs=1e-5)


@pytest.mark.long
def test_a_saved_solution_of_phases_is_read_again(solved, tmp_path):
    path = tmp_path / "hop.npz"
    solved.save(path)
    again = trajopt.PhasesSolution.load(path, hop())
    assert str(again) == str(solved) and again.run == solved.run
    assert again.multipliers.keys() == solved.multipliers.keys()
    for one, other in zip(again.phases, solved.phases, strict=True):
        t = np.linspace(0.0, one.duration, 17)
        assert np.array_equal(one.q(t), other.q(t)) and one.status is other.status
    assert again.verify().table == solved.verify().table
    bare = trajopt.PhasesSolution.load(path)
    assert bare.objective == solved.objective and bare.phases[1].q(0.0) is not None
    with pytest.raises(
        SolutionFileError, match=r"cannot be built again .*PhasesSolution\.load\(path, phases\)"
    ):
        bare.verify()


def test_files_of_other_phases_and_other_files_are_refused(solved, tmp_path):
    path, one = tmp_path / "hop.npz", tmp_path / "stance.npz"
    solved.save(path)
    solved.phases[0].save(one)
    with pytest.raises(
        SolutionFileError, match="is a 'trajopt solution of phases', not a 'trajopt solution'"
    ):
        trajopt.Solution.load(path)
    with pytest.raises(
        SolutionFileError, match="is a 'trajopt solution', not a 'trajopt solution of phases'"
    ):
        trajopt.PhasesSolution.load(one)
    both = hop()
    with pytest.raises(SolutionFileError, match="has 2 phases, 1 were given"):
        trajopt.PhasesSolution.load(path, trajopt.Phases(both.problems[0]))
    with pytest.raises(SolutionFileError, match="moves the joints"):
        trajopt.PhasesSolution.load(path, trajopt.Phases(*both.problems[::-1]))
    with pytest.raises(SolutionFileError, match=r"give the trajopt\.Phases"):
        trajopt.PhasesSolution.load(path, both.problems[0])
    with np.load(path) as file:
        arrays = dict(file)
    del arrays["phase_1_durations"]
    np.savez(path, **arrays)
    with pytest.raises(SolutionFileError, match="it holds no 'durations'"):
        trajopt.PhasesSolution.load(path)


@pytest.mark.long
def test_a_phase_that_was_moved_is_found_by_its_links(solved):
    """Both phases hold by themselves, but they do not meet."""
    other = trajopt.solve(hop(stiffness=45.0))
    mixed = replace(solved, phases=(solved.phases[0], other.phases[1]))
    report = mixed.verify()
    assert report.verdict == "FAIL" and report.reason.startswith("link take-off, 1: missed by")
    assert not report.holds_at_nodes


@pytest.mark.long
def test_a_solve_that_is_stopped_says_so(solved):
    solution = trajopt.solve(hop(), trajopt.Ipopt(max_iterations=1))
    assert not solution.converged and solution.status is trajopt.Status.ITERATION_LIMIT
    assert solution.verify().reason == "the solve did not converge (reached the iteration limit)"
    assert "not converged" in str(solution)


@pytest.mark.long
def test_slsqp_finds_the_same_optimum(solved):
    solution = trajopt.solve(hop(), trajopt.Slsqp(tol=1e-10))
    assert solution.objective == pytest.approx(solved.objective, rel=1e-6)


def test_phases_of_one_name_are_numbered():
    both = hop(names=("leg", "leg"))
    assert both.phase_names == ("leg 0", "leg 1")
    assert repr(both) == "Phases(leg 0, leg 1; 2 links)"


def test_samples_of_phases_go_on_from_phase_to_phase(solved, tmp_path):
    samples, (stance, flight) = solved.sample(50), solved.phases
    assert list(samples.columns)[:2] == ["t", "phase"]
    in_flight = samples["phase"] == 1.0
    assert samples.t[-1] == pytest.approx(solved.duration)
    assert samples.t[in_flight][0] == stance.duration == samples.t[~in_flight][-1]
    own = flight.sample(50)
    for name, values in own.columns.items():
        if name != "t":
            assert np.array_equal(samples[name][in_flight], values)
    for name in set(stance.sample(50).columns) - set(own.columns):
        assert np.all(np.isnan(samples[name][in_flight])) and np.all(np.isfinite(samples[name][~in_flight]))
    solved.to_csv(tmp_path / "hop.csv", rate=50)
    assert len((tmp_path / "hop.csv").read_text().splitlines()) == 1 + len(samples)


@pytest.mark.long
def test_limits_in_conflict_are_diagnosed_by_their_phases():
    """Eight metres are the farthest in four seconds, two at full thrust in each phase; ten are asked."""
    first, second = drive("first"), drive("second")
    first.start_at(x=[0.0, 0.0])
    second.end_at(x=[10.0, None])
    both = trajopt.Phases(first, second)
    for state in ("x", "v"):
        both.link(trajopt.state(state), first.at("end"), second.at("start"), name=f"same {state}")
    solution = trajopt.solve(both)
    assert not solution.converged
    diagnosis = solution.diagnose()
    assert not diagnosis.feasible
    named = {conflict.place.limit for conflict in diagnosis.conflicts}
    assert named and all(name.startswith(("first: ", "second: ", "link of ")) for name in named)
    assert diagnosis.changes and {change.limit.partition(": ")[0] for change in diagnosis.changes} <= {
        "first",
        "second",
    }
    assert "violated most at the last point" in str(diagnosis)  # its motion is on the knots of the program
    assert trajopt.diagnose(both, solution=solution).conflicts == diagnosis.conflicts


def drive(name):
    car = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(car, trajopt.Trajectory.collocation(4, order=3, duration=(0.5, 2.0)), name=name)
    problem.subject_to(trajopt.state("u"), -1.0, 1.0, name="thrust")
    problem.minimize(effort)
    return problem


@pytest.mark.long
def test_a_phase_that_misses_its_equation_says_what_the_solve_of_all_phases_tried():
    """Refinements belong to all phases together; a phase asked for the halving that had just ended."""

    def part(name):
        def rates(node):
            return [node.u - 2.5 * np.tanh(60.0 * (node.x - 0.31))]

        mesh = trajopt.Trajectory.collocation(2, order=3, duration=1.0)
        problem = trajopt.Problem(trajopt.system(("x",), ("u",), rates), mesh, name=name)
        problem.minimize(effort)
        return problem

    first, second = part("first"), part("second")
    first.start_at(x=[0.0])
    second.end_at(x=[1.0])
    both = trajopt.Phases(first, second)
    both.link(trajopt.q, first.at("end"), second.at("start"))
    plain = trajopt.solve(both, refine=None, starts=1)
    reason = plain.verify().reason
    assert "missed by" in reason and reason.endswith("=trajopt.Refined(tol=0.01) halves intervals there")
    rounds = (RefinementRound(4, plain.objective, 0.5, 0.0),)
    halved = plain.refined_by(RefinementRecord(1e-2, rounds, "the largest number of rounds was reached"))
    tried = "halving intervals there was tried (the largest number of rounds was reached): solve on more"
    assert tried in halved.verify().reason
