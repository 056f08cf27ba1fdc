"""Forces of fibres and tendons: the curves' own points, exact derivatives, and OpenSim's muscle."""

import json
import subprocess
import sys

import numpy as np
import pytest
from osim_files import HERE, OPENSIM

import dynamics
from dynamics.muscles import curves
from dynamics.muscles.activation import activation_rate, check_smoothing
from dynamics.muscles.fibres import ARGUMENTS, Fibres
from dynamics.muscles.metabolic_power import LEAST_HEAT, metabolic_power

STEP = 1e-30
WITH_WIDTH = pytest.param(lambda x: curves.active_force(x, 1.5), id="active_force, wider")


def fibres(**changed):
    given = {
        "names": ("one", "two"), "max_isometric_force": [900.0, 2500.0],
        "optimal_fiber_length": [0.09, 0.05], "tendon_slack_length": [0.2, 0.3],
        "pennation_angle": [0.0, 0.4], "max_contraction_velocity": 10.0,
    }  # fmt: skip
    return Fibres(**(given | changed))


def arguments(tendon, muscles, nodes=4):
    rng = np.random.default_rng(3)
    shape = (nodes, muscles.count)
    ranges = {
        "length": (0.7, 1.3), "speed": (-0.3, 0.3), "activation": (0.05, 0.9), "tendon_force": (0.1, 1.2),
        "tendon_rate": (-5.0, 5.0),
    }  # fmt: skip
    found = {name: rng.uniform(*ranges[name], shape) for name in ARGUMENTS[tendon]}
    found["length"] = muscles.tendon_slack_length + muscles.optimal_fiber_length * found["length"]
    return list(found.values())


