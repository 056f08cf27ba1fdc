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
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.errors import DynamicsError
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.distances import (
    CLOUD,
    SEGMENT,
    points_apart,
    segment_to_points,
    segment_to_segment,
    segment_to_solid,
)
from dynamics.kernels.node_batch import batch
from dynamics.kernels.outward_sweep import AXIS, FRAME, ORIGIN, POSED, clear_pose, place
from dynamics.kernels.simd import gather, width
from dynamics.kernels.spatial_algebra import add, add_scaled, cross, dot, scale, sub, workspace
from dynamics.model.packed_model import COORDINATE, PARENT
from dynamics.model.scene import Scene
from dynamics.quantities.packed_shapes import packed_segments, packed_solids
from dynamics.quantities.shape_pairs import FIXED, GROUND, LeftOut, coverage, link_pairs

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

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
def end(work, lanes, lane, body, ends, segment, first):
    """An end of a segment in world axes."""
    at = body * POSED
    p = scale(ends[segment, first], three(work, at + FRAME, lanes, lane))
    p = add_scaled(p, ends[segment, first + 1], three(work, at + FRAME + 3, lanes, lane))
    p = add_scaled(p, ends[segment, first + 2], three(work, at + FRAME + 6, lanes, lane))
    return add(p, three(work, at + ORIGIN, lanes, lane))


@inlined
def segment_ends(work, lanes, lane, body, ends, world):
    """Fill (s, 6) both ends of every segment in world axes."""
    for segment in range(len(body)):
        for first in (0, 3):
            p = end(work, lanes, lane, body[segment], ends, segment, first)
            world[segment, first], world[segment, first + 1], world[segment, first + 2] = p


@inlined
def from_row(rows, row, first):
    return rows[row, first], rows[row, first + 1], rows[row, first + 2]


@inlined
def nearest(world, radii, solids, points, i, j):
    """d, t, x, u, n, v_1, k_1, k_2 of the segment i and the pair's other, a solid j or a segment -1 - j."""
    kind, size, radius, axes, span = solids
    a, b = from_row(world, i, 0), from_row(world, i, 3)
    along = sub(b, a)
    if j < 0 or kind[j] == SEGMENT:
        rows, row = (world, -1 - j) if j < 0 else (axes, j)
        other = radii[row] if j < 0 else radius[j]
        c, e = from_row(rows, row, 0), from_row(rows, row, 3)
        s, t, u, n, v, k1, k2 = segment_to_segment(a, b, c, e)
        return s - radii[i] - other, t, add_scaled(a, t, along), u, n, v, k1, k2
    if kind[j] == CLOUD:
        index, t = segment_to_points(points, span[j, 0], span[j, 1], a, b)
        x = add_scaled(a, t, along)
        s, n, v, k1, k2 = points_apart(x, from_row(points, index, 0), 0.0, along)
        return s - radii[i] - radius[j], t, x, 0.0, n, v, k1, k2
    s, t, n, v, k1, k2 = segment_to_solid(kind[j], size[j], axes[j], a, b)
    return s - radii[i], t, add_scaled(a, t, along), 0.0, n, v, k1, k2


@inlined
def beyond(world, radii, ball, i, j, reach):
    """Whether balls around both are further apart than `reach`, which is decided without their distance."""
    a, b = from_row(world, i, 0), from_row(world, i, 3)
    around = radii[i] + reach
    if j < 0:
        c, e = from_row(world, -1 - j, 0), from_row(world, -1 - j, 3)
        middle, axis = scale(0.5, add(c, e)), sub(e, c)
        around += radii[-1 - j] + 0.5 * math.sqrt(dot(axis, axis))
    else:
        middle = from_row(ball, j, 0)
        around += ball[j, 3]
    along = sub(b, a)
    around += 0.5 * math.sqrt(dot(along, along))
    apart = sub(scale(0.5, add(a, b)), middle)
    return dot(apart, apart) > around * around


