"""Clearances against coal, an independent library of distances, and their derivatives against differences."""

import os
import subprocess
import sys

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
    outside = d + clearances.robot.shapes.radius[clearances.pairs[:, 0]] > 0.01
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
    lengths = clearances.robot.shapes.size[:, 0]
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


def test_corners_hold_the_solids_of_a_robot():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(80, 3)) * (0.1, 0.2, 0.05)
    for shape in (
        dynamics.box((0.1, 0.3, 0.4), (0.1, 0, 0), rotation=(0.3, 0.2, 0.1), carrier="link 3"),
        dynamics.cylinder(0.1, 0.3, rotation=(0.3, 0.2, 0.1), carrier="link 3"),
        dynamics.hull(points, 0.0, (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), carrier="link 3"),
        dynamics.hull(points[:12], 0.0, (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), carrier="link 3"),
    ):
        robot = dynamics.Clearances(arm([shape]), dynamics.Scene(SOLIDS)).robot
        if shape.kind == "cylinder":
            angle = np.linspace(0.0, 2.0 * np.pi, 100)
            local = np.stack([0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.15 * np.sign(angle - 3.0)], axis=1)
        else:
            cube = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
            local = cube * shape.size if shape.kind == "box" else shape.points
        basis = arm().packed.numbers[robot.body[0], -9:].reshape(3, 3)
        points_on_body = (local @ shape.rotation.T + shape.position) @ basis
        directions = rng.normal(size=(300, 3))
        own, given = directions @ robot.corners.T, directions @ points_on_body.T
        assert np.all(own.max(axis=1) >= given.max(axis=1) - 1e-12)


def carrier_of_solids(kinds=("box", "cylinder", "hull", "plate")):
    """Solids on three slides and three turns, so that they may be anywhere."""
    points = np.random.default_rng(1).normal(size=(30, 3)) * (0.2, 0.1, 0.15)
    made = {
        "box": dynamics.box((0.3, 0.2, 0.1), carrier="tool"),
        "cylinder": dynamics.cylinder(0.1, 0.4, carrier="tool"),
        "hull": dynamics.hull(points, 0.02, carrier="tool"),
        "plate": dynamics.box((0.4, 0.3, 1e-4), carrier="tool"),
    }
    bodies, parent = [], None
    for k, (kind, axis) in enumerate(zip(["prismatic"] * 3 + ["revolute"] * 3, "xyzzyx", strict=True)):
        joint = dynamics.Joint(f"j{k}", kind, np.eye(3)["xyz".index(axis)])
        bodies.append(dynamics.Body(f"b{k}", joint, parent, 1.0, (0.01, 0.02, 0.03), 0.01 * np.eye(3)))
        parent = f"b{k}"
    tool = dynamics.Frame("tool", "b5", position=(0.05, 0.02, 0.1))
    return dynamics.RigidBodyModel(bodies, frames=[tool]).with_shapes([made[kind] for kind in kinds])


OBSTACLES = (
    dynamics.box((0.5, 0.4, 0.2), rotation=(0.1, 0.2, 0.3), name="box"),
    dynamics.cylinder(0.15, 0.5, rotation=(0.5, 0.1, 0.2), name="cylinder"),
    dynamics.hull(np.random.default_rng(2).normal(size=(20, 3)) * 0.15, name="hull"),
    dynamics.sphere(0.2, name="sphere"),
    dynamics.capsule(0.1, 0.4, rotation=(0.3, 0.2, 0.1), name="capsule"),
    dynamics.half_space((0.1, 0.2, 1.0), at=(0.0, 0.0, -0.2), name="floor"),
    dynamics.point_cloud(np.random.default_rng(3).uniform(-0.3, 0.3, (15, 3)), 0.01, name="cloud"),
)


def places(count):
    rng = np.random.default_rng(8)
    return np.concatenate([rng.uniform(-0.5, 0.5, (count, 3)), rng.uniform(-3.0, 3.0, (count, 3))], axis=1)


def support_of(shape, rotation, position, n):
    """max n . x of a shape at poses (k, 3, 3) and (k, 3), directions n (k, 3)."""
    turned = rotation @ shape.rotation
    place = np.einsum("kij,j->ki", rotation, shape.position) + position
    u = np.einsum("kji,kj->ki", turned, n)
    if shape.kind == "box":
        own = 0.5 * np.abs(u) @ shape.size
    elif shape.kind == "cylinder":
        own = shape.size[0] * np.hypot(u[:, 0], u[:, 1]) + 0.5 * shape.size[1] * np.abs(u[:, 2])
    elif shape.kind == "capsule":
        own = shape.size[0] * np.linalg.norm(n, axis=1) + 0.5 * shape.size[1] * np.abs(u[:, 2])
    elif shape.kind == "sphere":
        own = shape.size[0] * np.linalg.norm(n, axis=1)
    else:
        own = (u @ shape.points.T).max(axis=1) + shape.size[0] * np.linalg.norm(n, axis=1)
    return own + np.einsum("ki,ki->k", place, n)


