"""Properties of the robot as unknowns: against closed forms, plain solves, and robots that are built so."""

from dataclasses import replace

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from random_trees import random_tree
from taylor_slopes import slopes

import dynamics
import problems
import trajopt
from trajopt.base.errors import OptionError, ProblemError, ShapeError, UnknownNameError
from trajopt.problem.constraints.designs import as_built


def rod(name="rod", mass=1.0):
    """A slender rod that hangs from the ground on a joint, with a tip."""
    joint = dynamics.Joint("hinge")
    body = dynamics.Body(name, joint, None, mass, (0.25, 0.0, 0.0), np.diag([0.0, 1.0, 1.0]) * mass / 48.0)
    tip = dynamics.Frame("tip", name, position=(0.5, 0.0, 0.0))
    return dynamics.RigidBodyModel([body], (0.0, -9.81, 0.0), frames=[tip])


def rod_problem(intervals=4):
    problem = trajopt.Problem(rod(), trajopt.Trajectory.uniform(intervals, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2)
    return problem


def test_the_gear_ratio_matches_the_inertias():
    """n = sqrt(J_load / J_rotor) and T = 2 sqrt(angle (J + n^2 j) / (n u)), by hand."""
    load, rotor, torque, angle = 0.5, 2e-4, 0.3, 1.0
    solution = trajopt.solve(problems.gear_ratio.build(load=load, rotor=rotor, torque=torque, angle=angle))
    ratio = np.sqrt(load / rotor)
    assert solution.parameters["ratio"][0] == pytest.approx(ratio, rel=1e-5)
    T = 2.0 * np.sqrt(angle * (load + ratio**2 * rotor) / (ratio * torque))
    assert solution.duration == pytest.approx(T, rel=1e-8)
    report = solution.verify()
    assert report.holds, report
    assert "robot: axle.gear_ratio 50" in report.table


@pytest.mark.long
def test_length_and_counterweight_are_the_best_of_plain_solves():
    """The objective with fixed length and counterweight is least where both were chosen together."""
    found = solved_at_defaults("arm_design")
    best = np.array([found.parameters["length"][0], found.parameters["counterweight"][0]])

    def plain(*values):
        numbers = {name: np.array([value]) for name, value in zip(found.parameters, values, strict=True)}
        fixed = as_built(problems.arm_design.build(), numbers)
        fixed.parameters.clear()
        fixed.guess(found)
        solution = trajopt.solve(fixed)
        assert solution.converged
        return solution.objective

    assert plain(*best) == pytest.approx(found.objective, rel=1e-7)
    steps = 0.005 * best
    for k, step in enumerate(steps):
        below, above = (plain(*(best + sign * step * np.eye(2)[k])) for sign in (-1.0, 1.0))
        assert min(below, above) > found.objective * (1.0 + 1e-7)
        # the minimum of the parabola through three plain solves
        middle = found.objective
        vertex = 0.5 * step * (below - above) / (below - 2.0 * middle + above)
        assert abs(vertex) < 0.05 * step
    for length in (0.42, 0.48, 0.57):  # no better one elsewhere
        for counterweight in (2.0, 10.0, 20.0):
            assert plain(length, counterweight) > found.objective


def test_a_chosen_mass_is_at_the_bound_that_the_effort_asks_for():
    problem = rod_problem()
    mass = problem.parameter("mass", lower=0.5, upper=2.0)
    problem.design("rod.mass", mass)
    solution = trajopt.solve(problem)
    assert solution.parameters["mass"][0] == pytest.approx(0.5, abs=1e-6)
    light = rod_problem()
    light.dynamics = rod().with_properties({"rod.mass": 0.5})
    assert solution.objective == pytest.approx(trajopt.solve(light).objective, rel=1e-6)


def everything(intervals=3):
    """A tree with rotors whose masses, lengths and gears are unknown, in forces, poses, loads and costs."""
    model = random_tree(1, rotors=True)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(intervals))
    size = problem.parameter("size", 0.5, 2.0, 1.0)
    problem.parameter("gear", 2.0, 20.0, 5.0)
    names = ("link3.mass", "link3.centre_of_mass", "link3.inertia", "joint2.position", "tool.position")
    for name in names:
        value, power = model.property_value(name), 2 if name.endswith("inertia") else 1
        problem.design(
            name, lambda node, value=value, power=power: [x * node.parameter("size") ** power for x in value]
        )
    geared = next(body.joint.name for body in model.bodies if body.joint.rotor is not None)
    problem.design(f"{geared}.gear_ratio", trajopt.Quantity("parameter:gear"))

    @trajopt.term
    def push(node):
        r, k = node.position("tool"), node.parameter("size")
        return [0.0, 0.0, r[1], k * r[0], -r[1], 0.3 * node.base_wrench[5]]

    @trajopt.term
    def mixture(node):
        reach, kinetic = node.position("tool"), node.kinetic_energy
        return reach.T @ reach + 1e-3 * kinetic + node.centre_of_mass[0] ** 2 + node.parameter("size") ** 2

    problem.load("link2", push)
    problem.minimize(trajopt.tau**2, weight=1e-4)
    problem.minimize(mixture)
    problem.subject_to(trajopt.wrench("joint1"), -500.0, 500.0)
    problem.subject_to(trajopt.Quantity("velocity:tool"), -9.0, 9.0)
    problem.subject_to(size, upper=3.0, over="end")
    return problem