@kernel
def _distances(tree, numbers, q, body, ends, radii, solids, ball, points, pairs, reach, out):
    lanes = width(q)
    work, world = workspace(q, tree.shape[0] * POSED), np.empty((len(body), 6))
    for first in range(0, q.shape[0], lanes):
        sweep(work, tree, numbers, q, first)
        for lane in range(min(lanes, q.shape[0] - first)):
            segment_ends(work, lanes, lane, body, ends, world)
            for pair in range(len(pairs)):
                i, j = pairs[pair, 0], pairs[pair, 1]
                d = reach
                if not beyond(world, radii, ball, i, j, reach):
                    d = min(d, nearest(world, radii, solids, points, i, j)[0])
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
    tree, numbers, q, body, ends, radii, solids, points, pairs, node, chosen, weights, values, slopes, out
):
    """Distances and slopes of chosen pairs at ascending nodes; curvature, where `out` has entries."""
    lanes, n = width(q), q.shape[1]
    work, world = workspace(q, tree.shape[0] * POSED), np.empty((len(body), 6))
    columns, g = np.empty((n, 3)), np.empty(n)
    swept = posed = -1
    for entry in range(len(node)):
        if node[entry] // lanes != swept:
            swept = node[entry] // lanes
            sweep(work, tree, numbers, q, swept * lanes)
        if node[entry] != posed:
            posed = node[entry]
            segment_ends(work, lanes, posed % lanes, body, ends, world)
        lane, i, j = posed % lanes, pairs[chosen[entry], 0], pairs[chosen[entry], 1]
        d, t, x, u, normal, v, k1, k2 = nearest(world, radii, solids, points, i, j)
        values[entry] = d
        columns[:] = 0.0
        point_columns(work, lanes, lane, tree, body[i], x, 1.0, columns)
        y = x
        if j < 0:
            c, e = from_row(world, -1 - j, 0), from_row(world, -1 - j, 3)
            y = add_scaled(c, u, sub(e, c))
            point_columns(work, lanes, lane, tree, body[-1 - j], y, -1.0, columns)
        for c in range(n):
            slopes[entry, c] = dot(normal, (columns[c, 0], columns[c, 1], columns[c, 2]))
        if out.shape[0] == 0:
            continue
        target, factor, w = out[posed], weights[entry], cross(normal, v)
        bend(work, lanes, lane, tree, body[i], x, normal, factor, target)
        if j < 0:
            bend(work, lanes, lane, tree, body[-1 - j], y, normal, -factor, target)
        along = sub(from_row(world, i, 3), from_row(world, i, 0))
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
def _levers(tree, numbers, q, body, ends, out):
    """Largest speeds of the ends of every segment per rate of a coordinate, (nodes, segments, n)."""
    lanes = width(q)
    work, world = workspace(q, tree.shape[0] * POSED), np.empty((len(body), 6))
    for first in range(0, q.shape[0], lanes):
        sweep(work, tree, numbers, q, first)
        for lane in range(min(lanes, q.shape[0] - first)):
            segment_ends(work, lanes, lane, body, ends, world)
            for segment in range(len(body)):
                k = body[segment]
                while k > 0:
                    at, longest = k * POSED + AXIS, 0.0
                    for side in (0, 3):
                        x = from_row(world, segment, side)
                        J = add(three(work, at + 3, lanes, lane), cross(three(work, at, lanes, lane), x))
                        longest = max(longest, math.sqrt(dot(J, J)))
                    out[first + lane, segment, tree[k, COORDINATE]] += longest
                    k = tree[k, PARENT]


