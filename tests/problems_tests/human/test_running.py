"""A run: ballistics in flight, impulses of the ground, tendons against the moments that stretch them."""

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from scipy.integrate import trapezoid

import trajopt
from problems import gait, running
from problems.human.assessment.running import run_criteria, run_events
from problems.human.assessment.slip import sinking, slip
from problems.human.body.model import ACTIVE, skeleton
from problems.human.body.person import Person
from problems.human.gait.sourced_cost import muscle_power, muscle_torques
from problems.human.gait.step import Step
from problems.human.opensim.osim_model import osim_model
from problems.human.opensim.storage import Storage, write_storage
from problems.human.predicted.running_guess import running_guess
from problems.human.predicted.solved_walk import RUNS
from problems.human.predicted.stances import (
    POINTS,
    RUN,
    STANCES,
    STRIDE,
    held,
    run_trajectory,
    step_trajectory,
)
from problems.human.predicted.tendons import ACHILLES
from trajopt.base.errors import OptionError, ProblemError
from trajopt.transcription.transcribe import transcribe

WEIGHT = 75.0 * 9.81


@pytest.fixture(scope="module")
def run():
    """At the defaults, refined as `solve` does."""
    return solved_at_defaults("running")


def test_all_arcs_of_a_run_have_as_many_intervals_and_those_of_a_step_by_the_time_that_they_take_at_first():
    for drawn in (False, True):
        runs = run_trajectory(0.36, 4, drawn)
        assert [arc.basis.breakpoints.size - 1 for arc in runs.arcs] == [4, 4, 4, 4]
    assert [arc.basis.breakpoints.size - 1 for arc in step_trajectory(0.6, 4).arcs] == [2, 1, 4, 3]
    assert [arc.basis.breakpoints.size - 1 for arc in step_trajectory(0.6, 4, STRIDE).arcs] == [
        2,
        1,
        4,
        3,
    ] * 2
    for arc in (1, 2):  # a foot stands on the same conditions in a run as in a walk
        assert {p: held(p, arc, RUN) for p in RUN[arc]} == {
            p: held(p, arc + 1) for p in STANCES[arc + 1] if p.endswith("_r")
        }


def test_the_guess_of_a_run_ends_as_the_mirror_image_of_its_start():
    names, step = Person().skeleton(ACTIVE).joint_names, Step(1.1, 3.0, 1.75, 75.0)
    first, last = running_guess(names, step)(np.array([0.0, 1.0]))
    for side, other in (("r", "l"), ("l", "r")):
        for joint in ("hip_{}_flex", "knee_{}_flex", "ankle_{}_dorsi", "shoulder_{}_flex"):
            i, j = names.index(joint.format(side)), names.index(joint.format(other))
            assert last[i] == pytest.approx(first[j], abs=1e-12)
    assert last[0] - first[0] == pytest.approx(step.length)


def test_fibres_on_a_tendon_that_takes_up_the_motion_of_the_joint_give_no_power():
    """u = v + d(m / k)/dt: isometric fibres, whose joint moves by what the tendon recoils."""
    model = Person().skeleton(ACTIVE)
    at = model.joint_names.index("ankle_r_dorsi")

    class Node:
        q = a = np.zeros(model.n)
        v = np.where(np.arange(model.n) == at, 2.0, 0.0)
        tau = np.where(np.arange(model.n) == at, -90.0, 0.0)

    muscles = muscle_torques(model, Person(), springs=False)
    assert muscle_power(muscles, 5.0).function(Node) == pytest.approx(np.hypot(180.0, 5.0) - 5.0)
    assert muscle_power(muscles, 5.0, {at: lambda node: -2.0}).function(Node) == 0.0


@pytest.mark.long
@pytest.mark.parametrize("file", RUNS)
def test_a_stored_run_meets_all_rows_of_its_own_step(file):
    """Accelerations, forces and stretches of tendons are stored with the motion: only rounding is missing."""
    speed, length = RUNS[file]
    program = transcribe(running.build(speed=speed, step_length=length))
    rows = program.rows(program.start)
    assert np.maximum(program.row_lower - rows, rows - program.row_upper).max() < 1e-6


@pytest.mark.long
def test_a_run_carries_a_backpack_and_has_a_model_and_a_measured_motion_as_a_walk_does(tmp_path):
    model, motion = str(tmp_path / "body.osim"), str(tmp_path / "m.mot")
    osim_model(skeleton(), 1.0).write(model, encoding="utf-8", xml_declaration=True)
    t = np.linspace(1.0, 1.4, 9)
    knee = {"knee_angle_r": 40.0 + 50.0 * (t - 1.0)}
    write_storage(motion, Storage("Coordinates", t, knee, in_degrees=True))
    assert running.build(backpack=10.0).dynamics.total_mass == pytest.approx(85.0)
    problem = running.build(model=model, track=motion, track_window=(1.1, 1.3))
    assert {"heel_r", "toe_l"} <= {frame.name for frame in problem.dynamics.frames}
    measured = problem.datasets["measured angles"].values[:, 0]
    np.testing.assert_allclose(measured[[0, -1]], np.deg2rad([45.0, 55.0]), atol=1e-9)
    assert any(cost.name == "distance to the measured motion" for cost in problem.costs)
    nlp = trajopt.transcribe(problem)
    assert np.isfinite(nlp.objective(nlp.start)) and np.isfinite(nlp.rows(nlp.start)).all()


