"""Bounds of distances for all times, attacked: solids that turn fast, thin walls, locked joints, loads."""

import numpy as np
import pytest
from tiers import fast_first

import dynamics
from problems import moves
from problems.moves.contact_proof import _Proof, least_clearance_bound
from problems.moves.tasks.robot import carrying, payload_of, robot
from trajopt.base.errors import OptionError
from trajopt.splines.basis import Curve, SplineBasis
from trajopt.splines.polynomial_bounds import pieces_of_group

POINTS = np.random.default_rng(1).normal(size=(40, 3)) * (0.1, 0.05, 0.15)
SHAPES = (
    moves.box((0.3, 0.1, 0.02), at=(0.1, 0.0, 0.05), rotation=(0.3, 0.2, 0.1)),
    moves.cylinder(0.05, 0.3, at=(0.1, 0.0, 0.1), rotation=(0.2, 0.8, 0.0)),
    moves.hull(POINTS, 0.01, at=(0.1, 0.0, 0.0)),
    moves.hull(POINTS[:10], at=(0.1, 0.0, 0.0)),
    moves.capsule(0.03, 0.2, at=(0.1, 0.0, 0.0), rotation=(0.0, 1.0, 0.0)),
)
SCENE = moves.Scene(
    [
        moves.box((1.0, 0.001, 1.0), at=(0.5, 0.6, 0.2), name="thin wall"),
        moves.cylinder(0.1, 0.6, at=(-0.7, 0.2, 0.2), rotation=(0.4, 0.0, 0.2), name="post"),
        moves.hull(POINTS, at=(0.3, -0.7, 0.3), name="rock"),
        moves.half_space((0.0, 0.0, 1.0), at=(0.0, 0.0, -0.6), name="floor"),
        moves.point_cloud(POINTS + np.array((0.0, -0.6, -0.4)), 0.005, name="cloud"),
    ]
)


def random_arm(rng):
    """Five links on joints of random axes, a solid on each; some joints locked, a load on the last."""
    bodies, parent = [], None
    for k in range(5):
        kind = "prismatic" if rng.random() < 0.25 else "revolute"
        limits = dynamics.JointLimits.symmetric(q=3.0, velocity=9.0, torque=9.0)
        axis, place = rng.normal(size=3), rng.uniform(-0.2, 0.3, 3)
        joint = dynamics.Joint(f"j{k}", kind, axis / np.linalg.norm(axis), position=place, limits=limits)
        bodies.append(dynamics.Body(f"l{k}", joint, parent, 1.0, (0.1, 0.0, 0.0), 0.01 * np.eye(3)))
        parent = f"l{k}"
    model = dynamics.RigidBodyModel(bodies)
    shapes = [SHAPES[rng.integers(len(SHAPES))].on(f"l{k}") for k in range(5)]
    locked = {f"j{k}": float(rng.uniform(-1, 1)) for k in range(5) if rng.random() < 0.25}
    made = robot(model, locked=locked, shapes=shapes)
    last = made.model.bodies[-1].name
    load = payload_of(made, "load", last, 0.1, np.zeros(3), None)
    object.__setattr__(load, "shape", SHAPES[rng.integers(len(SHAPES))])
    return carrying(made.model, [load])


def apart_at(model, curve, times):
    """Distances of pairs that are 10 mm apart at these times, others being left out."""
    first = dynamics.Clearances(model, SCENE)
    touching = np.any(first.distances(curve(times)) < 0.01, axis=0)
    names = [first.pair_name(pair).split(" and ") for pair in np.flatnonzero(touching).tolist()]
    own = [pair for pair in names if pair[1] not in SCENE.names]
    met = {pair[1] for pair in names}
    scene = moves.Scene([shape for shape in SCENE.shapes if shape.name not in met])
    return dynamics.Clearances(model.with_shapes(model.shapes, own), scene)


def random_curve(rng, n, size):
    basis = SplineBasis.uniform(6, 4)
    return Curve((basis,), (rng.uniform(-size, size, (basis.count, n)),), np.array([1.0]))


@fast_first("seed", range(40), 3, 7)
def test_no_distance_falls_below_the_bound_of_its_span(seed):
    rng = np.random.default_rng(seed)
    model = random_arm(rng)
    curve = random_curve(rng, model.n, 0.2 if seed % 2 else 1.0)
    clearances, told = apart_at(model, curve, np.linspace(0.0, 1.0, 30)), 0
    spans, error, _ = pieces_of_group(curve, 0, 1)
    proof = _Proof(clearances, curve, 0.0)
    for _ in range(4):
        bound, _, _ = proof.bounds(spans, float(error.max()))
        for start, end, low in zip(spans.start, spans.end, bound, strict=True):
            inside = clearances.distances(curve(np.linspace(start, end, 60)))
            assert inside.min() >= low - 1e-12 or low <= 0.0  # depths are local minima
            told += low > 0.0
        chosen = rng.choice(len(spans.start), min(len(spans.start), 12), replace=False)
        left, right = spans[np.sort(chosen)].cut(np.full(len(chosen), 0.5))
        spans = left if rng.random() < 0.5 else right
    assert told > 0


