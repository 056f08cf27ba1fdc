"""Every term of the library and every problem, found by itself: Taylor remainders fall with 2 and 3."""

import numpy as np
import pytest

import problems
import trajopt
from problems import catalogue
from problems.recipe import defaults_of
from trajopt import library
from trajopt.graph.graph import ChainRule
from trajopt.problem.problem_graph import graph_of
from trajopt.terms import term as terms
from trajopt.transcription.linked_program import linked_program

STEPS = np.array([4e-3, 2e-3, 1e-3])
TINY = 1e-11  # of the value: below it a remainder is rounding, the term then is affine or quadratic


def arm():
    problem = problems.urdf_arm.build(intervals=4)
    problem.data("seconds", np.linspace(0.0, 2.0, 9), np.sin(np.arange(54.0)).reshape(9, 6))
    problem.data("progress", np.linspace(0.0, 1.0, 9), np.sin(np.arange(54.0)).reshape(9, 6), "progress")
    return problem


# A step of 4e-3 is no small one where drag grows with exp(-500 h), and where the power of muscles turns.
SHORTER = {"goddard_in_phases": 0.1, "gait": 0.1, "gait_stride": 0.03}
FRAME, INNER = "wrist_3_link", "forearm_link"


# Made within tests: these compile kernels for many seconds, for which nobody who collects tests should wait.
COMPILING = {"manipulability": lambda problem: library.manipulability(problem.dynamics, FRAME)}


def library_terms(problem):
    """All other terms of the library; one instance of every function that makes one, those that act apart."""
    made = {name: getattr(library, name) for name in library.__all__}  # pyright: ignore
    made = {name: term for name, term in made.items() if hasattr(term, "quantity")}
    made |= {
        "effort": library.effort(problem.dynamics.limits.torque_upper),
        "mechanical_work": library.mechanical_work(5.0),
        "distance_to_data": library.distance_to_data(terms.q, terms.Quantity("data:seconds")),
        "position_error": library.position_error(FRAME, [0.3, 0.2, 0.5]),
        "orientation_error": library.orientation_error(FRAME, np.eye(3)),
        "force_norm": library.force_norm(problem.dynamics.joint_names[1]),
        "moment_norm": library.moment_norm(problem.dynamics.joint_names[2]),
        "sphere_clearance": library.sphere_clearance(FRAME, [0.5, 0.5, 0.5], 0.1, 0.05),
        "capsule_clearance": library.capsule_clearance(
            INNER, FRAME, [0.9, 0.0, 0.2], [0.9, 0.6, 0.9], 0.1, 0.05
        ),
        "self_clearance": library.self_clearance(
            ("shoulder_link", "upper_arm_link"), ("wrist_1_link", FRAME), (0.05, 0.04)
        ),
    }
    acting = {"frame_at", "limit_torque_rate", "symmetric", "weighted", "pareto_front"}
    tested = set(made) | set(COMPILING)
    assert tested | acting == set(library.__all__), "a name of the library has no slope test"  # pyright: ignore
    return made


def quantities(problem):
    """Every quantity of nodes that terms can name."""
    names = ("q", "v", "a", "jerk", "t", "duration", "tau", "base_wrench", "centre_of_mass", "momentum")
    made = {name: terms.Quantity(name) for name in (*names, "kinetic_energy", "potential_energy")}
    for family in ("position", "orientation", "velocity"):
        made[family] = terms.Quantity(f"{family}:{FRAME}")
    made["wrench"] = terms.wrench(problem.dynamics.joint_names[3])
    made["data by progress"] = terms.Quantity("data:progress")
    made["squared"] = terms.tau**2  # pyright: ignore
    made["combination"] = 2.0 * terms.tau - terms.q**2  # pyright: ignore
    return made


ARM = arm()
TERMS = library_terms(ARM) | quantities(ARM)
NAMES = [*TERMS, *(pytest.param(name, marks=pytest.mark.long) for name in COMPILING)]
#: Phases, impacts, contacts, slacks, further states, designs, tables, loads and free durations among them.
FEW = {
    "brachistochrone",
    "cart_pole",
    "gear_ratio",
    "goddard_rocket",
    "hop",
    "lift_box",
    "minimum_fuel",
    "motor_arm",
    "one_legged_hopper",
    "quadrotor_gates",
    "two_link_rr",
}
#: Terms and contacts of `gait` on more arcs, 2 to 6 processor s.
ALIKE = {"gait_stride", "running"}
MARKS = {name: pytest.mark.long for name in set(catalogue.names()) - FEW}
MARKS |= dict.fromkeys(ALIKE, pytest.mark.thorough("that of gait stands for them"))
PROBLEMS = [pytest.param(name, marks=MARKS.get(name, ())) for name in catalogue.names()]


