"""Motion of a body by a rotation vector: its three coordinates as columns of one joint.

R = R_0 R_c Exp(p). With c_k of `stumpff.py` at s = |p|^2, Exp(p) and its Jacobians are combinations
    C(a, b, c) e_i = a e_i + b p x e_i + c p_i p:
    Exp = C(c_0, c_1, c_2);  left Jacobian L = C(c_1, c_2, c_3), angular velocity L p' in the axes R_0 R_c;
    right Jacobian J = C(c_1, -c_2, c_3), angular velocity J p' in the axes of the body.
The axes R_0 R_c move with the parent, so the columns of L are joint axes S_i whose rates are
    Sd_i = V_p x S_i + X L'_i,  Sdd_i = A_p x S_i + V_p x (Sd_i + X L'_i) + X L''_i,
X from those axes to the world's; what algorithms derive from S, Sd and Sdd holds as it stands. Only torques
of the three by their own coordinates miss d S_i / d p_k . f, i before k, which is zero for joints in series.
Source: Barfoot, State Estimation for Robotics (2017), section 7.1.5, for the Jacobians.
"""

from __future__ import annotations

from dynamics.kernels.compile import inlined, subroutine
from dynamics.kernels.outward_sweep import (
    ACCELERATION,
    AXIS,
    AXIS_RATE,
    AXIS_RATE_2,
    FRAME,
    ORIGIN,
    VELOCITY,
)
from dynamics.kernels.pose import rotated_frame
from dynamics.kernels.rotation_vectors.stumpff import stumpff
from dynamics.kernels.spatial_algebra import (
    add,
    add6,
    add_scaled,
    add_scaled6,
    constant3,
    constant_frame,
    cross,
    cross_motion,
    dot,
    gather3,
    gather6,
    increase,
    load3,
    load6,
    load_frame,
    rotate,
    rotate_back,
    scale,
    store3,
    store6,
    store_frame,
)
from dynamics.model.packed_model import COORDINATE, LINK, PARENT, POSITION, ROTATION, TURNED


@inlined
def columns(a, b, c, p):
    """C(a, b, c), column after column."""
    x, y, z = scale(c * p[0], p), scale(c * p[1], p), scale(c * p[2], p)
    return (
        (a + x[0], x[1] + b * p[2], x[2] - b * p[1]),
        (y[0] - b * p[2], a + y[1], y[2] + b * p[0]),
        (z[0] + b * p[1], z[1] - b * p[0], a + z[2]),
    )


@inlined
def add_crossed(matrix, w):
    """Column i of the matrix + w x e_i."""
    x, y, z = matrix
    return (
        (x[0], x[1] + w[2], x[2] - w[1]),
        (y[0] - w[2], y[1], y[2] + w[0]),
        (z[0] + w[1], z[1] - w[0], z[2]),
    )


@inlined
def add_outer(matrix, factor, u, w):
    """Column i of the matrix + factor (u_i w + w_i u)."""
    x, y, z = matrix
    u = scale(factor, u)
    return (
        add_scaled(add_scaled(x, u[0], w), w[0], u),
        add_scaled(add_scaled(y, u[1], w), w[1], u),
        add_scaled(add_scaled(z, u[2], w), w[2], u),
    )


@inlined
def slopes(c):
    """d c_k / ds of k = 1, 2, 3: (k c_{k+2} - c_{k+1}) / 2."""
    return 0.5 * (c[3] - c[2]), c[4] - 0.5 * c[3], 1.5 * c[5] - 0.5 * c[4]


@inlined
def curvatures(c):
    """d^2 c_k / ds^2 of k = 1, 2, 3."""
    first, second = 0.75 * (c[5] - c[4]) + 0.25 * c[3], 2.0 * c[6] - 1.25 * c[5] + 0.25 * c[4]
    return first, second, 3.75 * c[7] - 1.75 * c[6] + 0.25 * c[5]


@inlined
def jacobian_rate(c, p, v):
    """L'."""
    first, second, third = scale(2.0 * dot(p, v), slopes(c))
    found = columns(first, second, third, p)
    return add_outer(add_crossed(found, scale(c[2], v)), c[3], p, v)


@inlined
def jacobian_rate_2(c, p, v, a):
    """L''."""
    moved, sloped = 2.0 * dot(p, v), slopes(c)
    changes = scale(moved * moved, curvatures(c))
    changes = add_scaled(changes, 2.0 * (dot(v, v) + dot(p, a)), sloped)
    found = columns(changes[0], changes[1], changes[2], p)
    found = add_crossed(found, add_scaled(scale(2.0 * moved * sloped[1], v), c[2], a))
    found = add_outer(found, 2.0 * moved * sloped[2], p, v)
    found = add_outer(found, c[3], p, a)
    return add_outer(found, c[3], v, v)


@inlined
def vector(array, tree, first, node):
    """The three numbers of a rotation vector in rows of nodes."""
    return gather3(array, node, tree[first, COORDINATE])


@inlined
def turned_pose(numbers, first, c, p):
    """Axes and origin of the body in the axes of the parent."""
    axes = constant_frame(numbers, first, ROTATION)
    return rotated_frame(axes, columns(c[0], c[1], c[2], p)), constant3(numbers, first, POSITION)


@inlined
def turned_rates(c, p, v, a):
    """J, J v and J a + J' v, in the axes of the body."""
    J = columns(c[1], -c[2], c[3], p)
    along = dot(p, v)
    first, second, third = scale(2.0 * along, slopes(c))
    bent = scale(first + c[3] * along, v)
    bent = add_scaled(bent, third * along + c[3] * dot(v, v), p)
    bent = add_scaled(bent, -second, cross(p, v))
    return J, rotate(J, v), add(rotate(J, a), bent)


