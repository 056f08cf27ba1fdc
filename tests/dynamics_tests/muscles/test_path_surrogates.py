"""Polynomials of paths: exact derivatives, fits that meet what they were fitted to, files, and refusals."""

import numpy as np
import pytest
from muscle_arms import arm, over_pulley, pulley

import dynamics
from dynamics.couplings.coupled_tree import Follower
from dynamics.couplings.joint_function import polynomial
from dynamics.muscles import muscle_paths, surrogate_files
from dynamics.muscles.geometry_path import Condition, GeometryPath, PathPoint, PathWrap
from dynamics.muscles.muscle_paths import MusclePaths
from dynamics.muscles.path_fit import SMALLEST_SQUARE, largest_arms, latin_hypercube, least_squares
from dynamics.muscles.path_polynomials import PathSurrogate, all_exponents

RANGES = {"shoulder": (-1.0, 1.0), "elbow": (-1.6, -0.6)}


def random_surrogate(seed=0):
    """Two polynomials, of one and of three coordinates of five."""
    rng = np.random.default_rng(seed)
    one, other = np.pad(all_exponents(1, 4), ((0, 0), (0, 2))), all_exponents(3, 3)
    return PathSurrogate(
        ("a", "b"), tuple("vwxyz"), np.array([[1, -1, -1], [0, 3, 4]]), rng.normal(size=(2, 3)),
        rng.uniform(1.0, 2.0, (2, 3)), np.array([0, len(one), len(one) + len(other)]),
        np.concatenate([one, other]), rng.normal(size=len(one) + len(other)),
        np.full(2, np.nan), np.full(2, np.nan),
    )  # fmt: skip


def two_muscles():
    over_elbow = PathPoint("upper", (0.1, 0.02, 0.0)), PathPoint("fore", (0.03, 0.02, 0.0))
    over_shoulder = PathPoint(None, (0.0, 0.1, 0.0)), PathPoint("upper", (0.1, 0.02, 0.0))
    straight = GeometryPath("brachialis", over_elbow), GeometryPath("deltoid", over_shoulder)
    return MusclePaths(arm(), (straight[0], over_pulley(pulley("+y")), straight[1]))


def test_values_are_those_of_the_terms_written_out():
    surrogate, q = random_surrogate(), np.random.default_rng(1).normal(size=(70, 5))
    x = (q[:, [0, 3, 4]] - surrogate.centres[1]) / surrogate.scales[1]
    terms = np.prod(x[:, None, :] ** surrogate.exponents[surrogate.spans[1] :], axis=2)
    assert surrogate.lengths(q)[:, 1] == pytest.approx(terms @ surrogate.weights[surrogate.spans[1] :])


def test_derivatives_are_differences():
    surrogate, q = random_surrogate(), np.random.default_rng(1).normal(size=(3, 5))
    gradient, second, step = surrogate.gradient(q), surrogate.hessian(q), 1e-5
    for j in range(5):
        way = step * np.eye(5)[j]
        by_j = (surrogate.lengths(q + way) - surrogate.lengths(q - way)) / (2 * step)
        assert gradient[:, :, j] == pytest.approx(by_j, rel=1e-7, abs=1e-7)
        for path, own in enumerate(surrogate.coordinates.tolist()):
            if j in own:
                change = (surrogate.gradient(q + way) - surrogate.gradient(q - way))[:, path] / (2 * step)
                known = [c for c in own if c >= 0]
                found = second[:, path, own.index(j), : len(known)]
                assert found == pytest.approx(change[:, known], rel=1e-6, abs=1e-6)


def test_a_fit_meets_lengths_and_moment_arms_and_says_how_well():
    paths = two_muscles()
    surrogate = paths.surrogate(ranges=RANGES, samples=60, kept=False)
    assert surrogate.misses(2e-4, 5e-4) == ()
    q = np.random.default_rng(5).uniform([-1.0, -1.6], [1.0, -0.6], (50, 2))
    assert np.abs(surrogate.lengths(q) - paths.lengths(q)).max() < 2e-4
    assert np.abs(surrogate.moment_arms(q) - paths.moment_arms(q)).max() < 5e-4
    assert surrogate.coordinates.tolist() == [[1], [1], [0]]
    assert "brachialis" in str(surrogate) and "moment arm: none" in str(surrogate)
    assert surrogate.only(["deltoid"]).lengths(q)[:, 0] == pytest.approx(surrogate.lengths(q)[:, 2])


def test_a_path_over_one_joint_keeps_its_moment_arm_beside_one_over_two():
    elbow = two_muscles().only(["brachialis"]).paths
    paths = MusclePaths(arm(), (*elbow, bent_path()))
    surrogate = paths.surrogate(ranges=RANGES, samples=60, kept=False)
    assert surrogate.coordinates.tolist() == [[1, -1], [0, 1]]
    q = np.random.default_rng(6).uniform([-1.0, -1.6], [1.0, -0.6], (20, 2))
    assert np.abs(surrogate.moment_arms(q) - paths.moment_arms(q)).max() < 5e-4