def remainders(problem, term, seed=0):
    """First and second Taylor remainders of a weighted sum of a term's values, in the leaves."""
    graph = graph_of(problem, [term])
    rng = np.random.default_rng(seed)
    width = graph.width[term.quantity]
    z = {leaf: rng.uniform(-1.0, 1.0, (3, size)) for leaf, size in graph.leaves.items()}
    z["t"], z["duration"] = rng.uniform(0.4, 0.6, (3, 1)), rng.uniform(0.9, 1.1, (3, 1))
    direction = {leaf: rng.uniform(-1.0, 1.0, part.shape) for leaf, part in z.items()}
    adjoint = rng.uniform(0.5, 1.5, (3, width))

    def value(step):
        moved = {leaf: part + step * direction[leaf] for leaf, part in z.items()}
        return float((adjoint * graph.values(moved)[term.quantity]).sum())

    u = graph.values(z)
    partials = graph.partials(u)
    chain = ChainRule(graph, [], [term.quantity], list(z))
    D = chain.jacobian(partials, 3, np.dtype(float))
    stacked = np.concatenate(list(direction.values()), axis=1)
    slope = float(np.einsum("kr,krw,kw->", adjoint, D[:, : chain.used_count], stacked))
    ahead, here = np.array([value(step) for step in STEPS]), value(0.0)
    first = ahead - here - STEPS * slope
    if not graph.has_curvature:
        return here, first, None
    H = chain.hessian(u, D, chain.adjoints(partials, adjoint))
    bend = float(np.einsum("ki,kij,kj->", stacked, H, stacked))
    return here, first, first - 0.5 * STEPS**2 * bend


def falls(remainder, order, size):
    if np.abs(remainder).max() < TINY * max(size, 1.0):
        return True
    return np.allclose(np.diff(np.log2(np.abs(remainder))), -order, atol=0.35)


@pytest.mark.parametrize("name", NAMES)
def test_a_terms_remainders_fall_with_slopes_two_and_three(name):
    here, first, second = remainders(ARM, COMPILING[name](ARM) if name in COMPILING else TERMS[name])
    assert falls(first, 2.0, abs(here)), first
    assert second is not None, "no second derivatives"
    assert falls(second, 3.0, abs(here)), second


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_lagrangian_of_every_library_problem_has_slopes_two_and_three(name):
    small = {"intervals": 5} if "intervals" in defaults_of(catalogue.module(name).build) else {"degree": 5}
    question = catalogue.build(name, small)
    nlp = linked_program(question) if isinstance(question, trajopt.Phases) else trajopt.transcribe(question)
    rng = np.random.default_rng(7)
    y = np.clip(
        nlp.start * (1.0 + 0.02 * rng.uniform(-1.0, 1.0, nlp.variable_count))
        + 0.02 * rng.uniform(-1.0, 1.0, nlp.variable_count),
        nlp.lower,
        nlp.upper,
    )
    multipliers = rng.uniform(-1.0, 1.0, nlp.row_count)
    direction = rng.uniform(-1.0, 1.0, nlp.variable_count) * np.maximum(np.abs(y), 0.1)
    direction *= SHORTER.get(name, 1.0)

    def value(point):
        return nlp.objective(point) + multipliers @ nlp.rows(point)

    along = nlp.jacobian(y) * direction[nlp.jacobian_columns]
    slope = nlp.gradient(y) @ direction + multipliers[nlp.jacobian_rows] @ along
    second = nlp.hessian(y, multipliers, 1.0) * direction[nlp.hessian_rows] * direction[nlp.hessian_columns]
    bend = second.sum() + second[nlp.hessian_rows != nlp.hessian_columns].sum()
    steps = np.array([4e-3, 2e-3, 1e-3])
    here = value(y)
    first = np.array([value(y + step * direction) for step in steps]) - here - steps * slope
    size = np.abs(nlp.gradient(y) @ direction) + np.abs(along).sum() + abs(here)
    assert falls(first, 2.0, size), first
    assert falls(first - 0.5 * steps**2 * bend, 3.0, size)
