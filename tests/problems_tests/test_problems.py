"""The problems of the library: their physics, their known optima, and what their parameters refuse."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from library_solutions import built_at_defaults, solved_at_defaults
from tiers import fast_first

import problems
import trajopt
from problems import catalogue
from problems.recipe import recipe
from problems.two_link_rr import EXACT_DURATION
from trajopt.base.errors import NotFiniteError, OptionError, ProblemError, ShapeError, UnknownNameError

RNG = np.random.default_rng(20)
POSTURES = RNG.uniform(-1.5, 1.5, (3, 12, 2))  # q, v, a


def torques(problem):
    q, v, a = POSTURES
    return problem.dynamics.block(["tau"]).value({"q": q, "v": v, "a": a})["tau"]


def test_the_catalogue_finds_every_problem_by_its_recipe():
    assert set(catalogue.names()) >= {"pendulum_swing_up", "two_link_pr", "two_link_rr"}
    assert "recipe" not in catalogue.names() and "command_line" not in catalogue.names()
    assert all(len(text) > 20 for text in catalogue.descriptions().values())


LARGE = {"biped_step", "four_bar", "gait", "quadruped_trot", "two_arms"}
LARGE |= {"countermovement_jump", "hop", "lift_box", "sit_to_stand"}


#: which are built as `gait` and `quadruped_trot` are, in 2 to 6 processor s
ALIKE = {"gait_stride", "quadruped_bound", "quadruped_gap", "quadruped_jump", "running"}
STAND_FOR_THEM = pytest.mark.thorough("those of gait and quadruped_trot stand for them")
MARKS = {**dict.fromkeys(LARGE, pytest.mark.long), **dict.fromkeys(ALIKE, STAND_FOR_THEM)}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(name, ())) for name in catalogue.names()]
)
def test_a_problem_is_built_again_from_its_recipe_as_json(name):
    first = built_at_defaults(name)
    kept = json.loads(json.dumps(dict(first.recipe.parameters)))
    again = catalogue.build(first.recipe.problem, kept)
    assert again.recipe == first.recipe and again.name == first.name
    for one, other in zip(problems_of(again), problems_of(first), strict=True):
        assert one.dynamics.joint_names == other.dynamics.joint_names


def problems_of(question):
    return question.problems if isinstance(question, trajopt.Phases) else (question,)


def test_the_two_link_arm_obeys_the_textbook_equations():
    """Spong, Hutchinson and Vidyasagar, Robot Modeling and Control, section 7.4, planar elbow arm."""
    (q, v, a), length, mass, inertia, r = POSTURES, 0.4, 0.5, 0.1, 0.2
    cosine, sine = np.cos(q[:, 1]), np.sin(q[:, 1])
    coupling = mass * length * r
    d22 = inertia + mass * r**2
    d12 = d22 + coupling * cosine
    d11 = 2 * inertia + mass * (2 * r**2 + length**2) + 2 * coupling * cosine
    first = d11 * a[:, 0] + d12 * a[:, 1] - coupling * sine * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2)
    second = d12 * a[:, 0] + d22 * a[:, 1] + coupling * sine * v[:, 0] ** 2
    expected = np.stack([first, second], axis=1)
    assert np.allclose(torques(problems.two_link_rr.build()), expected, rtol=1e-13, atol=1e-13)


def test_the_arm_on_a_slide_obeys_lagranges_equations():
    """With th = q2 + pi/2 the second centre of mass is at (r cos th, L + q1 + r sin th)."""
    (q, v, a), mass, inertia, r = POSTURES, 0.5, 0.1, 0.2
    cosine, sine = np.cos(q[:, 1] + math.pi / 2), np.sin(q[:, 1] + math.pi / 2)
    force = 2 * mass * a[:, 0] + mass * r * (cosine * a[:, 1] - sine * v[:, 1] ** 2)
    torque = mass * r * cosine * a[:, 0] + (inertia + mass * r**2) * a[:, 1]
    expected = np.stack([force, torque], axis=1)
    assert np.allclose(torques(problems.two_link_pr.build()), expected, rtol=1e-13, atol=1e-13)


def test_gravity_across_the_plane_loads_the_bearings_and_not_the_motors():
    level = problems.two_link_rr.build(gravity=(0.0, 0.0, -9.81))
    assert np.allclose(torques(level), torques(problems.two_link_rr.build()), atol=1e-13)
    still = {name: np.zeros((1, 2)) for name in "qva"}
    wrench = level.dynamics.block(["wrench:shoulder"]).value(still)["wrench:shoulder"][0]
    assert wrench[5] == pytest.approx(1.0 * 9.81)  # two links of half a kilogram


@pytest.mark.long
def test_minimum_time_approaches_the_bang_bang_optimum_from_above_with_order_two():
    durations = [
        trajopt.solve(problems.two_link_rr.build(intervals=n), trajopt.Ipopt(tol=1e-10)).duration
        for n in (10, 20, 40)
    ]
    distances = np.array(durations) / EXACT_DURATION - 1.0
    assert np.all(distances > 0.0) and distances[-1] < 1e-3
    orders = np.log2(distances[:-1] / distances[1:])
    assert np.all(np.abs(orders - 2.0) < 0.1)


@fast_first("intervals", [10, 20], 1)
def test_both_solvers_find_the_same_minimum_time(intervals):
    problem = problems.two_link_rr.build(intervals=intervals)
    ipopt = trajopt.solve(problem, trajopt.Ipopt(tol=1e-10), refine=None)
    slsqp = trajopt.solve(problem, trajopt.Slsqp(), refine=None)
    assert ipopt.converged and slsqp.converged
    assert slsqp.duration == pytest.approx(ipopt.duration, rel=1e-7)


def test_the_arm_on_a_slide_reaches_its_known_objective():
    """0.85306 at 0.6463 s: two independent transcriptions agree on it (docs/two_link_pr.md)."""
    coarse, fine = (
        trajopt.solve(problems.two_link_pr.build(intervals=n), trajopt.Ipopt(tol=1e-10)) for n in (20, 40)
    )
    assert fine.objective == pytest.approx(0.85306, abs=5e-6)
    assert fine.duration == pytest.approx(0.6463, abs=5e-5)
    assert abs(fine.objective - coarse.objective) < 1e-6
    assert fine.objective == pytest.approx(sum(fine.cost_terms.values()))
    assert fine.cost_terms["time"] == pytest.approx(0.99 * fine.duration)


def test_a_mirrored_elbow_gives_the_mirrored_motion():
    mirrored = problems.two_link_pr.build(
        theta=(math.pi / 2, -math.pi / 2), alpha=(-math.pi / 2, 0.0), intervals=10
    )
    straight = problems.two_link_pr.build(intervals=10)
    assert trajopt.solve(mirrored).objective == pytest.approx(trajopt.solve(straight).objective, rel=1e-7)


def test_the_pendulum_must_swing_back_first():
    solution = solved_at_defaults("pendulum_swing_up")
    t = np.linspace(0.0, solution.duration, 200)
    assert solution.q(t).min() < -1.0 and np.abs(solution.tau(solution.node_times)).max() <= 2.0 + 1e-6
    assert solution.objective == pytest.approx(5.598, abs=2e-3)


def test_parameters_keep_the_kind_of_their_defaults():
    parameters = problems.two_link_rr.build(
        intervals=12.0, masses=np.array([1.0, 2.0]), q_end=[1, -1], v_end=0, torque_upper=np.float64(8.0)
    ).recipe.parameters
    assert parameters["intervals"] == 12 and type(parameters["intervals"]) is int
    assert parameters["masses"] == (1.0, 2.0) and parameters["torque_upper"] == (8.0, 8.0)
    assert parameters["v_end"] == (0.0, 0.0) and parameters["centres"] == ((-0.5, 0.0), (-0.5, 0.0))


REFUSED = [
    ({"interval": 20}, UnknownNameError, "called 'interval' .did you mean 'intervals'"),
    ({"xyz": 20}, UnknownNameError, "is called 'xyz': there are intervals, degree"),
    ({"intervals": "many"}, OptionError, "'intervals' of two_link_rr is 'many': expected a whole number"),
    ({"intervals": 2.5}, OptionError, "'intervals' of two_link_rr is 2.5: expected a whole number"),
    ({"intervals": True}, OptionError, "'intervals' of two_link_rr is True: expected a whole number"),
    ({"intervals": math.inf}, OptionError, "is inf: expected a whole number"),
    ({"masses": "heavy"}, OptionError, "'masses' of two_link_rr is 'heavy': expected a number"),
    ({"masses": (1.0, 2.0, 3.0)}, ShapeError, "'masses' of two_link_rr has 3 entries: expected 2"),
    ({"masses": (math.nan, 1.0)}, NotFiniteError, "'masses' of two_link_rr is NaN"),
    ({"centres": ((0.0,), (1.0, 2.0))}, ShapeError, "'centres' of two_link_rr has 1 entries: expected 2"),
]


@pytest.mark.parametrize(("parameters", "kind", "message"), REFUSED)
def test_wrong_parameters_are_refused_with_what_to_do(parameters, kind, message):
    with pytest.raises(kind, match=message):
        problems.two_link_rr.build(**parameters)


def test_a_weight_outside_zero_to_one_is_refused():
    with pytest.raises(OptionError, match=r"u is 2.0: expected a weight between 0"):
        problems.two_link_pr.build(u=2)


def test_an_unknown_problem_is_refused_with_near_matches():
    with pytest.raises(
        UnknownNameError, match=r"no problem is called 'two_link_r' .did you mean 'two_link_rr'"
    ):
        catalogue.build("two_link_r", {})
    with pytest.raises(UnknownNameError, match=r"no problem is called 'os': there are .*pendulum_swing_up"):
        catalogue.build("os", {})
    with pytest.raises(AttributeError, match=r"no problem 'two_legs' \(did you mean 'two_arms'\?\)"):
        _ = problems.two_legs
    with pytest.raises(AttributeError, match=r"no problem 'os': there are .*pendulum_swing_up"):
        _ = problems.os


def test_a_build_function_must_have_defaults_and_return_a_problem():
    def without_default(*, mass):
        raise AssertionError

    with pytest.raises(OptionError, match=r"parameter 'mass' of .*without_default has no default"):
        recipe(without_default)
    with pytest.raises(
        ProblemError, match=r"the build of test_problems returned 3: return a trajopt.Problem"
    ):
        recipe(lambda: 3)()


def test_recipes_hold_texts_flags_and_anything_a_file_can_keep():
    def build(*, label="left", mirrored=False, path=None):
        assert (label, mirrored, path) == ("right", True, (1, ("a", None)))
        return problems.two_link_rr.build(intervals=5)

    checked = recipe(build, name="mine")
    problem = checked(label="right", mirrored=True, path=[1, ["a", None]])
    assert problem.recipe.problem == "mine" and problem.recipe.parameters["label"] == "right"
    with pytest.raises(OptionError, match=r"'mirrored' of mine is 1: expected bool, such as False"):
        checked(mirrored=1)
    with pytest.raises(OptionError, match=r"'path' of mine is .*: give numbers, texts or lists"):
        checked(path=replace)