@pytest.mark.parametrize(
    "curve",
    [curves.active_force, WITH_WIDTH, curves.force_at_speed, curves.passive_force, curves.tendon_length],
)
def test_derivatives_of_the_curves_are_exact(curve):
    x = np.linspace(0.4, 1.7, 12)
    value, slope, bend = curve(x)
    stepped = curve(x + 1j * STEP)
    np.testing.assert_allclose(stepped[0].real, value, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(stepped[0].imag / STEP, slope, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stepped[1].imag / STEP, bend, rtol=1e-12, atol=1e-12)


def test_curves_pass_through_the_points_that_define_them():
    one = np.ones(1)
    assert curves.active_force(one)[0] == pytest.approx(1.0, abs=1e-15)
    assert curves.force_at_speed(np.array([-1.0, 0.0]))[0] == pytest.approx([0.0, 1.0], abs=1e-15)
    assert curves.passive_force(1.6 * one)[0] == pytest.approx(1.0)
    assert curves.passive_force(0.2 * one)[0] == 0.0
    assert curves.tendon_force(np.array([1.0, 1.049]))[0] == pytest.approx([0.0, 1.0], abs=1e-14)
    force = np.linspace(0.0, 1.3, 9)
    assert curves.tendon_force(curves.tendon_length(force)[0])[0] == pytest.approx(force, abs=1e-14)
    speed = np.linspace(-1.2, 1.2, 9)
    assert curves.speed_at_force(curves.force_at_speed(speed)[0]) == pytest.approx(speed, abs=1e-14)


@pytest.mark.parametrize("tendon", ARGUMENTS)
def test_derivatives_of_forces_are_exact(tendon):
    muscles = fibres(width_scale=1.2)
    given = arguments(tendon, muscles)
    found = muscles.force(tendon, *given)
    for i in range(len(given)):
        moved = [x + 1j * STEP * (k == i) for k, x in enumerate(given)]
        stepped = muscles.force(tendon, *moved)
        scale = np.abs(found.second).max()
        np.testing.assert_allclose(stepped.value.imag / STEP, found.first[i], rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(stepped.first.imag / STEP, found.second[i], rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("tendon", ARGUMENTS)
def test_force_along_the_tendon_is_that_of_the_fibres_there(tendon):
    muscles = fibres()
    given = arguments(tendon, muscles)
    state = muscles.state(tendon, *given)
    along = (state.active + state.passive) * state.cosine
    np.testing.assert_allclose(muscles.force(tendon, *given, order=0).value, along, rtol=1e-14)


def test_without_passive_force_a_muscle_at_rest_gives_its_active_force_alone():
    muscles = fibres(passive=False, damping=0.0)
    length, speed, activation = arguments("rigid", muscles)
    assert not muscles.force("rigid", length, 0.0 * speed, 0.0 * activation).value.any()


@pytest.mark.long
@pytest.mark.skipif(not OPENSIM, reason="OpenSim is an extra")
def test_forces_and_power_are_those_of_opensim(tmp_path):
    out = tmp_path / "states.json"
    subprocess.run([sys.executable, str(HERE / "muscle_oracle.py"), str(out)], check=True, timeout=120)
    known = json.loads(out.read_text())
    own = known["numbers"]
    largest, lo = own["max_isometric_force"], own["optimal_fiber_length"]
    muscle = Fibres(
        ("muscle",), largest, lo, own["tendon_slack_length"], own["pennation_angle_at_optimal"],
        own["max_contraction_velocity"], own["passive_fiber_strain_at_one_norm_force"],
        own["tendon_strain_at_one_norm_force"], own["fiber_damping"], own["active_force_width_scale"],
    )  # fmt: skip
    for tendon, cases in known["cases"].items():
        given = [np.array([[case[name]] for case in cases]) for name in ARGUMENTS[tendon]]
        state, force = muscle.state(tendon, *given), muscle.force(tendon, *given, order=0).value
        for name, found, scale in (
            ("force", force, largest), ("active", state.active, largest), ("passive", state.passive, largest),
            ("fibre", state.length, lo), ("fibre_speed", state.speed, lo), ("cosine", state.cosine, 1.0),
        ):  # fmt: skip
            expected = np.array([[case[name]] for case in cases])
            assert np.abs(found - expected).max() < 1e-12 * scale, (tendon, name)
        excitation = np.array([[case["excitation"]] for case in cases])
        for law in ("bhargava", "umberger"):
            power = metabolic_power(muscle, state, excitation, given[2], law, slow=known["slow"])
            expected = np.array([[case[law]] for case in cases])
            assert np.abs(power - expected).max() < 1e-12 * np.abs(expected).max(), (tendon, law)


def at_speed(speed, activation=0.5):
    """Both muscles at their optimal lengths, with fibres at shares of their largest speed."""
    muscles = fibres()
    given = muscles.optimal_fiber_length * np.cos(muscles.pennation_angle) + muscles.tendon_slack_length
    along = speed * muscles.fastest / np.cos(muscles.pennation_angle)
    a = np.full((1, 2), activation)
    return muscles, muscles.state("rigid", given[None], along[None], a), a


@pytest.mark.parametrize("law", ["bhargava", "umberger"])
def test_muscles_at_rest_warm_and_power_is_heat_and_work(law):
    muscles, state, a = at_speed(0.0, activation=0.0)
    mass = 1059.7 * muscles.max_isometric_force / 0.25e6 * muscles.optimal_fiber_length
    assert metabolic_power(muscles, state, a, a, law)[0] == pytest.approx(LEAST_HEAT * mass, rel=1e-12)
    muscles, state, a = at_speed(-0.3)
    held, moved = metabolic_power(*at_speed(0.0)[:2], a, a, law), metabolic_power(muscles, state, a, a, law)
    work = -state.active * state.speed
    assert np.all(work > 0.0) and np.all(moved > held + work)  # shortening adds work and heat
    half = metabolic_power(*at_speed(0.0)[:2], a, a, law, specific_tension=0.5e6)
    assert half == pytest.approx(0.5 * held, rel=1e-12)  # the mass of muscles
    muscles, state, a = at_speed(0.5)
    assert np.all(
        metabolic_power(muscles, state, a, a, law) == 0.0
    )  # lengthening takes power in, which is lost


def test_heat_of_a_held_muscle_is_that_of_its_slow_and_fast_fibres():
    """At optimal length and rest, with u the recruited parts: A + B by Bhargava et al., C by Umberger et al.

    A = 40 u_s + 133 u_f,   B = 74 u_s + 111 u_f,   C = 1.5 (25 + 128 u_f / (u_s + u_f)) a^0.6
    """
    (muscles, state, a), share = at_speed(0.0), np.array([0.8, 0.3])
    mass = 1059.7 * muscles.max_isometric_force / 0.25e6 * muscles.optimal_fiber_length
    slow, fast = share * np.sin(0.25 * np.pi), (1.0 - share) * (1.0 - np.cos(0.25 * np.pi))
    by_bhargava = 40.0 * slow + 133.0 * fast + 74.0 * slow + 111.0 * fast
    by_umberger = 1.5 * (25.0 + 128.0 * fast / (slow + fast)) * 0.5**0.6
    found = metabolic_power(muscles, state, a, a, slow=share)[0]
    assert found == pytest.approx(mass * by_bhargava, rel=1e-12)
    found = metabolic_power(muscles, state, a, a, "umberger", slow=share)[0]
    assert found == pytest.approx(mass * by_umberger, rel=1e-12)


def test_power_of_arguments_that_no_muscle_has_is_refused():
    muscles, state, a = at_speed(0.0)
    with pytest.raises(dynamics.MuscleError, match="law is 'minetti': expected bhargava or umberger"):
        metabolic_power(muscles, state, a, a, "minetti")  # type: ignore[arg-type]
    with pytest.raises(dynamics.MuscleError, match="shares from 0 to 1"):
        metabolic_power(muscles, state, a, a, slow=1.5)
    with pytest.raises(dynamics.ShapeError, match=r"excitation has shape \(2,\)"):
        metabolic_power(muscles, state, a[0], a)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"optimal_fiber_length": [0.1, 0.0]},
            "optimal_fiber_length of muscle 'two' is 0: expected",
        ),
        ({"max_isometric_force": [np.nan, 1.0]}, "max_isometric_force of muscle 'one' is nan"),
        ({"pennation_angle": 2.0}, "pennation_angle of muscle 'one' is 2: expected .* below pi / 2"),
        ({"damping": [0.0, -0.1]}, "damping of muscle 'two' is -0.1: expected a number that is not negative"),
        ({"tendon_strain": [0.1, 0.1, 0.1]}, r"tendon_strain has shape \(3,\) but there are 2 muscles"),
        ({"width_scale": 0.0}, "width_scale is 0.0"),
    ],
)
def test_numbers_that_no_muscle_has_are_refused(changed, message):
    with pytest.raises(dynamics.MuscleError, match=message):
        fibres(**changed)


