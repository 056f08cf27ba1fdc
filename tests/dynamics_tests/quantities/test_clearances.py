"""Clearances against coal, an independent library of distances, and their derivatives against differences."""

import numpy as np
import pytest

import dynamics

SOLIDS = (
    dynamics.box((0.6, 0.3, 0.2), (0.7, 0.1, 0.2), rotation=(0.3, -0.5, 0.2), name="box"),
    dynamics.cylinder(0.15, 0.5, (0.2, -0.8, 0.4), rotation=(1.2, 0.1, 0.0), name="cylinder"),
    dynamics.sphere(0.2, at=(-0.6, 0.4, 0.5), name="sphere"),
    dynamics.capsule(0.1, 0.7, (-0.3, -0.6, 0.3), rotation=(0.7, 0.7, 0.1), name="capsule"),
    dynamics.half_space((0.1, 0.0, 1.0), at=(0.0, 0.0, -0.3), name="floor"),
    dynamics.point_cloud(np.random.default_rng(2).uniform(-1, 1, (40, 3)), 0.02, name="cloud"),
)
STEP = 1e-6


def arm(shapes=None):
    """Four links of 0.4 m, with turns about different axes and a slide."""
    links, parent = [], None
    for index, (kind, axis) in enumerate(
        [("revolute", "z"), ("revolute", "y"), ("prismatic", "x"), ("revolute", "y")]
    ):
        joint = dynamics.Joint(
            f"joint {index}", kind, np.eye(3)["xyz".index(axis)], position=(0.3, 0.05, 0.1)
        )
        links.append(dynamics.Body(f"link {index}", joint, parent, 1.0, (0.2, 0.0, 0.0), 0.01 * np.eye(3)))
        parent = f"link {index}"
    frame = dynamics.Frame("tool", "link 3", position=(0.2, 0.0, 0.05))
    model = dynamics.RigidBodyModel(links, frames=[frame])
    if shapes is None:
        shapes = [
            dynamics.sphere(0.06, at=(0.1, 0.0, 0.0), carrier="link 0"),
            dynamics.capsule(0.05, 0.3, (0.15, 0, 0), rotation=(0, np.pi / 2, 0), carrier="link 1"),
            dynamics.capsule(0.04, 0.25, (0.1, 0, 0), rotation=(0, 1.2, 0.3), carrier="link 3"),
            dynamics.sphere(0.03, carrier="tool"),
        ]
    return model.with_shapes(shapes)


@pytest.fixture(scope="module")
def clearances():
    return dynamics.Clearances(arm(), dynamics.Scene(SOLIDS))


def configurations(count):
    return np.random.default_rng(7).uniform(-2.0, 2.0, (count, 4))


def smooth_entries(clearances, q, chosen):
    """Nodes and pairs of these kinds whose segments are not inside a solid, where faces meet at kinks."""
    d = clearances.distances(q)
    outside = d + clearances.segments.radius[clearances.pairs[:, 0]] > 0.01
    return np.nonzero(outside & chosen)


def test_distances_are_those_of_coal(clearances):
    coal = pytest.importorskip("coal")
    q = configurations(60)
    poses = dynamics.forward_kinematics(
        clearances.model, q, [shape.carrier for shape in clearances.model.shapes]
    )
    made = {
        "box": lambda s: coal.Box(*s),
        "cylinder": lambda s: coal.Cylinder(*s),
        "capsule": lambda s: coal.Capsule(*s),
        "sphere": lambda s: coal.Sphere(*s),
    }

    def placed(rotation, position):
        pose = coal.Transform3s()
        pose.setRotation(rotation)
        pose.setTranslation(position)
        return pose

    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    own, compared = clearances.distances(q), 0
    for pair, (i, j) in enumerate(clearances.pairs.tolist()):
        shape = clearances.model.shapes[i]
        other = clearances.model.shapes[-1 - j] if j < 0 else SOLIDS[j]
        if other.kind not in made:
            continue
        one, two = made[shape.kind](shape.size), made[other.kind](other.size)
        for node in range(len(q)):
            moved = shape.moved(poses.rotation[node, i], poses.position[node, i])
            rest = other.moved(poses.rotation[node, -1 - j], poses.position[node, -1 - j]) if j < 0 else other
            answer = coal.DistanceResult()
            coal.distance(
                one, placed(moved.rotation, moved.position), two, placed(rest.rotation, rest.position),
                request, answer,
            )  # fmt: skip
            if answer.min_distance > 0.0:  # a depth is the deepest point's, coal's the shortest way out
                assert own[node, pair] == pytest.approx(answer.min_distance, abs=1e-5), (shape, other)
                compared += 1
            else:
                assert own[node, pair] < 1e-5
    assert compared > 500


def test_half_spaces_and_clouds_by_their_formulas(clearances):
    q = configurations(30)
    d = clearances.distances(q)
    tool = dynamics.forward_kinematics(clearances.model, q, ["tool"]).position[:, 0]
    floor, cloud = SOLIDS[4], SOLIDS[5]
    pairs = clearances.pairs.tolist()
    above = (tool - floor.position) @ floor.rotation[:, 2] - 0.03
    np.testing.assert_allclose(d[:, pairs.index([3, 4])], above, atol=1e-14)
    apart = np.linalg.norm(tool[:, None] - cloud.points, axis=-1).min(axis=1) - 0.03 - 0.02
    np.testing.assert_allclose(d[:, pairs.index([3, 5])], apart, atol=1e-14)


