"""`Clearances`: signed distances of a robot's shapes to those of a scene and to each other, with derivatives.

With x = a + t (b - a) the nearest point of the robot's segment, n the normal of the solid there and J the
Jacobian of x on its body,
    d = s(x) - radii,   dd/dq = n' J,   d2d/dq2 = J' H J + n . d2x/dq2 - g g' / h,
with g = J' H l + n . dl/dq, h = l' H l, H the Hessian of s and l = b - a: the last term is the slide of x
along its segment, for 0 < t < 1. Distances of the robot to itself leave it out, which is exact for spheres.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.errors import DynamicsError
from dynamics.kernels.compile import inlined, kernel, subroutine
from dynamics.kernels.convex_distances import centre_of, convex_distance, farthest, reach_of
from dynamics.kernels.distances import (
    CLOUD,
    HALF_SPACE,
    HULL,
    SEGMENT,
    points_apart,
    segment_to_points,
    segment_to_segment,
    segment_to_solid,
    tangent,
)
from dynamics.kernels.node_batch import batch
from dynamics.kernels.outward_sweep import AXIS, FRAME, ORIGIN, POSED, clear_pose, place
from dynamics.kernels.simd import gather, width
from dynamics.kernels.spatial_algebra import add, add_scaled, cross, dot, scale, sub, workspace
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.model.packed_model import COORDINATE, PARENT
from dynamics.model.scene import Scene
from dynamics.quantities.packed_shapes import robot_shapes, scene_shapes
from dynamics.quantities.shape_pairs import (
    FIXED,
    GROUND,
    OUT_OF_REACH,
    LeftOut,
    apart_in_all_poses,
    coverage,
    link_pairs,
)

Array = np.ndarray


@inlined
def sweep(work, tree, numbers, q, node):
    """Poses and axes of all bodies at a block of nodes."""
    clear_pose(work, POSED)
    for body in range(1, tree.shape[0]):
        at, parent = body * POSED, tree[body, PARENT] * POSED
        place(work, tree, numbers, body, at, parent, gather(q, node, tree[body, COORDINATE]))


@inlined
def three(work, slot, lanes, lane):
    """Three numbers of one node."""
    return work[slot * lanes + lane], work[(slot + 1) * lanes + lane], work[(slot + 2) * lanes + lane]


@inlined
def from_row(rows, row, first):
    return rows[row, first], rows[row, first + 1], rows[row, first + 2]


@inlined
def rotated(work, lanes, lane, body, v):
    """A vector of a body in world axes."""
    at = body * POSED + FRAME
    p = scale(v[0], three(work, at, lanes, lane))
    p = add_scaled(p, v[1], three(work, at + 3, lanes, lane))
    return add_scaled(p, v[2], three(work, at + 6, lanes, lane))


@inlined
def placed(work, lanes, lane, body, p):
    """A point of a body in world axes."""
    return add(rotated(work, lanes, lane, body, p), three(work, body * POSED + ORIGIN, lanes, lane))


@inlined
def place_shapes(work, lanes, lane, body, axes, world):
    """Fill (s, 12) axes and origins of all shapes in the world."""
    for shape in range(len(body)):
        for first in (0, 3, 6):
            v = rotated(work, lanes, lane, body[shape], from_row(axes, shape, first))
            world[shape, first], world[shape, first + 1], world[shape, first + 2] = v
        p = placed(work, lanes, lane, body[shape], from_row(axes, shape, 9))
        world[shape, 9], world[shape, 10], world[shape, 11] = p


@inlined
def axis_ends(axes, row, half):
    """Both ends of the axis of a capsule."""
    middle, along = from_row(axes, row, 9), scale(half, from_row(axes, row, 6))
    return sub(middle, along), add(middle, along)


@subroutine
def segment_nearest(a, b, kind, size, axes, points, first, last):
    """s, t, x, y, n, v_1, k_1, k_2 of a segment and another core, x and y the nearest points of both."""
    along = sub(b, a)
    if kind == SEGMENT:
        half = scale(size[0], (axes[6], axes[7], axes[8]))
        middle = axes[9], axes[10], axes[11]
        c, e = sub(middle, half), add(middle, half)
        s, t, u, n, v, k1, k2 = segment_to_segment(a, b, c, e)
        return s, t, add_scaled(a, t, along), add_scaled(c, u, sub(e, c)), n, v, k1, k2
    if kind == CLOUD:
        index, t = segment_to_points(points, first, last, a, b)
        x, y = add_scaled(a, t, along), from_row(points, index, 0)
        s, n, v, k1, k2 = points_apart(x, y, 0.0, along)
        return s, t, x, y, n, v, k1, k2
    s, t, n, v, k1, k2 = segment_to_solid(kind, size, axes, a, b)
    x = add_scaled(a, t, along)
    return s, t, x, add_scaled(x, -s, n), n, v, k1, k2


@subroutine
def solid_nearest(one, other, reach, scratch):
    """s, x, y, n of a convex core that is no segment and any other one, or of a segment and a hull."""
    kind, _, axes, points, first, last = other
    if kind == HALF_SPACE:
        n = axes[6], axes[7], axes[8]
        x = farthest(one, scale(-1.0, n))
        s = dot(n, sub(x, (axes[9], axes[10], axes[11])))
        return s, x, add_scaled(x, -s, n), n
    if kind != CLOUD:
        return convex_distance(one, other, reach, scratch)
    best, x, y, n = reach, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    middle, wide = centre_of(one), reach_of(one)
    pose = scratch[5]
    pose[:] = 0.0
    pose[0] = pose[4] = pose[8] = 1.0
    for index in range(first, last):
        p = from_row(points, index, 0)
        apart = sub(p, middle)
        if dot(apart, apart) > (max(best, 0.0) + wide) ** 2:
            continue
        pose[9], pose[10], pose[11] = p
        point = kind * 0 + SEGMENT, pose[1:4], pose, points, first * 0, first * 0
        found = convex_distance(one, point, best, scratch)
        if found[0] < best:
            best, x, y, n = found
    return best, x, y, n


@inlined
def nearest(world, robot, scene, i, j, reach, solids, scratch):
    """d, t, x, y, n, v_1, k_1, k_2 of the shape i and the other of its pair, a solid j or a shape -1 - j.

    x and y are the nearest points of both cores; larger distances than `reach` may be too small.
    solids : None where no pair needs `solid_nearest`, which then is no part of the kernel
    """
    kind, size, radius, _, _, points, span = robot
    kinds, sizes, radii, poses, _, others, spans = (
        (kind, size, radius, world, radius, points, span) if j < 0 else scene
    )
    k = -1 - j if j < 0 else j
    radial = radius[i] + radii[k]
    if solids is None or (kind[i] == SEGMENT and kinds[k] != HULL):
        a, b = axis_ends(world, i, size[i, 0])
        s, t, x, y, n, v, k1, k2 = segment_nearest(
            a, b, kinds[k], sizes[k], poses[k], others, spans[k, 0], spans[k, 1]
        )
        if s == 0.0 and kinds[k] == SEGMENT:  # the axes meet: apart, fastest, along their common normal
            n = cross(sub(b, a), from_row(poses, k, 6))
            length = math.sqrt(dot(n, n))
            n = scale(1.0 / length, n) if length > 0.0 else (0.0, 0.0, 1.0)
        return s - radial, t, x, y, n, v, k1, k2
    one = kind[i], size[i], world[i], points, span[i, 0], span[i, 1]
    other = kinds[k], sizes[k], poses[k], others, spans[k, 0], spans[k, 1]
    s, x, y, n = solid_nearest(one, other, reach + radial, scratch)
    return s - radial, 0.0, x, y, n, tangent(n), 0.0, 0.0


@inlined
def beyond(world, robot, scene, i, j, reach):
    """True if balls around both are further apart than `reach`, which is decided without their distance."""
    if j < 0:
        middle, around = from_row(world, -1 - j, 9), robot[4][-1 - j]
    else:
        middle, around = from_row(scene[3], j, 9), scene[4][j]
    around += robot[4][i] + reach
    apart = sub(from_row(world, i, 9), middle)
    return dot(apart, apart) > around * around


@kernel
def _distances(tree, numbers, q, body, robot, scene, solids, pairs, reach, out):
    lanes = width(q)
    work, world = workspace(q, tree.shape[0] * POSED), np.empty((len(body), 12))
    scratch = np.empty((6, 12))
    for first in range(0, q.shape[0], lanes):
        sweep(work, tree, numbers, q, first)
        for lane in range(min(lanes, q.shape[0] - first)):
            place_shapes(work, lanes, lane, body, robot[3], world)
            for pair in range(len(pairs)):
                i, j = pairs[pair, 0], pairs[pair, 1]
                d = reach
                if not beyond(world, robot, scene, i, j, reach):
                    d = min(d, nearest(world, robot, scene, i, j, reach, solids, scratch)[0])
                out[first + lane, pair] = d


@inlined
def point_columns(work, lanes, lane, tree, k, x, sign, columns):
    """Add the Jacobian of a point x on body k, times a sign, to (n, 3)."""
    while k > 0:
        at, c = k * POSED + AXIS, tree[k, COORDINATE]
        J = add(three(work, at + 3, lanes, lane), cross(three(work, at, lanes, lane), x))
        for axis in range(3):
            columns[c, axis] += sign * J[axis]
        k = tree[k, PARENT]


@inlined
def bend(work, lanes, lane, tree, k, x, n, factor, out):
    """Add factor n . d2x/dq2 of a point x on body k to (m, m)."""
    while k > 0:
        at, c = k * POSED + AXIS, tree[k, COORDINATE]
        J = add(three(work, at + 3, lanes, lane), cross(three(work, at, lanes, lane), x))
        moment, j = scale(factor, cross(J, n)), k
        while j > 0:
            i = tree[j, COORDINATE]
            second = dot(three(work, j * POSED + AXIS, lanes, lane), moment)
            out[i, c] += second
            if j != k:
                out[c, i] += second
            j = tree[j, PARENT]
        k = tree[k, PARENT]


@inlined
def slide(work, lanes, lane, tree, k, n, along, g):
    """Add n . d along/dq of a vector fixed to body k to (n,)."""
    moment = cross(along, n)
    while k > 0:
        g[tree[k, COORDINATE]] += dot(three(work, k * POSED + AXIS, lanes, lane), moment)
        k = tree[k, PARENT]


@kernel
def _derivatives(
    tree, numbers, q, body, robot, scene, solids, pairs, node, chosen, weights, values, slopes, out
):
    """Distances and slopes of chosen pairs at ascending nodes; curvature, where `out` has entries."""
    lanes, n = width(q), q.shape[1]
    work, world = workspace(q, tree.shape[0] * POSED), np.empty((len(body), 12))
    scratch = np.empty((6, 12))
    columns, g = np.empty((n, 3)), np.empty(n)
    swept = posed = -1
    for entry in range(len(node)):
        if node[entry] // lanes != swept:
            swept = node[entry] // lanes
            sweep(work, tree, numbers, q, swept * lanes)
        if node[entry] != posed:
            posed = node[entry]
            place_shapes(work, lanes, posed % lanes, body, robot[3], world)
        lane, i, j = posed % lanes, pairs[chosen[entry], 0], pairs[chosen[entry], 1]
        d, t, x, y, normal, v, k1, k2 = nearest(world, robot, scene, i, j, math.inf, solids, scratch)
        values[entry] = d
        columns[:] = 0.0
        point_columns(work, lanes, lane, tree, body[i], x, 1.0, columns)
        if j < 0:
            point_columns(work, lanes, lane, tree, body[-1 - j], y, -1.0, columns)
        for c in range(n):
            slopes[entry, c] = dot(normal, (columns[c, 0], columns[c, 1], columns[c, 2]))
        if out.shape[0] == 0:
            continue
        target, factor, w = out[posed], weights[entry], cross(normal, v)
        bend(work, lanes, lane, tree, body[i], x, normal, factor, target)
        if j < 0:
            bend(work, lanes, lane, tree, body[-1 - j], y, normal, -factor, target)
        along = scale(2.0 * robot[1][i, 0], from_row(world, i, 6))
        hv, hw = k1 * dot(v, along), k2 * dot(w, along)
        stiffness = hv * dot(v, along) + hw * dot(w, along)
        slides = j >= 0 and 0.0 < t < 1.0 and stiffness > 0.0
        g[:] = 0.0
        if slides:
            slide(work, lanes, lane, tree, body[i], normal, along, g)
        for c in range(n):
            column = columns[c, 0], columns[c, 1], columns[c, 2]
            columns[c, 0], columns[c, 1] = dot(v, column), dot(w, column)
            g[c] += hv * columns[c, 0] + hw * columns[c, 1]
        for c in range(n):
            for r in range(n):
                second = k1 * columns[r, 0] * columns[c, 0] + k2 * columns[r, 1] * columns[c, 1]
                if slides:
                    second -= g[r] * g[c] / stiffness
                target[r, c] += factor * second


@kernel
def _levers(tree, numbers, q, body, corners, begin, out):
    """Largest speeds of the corners of every shape per rate of a coordinate, (nodes, shapes, n)."""
    lanes = width(q)
    work = workspace(q, tree.shape[0] * POSED)
    for first in range(0, q.shape[0], lanes):
        sweep(work, tree, numbers, q, first)
        for lane in range(min(lanes, q.shape[0] - first)):
            for shape in range(len(body)):
                k = body[shape]
                while k > 0:
                    at, longest = k * POSED + AXIS, 0.0
                    for row in range(begin[shape], begin[shape + 1]):
                        x = placed(work, lanes, lane, body[shape], from_row(corners, row, 0))
                        J = add(three(work, at + 3, lanes, lane), cross(three(work, at, lanes, lane), x))
                        longest = max(longest, math.sqrt(dot(J, J)))
                    out[first + lane, shape, tree[k, COORDINATE]] += longest
                    k = tree[k, PARENT]


class Clearances:
    """Signed distances of pairs: the robot's shapes to those of a scene, and to each other.

    model : whose shapes are meant, `model.with_shapes`
    own : whether the robot's distances to itself are among them
    pairs : (p, 2), numbers of the robot's shape and of the other, see `pair_name`
    within : m; pairs that come no nearer than that in any pose within the joints' limits are left out
    left_out : the other pairs, each with its reason: links on one body or both fixed to the ground, links
        that meet at a joint, `allowed_pairs`, and obstacles out of reach
    A distance below zero is the depth: where the axis of a sphere or capsule runs inside an obstacle, that
    of the axis's deepest point plus the radius. Raises DynamicsError for a robot without shapes, and for one
    with rotation vectors (free bases, ball joints); ModelError for a half-space on a robot.
    """

    def __init__(
        self, model: KinematicTree, scene: Scene, own: bool = True, within: float = math.inf
    ) -> None:
        if model.rotation_joints:
            raise DynamicsError(
                "clearances of robots with free or ball joints are not computed: hold the base"
            )
        if not model.shapes:
            raise DynamicsError(
                "the robot has no shapes, so that nothing can touch: give model.with_shapes(...)"
            )
        self.model, self.scene, self.within = model, scene, within
        self.robot, self.solids = robot_shapes(model), scene_shapes(scene)
        held = self.robot.body == 0
        near = np.repeat(~held[:, None], len(scene.shapes), axis=1)
        if within < math.inf:
            near &= apart_in_all_poses(model, self.robot, self.solids) <= within
        fixed = {name or GROUND: None for name, at in zip(self.robot.carriers, held, strict=True) if at}
        out = tuple(LeftOut(name, solid, FIXED) for name in fixed for solid in scene.names)
        inner, among = link_pairs(model, self.robot) if own else (np.empty((0, 2), np.int64), ())
        self.pairs = np.concatenate([np.argwhere(near), inner])
        reached = {(self.robot.carriers[i], self.solids.names[j]) for i, j in np.argwhere(near).tolist()}
        moving = dict.fromkeys(name for name, at in zip(self.robot.carriers, held, strict=True) if not at)
        every = ((name, solid) for name in moving for solid in scene.names)
        reason = f"{OUT_OF_REACH} {1e3 * within:g} mm"
        far = tuple(LeftOut(*both, reason) for both in every if both not in reached)
        self.left_out: tuple[LeftOut, ...] = out + far + among

    def __len__(self) -> int:
        return len(self.pairs)

    def pair_name(self, pair: int) -> str:
        """Both names of a pair, "panda_hand and table"."""
        i, j = self.pairs[pair].tolist()
        first = self.robot.carriers[i] or GROUND
        return f"{first} and {self.solids.names[j] if j >= 0 else self.robot.carriers[-1 - j] or GROUND}"

    @property
    def coverage(self) -> str:
        """Numbers of pairs checked and left out, with the reasons, and links without a shape, as a text."""
        checked = len({self.pair_name(pair) for pair in range(len(self.pairs))})
        carrying = {self.model.frame(shape.carrier).body for shape in self.model.shapes if shape.carrier}
        bare = [name for name in self.model.link_names if name not in carrying]
        return coverage(checked, self.left_out, bare)

    def distances(self, q: ArrayLike, reach: float = np.inf) -> Array:
        """Signed distances, (..., p) m, `reach` where they are larger; q (..., n). Raises ShapeError."""
        nodes = batch(self.model.packed, q=q)
        out = np.empty((nodes.nodes, len(self.pairs)))
        _distances(*self._model, nodes.arrays[0], *self._shapes, self._solids, self.pairs, float(reach), out)
        return nodes.unfold(out, len(self.pairs))

    def derivatives(self, q: Array, node: Array, pair: Array) -> tuple[Array, Array]:
        """Distances (m,) and slopes dd/dq (m, n) of pairs (m,) at nodes (m,), ascending; q (nodes, n)."""
        values, slopes = np.empty(len(node)), np.empty((len(node), self.model.n))
        self._run(q, node, pair, values, values, slopes, np.empty((0, 0, 0)))
        return values, slopes

    def curvature(self, q: Array, node: Array, pair: Array, weights: Array) -> Array:
        """Sum of weight d2d/dq2 over the pairs at every node, (nodes, n, n); see `derivatives`."""
        values, slopes = np.empty(len(node)), np.empty((len(node), self.model.n))
        out = np.zeros((len(q), self.model.n, self.model.n))
        self._run(q, node, pair, np.ascontiguousarray(weights), values, slopes, out)
        return out

    def levers(self, q: Array) -> Array:
        """Speed of the robot's shapes per rate of a coordinate, (k, shapes, n) m; q (k, n).

        An upper bound; for round shapes that of the axis, sharp where each coordinate moves one body.
        """
        out = np.zeros((len(q), len(self.robot.body), self.model.n))
        given = batch(self.model.packed, q=q).arrays[0]
        _levers(*self._model, given, self.robot.body, self.robot.corners, self.robot.first, out)
        return out

    def _run(self, q: Array, node: Array, pair: Array, weights: Array, *out: Array) -> None:
        given = batch(self.model.packed, q=q).arrays[0]
        chosen = np.ascontiguousarray(node), np.ascontiguousarray(pair)
        _derivatives(*self._model, given, *self._shapes, self._solids, self.pairs, *chosen, weights, *out)

    @property
    def _model(self) -> tuple[Array, Array]:
        return self.model.packed.tree, self.model.packed.numbers

    @cached_property
    def _shapes(self) -> tuple[Any, ...]:
        return self.robot.body, self.robot.shapes.arrays, self.solids.arrays

    @cached_property
    def _solids(self) -> bool | None:
        """None where each pair is a segment and no hull, whose kernels compile in a sixth of the time."""
        kind, (i, j) = self.robot.shapes.kind, self.pairs.T
        others = np.concatenate([self.solids.kind, kind[::-1]])[j]
        return True if np.any((kind[i] != SEGMENT) | (others == HULL)) else None
