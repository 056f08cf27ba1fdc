"""Problems with known optima: ours beside the reference that each module states."""

import re

import numpy as np
import pytest
from library_solutions import built_at_defaults, solved_at_defaults, verified_at_defaults
from tiers import fast_first

import dynamics
import problems
import trajopt
from problems import catalogue
from trajopt.base.errors import OptionError


def solved(name, **parameters):
    if not parameters:
        return solved_at_defaults(name)
    solution = trajopt.solve(catalogue.build(name, parameters))
    assert solution.converged, solution.status
    return solution


#: relative errors of problems
OF_QUICK_ONES = {
    "double_integrator": 1e-8,
    "minimum_acceleration": 1e-12,
    "kirk": 5e-9,
    "bryson_denham": 1e-8,
    "brachistochrone": 1e-10,
    "energy_budget": 1e-8,
    "space_shuttle": 1e-6,
    "gear_ratio": 1e-9,
}
OF_OTHERS = {
    "van_der_pol": 1e-6,
    "hypersensitive": 2e-7,
    "minimum_fuel": 1e-8,
    "goddard_rocket": 1e-7,
    "orbit_transfer": 2e-9,
    "container_crane": 2e-7,
    "acrobot": 1e-6,
    "double_pendulum_cart": 2e-7,
    "motor_arm": 1e-6,
    "four_bar": 2e-6,
    "arm_energy_budget": 1e-6,
    "arm_design": 1e-5,
    "line_in_least_time": 1e-6,
    "goddard_in_phases": 2e-9,
    "five_link_walker": 1e-5,
    "quadrotor_gates": 1e-5,
}


def has_limit_nodes(solution):
    return any(any(part.limit_points) for part in solution.parts)


@fast_first("name", [*OF_QUICK_ONES, *OF_OTHERS], len(OF_QUICK_ONES))
def test_a_problem_reaches_its_reference(name):
    """On the nodes of the mesh alone: nodes that are added for limits change an optimum a little."""
    solution = solved_at_defaults(name) if name in OF_OTHERS else None
    if solution is None or len(solution.journal.histories) > 1 or has_limit_nodes(solution):
        solution = trajopt.solve(catalogue.build(name, {}), refine=None)
    assert solution.converged, solution.status
    error = (OF_QUICK_ONES | OF_OTHERS)[name]
    assert solution.objective == pytest.approx(getattr(problems, name).REFERENCE, rel=error)


@fast_first(
    "name",
    [
        "two_link_rr",
        "pendulum_swing_up",
        "betts_robot_arm",
        "hop",
        "line_in_least_time",
        "six_axis_arm",
        "three_link_arm",
    ],
    1,
)
def test_limits_that_the_mesh_exceeds_hold_by_default(name):
    solution = solved(name)
    assert not solution.warning and solution.limit_excess <= 1e-3
    assert has_limit_nodes(solution)
    assert verified_at_defaults(name).verdict == "PASS"


@pytest.mark.long
def test_the_straight_guess_of_the_cart_and_pole_leads_to_the_published_optimum():
    problem = problems.cart_pole.build(intervals=60)
    objective = trajopt.solve(problem, starts=1).objective
    assert objective == pytest.approx(problems.cart_pole.REFERENCE, rel=1e-6)


@pytest.mark.parametrize("wall", [1.0 / 12.0, 1.0 / 7.0])
def test_the_effort_before_a_wall_is_bryson_and_denhams(wall):
    objective = solved("bryson_denham", intervals=48, wall=wall).objective
    assert objective == pytest.approx(4.0 / (9.0 * wall), rel=1e-4)


def test_the_bead_slides_along_a_cycloid():
    solution, gravity = solved("brachistochrone"), 9.80665
    t = np.linspace(0.0, solution.duration, 50)
    x, y, v = solution.q(t).T
    radius = gravity * (solution.duration / problems.brachistochrone.end_angle(10.0, 5.0)) ** 2
    phi = t * np.sqrt(gravity / radius)
    assert np.allclose(v**2, 2.0 * gravity * y, atol=1e-7)
    assert np.allclose(x, radius * (phi - np.sin(phi)), atol=1e-6)
    assert np.allclose(y, radius * (1.0 - np.cos(phi)), atol=1e-6)


def test_minimum_time_of_a_mass_scales_as_the_closed_form_says():
    duration = solved("double_integrator", mass=3.0, distance=2.0, force=5.0).duration
    assert duration == pytest.approx(problems.double_integrator.exact_duration(3.0, 2.0, 5.0), rel=1e-8)


@pytest.mark.parametrize("intervals", [2, 5])
def test_the_cubic_is_exact_on_any_number_of_intervals(intervals):
    solution = solved("minimum_acceleration", intervals=intervals, distance=0.7, duration=1.3)
    assert solution.objective == pytest.approx(
        problems.minimum_acceleration.exact_objective(0.7, 1.3), rel=1e-12
    )
    s = np.linspace(0.0, 1.0, 11)
    assert np.allclose(solution.q(1.3 * s)[:, 0], 0.7 * (3 * s**2 - 2 * s**3), atol=1e-12)