def test_pairs_are_those_that_may_touch(clearances):
    names = {clearances.pair_name(pair) for pair in range(len(clearances))}
    assert "link 3 and box" in names
    assert "link 3 and link 1" in names
    assert "link 1 and link 0" not in names  # neighbours
    assert "tool and link 3" not in names  # on one body
    allowed = clearances.model.with_shapes(clearances.model.shapes, [("link 1", "link 3")])
    fewer = dynamics.Clearances(allowed, dynamics.Scene(SOLIDS))
    assert len(fewer) == len(clearances) - 1
    assert not (dynamics.Clearances(arm(), dynamics.Scene(SOLIDS), own=False).pairs < 0).any()


def test_distances_beyond_the_reach_are_the_reach(clearances):
    q = configurations(20)
    np.testing.assert_array_equal(clearances.distances(q, 0.1), np.minimum(clearances.distances(q), 0.1))


def test_slopes_are_those_of_differences(clearances):
    q = configurations(40)
    node, pair = smooth_entries(clearances, q, True)
    values, slopes = clearances.derivatives(q, node, pair)
    np.testing.assert_allclose(values, clearances.distances(q)[node, pair], atol=1e-15)
    for k in range(4):
        step = STEP * np.eye(4)[k]
        difference = (clearances.distances(q + step) - clearances.distances(q - step))[node, pair]
        np.testing.assert_allclose(slopes[:, k], difference / (2.0 * STEP), atol=1e-7)


def test_curvature_is_that_of_differences(clearances):
    """To solids, and between spheres; the slide of points along two capsules of the robot is left out."""
    q = configurations(40)
    i, j = clearances.pairs.T
    round_pairs = np.ones(len(clearances), bool)
    lengths = np.linalg.norm(clearances.segments.ends[:, 3:] - clearances.segments.ends[:, :3], axis=1)
    own = j < 0
    round_pairs[own] = (lengths[i[own]] == 0.0) & (lengths[-1 - j[own]] == 0.0)
    node, pair = smooth_entries(clearances, q, round_pairs)
    weights = np.random.default_rng(3).normal(size=len(node))
    own = clearances.curvature(q, node, pair, weights)
    np.testing.assert_allclose(own, own.transpose(0, 2, 1), atol=1e-12)
    misses = np.zeros((40, 4))
    for k in range(4):
        step, change = STEP * np.eye(4)[k], np.zeros((40, 4))
        rates = [clearances.derivatives(q + sign * step, node, pair)[1] for sign in (1.0, -1.0)]
        np.add.at(change, node, weights[:, None] * (rates[0] - rates[1]) / (2.0 * STEP))
        misses[:, k] = np.abs(change - own[:, k]).max(axis=1) / (1.0 + np.abs(own[:, k]).max(axis=1))
    # A node where a nearest point passes from a face to an edge within the step is no counterexample.
    assert (misses.max(axis=1) < 1e-5).sum() >= 38


def test_boxes_and_cylinders_on_a_robot_are_covered_by_capsules():
    rng = np.random.default_rng(4)
    for shape in (
        dynamics.box((0.1, 0.3, 0.4), (0.1, 0, 0), rotation=(0.3, 0.2, 0.1), carrier="link 3"),
        dynamics.cylinder(0.1, 0.3, rotation=(0.3, 0.2, 0.1), carrier="link 3"),
    ):
        segments = dynamics.Clearances(arm([shape]), dynamics.Scene(SOLIDS)).segments
        if shape.kind == "box":
            local = rng.choice([-0.5, 0.5], (2000, 3)) * shape.size * rng.uniform(0, 1, (2000, 3)) ** 0.1
        else:
            angle = rng.uniform(0, 2 * np.pi, 2000)
            local = np.stack(
                [0.1 * np.cos(angle), 0.1 * np.sin(angle), rng.uniform(-0.15, 0.15, 2000)], axis=1
            )
        basis = arm().packed.numbers[segments.body[0], -9:].reshape(3, 3)
        points = (local @ shape.rotation.T + shape.position) @ basis
        a, b = segments.ends[:, None, :3], segments.ends[:, None, 3:]
        t = np.clip(((points - a) * (b - a)).sum(-1) / ((b - a) ** 2).sum(-1), 0.0, 1.0)[..., None]
        apart = np.linalg.norm(points - a - t * (b - a), axis=-1) - segments.radius[:, None]
        assert apart.min(axis=0).max() < 1e-12


def test_what_cannot_be_computed_is_named():
    scene = dynamics.Scene(SOLIDS)
    with pytest.raises(dynamics.DynamicsError, match="no shapes"):
        dynamics.Clearances(arm([]), scene)
    with pytest.raises(dynamics.ModelError, match="half-spaces stand in scenes"):
        dynamics.Clearances(arm([dynamics.half_space(carrier="tool")]), scene)
    with pytest.raises(dynamics.ShapeError, match="q"):
        dynamics.Clearances(arm(), scene).distances(np.zeros(3))