def test_the_program_has_exact_first_and_second_derivatives():
    rng = np.random.default_rng(4)
    nlp = trajopt.transcribe(everything())
    y = nlp.start + 0.1 * rng.normal(size=nlp.start.size)
    multipliers = rng.normal(size=nlp.row_count)
    direction = rng.normal(size=y.size)
    direction /= np.linalg.norm(direction)
    value, gradient = slopes(nlp, y, direction, multipliers)
    assert value == pytest.approx(2.0, abs=0.1)
    assert gradient == pytest.approx(2.0, abs=0.1)


def test_the_program_is_that_of_a_robot_built_so():
    """Rows and objective at fixed parameters, from another robot's plain blocks."""
    problem = everything()
    nlp = trajopt.transcribe(problem)
    y = nlp.start + 0.1 * np.random.default_rng(0).normal(size=nlp.start.size)
    other = trajopt.transcribe(as_built(problem, nlp.unknowns.parameters(y)))
    np.testing.assert_allclose(
        other.objective(y) / other.scaling.objective, nlp.objective(y) / nlp.scaling.objective, rtol=1e-12
    )
    scaled, expected = nlp.rows(y) / nlp.scaling.rows, other.rows(y) / other.scaling.rows
    np.testing.assert_allclose(scaled, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_a_solution_knows_its_robot(tmp_path):
    problem = rod_problem()
    length = problem.parameter("length", 0.3, 1.0, 0.6)
    problem.design("tip.position", [length, 0.0, 0.0])
    problem.subject_to(trajopt.position("tip"), (-np.inf, 0.5, -np.inf), over="end")  # 0.5 m high at 1 rad
    problem.minimize(length, weight=10.0)
    solution = trajopt.solve(problem)
    wanted = 0.5 / np.sin(1.0)
    assert solution.parameters["length"][0] == pytest.approx(wanted, rel=1e-6)
    assert solution.as_built.dynamics.property_value("tip.position")[0] == pytest.approx(wanted, rel=1e-6)
    at_end = solution.value(trajopt.position("tip"), solution.duration)
    np.testing.assert_allclose(at_end, [wanted * np.cos(1.0), 0.5, 0.0], atol=1e-6)
    solution.save(tmp_path / "rod.npz")
    again = trajopt.Solution.load(tmp_path / "rod.npz", problem)
    np.testing.assert_array_equal(again.tau(0.3), solution.tau(0.3))
    assert again.verify().designs["tip.position"][0] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.long
def test_phases_share_a_designed_robot():
    """Up in one phase and down in the other, with one mass that both would rather have small."""
    up, down = rod_problem(), rod_problem()
    down.guess([[1.0], [0.0]])
    for problem in (up, down):
        problem.constraints.clear()
        problem.design("rod.mass", problem.parameter("mass", 0.5, 2.0, 1.0))
    up.start_at(q=0.0, v=0.0)
    up.end_at(q=1.0)
    down.end_at(q=0.0, v=0.0)
    both = trajopt.Phases(up, down)
    for quantity in (trajopt.q, trajopt.v, trajopt.a):
        both.link(quantity, up.at("end"), down.at("start"))
    solution = trajopt.solve(both)
    assert solution.converged
    masses = [part.parameters["mass"][0] for part in solution.phases]
    assert masses == pytest.approx([0.5, 0.5], abs=1e-6)
    assert solution.verify().holds


@pytest.mark.long
def test_a_robot_with_further_states_may_be_designed():
    motors = trajopt.system(
        states=("current",),
        controls=("voltage",),
        rates=lambda node: (node.voltage - node.current) / 0.1,
        dynamics=rod(),
        torques=lambda node: 5.0 * node.current,
    )
    problem = trajopt.Problem(motors, trajopt.Trajectory.collocation(5, 3, duration=1.0))
    problem.design("rod.mass", problem.parameter("mass", 0.5, 2.0, 1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.state("current") ** 2)
    solution = trajopt.solve(problem)
    assert solution.converged
    assert solution.parameters["mass"][0] == pytest.approx(0.5, abs=1e-6)
    assert solution.verify().holds


@pytest.mark.long
def test_a_robot_that_cannot_exist_is_told_and_not_built():
    """A lone mass that ends at zero: nothing resists the joint any more."""
    problem = rod_problem()
    mass = problem.parameter("mass", 0.0, 2.0, 1.0)
    problem.design("rod.mass", mass)
    problem.design(
        "rod.inertia", lambda node: [0, 0, 0, node.parameter("mass") / 48, 0, node.parameter("mass") / 48]
    )
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-9))
    lightest = solution.parameters["mass"][0]
    assert lightest < 1e-3
    numbers = {"mass": np.zeros(1)}
    with pytest.raises(dynamics.InertiaError, match="leaf without mass"):
        as_built(problem, numbers)