@pytest.mark.long
def test_distances_of_solids_are_those_of_a_plane_between_them():
    """No plane separates more than the distance, and one separates as much: an oracle without coal."""
    model = carrier_of_solids()
    found, q = dynamics.Clearances(model, dynamics.Scene(OBSTACLES)), places(60)
    poses = dynamics.forward_kinematics(model, q, ["tool"])
    turn, place = poses.rotation[:, 0], poses.position[:, 0]
    own, rng = found.distances(q), np.random.default_rng(0)
    still = np.broadcast_to(np.eye(3), (60, 3, 3)), np.zeros((60, 3))
    for pair, (i, j) in enumerate(found.pairs.tolist()):
        shape, other = model.shapes[i], OBSTACLES[j]
        if other.kind in ("half_space", "point_cloud"):
            continue

        def gap(n, shape=shape, other=other):
            n = n / np.linalg.norm(n, axis=1)[:, None]
            return -support_of(shape, turn, place, -n) - support_of(other, *still, n)

        node = np.arange(60)
        slopes = found.derivatives(q, node, np.full(60, pair))[1]
        normal = slopes[:, :3]  # of the slides: the normal of the plane
        np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(gap(normal), own[:, pair], atol=3e-7)
        apart = own[:, pair] > 0.0
        for _ in range(100):
            near = normal + rng.normal(size=(60, 3)) * rng.choice((1e-3, 0.1, 1.0))
            assert np.all(gap(near)[apart] <= own[apart, pair] + 1e-9)


def test_distances_of_solids_are_those_of_coal():
    coal = pytest.importorskip("coal")
    model, q = carrier_of_solids(("box", "cylinder", "plate")), places(60)
    found = dynamics.Clearances(model, dynamics.Scene(OBSTACLES))
    poses, own = dynamics.forward_kinematics(model, q, ["tool"]), found.distances(q)
    made = {"box": lambda s: coal.Box(*s), "cylinder": lambda s: coal.Cylinder(*s)}
    made |= {"capsule": lambda s: coal.Capsule(*s), "sphere": lambda s: coal.Sphere(*s)}

    def placed(shape):
        pose = coal.Transform3s()
        pose.setRotation(shape.rotation)
        pose.setTranslation(shape.position)
        return made[shape.kind](shape.size), pose

    request, touching = coal.DistanceRequest(), 0
    request.enable_signed_distance = True
    request.gjk_tolerance = 1e-8
    for pair, (i, j) in enumerate(found.pairs.tolist()):
        if OBSTACLES[j].kind not in made:
            continue
        for node in range(len(q)):
            moved = model.shapes[i].moved(poses.rotation[node, 0], poses.position[node, 0])
            answer = coal.DistanceResult()
            coal.distance(*placed(moved), *placed(OBSTACLES[j]), request, answer)
            if answer.min_distance > 0.0:
                assert own[node, pair] == pytest.approx(answer.min_distance, abs=1e-5)
            else:  # a depth is a local minimum
                assert own[node, pair] < 1e-6
                touching += 1
    assert 100 < touching < 600


def test_slopes_of_solids_are_those_of_differences():
    model, q = carrier_of_solids(), places(40)
    found = dynamics.Clearances(model, dynamics.Scene(OBSTACLES))
    node, pair = np.nonzero(np.abs(found.distances(q)) < 1.0)
    values, slopes = found.derivatives(q, node, pair)
    np.testing.assert_allclose(values, found.distances(q)[node, pair], atol=1e-14)
    misses = np.zeros(len(node))
    for k in range(6):
        step = STEP * np.eye(6)[k]
        difference = (found.distances(q + step) - found.distances(q - step))[node, pair]
        misses = np.maximum(misses, np.abs(slopes[:, k] - difference / (2.0 * STEP)))
    apart = values > 1e-3
    assert np.quantile(misses[apart], 0.99) < 1e-4  # but for nearest points that change within the step
    assert np.quantile(misses[~apart], 0.9) < 1e-3


def ball_and(on_robot, in_scene):
    """Clearances of a ball and one more shape on an arm from a ball and one more in the scene."""
    shapes = [dynamics.sphere(0.06, carrier="link 0"), on_robot]
    scene = dynamics.Scene((dynamics.sphere(0.1, at=(0.4, 0.0, 0.0), name="ball"), in_scene))
    return dynamics.Clearances(arm(shapes), scene)