def test_paths_of_the_same_coordinates_get_the_polynomials_that_each_gets_alone():
    paths = two_muscles()
    together = paths.surrogate(ranges=RANGES, samples=60, kept=False)
    for name in paths.names:
        alone = paths.only([name]).surrogate(ranges=RANGES, samples=60, kept=False)
        assert together.only([name]).weights == pytest.approx(alone.weights, abs=1e-12)


def bent_path(condition=None, wraps=()):
    """A path from the ground over the upper arm to the forearm."""
    middle = PathPoint("upper", (0.15, 0.04, 0.0), condition)
    points = PathPoint(None, (-0.1, 0.1, 0.0)), middle, PathPoint("fore", (0.1, 0.02, 0.0))
    return GeometryPath("biceps", points, wraps)


def test_coordinates_of_two_stretches_are_not_multiplied():
    paths = MusclePaths(arm(), (bent_path(),))
    surrogate = paths.surrogate(ranges=RANGES, samples=200, kept=False, tolerances=(1e-6, 1e-5))
    assert surrogate.coordinates.tolist() == [[0, 1]]
    assert not (surrogate.exponents != 0).all(axis=1).any()
    q = np.random.default_rng(5).uniform([-1.0, -1.6], [1.0, -0.6], (50, 2))
    assert np.abs(surrogate.lengths(q) - paths.lengths(q)).max() < 1e-6
    assert np.abs(surrogate.moment_arms(q) - paths.moment_arms(q)).max() < 1e-5


@pytest.mark.parametrize("joined", ["condition", "wrap", "two wraps", "moving point"])
def test_what_joins_two_stretches_is_one(joined):
    """A point that may not count, a surface beside it, or one that moves with the other joint."""
    elbow = Follower("elbow", polynomial([0.0, 1.0]))
    if joined == "condition":
        path = bent_path(Condition(elbow, -1.1, 0.0))
    elif joined == "wrap":
        path = bent_path(wraps=(PathWrap(pulley("+y"), 0, 2),))
    elif joined == "two wraps":  # of which the second takes part behind the middle point alone
        path = bent_path(wraps=(PathWrap(pulley("+y"), 0, 2), PathWrap(pulley("-y"), 1, 2)))
    else:
        path = GeometryPath("biceps", (
            PathPoint(None, (-0.1, 0.1, 0.0)),
            PathPoint("upper", (0.15, 0.04, 0.0), None, ((np.array([0.0, 0.02, 0.0]), elbow),)),
        ))  # fmt: skip
    surrogate = MusclePaths(arm(), (path,)).surrogate(ranges=RANGES, samples=60, kept=False)
    assert (surrogate.exponents != 0).all(axis=1).any()


def test_least_squares_are_those_of_a_singular_value_decomposition():
    x = np.linspace(-1.0, 1.0, 300)
    matrix = np.column_stack([x**k for k in range(12)])  # of condition 1e4
    right = np.column_stack([np.exp(x), np.abs(x)])
    assert least_squares(matrix, right) == pytest.approx(np.linalg.lstsq(matrix, right)[0], abs=1e-9)
    idle = np.column_stack([matrix, 0.0 * x])
    assert least_squares(idle, right)[:-1] == pytest.approx(least_squares(matrix, right), abs=1e-9)
    assert not least_squares(idle, right)[-1].any()


def test_coordinates_that_move_together_leave_least_squares_small():
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (400, 1))
    matrix, right = np.prod(x[:, None] ** all_exponents(3, 5), axis=2), np.sqrt(0.1 + (x - 0.3) ** 2)
    of_one = x ** np.arange(6)
    expected, found = least_squares(of_one, right), least_squares(matrix, right)
    assert np.abs(found).max() < 2.0 * np.abs(expected).max()
    missed = np.linalg.norm(matrix @ found - right)
    assert missed == pytest.approx(np.linalg.norm(of_one @ expected - right), rel=1e-6)
    columns = matrix / np.linalg.norm(matrix, axis=0)
    assert np.linalg.eigvalsh(columns.T @ columns)[0] > -0.5 * SMALLEST_SQUARE * columns.shape[1]


def test_a_kink_is_missed_and_named():
    """A pulley that the path leaves and does not push to the other side: no polynomial has the corner."""
    surrogate = MusclePaths(arm(), (over_pulley(pulley("+y")),)).surrogate(
        ranges={"elbow": (-2.5, 2.5)}, samples=80, kept=False
    )
    assert surrogate.misses() == ("flexor",)


