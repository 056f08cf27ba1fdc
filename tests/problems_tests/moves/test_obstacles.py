"""Motions past obstacles: rows that follow the pairs, nodes between nodes, and the proof for all times."""

import numpy as np
import pytest

import dynamics
import trajopt
from problems import moves
from problems.moves.clearance_rows import FREE, ClearanceRows, rows_taken
from problems.moves.contact_proof import least_clearance_bound
from problems.moves.obstacles import keep_clear, least_clearances, missed_times, solve_clear

CLEARANCE = 0.005


def crane():
    """A ball on two slides and a turn, so that its path is in plain sight."""
    slides = [("x", (1, 0, 0)), ("y", (0, 1, 0))]
    bodies, parent = [], None
    for name, axis in slides:
        limits = dynamics.JointLimits.symmetric(q=2.0, velocity=2.0, torque=20.0)
        joint = dynamics.Joint(f"slide {name}", "prismatic", axis, limits=limits)
        bodies.append(dynamics.Body(name, joint, parent, mass=1.0))
        parent = name
    joint = dynamics.Joint("turn", limits=dynamics.JointLimits.symmetric(q=3.0, velocity=3.0, torque=5.0))
    bodies.append(dynamics.Body("arm", joint, parent, 1.0, (0.1, 0, 0), 0.02 * np.eye(3)))
    ball = dynamics.sphere(0.1, at=(0.2, 0.0, 0.0), carrier="arm")
    return dynamics.RigidBodyModel(bodies, gravity=(0, 0, 0)).with_shapes([ball])


SCENE = moves.Scene(
    [moves.box((0.1, 1.0, 1.0), (0.6, -0.3, 0.0), name="wall"), moves.sphere(0.1, at=(0.9, 0.7, 0))]
)


@pytest.fixture(scope="module")
def clearances():
    return dynamics.Clearances(crane(), SCENE)


def problem_past_the_wall(clearances):
    problem = trajopt.Problem(clearances.model, trajopt.Trajectory.uniform(8, 4, (0.1, 5.0)))
    problem.start_at(q=(0.0, 0.0, 0.0), v=0.0, a=0.0)
    problem.end_at(q=(1.2, 0.0, 0.0), v=0.0, a=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.a, -10.0, 10.0)
    problem.subject_to(trajopt.jerk, -200.0, 200.0)
    path = np.array([[0, 0, 0], [0.4, 0.5, 0.0], [0.8, 0.5, 0.0], [1.2, 0.0, 0.0]])
    s = np.linspace(0.0, 1.0, 50)
    samples = np.stack([np.interp(s, np.linspace(0, 1, 4), column) for column in path.T], axis=1)
    keep_clear(problem, clearances, CLEARANCE, samples)
    problem.guess(samples, duration=2.0)
    return problem


@pytest.fixture(scope="module")
def motion(clearances):
    return solve_clear(problem_past_the_wall(clearances), clearances, CLEARANCE, trajopt.InteriorPoint())


def test_a_motion_goes_around_a_wall(clearances, motion):
    assert motion.converged
    _, least = least_clearances(clearances, motion)
    assert least.min() >= 0.5 * CLEARANCE
    assert least.min() < 4.0 * CLEARANCE  # the wall is what holds it back
    assert motion.q(np.linspace(0, motion.duration, 50))[:, 1].max() > 0.2


def test_contact_is_excluded_for_all_times(clearances, motion):
    bound = least_clearance_bound(clearances, motion.curve)
    _, least = least_clearances(clearances, motion)
    assert bound.proved
    assert 0.0 < bound.value <= least.min() + 1e-12
    line = bound.line(CLEARANCE)
    assert line.holds and line.evidence == "proved"
    assert "at least, for all times" in str(bound)
    asked = least_clearance_bound(clearances, motion.curve, 0.9 * float(least.min()))
    assert asked.value > 0.9 * float(least.min()) and asked.spans > bound.spans


def test_a_contact_between_samples_is_found(clearances):
    """Straight through the wall: no proof, and the pair is named."""
    problem = trajopt.Problem(clearances.model, trajopt.Trajectory.uniform(4, 4, 1.0))
    problem.start_at(q=(0.0, 0.0, 0.0), v=0.0)
    problem.end_at(q=(1.2, 0.0, 0.0), v=0.0)
    problem.minimize(trajopt.integral(trajopt.a**2) if hasattr(trajopt, "integral") else trajopt.a**2)
    through = trajopt.solve(problem)
    bound = least_clearance_bound(clearances, through.curve)
    assert not bound.proved and bound.value < 0.0
    assert bound.pair == "arm and wall"
    assert not bound.line(CLEARANCE).holds
    clear = float(least_clearances(clearances, through)[1].min())
    assert not least_clearance_bound(clearances, through.curve, clear + 1e-3).proved


