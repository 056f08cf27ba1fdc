"""Muscles that drive a motion near a measured one, under measured forces."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from muscled_arm import muscled_arm  # pyright: ignore  (tests/support is on the path)

import dynamics
from problems.cli.command_line import main
from problems.human.measured.external_loads import MeasuredForce
from problems.human.measured.inverse_dynamics import JointMoments, joint_moments
from problems.human.motions.motion_file import MotionTable, read_motion
from problems.human.muscles.given_motion import muscles_of_motion
from problems.human.muscles.muscle_use import solve_muscles
from problems.human.muscles.tracked_motion import TrackedUse, muscles_track, solve_tracking
from problems.human.opensim.storage import Storage, write_storage
from trajopt.base.errors import OptionError

TIME = np.linspace(0.0, 1.0, 101)
SWING = MotionTable(TIME, {"elbow": 0.5 * np.sin(3.0 * TIME)})
#: 5 N to the right at the world's (0, -0.3, 0), and 0.5 N m about z
PUSH = MeasuredForce(
    "push", "fore", "ground", "ground", TIME, np.tile([5.0, 0.0, 0.0], (101, 1)),
    np.tile([0.0, -0.3, 0.0], (101, 1)), np.tile([0.0, 0.0, 0.5], (101, 1)),
)  # fmt: skip
ABOUT_THE_HINGE = 0.3 * 5.0 + 0.5


def posed(forces=(), force=150.0, **options):
    model = dynamics.load_osim(muscled_arm(force), muscles=True)
    moments = joint_moments(model, SWING, forces, cutoff=None)
    return muscles_of_motion(model, moments, **({"intervals": 20, "reserves": 0.1} | options))


@pytest.mark.long
@pytest.mark.parametrize("tendon", ["rigid", "compliant"])
def test_a_motion_that_is_held_to_what_was_measured_has_the_muscles_of_the_measured_one(tendon):
    given = posed((PUSH,), tendon=tendon)
    found = solve_tracking(muscles_track(given, (PUSH,), weight=1e6))
    assert found.use.solution.converged
    assert found.deviation[0] < np.deg2rad(0.05)
    along = solve_muscles(given)
    assert found.use.solution.cost_terms["excitations"] == pytest.approx(
        along.solution.cost_terms["excitations"], rel=0.05
    )
    q, a = found.moments.q[:, 0], found.moments.a[:, 0]
    inertia, weight = 0.02 + 4.0 * 0.2**2, 4.0 * 9.80665 * 0.2
    assert found.moments.tau[:, 0] == pytest.approx(
        inertia * a + weight * np.sin(q) - ABOUT_THE_HINGE, abs=1e-6
    )


@pytest.mark.long
def test_a_motion_that_muscles_cannot_drive_gives_way():
    given = posed(force=40.0, reserves=0.01)
    along = solve_muscles(given)
    assert along.problems
    found = solve_tracking(muscles_track(given, weight=1.0))
    assert found.use.solution.converged and not found.use.problems
    assert np.abs(found.use.reserve).max() < 0.05 * np.abs(along.reserve).max()
    assert np.rad2deg(found.deviation[0]) > 2.0
    assert np.abs(found.use.missed).max() < 0.1 * np.abs(found.use.moment).max()
    assert f"{np.rad2deg(found.deviation[0]):.2g} at elbow (rms)" in str(found)


@pytest.mark.long
def test_the_command_writes_the_motion_that_muscles_drive(tmp_path):
    (tmp_path / "arm.osim").write_text(muscled_arm())
    write_storage(tmp_path / "swing.mot", Storage("swing", TIME, SWING.columns))
    arguments = ["muscles", str(tmp_path / "arm.osim"), str(tmp_path / "swing.mot"), "--cutoff", "0"]
    arguments += ["--track", "--intervals", "20", "--out", str(tmp_path / "run"), "--json"]
    run = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert run.exit_code == 0, run.output
    answer = json.loads(run.stdout)
    moved = read_motion(tmp_path / "run" / "coordinates.sto").columns["elbow"]
    times = read_motion(tmp_path / "run" / "coordinates.sto").time
    distance = np.sqrt(np.mean((moved - 0.5 * np.sin(3.0 * times)) ** 2))
    assert answer["deviation"]["elbow"] == pytest.approx(distance, rel=1e-3)
    assert str(tmp_path / "run" / "coordinates.png") in answer["files"]
    assert (tmp_path / "run" / "coordinates.png").stat().st_size > 5000


def test_options_that_do_not_go_with_each_other_are_refused(tmp_path):
    for name in ("arm.osim", "swing.mot"):
        (tmp_path / name).write_text("")
    arguments = ["muscles", str(tmp_path / "arm.osim"), str(tmp_path / "swing.mot")]
    for options, message in (
        (["--track", "--joint-load", "hinge", "1"], "leave it or --track out"),
        (["--joint-load", "hinge", "-1"], "the weight of hinge = -1.0: expected a finite number above 0"),
        (["--track-weight", "5"], "give --track, too"),
    ):
        refused = CliRunner().invoke(main, [*arguments, *options])
        assert refused.exit_code == 2 and message in refused.output


def test_coordinates_that_were_not_measured_do_not_count_in_the_distance_of_angles():
    zero = np.zeros((2, 3))
    moments = JointMoments(
        ("hip", "toe", "lift"), np.arange(2.0), zero + np.deg2rad([3.0, 0.0, 1.0]), zero, zero, zero,
        np.array([False, False, True]), (), ("toe",), 0.0,
    )  # fmt: skip
    assert "3 degrees on average of angles, 3 at hip" in str(TrackedUse(None, moments, zero))  # pyright: ignore


def test_weights_and_motors_that_are_not_positive_are_refused():
    with pytest.raises(OptionError, match="weight"):
        muscles_track(posed(), weight=0.0)
    with pytest.raises(OptionError, match="motors"):
        muscles_track(posed(), motors=-1.0)