def test_a_straight_part_over_hinges_is_exact_however_short_it_gets():
    """From beside the shoulder to the upper arm, 2 mm long at a half turn of the shoulder."""
    points = PathPoint(None, (-0.1, 0.002, 0.0)), PathPoint("upper", (0.1, 0.0, 0.0))
    bow = GeometryPath("bow", (*points, PathPoint("fore", (0.05, 0.02, 0.0))))
    paths, wide = MusclePaths(arm(), (bow,)), {"shoulder": (-3.1, 3.1), "elbow": (-2.0, 2.0)}
    surrogate = paths.surrogate(ranges=wide, samples=40, kept=False)
    assert surrogate.length_errors[0] < 1e-10 and surrogate.arm_errors[0] < 1e-8
    q = np.random.default_rng(4).uniform([-3.1, -2.0], [3.1, 2.0], (40, 2))
    direction, step = np.random.default_rng(5).normal(size=(40, 1, 2)), 1e-5
    ahead, behind = (surrogate.hessian(q + way * step * direction[:, 0]) for way in (1.0, -1.0))
    expected = (ahead - behind) / (2.0 * step)
    assert surrogate.third(q, direction) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_told_errors_are_those_of_a_fine_grid_with_its_corners():
    """The fit is one to few samples, whose largest errors are where no sample is."""
    paths = MusclePaths(arm(), (bent_path(), over_pulley(pulley("+y"))))
    surrogate = paths.surrogate(ranges={"elbow": (-2.0, 1.0)}, samples=10, kept=False)
    ends = np.linspace(*paths._ranges({"elbow": (-2.0, 1.0)}), 61).T
    q = np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, 2)
    missed = np.abs(surrogate.lengths(q) - paths.lengths(q)).max(axis=0)
    arms = np.abs(surrogate.moment_arms(q) - paths.moment_arms(q)).max(axis=(0, 2))
    assert (surrogate.length_errors > 0.99 * missed).all() and (surrogate.arm_errors > 0.99 * arms).all()
    assert (surrogate.length_errors < 1.5 * missed).all()


def test_samples_about_a_motion_make_the_fit_there_better():
    paths = MusclePaths(arm(), (over_pulley(pulley("+y")),))
    motion = np.column_stack([np.zeros(20), np.linspace(-1.2, -0.8, 20)])
    wide = {"elbow": (-2.5, 2.5)}
    near, far = (paths.surrogate(given, wide, 120, kept=False) for given in (motion, None))
    errors = [np.abs(each.lengths(motion) - paths.lengths(motion)).max() for each in (near, far)]
    assert errors[0] < errors[1]


def test_a_fit_is_kept_and_one_of_another_arm_is_not_taken_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(surrogate_files, "cache_folder", lambda: tmp_path / "kernels")
    first = two_muscles().surrogate(ranges=RANGES, samples=30)
    (file,) = (tmp_path / "surrogates").iterdir()
    monkeypatch.setattr(muscle_paths, "fitted_surrogate", None)  # a second fit would fail
    again = two_muscles().surrogate(ranges=RANGES, samples=30)
    assert again.names == first.names and np.array_equal(again.weights, first.weights)
    with pytest.raises(TypeError):
        two_muscles().only(["deltoid"]).surrogate(ranges=RANGES, samples=30)
    whole = file.read_bytes()
    for torn in (b"torn", whole[: len(whole) // 2], whole[:60] + bytes(60) + whole[120:]):
        file.write_bytes(torn)
        assert surrogate_files.stored(file.stem) is None
    surrogate_files.store(file.stem, first)
    assert surrogate_files.stored(file.stem) is not None
    assert list((tmp_path / "surrogates").iterdir()) == [file]  # no temporary file stays
    monkeypatch.setattr(surrogate_files, "cache_folder", lambda: None)
    surrogate_files.store("x", first)
    assert surrogate_files.stored("x") is None


def test_a_latin_hypercube_has_one_pose_in_every_part():
    q = latin_hypercube(np.array([-1.0, 2.0]), np.array([1.0, 3.0]), 10, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.floor((q[:, 0] + 1.0) * 5.0)), np.arange(10))


def test_of_more_than_six_coordinates_those_with_the_largest_arms_count():
    arms = np.arange(8.0)[None, :] * np.ones((3, 1))
    assert largest_arms([0, 1, 2, 3, 5, 6, 7], arms) == [1, 2, 3, 5, 6, 7]
    assert largest_arms([0, 1], arms) == [0, 1]


REFUSED = {
    "name": ({"ranges": {"wrist": (0.0, 1.0)}}, "'wrist', which is no coordinate"),
    "ends": ({"ranges": {"elbow": (1.0, 0.0)}}, "the range of 'elbow' is from 1.0 to 0.0"),
    "samples": ({"samples": 3}, "3 samples and tolerances"),
    "motion": ({"motion": np.zeros((2, 3))}, r"q has shape \(2, 3\)"),
    "no pose": ({"motion": np.zeros((0, 2))}, "motion has 0 poses"),
    "gap": ({"motion": np.array([[0.0, np.nan]])}, "motion has 1 poses: .* of finite numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_fitted_is_refused(case):
    arguments, message = REFUSED[case]
    with pytest.raises(dynamics.DynamicsError, match=message):
        two_muscles().surrogate(**arguments)


def test_other_muscles_and_poses_are_refused():
    with pytest.raises(dynamics.MuscleError, match="there is no muscle c"):
        random_surrogate().only(["c"])
    with pytest.raises(dynamics.ShapeError, match=r"q has shape \(5,\)"):
        random_surrogate().lengths(np.zeros(5))
