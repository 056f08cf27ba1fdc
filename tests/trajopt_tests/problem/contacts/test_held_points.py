"""Points of a link that stand: what a contact holds at rest, against differences of their places."""

import numpy as np
import pytest
from tiers import fast_first

import dynamics
import trajopt
from problems.gallery.legged.solo import FEET, minimize_effort, solo
from trajopt.base.errors import OptionError
from trajopt.graph.quantities import extra_leaf, parameter_leaf
from trajopt.problem.contacts.schedule import after_name
from trajopt.problem.problem_graph import graph_of

SOLO = solo()
ON_SHANK = {frame.name: frame for frame in SOLO.frames}["FL_FOOT"].position  # m, of the foot
ALONG, ACROSS = np.array([0.03, 0.01, -0.02]), np.array([0.0, 0.02, 0.01])  # m, between points of a foot
SOLES = {
    "origin": [np.zeros(3)],
    "point": [ON_SHANK],
    "line": [ON_SHANK, ON_SHANK + ALONG, ON_SHANK - 0.5 * ALONG],
    "sole": [ON_SHANK, ON_SHANK + ALONG, ON_SHANK + ACROSS],
}
UPRIGHT = np.array([0, 0, 0.3, 0, 0, 0] + 4 * [0, 0.8, -0.8])  # shanks


def standing(sole, **options):
    problem = trajopt.Problem(SOLO, trajopt.Schedule.standing(("FL",), 0.4).trajectory(2))
    return problem, problem.contact("FL_LOWER_LEG", [0], sole=sole, **options)


def held_velocity(problem, contact, q, v):
    term = trajopt.term(name="held")(lambda node: contact.velocity(node, 0))
    graph = graph_of(problem, [term])
    leaves = {leaf: np.zeros((len(q), width)) for leaf, width in graph.leaves.items()}
    return graph.values(leaves | {"q": q, "v": v})[term.quantity]


def places(contact, q):
    """(k, points, 3) m."""
    pose = dynamics.forward_kinematics(SOLO, q, [contact.frame])
    return pose.position[:, :1] + contact.points @ np.swapaxes(pose.rotation[:, 0], 1, 2)


def velocities(contact, q, v, step=1e-6):
    """(k, points, 3) m/s, by central differences."""
    return (places(contact, q + step * v) - places(contact, q - step * v)) / (2.0 * step)


def random_motion(count=5):
    rng = np.random.default_rng(7)
    return rng.uniform(-0.6, 0.6, (count, SOLO.n)), rng.uniform(-1.0, 1.0, (count, SOLO.n))


@pytest.mark.parametrize("kind", ["origin", "point"])
def test_the_velocity_of_a_point_foot_is_that_of_its_point(kind):
    problem, contact = standing(SOLES[kind])
    q, v = random_motion()
    here = velocities(contact, q, v)[:, 0]
    np.testing.assert_allclose(held_velocity(problem, contact, q, v), here, atol=1e-6)
    assert np.abs(here).max() > 0.5


@pytest.mark.parametrize(("kind", "count"), [("point", 3), ("line", 5), ("sole", 6)])
def test_where_all_rows_vanish_every_point_rests_and_no_row_repeats_others(kind, count):
    problem, contact = standing(SOLES[kind])
    q, v = random_motion()
    for one, speed in zip(q, v, strict=True):
        J = held_velocity(problem, contact, np.tile(one, (SOLO.n, 1)), np.eye(SOLO.n)).T
        assert np.linalg.matrix_rank(J, tol=1e-6) == len(J) == count
        assert problem.term_units(by_name(problem)["FL_LOWER_LEG stands, arc 0"].term, count)[-1] == "m/s"
        at_rest = speed - np.linalg.pinv(J) @ (J @ speed)
        assert np.abs(at_rest).max() > 0.1
        assert np.abs(velocities(contact, one[None], at_rest[None])).max() < 1e-6


def by_name(problem):
    return {each.name: each for each in problem.constraints}


def test_a_line_touches_down_with_two_points_a_sole_with_three():
    for kind, count in (("point", 1), ("line", 2), ("sole", 3)):
        problem, _ = standing(SOLES[kind])
        assert by_name(problem)["FL_LOWER_LEG touches down, arc 0"].lower.size == count