class Clearances:
    """Signed distances of pairs: the robot's shapes to those of a scene, and to each other.

    model : whose shapes are meant, `model.with_shapes`; boxes and cylinders on it are covered by capsules
    own : whether the robot's distances to itself are among them
    pairs : (p, 2), numbers of the robot's segment and of the other, see `pair_name`
    left_out : the other pairs, each with its reason: links on one body or both fixed to the ground, links
        that meet at a joint, and `allowed_pairs`
    A distance below zero is the depth: where the axis of a sphere or capsule runs inside an obstacle, that
    of the axis's deepest point plus the radius. Raises DynamicsError for a robot without shapes, and for one
    with rotation vectors (free bases, ball joints); ModelError for a half-space on a robot.
    """

    def __init__(self, model: KinematicTree, scene: Scene, own: bool = True) -> None:
        if model.rotation_joints:
            raise DynamicsError(
                "clearances of robots with free or ball joints are not computed: hold the base"
            )
        if not model.shapes:
            raise DynamicsError(
                "the robot has no shapes, so that nothing can touch: give model.with_shapes(...)"
            )
        self.model, self.scene = model, scene
        self.segments, self.solids = packed_segments(model), packed_solids(scene)
        held = self.segments.body == 0
        pairs = np.stack(np.meshgrid(np.flatnonzero(~held), np.arange(len(scene.shapes)), indexing="ij"), -1)
        fixed = {name or GROUND: None for name, at in zip(self.segments.carriers, held, strict=True) if at}
        out = tuple(LeftOut(name, solid, FIXED) for name in fixed for solid in scene.names)
        within, among = link_pairs(model, self.segments) if own else (np.empty((0, 2), np.int64), ())
        self.pairs = np.concatenate([pairs.reshape(-1, 2), within])
        self.left_out: tuple[LeftOut, ...] = out + among

    def __len__(self) -> int:
        return len(self.pairs)

    def pair_name(self, pair: int) -> str:
        """Both names of a pair, "panda_hand and table"."""
        i, j = self.pairs[pair].tolist()
        first = self.segments.carriers[i] or GROUND
        return f"{first} and {self.solids.names[j] if j >= 0 else self.segments.carriers[-1 - j] or GROUND}"

    @property
    def coverage(self) -> str:
        """How many pairs are checked, how many are left out and why, and links without a shape, as a text."""
        checked = len({self.pair_name(pair) for pair in range(len(self.pairs))})
        carrying = {self.model.frame(shape.carrier).body for shape in self.model.shapes if shape.carrier}
        bare = [name for name in self.model.link_names if name not in carrying]
        return coverage(checked, self.left_out, bare)

    def distances(self, q: Any, reach: float = np.inf) -> Array:
        """Signed distances, (..., p) m, `reach` where they are larger; q (..., n). Raises ShapeError."""
        nodes = batch(self.model.packed, q=q)
        out = np.empty((nodes.nodes, len(self.pairs)))
        _distances(
            *self._robot(nodes.arrays[0]),
            *self._shapes,
            self.solids.ball,
            self.solids.points,
            self.pairs,
            float(reach),
            out,
        )
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
        """How fast the ends of the robot's segments move per rate of a coordinate, (k, segments, n) m.

        q (k, n); an upper bound, sharp where each coordinate moves one body on the way to the segment.
        """
        out = np.zeros((len(q), len(self.segments.body), self.model.n))
        given = batch(self.model.packed, q=q).arrays[0]
        _levers(*self._robot(given), self.segments.body, self.segments.ends, out)
        return out

    def _run(self, q: Array, node: Array, pair: Array, weights: Array, *out: Array) -> None:
        given = batch(self.model.packed, q=q).arrays[0]
        _derivatives(
            *self._robot(given), *self._shapes, self.solids.points, self.pairs,
            np.ascontiguousarray(node), np.ascontiguousarray(pair), weights, *out,
        )  # fmt: skip

    def _robot(self, q: Array) -> tuple[Array, Array, Array]:
        return self.model.packed.tree, self.model.packed.numbers, q

    @cached_property
    def _shapes(self) -> tuple[Any, ...]:
        solids = (self.solids.kind, self.solids.size, self.solids.radius, self.solids.axes, self.solids.span)
        return self.segments.body, self.segments.ends, self.segments.radius, solids