@fast_first("seed", range(30), 2, 6)
def test_the_pair_that_a_proof_names_is_the_nearest_of_those_seen(seed):
    """Its distance at the time that is named, which the proved bound may lie far below."""
    rng = np.random.default_rng(300 + seed)
    model = random_arm(rng)
    curve = random_curve(rng, model.n, 0.3)
    clearances = apart_at(model, curve, np.zeros(1))
    bound = least_clearance_bound(clearances, curve, 0.002)
    there = clearances.distances(curve(np.array([bound.time])))[0]
    pair = int(np.argmin(there))
    assert bound.pair == clearances.pair_name(pair)
    assert bound.nearest == pytest.approx(there[pair], abs=1e-12)
    least = clearances.distances(curve(np.linspace(0.0, 1.0, 2_000))).min()
    assert bound.nearest >= least - 1e-3 and (bound.value <= least + 1e-12 or not bound.proved)


@fast_first("seed", range(30), 2, 6)
def test_what_is_proved_is_met_at_ten_thousand_times(seed):
    """Slow and fast motions, whose pairs that touch at the start are allowed to."""
    rng = np.random.default_rng(100 + seed)
    model = random_arm(rng)
    curve = random_curve(rng, model.n, rng.choice((0.05, 0.3, 1.0)))
    clearances = apart_at(model, curve, np.zeros(1))
    bound = least_clearance_bound(clearances, curve, 0.002)
    least = clearances.distances(curve(np.linspace(0.0, 1.0, 10_000)), 0.5).min()
    if bound.proved:
        assert 0.002 < bound.value <= least + 1e-12
    else:
        assert bound.value <= 0.002 or least < 0.0021


def test_a_thin_wall_between_two_poses_is_met():
    """A plate of 20 mm flies through a wall of 1 mm within a millisecond: no sample sees it."""
    slide = dynamics.Joint("slide", "prismatic", (0.0, 1.0, 0.0))
    body = dynamics.Body("plate", slide, None, 1.0)
    plate = moves.box((0.1, 0.02, 0.1), carrier="plate")
    clearances = dynamics.Clearances(dynamics.RigidBodyModel([body]).with_shapes([plate]), SCENE)
    basis = SplineBasis.uniform(1, 2)
    curve = Curve((basis,), (np.array([[-60.0], [1.5], [63.0]]),), np.array([0.5]))
    assert clearances.distances(curve(np.linspace(0.0, 0.5, 201))).min() > 0.0
    bound = least_clearance_bound(clearances, curve)
    assert not bound.proved and bound.pair == "plate and thin wall"
    slower = Curve((basis,), (np.array([[-1.0], [-0.2], [0.585]]),), np.array([0.5]))
    assert least_clearance_bound(clearances, slower).proved


def test_a_bound_is_no_more_than_is_known_of_pairs_left_out():
    """A ball that the slide cannot reach is left out, yet nearer on the way than what is looked at."""
    joint = dynamics.Joint("slide", "prismatic", limits=dynamics.JointLimits.symmetric(q=1.0))
    body = dynamics.Body("ball", joint, None, 1.0)
    model = dynamics.RigidBodyModel([body]).with_shapes([moves.sphere(0.1, carrier="ball")])
    scene = moves.Scene([moves.sphere(0.1, at=(0.0, 0.0, z), name=f"at {z} m") for z in (1.6, -1.45)])
    every, some = (dynamics.Clearances(model, scene, within=within) for within in (np.inf, 0.3))
    basis = SplineBasis.uniform(1, 2)
    curve = Curve((basis,), (np.array([[0.0], [0.5], [1.0]]),), np.array([1.0]))
    least = every.distances(curve(np.linspace(0.0, 1.0, 101))).min()
    for least_asked in (0.0, 0.2):
        bound = least_clearance_bound(some, curve, least_asked)
        assert bound.proved and least_asked < bound.value <= least
    with pytest.raises(OptionError, match="larger `within`"):
        least_clearance_bound(some, curve, 0.3)
    farther = moves.Scene([moves.sphere(0.1, at=(0.0, 0.0, 4.2), name="far away")])
    assert least_clearance_bound(dynamics.Clearances(model, farther), curve, 1.5).proved