def test_a_component_of_a_force_is_a_term_with_its_unit_and_name():
    problem, contact = standing(SOLES["point"])
    problem.subject_to(contact.force[2], upper=10.0, name="light")
    bounded = by_name(problem)["light"].term
    assert bounded.components == ("z",) and problem.term_units(bounded, 1) == ["N"]
    assert contact.force[:2].components == ("x", "y") and contact.force[-1].name.endswith("[-1]")
    with pytest.raises(OptionError, match=r"force on FL_LOWER_LEG\[3\] has no component: .* has 3"):
        _ = contact.force[3]
    two = trajopt.term(name="two")(lambda node: [node.q[0], node.q[1]])
    with pytest.raises(OptionError, match=r"two\[4\] has no component: two has 2"):
        problem.subject_to(two[4], upper=1.0)
    with pytest.raises(OptionError, match="has no entry 'z'"):
        contact.force["z"]


def shift(sole_of, forward):
    """Solo's body moves forward over feet that stand, every shank turning."""
    problem = trajopt.Problem(SOLO, trajopt.Schedule.standing(FEET, 0.4).trajectory(6), name="shift")
    for foot in FEET:
        frame = {each.name: each for each in SOLO.frames}[f"{foot}_FOOT"]
        if sole_of is None:
            problem.contact(frame.name, [0])
        else:
            problem.contact(frame.body, [0], sole=sole_of(frame.position))
    problem.passive_base()
    start = problem.standing_pose(UPRIGHT)
    problem.start_at(q=start, v=0)
    base = start[:6] + forward * np.eye(6)[0]
    problem.end_at(q=[*base[:2], None, *base[3:], *[None] * 12], v=[*[0] * 6, *[None] * 12])
    minimize_effort(problem, 1.0, 1e-3, 1e-5)
    problem.guess(np.array([start, start]))
    return problem


@pytest.mark.long
def test_feet_given_as_points_of_shanks_stand_as_those_given_as_frames():
    by_frame, by_point = (
        trajopt.solve(shift(each, 0.02), starts=1) for each in (None, lambda place: [place])
    )
    t = np.linspace(0.0, 0.4, 401)
    for solution in (by_frame, by_point):
        assert solution.verify().verdict == "PASS", solution.verify().reason
        for contact in solution.asked.contacts.values():
            moved = places(contact, solution.q(t)) - places(contact, solution.q(t))[0]
            assert np.abs(moved).max() < 1e-4
    assert by_point.objective == pytest.approx(by_frame.objective, rel=0.02)


@pytest.mark.parametrize("kind", ["origin", "point", "line", "sole"])
@fast_first("ground", [trajopt.Ground(slope=(0.2, -0.1)), trajopt.Plane((0.4, 0.0, 0.0), (-1, 0, 0.2))], 1)
def test_an_impulse_acts_on_joints_as_it_does_work_on_its_points(kind, ground):
    """J'p of an impact against differences of sum_c p_c . place_c, and what is zero behind it."""
    schedule = trajopt.Schedule([((), 0.2), (("FL",), 0.2)], feet=("FL",))
    problem = trajopt.Problem(SOLO, schedule.trajectory(2))
    contact = problem.contact("FL_LOWER_LEG", [1], sole=SOLES[kind], ground=ground, impact=True)
    stated = by_name(problem)
    momentum = stated["impact, arc 1"].term
    graph = graph_of(problem, [momentum])
    (q, _), step = random_motion(), 1e-6
    shares = np.random.default_rng(5).uniform(0.0, 1.0, (len(q), 4 * len(contact.points)))
    leaves = {leaf: np.zeros((len(q), width)) for leaf, width in graph.leaves.items()}
    given = {parameter_leaf(contact.impulse_name(1)): shares, "q": q}

    def at(behind):
        own = leaves | given | {extra_leaf(after_name(1)): np.full((len(q), 1), behind)}
        return graph.values(own)[momentum.quantity]

    x, y, z = np.array(ground.world_axes_at(np.zeros(3)), dtype=float)
    each = shares.reshape(len(q), -1, 4)
    along = contact.friction * (each[..., 0] - each[..., 1]), contact.friction * (each[..., 2] - each[..., 3])
    sizes = [*along, each.sum(axis=2)]
    impulses = contact.weight * sum(
        size[..., None] * axis for size, axis in zip(sizes, (x, y, z), strict=True)
    )
    expected = np.stack(
        [
            np.sum(
                impulses * (places(contact, q + step * one) - places(contact, q - step * one)), axis=(1, 2)
            )
            for one in np.eye(SOLO.n)
        ],
        axis=1,
    ) / (2.0 * step)
    np.testing.assert_allclose(at(0.0) - at(1.0), expected, atol=1e-6)
    assert np.abs(expected).max() > 1.0
    lands = stated["FL_LOWER_LEG lands without impact, arc 1"]
    assert len(lands.lower) == {"origin": 3, "point": 3, "line": 5, "sole": 6}[kind]