def test_kernels_have_the_distances_of_solids_where_a_pair_needs_them():
    capsule, box = (
        dynamics.capsule(0.05, 0.2, carrier="link 3"),
        dynamics.box((0.1, 0.2, 0.1), carrier="link 3"),
    )
    hulls = [dynamics.hull(np.eye(3), 0.01, carrier=carrier) for carrier in ("link 3", None)]
    assert all(ball_and(capsule, solid)._solids is None for solid in SOLIDS)
    assert ball_and(capsule, hulls[1])._solids
    assert ball_and(box, SOLIDS[0])._solids and ball_and(hulls[0], SOLIDS[0])._solids
    links = [dynamics.sphere(0.06, carrier="link 0"), hulls[0]]
    assert dynamics.Clearances(arm(links), dynamics.Scene())._solids, "a link and a hull on another"
    assert dynamics.Clearances(arm(links[:1]), dynamics.Scene())._solids is None, "no pair"


def test_segments_have_the_same_distances_in_kernels_with_solids(clearances):
    q = configurations(20)
    node, pair = (found.ravel() for found in np.indices((20, len(clearances))))
    with_solids = dynamics.Clearances(clearances.model, clearances.scene)
    with_solids.__dict__["_solids"] = True
    assert clearances._solids is None
    for one, other in (
        (clearances.distances(q), with_solids.distances(q)),
        *zip(clearances.derivatives(q, node, pair), with_solids.derivatives(q, node, pair), strict=True),
        *[tuple(each.curvature(q, node, pair, np.ones(len(node))) for each in (clearances, with_solids))],
    ):
        np.testing.assert_allclose(one, other, atol=1e-12, rtol=1e-12)


@pytest.mark.long
def test_a_robot_of_balls_compiles_no_distances_of_solids(tmp_path):
    code = (
        "from dynamics import kernel_warmup\n"
        "from dynamics.quantities.clearances import nearest, segment_nearest, solid_nearest\n"
        "kernel_warmup._steps()['distances of shapes']()\n"
        "print([len(part.signatures) for part in (nearest, segment_nearest, solid_nearest)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[1, 1, 0]"


def test_a_thin_plate_is_one_shape_and_one_pair():
    for thickness in (1e-2, 1e-4, 1e-6):
        plate = dynamics.box((0.3, 0.2, thickness))
        model = arm([plate.on("link 1"), plate.on("link 3")])
        found = dynamics.Clearances(model, dynamics.Scene(SOLIDS))
        assert len(found) == 1 + 2 * len(SOLIDS)


def test_a_hull_is_that_of_its_corners_wherever_its_points_are():
    """Points inside, in a plane, on a line; a pose; files of scenes."""
    cube = np.array(np.meshgrid(*[(-0.1, 0.1)] * 3)).reshape(3, -1).T
    inside = np.random.default_rng(0).uniform(-0.1, 0.1, (50, 3))
    flat = cube[cube[:, 2] > 0.0]
    hulls = [
        dynamics.hull(np.concatenate([inside, cube])),
        dynamics.hull(cube + np.array((1.0, 2.0, 3.0)), at=(-1.0, -2.0, -3.0)),
        dynamics.hull(flat),
        dynamics.hull(flat[[0, 3]]),
    ]
    floor = dynamics.Scene([dynamics.half_space(at=(0, 0, -1.0)), dynamics.box((4, 4, 1), (0, 0, -1.5))])
    model = carrier_of_solids()
    tool = dynamics.forward_kinematics(model, np.zeros(6), ["tool"]).position[0]
    for shape, below in zip(hulls, (0.1, 0.1, -0.1, -0.1), strict=True):
        found = dynamics.Clearances(model.with_shapes([shape.on("tool")]), floor)
        np.testing.assert_allclose(found.distances(np.zeros(6)), tool[2] + 1.0 - below, atol=1e-12)
    scene = dynamics.Scene(hulls)
    assert [each.kind for each in dynamics.Scene.from_json(scene.to_json()).shapes] == ["hull"] * 4
    with pytest.raises(dynamics.ShapeError, match="give at least one point"):
        dynamics.hull(np.empty((0, 3)))


def test_what_cannot_be_computed_is_named():
    scene = dynamics.Scene(SOLIDS)
    with pytest.raises(dynamics.DynamicsError, match="no shapes"):
        dynamics.Clearances(arm([]), scene)
    with pytest.raises(dynamics.ModelError, match="half-spaces stand in scenes"):
        dynamics.Clearances(arm([dynamics.half_space(carrier="tool")]), scene)
    with pytest.raises(dynamics.ShapeError, match="q"):
        dynamics.Clearances(arm(), scene).distances(np.zeros(3))