def test_bounds_hold_on_every_span(clearances, motion):
    """The bound of a span is below every distance on it, of random spans."""
    from problems.moves.contact_proof import _Proof
    from trajopt.splines.polynomial_bounds import pieces_of_group

    spans, error, _ = pieces_of_group(motion.curve, 0, 1)
    proof = _Proof(clearances, motion.curve, 0.0)
    bound, _, _ = proof.bounds(spans, float(error.max()))
    for start, end, low in zip(spans.start, spans.end, bound, strict=True):
        inside = clearances.distances(motion.q(np.linspace(start, end, 200)))
        assert inside.min() >= low - 1e-12


def test_rows_are_the_pairs_within_reach_and_keep_their_place(clearances):
    rows = ClearanceRows(clearances, 0.3, 3)
    q = np.linspace([0.0, 0.0, 0.0], [1.2, 0.5, 0.3], 20)
    d = clearances.distances(q)
    first = rows.value({"q": q})["clearance"]
    np.testing.assert_allclose(first.min(axis=1), np.minimum(d, 0.3).min(axis=1))
    np.testing.assert_allclose(np.sort(first, axis=1)[:, :2], np.sort(np.minimum(d, 0.3), axis=1))
    h = 1e-6
    slopes = rows.partials({"q": q})["clearance", "q"]
    for k in range(3):
        step = h * np.eye(3)[k]
        ahead, behind = (rows.value({"q": q + sign * step})["clearance"] for sign in (1, -1))
        np.testing.assert_allclose((ahead - behind) / (2 * h), slopes[..., k], atol=1e-6)
    np.testing.assert_array_equal(rows.value({"q": q})["clearance"], first)  # pairs are where they were


def test_rows_stay_while_other_times_are_checked_and_distances_of_one_call_are_kept(clearances):
    """Pairs of every number of nodes are kept, a few numbers each; distances, a row of all pairs, of one."""
    nodes = np.linspace([0.0, 0.0, 0.0], [1.2, 0.5, 0.3], 20)
    rows, alone = ClearanceRows(clearances, 0.3, 3), ClearanceRows(clearances, 0.3, 3)
    for k in range(5):
        moved = nodes + 0.05 * k
        for count in (7, 50, 300):
            rows.value({"q": np.linspace(moved[0], moved[-1], count)})
        (values, slopes), (expected, their) = (
            (each.value({"q": moved})["clearance"], each.partials({"q": moved})["clearance", "q"])
            for each in (rows, alone)
        )
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(slopes, their)
    held = [value for value in vars(rows).values() if isinstance(value, tuple)]
    assert [each.shape for kept in held for each in kept] == [(20, 3), (20, len(clearances))]


def test_more_pairs_than_rows_leave_the_closest(clearances):
    rows = ClearanceRows(clearances, 10.0, 1)
    q = np.linspace([0.0, 0.0, 0.0], [1.2, 0.5, 0.3], 20)
    np.testing.assert_allclose(rows.value({"q": q})["clearance"][:, 0], clearances.distances(q).min(axis=1))


def test_missed_times_are_the_deepest_of_every_interval():
    times = np.arange(10.0)
    excess = np.array([1, -1, -2, -1, 1, 1, -3, 1, 1, 1.0])
    assert missed_times(times, excess).tolist() == [1.0, 2.0, 3.0, 6.0]
    assert missed_times(times, np.ones(10)).size == 0


def test_a_clearance_is_positive(clearances):
    with pytest.raises(ValueError, match="clearance"):
        keep_clear(
            trajopt.Problem(crane(), trajopt.Trajectory.uniform(4, 4)), clearances, 0.0, np.zeros((1, 3))
        )


def taken_one_by_one(pairs, wanted):
    """`rows_taken` as it is said: each node by itself, each pair by itself."""
    found = np.array(pairs)
    for row, wished in zip(found, wanted, strict=True):
        for k, pair in enumerate(row):
            row[k] = pair if pair != FREE and wished[pair] else FREE
        for pair in np.flatnonzero(wished):
            if pair not in row:
                later = [*range(pair % row.size, row.size), *range(pair % row.size)]
                row[next(k for k in later if row[k] == FREE)] = pair
    return found


def test_pairs_keep_their_rows_and_others_enter_free_ones():
    rng = np.random.default_rng(3)
    pairs = np.full((30, 5), FREE)
    for _ in range(40):
        wanted = rng.random((30, 12)) < 0.25
        for row in wanted:
            row[np.flatnonzero(row)[5:]] = False
        after = rows_taken(pairs, wanted)
        np.testing.assert_array_equal(after, taken_one_by_one(pairs, wanted))
        pairs = after