@inlined
def base_axes(work, numbers, first, parent):
    """The axes R_0 R_c and their origin in the world; parent : where the slots of the parent begin."""
    above, origin = load_frame(work, parent + FRAME), load3(work, parent + ORIGIN)
    axes = rotated_frame(above, constant_frame(numbers, first, ROTATION))
    return axes, add(origin, rotate(above, constant3(numbers, first, POSITION)))


@inlined
def about_world(axes, origin, turn):
    """The twist of an angular velocity in the given axes about their origin."""
    angular = rotate(axes, turn)
    return angular, cross(origin, angular)


@inlined
def place_turned(work, tree, numbers, first, slots, c, p):
    """Axes S of the three bodies and their common pose."""
    axes, origin = base_axes(work, numbers, first, tree[first, PARENT] * slots)
    L, turned = columns(c[1], c[2], c[3], p), rotated_frame(axes, columns(c[0], c[1], c[2], p))
    for i in range(3):
        at = (first + i) * slots
        store_frame(work, at + FRAME, turned)
        store3(work, at + ORIGIN, origin)
        store6(work, at + AXIS, about_world(axes, origin, L[i]))


@inlined
def move_turned(work, tree, numbers, first, slots, c, p, v):
    """Rates Sd, and the velocity of the third body, after `place_turned`."""
    parent = tree[first, PARENT] * slots
    axes, origin = base_axes(work, numbers, first, parent)
    above, rates = load6(work, parent + VELOCITY), jacobian_rate(c, p, v)
    V = above
    for i in range(3):
        at = (first + i) * slots
        S = load6(work, at + AXIS)
        V = add_scaled6(V, v[i], S)
        Sd = add6(cross_motion(above, S), about_world(axes, origin, rates[i]))
        store6(work, at + AXIS_RATE, Sd)
    store6(work, (first + 2) * slots + VELOCITY, V)
    return V


@inlined
def accelerate_turned(work, tree, numbers, first, slots, c, p, v, a):
    """Second rates Sdd, and the acceleration of the third body, after `move_turned`."""
    parent = tree[first, PARENT] * slots
    axes, origin = base_axes(work, numbers, first, parent)
    V, A = load6(work, parent + VELOCITY), load6(work, parent + ACCELERATION)
    above, rates, bent = A, jacobian_rate(c, p, v), jacobian_rate_2(c, p, v, a)
    for i in range(3):
        at = (first + i) * slots
        S, Sd = load6(work, at + AXIS), load6(work, at + AXIS_RATE)
        A = add_scaled6(add_scaled6(A, a[i], S), v[i], Sd)
        Sdd = cross_motion(V, add6(Sd, about_world(axes, origin, rates[i])))
        Sdd = add6(add6(Sdd, cross_motion(above, S)), about_world(axes, origin, bent[i]))
        store6(work, at + AXIS_RATE_2, Sdd)
    store6(work, (first + 2) * slots + ACCELERATION, A)
    return A


@inlined
def turn_stiffness(work, tree, numbers, first, slots, c, p, force):
    """d S_i / d p_k . force for (i, k) = xx, xy, xz, yy, yz, zz; force : in world axes about its origin."""
    axes, origin = base_axes(work, numbers, first, tree[first, PARENT] * slots)
    m = rotate_back(axes, add(force[0], scale(-1.0, cross(origin, force[1]))))
    along, (first, second, third) = dot(p, m), slopes(c)
    # 2 d (L e_i . m) / ds, times p_k; then what L e_i changes by p_k at constant c_1, c_2 and c_3
    g = add_scaled(add_scaled(scale(first, m), second, cross(m, p)), third * along, p)
    g, rest = scale(2.0, g), c[3] * along
    return (
        p[0] * g[0] + rest + c[3] * p[0] * m[0],
        p[1] * g[0] - c[2] * m[2] + c[3] * p[0] * m[1],
        p[2] * g[0] + c[2] * m[1] + c[3] * p[0] * m[2],
        p[1] * g[1] + rest + c[3] * p[1] * m[1],
        p[2] * g[1] - c[2] * m[0] + c[3] * p[1] * m[2],
        p[2] * g[2] + rest + c[3] * p[2] * m[2],
    )


@subroutine
def sweep_turned(work, tree, numbers, first, slots, q, v, a, node):
    """Pose, axes with their rates, and motion of the three bodies of a rotation vector."""
    p, rate = vector(q, tree, first, node), vector(v, tree, first, node)
    second, c = vector(a, tree, first, node), stumpff(dot(p, p))
    place_turned(work, tree, numbers, first, slots, c, p)
    move_turned(work, tree, numbers, first, slots, c, p, rate)
    accelerate_turned(work, tree, numbers, first, slots, c, p, rate, second)


@subroutine
def add_turn_stiffness(work, tree, numbers, first, slots, q, node, force, out, row, block):
    """Add `turn_stiffness` to the derivatives of torques, from row `row` of `out`, by q."""
    p, n, blocks, c = vector(q, tree, first, node), out.shape[2], out.shape[3], tree[first, COORDINATE]
    found = turn_stiffness(work, tree, numbers, first, slots, stumpff(dot(p, p)), p, force)
    place = 0
    for i in range(3):
        for k in range(i, 3):
            increase(out, ((row + c + i) * 3 * n + c + k) * blocks + block, found[place])
            if i != k:
                increase(out, ((row + c + k) * 3 * n + c + i) * blocks + block, found[place])
            place += 1


@inlined
def load_on(tree, external, body, node):
    """The external wrench on a body, and on the two links without mass of a rotation vector that turns it."""
    column = 6 * tree[body, LINK]
    found = gather6(external, node, column)
    if tree[body, TURNED] == 3:
        found = add6(found, add6(gather6(external, node, column - 6), gather6(external, node, column - 12)))
    return found
