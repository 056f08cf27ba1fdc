"""Motion of a body by its joint: the only kernel functions that depend on the type of a joint.

Every joint with one coordinate and a fixed axis is a screw motion along the z axis of its body: for the
displacement d = ratio q + offset the body turns by TURN d about z and slides by SLIDE d along z. The two
numbers come from `JOINT_TYPES` in `dynamics/model/joint.py`: TURN is 0 or 1, SLIDE any number. The motion
leaves z unchanged in the parent and in the body; `outward_sweep` relies on it when it takes V_parent x S for
the rate of the axis S.

The branches save time: `local_pose` computes no sine where nothing turns, and takes d for the angle where
TURN is not 0; `add_joint_motion` saves 3 % of an RNEA where nothing slides, and takes TURN for 1 there.
"""

from __future__ import annotations

from dynamics.kernels.compile import inlined
from dynamics.kernels.sincos import sincos
from dynamics.kernels.spatial_algebra import add_scaled, constant3, cross, same3, scale
from dynamics.model.packed_model import OFFSET, POSITION, RATIO, ROTATION, SLIDE, TURN


@inlined
def local_pose(array, numbers, body, q):
    """Axes and origin of a body in the axes of its parent."""
    displacement = numbers[body, RATIO] * q + numbers[body, OFFSET]
    x = same3(array, constant3(numbers, body, ROTATION))
    y = same3(array, constant3(numbers, body, ROTATION + 3))
    z = same3(array, constant3(numbers, body, ROTATION + 6))
    origin = same3(array, constant3(numbers, body, POSITION))
    origin = add_scaled(origin, numbers[body, SLIDE] * displacement, z)
    if numbers[body, TURN] == 0.0:
        return (x, y, z), origin
    s, c = sincos(displacement)
    return (add_scaled(scale(c, x), s, y), add_scaled(scale(c, y), -s, x), z), origin


@inlined
def joint_axis(numbers, body, frame, origin):
    """S, the twist of a body per rate of its coordinate: world axes, about the world origin."""
    z = scale(numbers[body, RATIO], frame[2])
    angular = scale(numbers[body, TURN], z)
    return angular, add_scaled(cross(origin, angular), numbers[body, SLIDE], z)


@inlined
def add_joint_motion(numbers, body, v, a, omega, alpha, linear):
    """Velocity and acceleration of a body from those of the parent at its origin, all in the body's axes.

    omega, alpha : angular velocity and acceleration; linear : acceleration of the origin
    """
    rate, acceleration = numbers[body, RATIO] * v, numbers[body, RATIO] * a
    x, y = omega[1] * rate, -omega[0] * rate  # omega x z rate
    turn, slide = numbers[body, TURN], numbers[body, SLIDE]
    if slide == 0.0:
        alpha = alpha[0] + x, alpha[1] + y, alpha[2] + acceleration
        return (omega[0], omega[1], omega[2] + rate), alpha, linear
    alpha = alpha[0] + turn * x, alpha[1] + turn * y, alpha[2] + turn * acceleration
    twice = 2.0 * slide
    linear = linear[0] + twice * x, linear[1] + twice * y, linear[2] + slide * acceleration
    return (omega[0], omega[1], omega[2] + turn * rate), alpha, linear


@inlined
def joint_force(numbers, body, moment, force):
    """S' (moment, force), the generalized force of a wrench in the body's axes about its origin."""
    along = numbers[body, TURN] * moment[2] + numbers[body, SLIDE] * force[2]
    return numbers[body, RATIO] * along