def test_kirks_effort_converges_to_the_gramian_with_order_six():
    """Four Gauss-Lobatto points per span integrate with order six; the splines themselves reach eight."""
    exact = problems.kirk.exact_objective(5.0, 2.0, 2.0)
    errors = [solved("kirk", intervals=n).objective / exact - 1.0 for n in (2, 4, 8)]
    assert np.all(np.array(errors) > 0.0) and np.allclose(np.diff(np.log2(errors)), -6.0, atol=0.4)


@pytest.mark.long
def test_the_carts_free_joint_stays_free_and_its_equations_are_lagranges():
    problem = problems.cart_pole.build()
    q, v, a = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 7, 2))
    tau = problem.dynamics.block(["tau"]).value({"q": q, "v": v, "a": a})["tau"]
    sine, cosine = np.sin(q[:, 1]), np.cos(q[:, 1])
    force = 1.3 * a[:, 0] + 0.3 * 0.5 * (cosine * a[:, 1] - sine * v[:, 1] ** 2)
    torque = 0.3 * 0.5 * (cosine * a[:, 0] + 0.5 * a[:, 1] + 9.81 * sine)
    assert np.allclose(tau, np.stack([force, torque], axis=1), rtol=1e-12, atol=1e-12)
    solution = solved_at_defaults("cart_pole")
    assert np.abs(solution.tau(solution.node_times)[:, 1]).max() < 1e-8
    assert verified_at_defaults("cart_pole").simulation_error_end_to_end < 1e-6  # pyright: ignore


@pytest.mark.long
def test_a_cart_that_first_swings_back_needs_less_than_the_published_optimum():
    """From a guess that swings back, and by default, as other starts find that motion too."""
    for objective in (solved("cart_pole", swing_back=True).objective, solved("cart_pole").objective):
        assert objective == pytest.approx(57.9446, abs=2e-4)


@fast_first("robot", ["ur5", "panda"])
def test_industrial_arms_move_in_minimum_time_within_all_limits(robot):
    solution = solved("urdf_arm", robot=robot, intervals=10)
    assert solution.verify().max_violation_nodes < 1e-6
    assert 0.3 < solution.duration < 1.0


@pytest.mark.long
def test_effort_weighed_against_time_takes_longer_and_less():
    swift, easy = (solved("urdf_arm", intervals=8, u=u) for u in (0.1, 0.6))
    assert easy.duration > swift.duration
    assert easy.cost_terms["effort"] / 0.6 < swift.cost_terms["effort"] / 0.1


@pytest.mark.long
def test_armature_misjudges_the_minimum_time_of_a_geared_arm():
    """Rotors of 1e-4 kg m^2 behind gears of 100 weigh as much as the links; the couplings are small."""
    exact, armature, none = (
        solved("urdf_arm", intervals=10, gear_ratio=100.0, rotors=rotors).duration
        for rotors in ("exact", "armature", "none")
    )
    assert none < armature and none < exact
    assert 1e-5 < abs(armature / exact - 1.0) < 1e-2


def test_unknown_robots_and_weights_are_refused():
    near = r"no robot is called 'ur6' \(did you mean 'ur5'\?\): there are g1, panda, solo12, ur5"
    with pytest.raises(OptionError, match=near):
        problems.urdf_arm.build(robot="ur6")
    with pytest.raises(OptionError, match=r"u is 2\.0: expected a weight between 0"):
        problems.urdf_arm.build(u=2.0)


def test_a_robot_may_be_a_file_of_ones_own_or_its_text(tmp_path):
    text = problems.urdf_arm.source("ur5")
    assert problems.urdf_arm.build(robot=text).dynamics.n == 6
    (tmp_path / "mine.urdf").write_text(text, encoding="utf-8")
    assert problems.urdf_arm.build(robot=str(tmp_path / "mine.urdf")).dynamics.n == 6
    with pytest.raises(OptionError, match=r"yours\.urdf is not a file: give the path of a URDF"):
        problems.urdf_arm.build(robot="yours.urdf")
    for name in ("mine.urd", "mime.urdf"):
        with pytest.raises(OptionError, match=r"did you mean '.*mine\.urdf'"):
            problems.urdf_arm.build(robot=str(tmp_path / name))
        with pytest.raises(dynamics.UrdfError, match=r"there is no file .* \(did you mean '.*mine\.urdf'"):
            dynamics.load_urdf(tmp_path / name)


LARGE = ("biped_step", "four_bar", "quadruped_bound", "quadruped_gap", "running", "two_arms")  # to build
GALLERY = [
    pytest.param(name, marks=[pytest.mark.long] * (name in LARGE))
    for name in catalogue.names()
    if catalogue.path(name).parents[1].name == "gallery"
]


@pytest.mark.parametrize("name", GALLERY)
def test_systems_of_the_gallery_have_units_or_say_that_there_are_none(name):
    built, page = built_at_defaults(name), catalogue.module(name).__doc__
    for problem in getattr(built, "problems", (built,)):
        system = problem.dynamics
        if hasattr(system, "control_widths"):  # a robot may have further states, too
            none = re.search("without units|no units|No quantity has a unit", page)
            assert set(system.units) == (set() if none else {*system.states, *system.control_widths})
        for parameter in problem.parameters.values():
            assert parameter.unit or parameter.name == "ratio"  # of a gear, a number
