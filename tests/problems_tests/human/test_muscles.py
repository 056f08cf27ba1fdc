"""Muscles of a given motion: their moments, what they cannot do, and the files beside them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from muscled_arm import muscled_arm  # pyright: ignore  (tests/support is on the path)

import dynamics
import trajopt
from problems.cli.command_line import main
from problems.human.measured.inverse_dynamics import joint_moments
from problems.human.motions.motion_file import MotionTable
from problems.human.muscles.contact_forces import contact_forces, joint_force
from problems.human.muscles.electromyography import Electromyography, correlations, read_electromyography
from problems.human.muscles.given_motion import muscles_of_motion
from problems.human.muscles.muscle_use import muscle_use, solve_muscles
from problems.human.opensim.storage import Storage, read_storage, write_storage
from problems.human.plot.muscle_curves import activations
from trajopt.base.errors import OptionError, ProblemError

TIME = np.linspace(0.0, 2.0, 101)
SWING = MotionTable(TIME, {"elbow": 0.5 * np.sin(3.0 * TIME)})


def moments_of(model, motion=SWING):
    return joint_moments(model, motion, cutoff=None)


def used(force=150.0, **options):
    model = dynamics.load_osim(muscled_arm(force), muscles=True)
    settings = {"intervals": 50, "reserves": 0.1} | options
    return solve_muscles(muscles_of_motion(model, moments_of(model), **settings))


@pytest.fixture(scope="module")
def use():
    return used()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, use):
    place = tmp_path_factory.mktemp("arm")
    (place / "arm.osim").write_text(muscled_arm())
    write_storage(place / "swing.mot", Storage("swing", TIME, SWING.columns))
    channels = {"soleus": use.activation[:, 0], "flexor": 0.1 + 2.0 * use.activation[:, 0]}
    write_storage(place / "emg.sto", Storage("recorded", use.time, channels))
    return place


@pytest.mark.long
def test_muscles_give_the_moments_of_the_motion(use):
    assert use.solution.converged
    given = np.einsum("km,kmc->kc", use.force, use.arms)
    assert np.abs(use.moment - given - use.reserve - use.missed).max() < 1e-9
    largest = np.abs(use.moment).max()  # activation bends between nodes where one muscle takes over
    assert np.sqrt(np.mean(use.missed**2)) < 0.01 * largest
    assert np.abs(use.missed).max() < 0.1 * largest
    assert np.abs(use.reserve).max() < 0.05 * np.abs(use.moment).max()
    assert use.problems == ()
    assert use.activation.min() > 0.01 - 1e-6
    assert use.excitation.max() < 1.0 + 1e-6


@pytest.mark.long
def test_the_muscle_that_is_not_needed_rests(use):
    """The muscle of the other sign is at its least while the joint asks for a large moment of one sign."""
    wanted = use.moment[:, 0] / np.abs(use.moment).max()
    flexor, extensor = (use.activation[:, use.of(name)] for name in ("flexor_r", "extensor_r"))
    arm = use.arms[:, use.of("flexor_r"), 0]
    assert np.all(arm > 0.0)
    assert extensor[wanted > 0.6].max() < 0.03 < flexor[wanted > 0.6].min()
    assert flexor[wanted < -0.6].max() < 0.03 < extensor[wanted < -0.6].min()


@pytest.mark.long
def test_activation_begins_as_the_excitation(use):
    assert use.activation[0] == pytest.approx(use.excitation[0], abs=1e-6)


@pytest.mark.long
def test_every_guess_has_the_same_optimum_and_a_finer_mesh_nearly_the_same():
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    moments = moments_of(model)
    found = []
    for guess in (0.02, 0.05, 0.5):
        motion = muscles_of_motion(model, moments, intervals=50)
        motion.problem.guess(x=np.full((2, 2), guess))
        found.append(solve_muscles(motion, tol=1e-9).solution.objective)
    assert np.ptp(found) < 1e-6 * found[0]
    fine = solve_muscles(muscles_of_motion(model, moments, intervals=100)).solution.objective
    assert fine == pytest.approx(found[0], rel=0.01)


@pytest.mark.long
def test_compliant_tendons_carry_the_force_of_their_fibres():
    use = used(tendon="compliant")
    assert use.solution.converged
    along = (use.fibre.active + use.fibre.passive) * use.fibre.cosine
    assert np.abs(along - use.force).max() < 0.05 * use.force.max()
    stretched = use.fibre.length * use.fibre.cosine
    assert np.all(use.force > 0.0)
    assert stretched.max() < used().fibre.length.max() + 1e-3


@pytest.mark.long
def test_a_motion_that_muscles_cannot_drive_is_named_with_joint_time_and_size():
    weak = used(force=10.0)
    assert weak.solution.converged
    (line,) = weak.problems
    at = int(np.abs(weak.reserve[:, 0]).argmax())
    assert f"cannot give the moment of 'elbow': the reserve reaches {abs(weak.reserve[at, 0]):.3g}" in line
    assert f"at {weak.time[at]:.4g} s" in line


@pytest.mark.long
def test_states_and_controls_are_written_as_moco_does(use, tmp_path):
    use.write(tmp_path / "muscles.sto")
    table = read_storage(tmp_path / "muscles.sto")
    assert set(table.columns) == {
        "/forceset/flexor_r/activation", "/forceset/extensor_r/activation", "/forceset/flexor_r",
        "/forceset/extensor_r", "/forceset/reserve_elbow",
    }  # fmt: skip
    assert table.columns["/forceset/flexor_r"] == pytest.approx(use.excitation[:, 0], rel=1e-9)
    header = (tmp_path / "muscles.sto").read_text().partition("endheader")[0]
    assert "num_states=2" in header and "num_controls=3" in header


@pytest.mark.long
def test_electromyography_is_matched_by_names_or_as_told(use, folder):
    with pytest.raises(ProblemError, match="of which none is a muscle of the model"):
        read_electromyography(folder / "emg.sto", use.names)
    told = read_electromyography(folder / "emg.sto", use.names, muscles={"flexor": "flexor_r"})
    assert correlations(use, told)["flexor"] == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(OptionError, match=r"no column 'flexer' .did you mean 'flexor'"):
        read_electromyography(folder / "emg.sto", use.names, muscles={"flexer": "flexor_r"})
    with pytest.raises(OptionError, match="there is no muscle 'biceps'"):
        read_electromyography(folder / "emg.sto", use.names, muscles={"flexor": "biceps"})


def test_what_is_no_problem_of_muscles_is_refused(use):
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    bare = dynamics.load_osim(muscled_arm())
    moments = moments_of(model)
    with pytest.raises(ProblemError, match="muscles=True"):
        muscles_of_motion(bare, moments)
    idle = muscled_arm().replace("<max_isometric", "<appliesForce>false</appliesForce><max_isometric")
    with pytest.raises(ProblemError, match="no muscle of the model's file passes a joint"):
        muscles_of_motion(dynamics.load_osim(idle, muscles=True), moments)
    with pytest.raises(OptionError, match="reserves has knee, which has no reserve: there are elbow"):
        muscles_of_motion(model, moments, reserves={"knee": 2.0})
    with pytest.raises(OptionError, match="reserve of 'elbow'"):
        muscles_of_motion(model, moments, reserves=0.0)
    with pytest.warns(dynamics.MuscleWarning, match="pulses of excitation cheaper"):
        muscles_of_motion(model, moments, smoothing=10.0)
    with pytest.raises(OptionError, match="tendon"):
        muscles_of_motion(model, moments, tendon="elastic")  # type: ignore[arg-type]
    short = joint_moments(model, SWING, cutoff=None, window=(0.5, 0.55))
    with pytest.raises(ProblemError, match="the motion has 3 times: give more than 5"):
        muscles_of_motion(model, short)


def test_electromyography_whose_times_go_back_is_refused(tmp_path):
    file = tmp_path / "emg.sto"
    write_storage(file, Storage("recorded", np.array([0.0, 0.2, 0.1]), {"soleus": np.ones(3)}))
    with pytest.raises(ProblemError, match=r"time goes from 0\.2 to 0\.1 s"):
        read_electromyography(file, ("soleus_r",))


@pytest.mark.long
def test_recorded_activity_is_drawn_as_a_share_of_its_largest_value(use):
    """A recording in microvolts and one in volts have the same figure, within its axes."""
    for unit in (1e-6, 1e6):
        recorded = Electromyography(use.time, unit * use.activation[:, :1], {"flexor": ("flexor_r",)})
        (area,) = activations(use, recorded=recorded).axes[0].collections
        assert np.asarray(area.get_paths()[0].vertices)[:, 1].max() == pytest.approx(1.0)
    with pytest.raises(OptionError, match="the recording says which muscles are drawn"):
        activations(use, ["flexor_r"], recorded)


@pytest.mark.long
def test_the_command_writes_tables_and_figures(folder):
    out = folder / "run"
    arguments = ["muscles", str(folder / "arm.osim"), str(folder / "swing.mot"), "--cutoff", "0"]
    arguments += ["--joint-load", "hinge", "0.01"]
    run = CliRunner().invoke(main, [*arguments, "--out", str(out), "--json"], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    answer = json.loads(run.stdout)
    assert answer["status"] == trajopt.Status.CONVERGED.value and not answer["problems"]
    assert all((out / name).is_file() for name in ("muscles.sto", "joint_forces.sto", "joint_forces.png"))
    assert set(answer["largest_force"]) == {"flexor_r", "extensor_r"}


@pytest.mark.long
def test_the_command_prints_how_activations_follow_recorded_activity(folder, use):
    out, channel = folder / "with_emg", {"flexor_r": 0.1 + 2.0 * use.activation[:, 0]}
    write_storage(folder / "flexor.sto", Storage("recorded", use.time, channel))
    arguments = ["muscles", str(folder / "arm.osim"), str(folder / "swing.mot"), "--cutoff", "0"]
    recorded = ["--emg", str(folder / "flexor.sto"), "--out", str(out)]
    run = CliRunner().invoke(main, [*arguments, *recorded], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    (line,) = (line for line in run.output.splitlines() if line.startswith("correlation of activations"))
    assert line.endswith("flexor_r 1.00")  # its channel is this activation, scaled and shifted


@pytest.mark.long
def test_the_load_of_a_joint_is_a_term_whose_cost_unloads_it():
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    moments = moments_of(model)
    loads = []
    for weight in (0.0, 1.0):
        motion = muscles_of_motion(model, moments, intervals=50, reserves=10.0)
        load = joint_force(model, motion, "hinge")
        motion.problem.minimize(weight * load**2, name="load")
        solution = trajopt.solve(motion.problem, refine=None, starts=1, coarse_to_fine=False)
        assert solution.converged
        found = contact_forces(model, moments, muscle_use(motion, solution))
        expected = found.wrench[:, 0, 3:] / found.weight
        given = np.reshape(solution.value(load, TIME), (-1, 3))
        assert (
            np.abs(given - expected).max() < 0.02 * np.abs(expected).max()
        )  # tensions are interpolated there
        loads.append(np.mean(expected**2))
    assert loads[1] < 0.9 * loads[0]
    with pytest.raises(OptionError, match="hinge"):
        joint_force(model, motion, "knee")


@pytest.mark.long
def test_the_contact_force_balances_weight_motion_and_the_pull_of_muscles(use):
    """On the forearm, in the plane: m (a - g) = contact + pull of both muscles along their lines."""
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    moments = moments_of(model)
    found = contact_forces(model, moments, use)
    assert found.joints == ("hinge",) and found.bodies == ("fore",)
    q, v, a = (x[:, 0] for x in (moments.q, moments.v, moments.a))
    along, across = np.stack([np.sin(q), -np.cos(q)], 1), np.stack([np.cos(q), np.sin(q)], 1)
    motion = 4.0 * (0.2 * a[:, None] * across - 0.2 * v[:, None] ** 2 * along + np.array([0.0, 9.80665]))
    pull = np.zeros_like(motion)
    for i, side in enumerate((1.0, -1.0)):
        end = 0.05 * along + 0.04 * side * across
        line = np.array([0.05 * side, 0.25]) - end
        tension = np.interp(moments.time, use.time, use.force[:, i])
        pull += tension[:, None] * line / np.linalg.norm(line, axis=1)[:, None]
    assert np.abs(found.wrench[:, 0, 3:5] - (motion - pull)).max() < 1e-9 * np.abs(pull).max()
    assert "body weights" in str(found)
    later = moments_of(model, MotionTable(TIME + 1.0, SWING.columns))
    with pytest.raises(ProblemError, match="the moments are of 1 to 3 s, the muscles of 0 to 2 s"):
        contact_forces(model, later, use)