def test_fibres_beyond_the_curves_are_named_with_their_times():
    lengths, time = np.array([[1.0, 0.4], [1.9, 0.3], [1.2, 0.1]]), np.array([0.0, 0.5, 1.0])
    lines = fibres().beyond_curves(lengths, np.ones((3, 2)), time)
    assert len(lines) == 2
    assert "fibres of 'one' are stretched above 1.8 optimal lengths: 1.9 at 0.5 s" in lines[0]
    assert "fibres of 'two' are shortened below 0.2 optimal lengths: 0.1 at 1 s" in lines[1]
    pull = (np.exp(4.0 * 0.9 / 0.6) - np.exp(4.0 * -0.8 / 0.6)) / (np.exp(4.0) - np.exp(4.0 * -0.8 / 0.6))
    assert f"leave out its passive force, {pull:.2g} of the largest (passive=False, in commands " in lines[0]
    resting = fibres(passive=False).beyond_curves(lengths, np.ones((3, 2)), time)
    assert "passive" not in resting[0] + lines[1]


def test_a_path_shorter_than_its_slack_tendon_is_named_though_its_fibres_have_a_usual_length():
    muscles = fibres()
    path = muscles.tendon_slack_length + np.array([[-0.1, 0.1]])
    state = muscles.state("rigid", path, np.zeros((1, 2)), np.ones((1, 2)))
    (line,) = muscles.beyond_curves(np.ones((1, 2)), state.cosine, np.array([0.25]))
    assert "fibres of 'one' are no longer along their tendon, cosine below 0.1" in line
    assert "at 0.25 s" in line


def test_activation_rises_and_decays_with_its_time_constants():
    sharp = {"rise": 0.01, "decay": 0.04, "smoothing": 1e3}
    assert activation_rate(1.0, 0.2, **sharp) == pytest.approx(0.8 / (0.01 * 0.8))
    assert activation_rate(0.1, 0.5, **sharp) == pytest.approx(-0.4 * 1.25 / 0.04)
    assert activation_rate(0.3, 0.3, 0.01, 0.04) == 0.0


def pays_at_rest(smoothing):
    """The least second derivative by e of e^2 + lambda a' over activations at rest, by differences."""
    a, h = np.linspace(0.01, 1.0, 100), 1e-4
    rates = [activation_rate(a + step, a, 0.015, 0.06, smoothing) for step in (-h, 0.0, h)]
    costate = -2.0 * a / ((rates[2] - rates[0]) / (2.0 * h))
    return np.min(2.0 + costate * (rates[2] - 2.0 * rates[1] + rates[0]) / h**2)


def test_pulses_pay_above_the_smoothing_that_is_warned_of():
    assert pays_at_rest(2.0) > 0.0
    assert pays_at_rest(10.0) < 0.0
    assert check_smoothing(0.1) == 0.1
    with pytest.warns(dynamics.MuscleWarning, match="smoothing = 10 makes pulses of excitation cheaper"):
        check_smoothing(10.0)
    with pytest.raises(dynamics.MuscleError, match="smoothing is -1: expected a positive number"):
        check_smoothing(-1)