def test_a_start_of_a_run_that_is_none_is_refused():
    with pytest.raises(OptionError, match="start = 'measured': expected 'solved' or 'drawn'"):
        running.build(start="measured")


@pytest.mark.long
def test_a_run_has_no_longest_step_of_legs_on_the_ground():
    running.build(speed=5.0, step_length=1.9)
    with pytest.raises(ProblemError, match="beyond the legs"):
        gait.build(contact="predicted", step_length=1.9)
    with pytest.raises(OptionError, match="the weight of power is -1"):
        running.build(power=-1.0)


@pytest.mark.long
def test_the_default_run_is_one_of_people_and_passes_verify(run):
    """Duty factor, flight and peak by the ranges of docs/running.md, written before the first solve."""
    report = run.verify()
    assert run.converged and report.verdict == "PASS", report.reason
    assert all(each.met for each in run_criteria(run)), run_criteria(run)


@pytest.mark.long
def test_the_centre_of_mass_flies_on_a_parabola_and_the_ground_carries_the_weight(run):
    t = np.linspace(0.0, run.duration, 8001)
    force = sum(run.value(run.asked.contacts[p].force, t) for p in POINTS if run.asked.contacts[p].arcs)
    impulse = trapezoid(force, t, axis=0) / (WEIGHT * run.duration)
    assert impulse[1] == pytest.approx(1.0, abs=5e-3) and abs(impulse[0]) < 5e-3
    flight = np.linspace(run.duration - run.curve.durations[-1], run.duration, 21)
    height = run.value(trajopt.Quantity("centre_of_mass"), flight)[:, 1]
    fit = np.polynomial.Polynomial.fit(flight, height, 2).convert()
    assert 2.0 * fit.coef[2] == pytest.approx(-9.81, rel=0.02)
    assert np.abs(fit(flight) - height).max() < 2e-4


@pytest.mark.long
def test_events_of_a_run_are_read_from_its_forces(run):
    found, durations = run_events(run), run.curve.durations
    assert found.flight == pytest.approx(durations[-1], abs=2e-3)
    assert found.contact == pytest.approx(durations[:3].sum(), abs=2e-3)
    assert found.duty_factor == pytest.approx(found.contact / (2.0 * run.duration))
    assert [each.value for each in run_criteria(run)] == [found.duty_factor, found.flight, found.peak]
    assert max(slip(run).values()) < 2e-3 and max(sinking(run).values()) < 5e-3


@pytest.mark.long
def test_the_tendon_is_stretched_by_the_moment_that_pulls_on_it(run):
    model = run.problem.dynamics
    at = model.joint_names.index("ankle_r_dorsi")
    nodes, durations = run.problem.trajectory.nodes, run.curve.durations
    arcs = run.problem.trajectory.arcs
    apart = [np.abs(arcs[a].basis.breakpoints - s).min() for a, s in zip(nodes.arc, nodes.s, strict=True)]
    inside = ~nodes.limits_only & (np.array(apart) > 1e-9)  # where intervals meet, accelerations jump
    begins = np.append(0.0, np.cumsum(durations))
    t = (begins[nodes.arc] + durations[nodes.arc] * nodes.s)[inside]

    class Node:
        q, v, tau = run.q(t).T, run.v(t).T, run.tau(t).T

    moment = muscle_torques(model, Person())(Node)[at]
    stretch = run.value(trajopt.Quantity("extra:stretch of ankle_r_dorsi"), t).ravel()
    np.testing.assert_allclose(stretch, moment / ACHILLES, atol=1e-5)
    assert moment.min() < -50.0


@pytest.mark.long
def test_tendons_hardly_gain_energy_where_accelerations_jump(run):
    """Between arcs m / k may jump with the accelerations: by little of what the tendon stores."""
    ends = np.append(0.0, np.cumsum(run.curve.durations))
    gained, stored = 0.0, 0.0
    for side in "rl":
        curve = trajopt.Quantity(f"extra:stretch of ankle_{side}_dorsi")
        before, behind = (run.value(curve, ends[1:-1] + shift).ravel() for shift in (-1e-7, 1e-7))
        gained += 0.5 * ACHILLES * float(np.abs(behind**2 - before**2).sum())
        stored = max(stored, 0.5 * ACHILLES * float((run.value(curve, ends).ravel() ** 2).max()))
    assert stored > 8.0 and gained < 0.15 * stored  # J
