"""The pages of docs that teach are run as they stand, and do what they say."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"

NEWCOMERS = """\
fix final time, free final time, boundary condition, periodic motion, cyclic, avoid obstacle, \
collision, jerk, waypoint, end effector, orientation, initial guess, warm start, \
model predictive control, mpc, feedback gain, global minimum, infeasible, not converge, \
parallel cluster slurm, jax, pytorch, mujoco, pinocchio, gpu, degrees, payload, floating base, xacro, \
inverse kinematics, parameter estimation, friction, energy, lagrange multiplier, costate, sensitivity, \
csv excel, video gif, ros urscript, resume, bibtex, license, bug, double integrator, \
time-varying limit, gait, muscle, simulate forward, bang-bang, inverse optimal control, terminal cost, \
mayer, tool speed, self-collision, acceleration limit, rate of torques, underactuated, passive joint, \
damper, quadruped, humanoid, accuracy mesh, verbose, tolerance, jupyter google colab, \
straight line cartesian, gripper level, orbit transfer, backpack, limp, running, standing up, jump, \
markers motion capture, ground reaction forces, metabolic cost, path of the hand, matlab, kuka, plc, \
commercial license, point cloud, stl, conveyor, penalty cost, pendulum swing"""


def run(page):
    """Execute every Python block of a page in one namespace, as a reader would."""
    text = (DOCS / page).read_text(encoding="utf-8")
    namespace = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, page, "exec"), namespace)
    return namespace


@pytest.mark.long
def test_the_tutorial_on_terms_does_what_it_says(capsys):
    done = run("first_term.md")
    assert done["after"].converged and done["after"].duration > done["before"].duration + 1e-3
    peak = done["gentle"].parameters["peak"][0]
    assert done["gentle"].converged and 0.0 < peak < 200.0
    assert "\nPASS" in capsys.readouterr().out


@pytest.mark.long
def test_forty_questions_are_answered_by_lines_that_run(tmp_path, monkeypatch, capsys, few_pictures):
    monkeypatch.chdir(tmp_path)
    done = run("howto/questions.md")
    printed = capsys.readouterr().out
    assert printed and "FAIL" not in printed
    for name, value in done.items():
        assert getattr(value, "converged", True), f"{name}: {value}"
    text = (DOCS / "howto/questions.md").read_text(encoding="utf-8")
    assert len(re.findall("^### .", text, re.MULTILINE)) >= 40
    assert done["solution"].duration == pytest.approx(0.7283, rel=1e-3)
    assert done["reached"].value(done["hand"], done["reached"].duration) == pytest.approx(
        [0.6, 0.5], abs=1e-6
    )
    # An elbow that is free at the end is not left where the other motions end, and follows a cost there.
    for free, wanted in (("short", -1.357), ("near", 1.004)):
        assert done[free].q(done[free].duration)[1] == pytest.approx(wanted, abs=0.05), free
    assert np.abs(done["swing"].v(0.0) - done["swing"].v(1.0)).max() < 1e-9


def test_words_that_newcomers_search_for_are_on_the_page_of_questions():
    """The site's search shows pages that have all words of a query."""
    text = (DOCS / "howto/questions.md").read_text(encoding="utf-8").lower()
    for query in NEWCOMERS.split(", "):
        assert all(word in text for word in query.split()), query


@pytest.mark.long
def test_planted_weights_are_found_from_motions():
    done = run("tutorials/weights_from_motions.md")
    for name, value in done["weights"](done["fit"].x).items():
        assert value == pytest.approx(done["planted"][name], rel=1e-3)
    rough = done["weights"](done["rough"].x)
    deviations = (np.log(rough[name] / done["planted"][name]) for name in done["names"])
    assert all(abs(each) < 4.0 * spread for each, spread in zip(deviations, done["deviation"], strict=True))


@pytest.mark.long
def test_the_page_on_dynamics_solves_by_hand_and_by_pinocchio():
    pytest.importorskip("pinocchio")
    done = run("own_dynamics.md")
    assert done["boom"].converged and 0.0 < done["boom"].duration / 9.14093620 - 1.0 < 1.5e-3
    first, second = done["durations"]
    assert second == pytest.approx(first, rel=1e-5)


@pytest.mark.long
def test_the_page_on_systems_swings_the_pole_up_like_the_robot(capsys):
    done = run("systems.md")
    assert done["swing_up"].objective == pytest.approx(57.9446, rel=1e-4)
    assert done["short_rail"].converged and "FAIL" not in capsys.readouterr().out
    decay = np.exp(-0.5 * 3.0)  # x'' = p - x' / 2 from rest: x = 2 p (T - 2 (1 - exp(-T / 2)))
    pull = 5.0 / (2.0 * (3.0 - 2.0 * (1.0 - decay)))
    assert done["towed_by"].parameters["pull"][0] == pytest.approx(pull, rel=1e-6)


@pytest.mark.long
def test_the_page_on_terms_finds_the_least_fuel(capsys):
    done = run("howto/terms.md")
    assert done["frugal"].objective == pytest.approx(3.0 - 5.0**0.5, rel=1e-6)
    assert "PASS" in capsys.readouterr().out.splitlines()


@pytest.mark.long
def test_the_page_on_phases_climbs_like_a_rocket_and_bounces_like_a_ball(capsys):
    done = run("howto/phases.md")
    assert -done["climb"].objective == pytest.approx(height_of_two_stages(), rel=1e-7)
    assert done["landed"].objective == pytest.approx(12.0 / (1.7 * (2.4 / 9.81) ** 0.5) ** 3, rel=1e-9)
    assert capsys.readouterr().out.count("PASS") == 2


@pytest.mark.long
def test_the_page_on_mechanisms_finds_gear_spring_and_current(capsys):
    done = run("howto/mechanisms.md")
    assert done["geared"].parameters["ratio"][0] == pytest.approx(50.0, rel=1e-5)
    assert done["found"] == pytest.approx(2.0 * (np.pi / 0.5) ** 2, rel=1e-4)
    assert done["fastest"].converged
    assert done["moved"].objective == pytest.approx(12.0 * (2.0 / 4.0) ** 2, rel=1e-9)  # i = m a / k
    assert capsys.readouterr().out.count("PASS") == 3


def height_of_two_stages():
    """Tsiolkovsky's equation and its integral: exhaust at 3 km/s, full thrust, uniform gravity; km and t."""
    h = v = 0.0
    for full, empty, thrust in ((100.0, 40.0, 2.0), (30.0, 10.0, 0.5)):
        T, ratio = 3.0 * (full - empty) / thrust, empty / full
        h += v * T - 9.81e-3 * T**2 / 2.0 + 3.0 * T * (1.0 + ratio * math.log(ratio) / (1.0 - ratio))
        v += -3.0 * math.log(ratio) - 9.81e-3 * T
    return h + v**2 / (2.0 * 9.81e-3)


@pytest.mark.long
def test_a_pushed_cart_pole_stays_upright_by_replanning():
    pytest.importorskip("mujoco")
    done = run("tutorials/receding_horizon.md")
    states = np.array(done["states"])
    assert len(states) == 100 and done["step"].is_new
    assert np.abs(states[:, 1]).max() < 0.5 and np.abs(done["forces"]).max() <= 20.0 + 1e-9
    assert np.abs(done["pushes"]).max() > 2.0