def test_verify_fails_for_a_robot_that_cannot_exist():
    problem = rod_problem()
    problem.design("rod.mass", problem.parameter("mass", 0.5, 2.0))
    solution = trajopt.solve(problem)
    wrong = replace(solution, parameters={"mass": np.array([-1.0])})
    assert wrong.as_built is problem
    assert "cannot exist" in wrong.verify().reason
    assert "zero or positive" in wrong.verify().reason


def test_the_stiffness_of_a_spring_is_a_term():
    """From -1 to 1 in T at rest: a spring of k = m (pi / T)^2 swings the mass over without any motor."""
    slide = dynamics.Joint("slide", "prismatic")
    cart = dynamics.RigidBodyModel([dynamics.Body("cart", slide, None, 2.0)], (0.0, 0.0, 0.0))
    problem = trajopt.Problem(cart, trajopt.Trajectory.uniform(20, duration=0.5))
    problem.parameter("k", 1.0, 200.0)
    problem.start_at(q=-1.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)

    @trajopt.term
    def motor_force(node):
        return node.tau + node.parameter("k") * node.q

    problem.minimize(motor_force**2)
    solution = trajopt.solve(problem)
    k = 2.0 * (np.pi / 0.5) ** 2
    assert solution.parameters["k"][0] == pytest.approx(k, rel=1e-3)
    without_spring = 0.5 * 0.5 * k**2  # the integral of (k cos(pi t / T))^2
    assert solution.objective < 1e-5 * without_spring  # the spline has the cosine but for its mesh


@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    [
        ("rod.weight", [1.0], dynamics.UnknownNameError, "no property is called"),
        ("rod.mass", lambda node: node.t + node.parameter("mass"), OptionError, "given by t"),
        ("rod.mass", trajopt.q, OptionError, "given by q"),
        ("rod.mass", "heavy", OptionError, "give a term of parameters"),
        ("rod.mass", None, OptionError, "give a term of parameters"),
        ("tip.position", [[1.0, 2.0], 0.0, 0.0], ShapeError, "a part of 'tip.position'"),
        (
            "rod.centre_of_mass",
            lambda node: node.parameter("mass"),
            ShapeError,
            "has 3 components, its value has 1",
        ),
        ("rod.mass", trajopt.Quantity("parameter:weight"), UnknownNameError, "parameter:weight"),
        ("rod.mass", lambda node: -node.parameter("mass"), dynamics.InertiaError, "zero or positive"),
        ("hinge.gear_ratio", lambda node: node.parameter("mass"), dynamics.ModelError, "no rotor"),
    ],
)
def test_what_is_no_design_is_refused_where_it_is_written(name, value, error, words):
    problem = rod_problem()
    problem.parameter("mass", 0.5, 2.0)
    with pytest.raises(error, match=words):
        problem.design(name, value)
    assert not problem.designs


def test_a_property_is_designed_once():
    problem = rod_problem()
    mass = problem.parameter("mass", 0.5, 2.0)
    problem.design("rod.mass", mass)
    with pytest.raises(OptionError, match="already"):
        problem.design("rod.mass", mass)


def test_a_system_has_no_robot_to_design():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3, 2))
    mass = problem.parameter("mass", 0.5, 2.0)
    with pytest.raises(ProblemError, match="has no properties that parameters could give it"):
        problem.design("rod.mass", mass)


def test_copies_of_a_problem_keep_their_own_designs():
    problem = rod_problem()
    mass = problem.parameter("mass", 0.5, 2.0)
    other = problem.on(trajopt.Trajectory.uniform(6, duration=1.0))
    other.design("rod.mass", mass)
    assert not problem.designs
    assert "rod.mass" in other.on(trajopt.Trajectory.uniform(3, duration=1.0)).designs
