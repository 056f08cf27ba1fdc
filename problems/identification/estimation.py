"""`estimate`: base parameters of a robot from measured motions, with covariance, and the robot of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import dynamics
from dynamics.regressors.dynamic_parameters import joint_columns
from problems.identification.consistent import consistent_robot
from problems.identification.estimate import Estimate
from problems.identification.fitted_curve import FittedMotion, fitted_motion
from problems.identification.least_squares import NotExcitingError, least_squares_fit
from problems.identification.measurements import Measurements, recordings
from problems.identification.position_noise import information_with_positions
from problems.moves.path_quantities import spring_torques
from problems.moves.tasks.robot import Robot
from trajopt.base.arguments import check_flag, check_positive, list_names, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError


def estimate(
    robot: Robot | dynamics.RigidBodyModel,
    data: Measurements | Sequence[Measurements],
    *,
    bandwidth: float | None = None,
    friction: bool = True,
    smoothing: float = 0.01,
) -> Estimate:
    """The dynamic parameters of a robot from measured positions and torques.

        tau_k = Y_b(q_k, v_k, a_k) beta + noise,   beta = C pi   (`dynamics.base_parameters`)

    by least squares, every torque weighted by the noise of its joint, which the residuals tell; v and a are
    derivatives of splines fitted to q. Noise of positions, which these splines leave, widens the covariance,
    and its bias is taken off to first order. `Estimate.model` is a robot that can exist whose base parameters
    are nearest to beta; what torques do not show it has from `robot`.

    robot : whose kinematics are right; its parameters are where the search begins. Rotor inertias are
        estimated where its rotors are modelled as armature: `model.with_rotors("armature")`
    data : from `measurements` or `read_measurements`, of one motion or several
    bandwidth : Hz, of the fitted splines; None: chosen for each measurement
    friction : whether friction is estimated; otherwise that of the robot is taken
    smoothing : rad/s or m/s, of Coulomb friction, f tanh(v / smoothing)
    Raises NotExcitingError where combinations are not seen, naming them; ShapeError and OptionError.
    """
    model = model_of(robot)
    check_flag("friction", friction)
    check_positive("smoothing", smoothing)
    motions = [fitted_motion(recording, bandwidth) for recording in recordings(data, model.joint_names)]
    q, v, a, measured = (
        np.concatenate([getattr(motion, name) for motion in motions]) for name in ("q", "v", "a", "tau")
    )
    if not np.all(measured.any(axis=0)):
        still = [
            name for name, torques in zip(model.joint_names, measured.T, strict=True) if not torques.any()
        ]
        raise OptionError(
            f"the torques of {list_names(still)} are zero at all samples: give those that the motors had"
        )
    tau = _linear_torques(model, q, v, measured, friction, smoothing)
    base = dynamics.base_parameters(model, friction)
    if tau.size <= base.count + model.n:
        raise ShapeError(
            f"{len(q)} samples of {model.n} torques are too few for {base.count} parameters: measure longer"
        )
    noise = np.concatenate([motion.noise for motion in motions], axis=2)
    fit = least_squares_fit(model, base, smoothing, np.array([q, v, a]), noise, tau)
    prior = dynamics.dynamic_parameters(model)
    spreads = _joint_spreads(model, v, a, tau)

    def robot_of(R: Array) -> tuple[dynamics.RigidBodyModel, float]:
        nearest = consistent_robot(fit.beta, R, base.combinations, prior, model.link_count, spreads)
        pi = nearest.pi if friction else _with_friction_of(model, nearest.pi, prior)
        return dynamics.with_dynamic_parameters(model, pi), nearest.distance

    R, explained = information_with_positions(robot_of(fit.R)[0], base, smoothing, motions, fit)
    identified, distance = robot_of(R)
    return Estimate(
        model=identified,
        base=base,
        values=fit.beta,
        root_information=R,
        noise=fit.noise,
        correlation=_correlations(fit.residual, motions),
        explained=explained,
        condition=fit.condition,
        position_noise=fit.position_noise,
        distance=distance,
        samples=len(q),
        bandwidths=tuple(motion.bandwidth for motion in motions),
        smoothing=float(smoothing),
        position_residual=np.max([motion.residual for motion in motions], axis=0),
    )


def model_of(robot: Any) -> dynamics.RigidBodyModel:
    """The model of a robot; OptionError for another object, and for a free base or a ball joint."""
    model = robot.model if isinstance(robot, Robot) else robot
    if not isinstance(model, dynamics.RigidBodyModel):
        raise OptionError(f"the robot is {short_repr(robot)}: give a RigidBodyModel or moves.robot(...)")
    if model.rotation_joints:
        raise OptionError(
            "the robot has a free base or a ball joint, which identification does not support: give an arm "
            "whose base is fixed to the ground"
        )
    return model


def _linear_torques(
    model: dynamics.RigidBodyModel, q: Array, v: Array, tau: Array, friction: bool, smoothing: float
) -> Array:
    """Torques (k, n) that are linear in the parameters: without springs, and friction not estimated."""
    without_springs = tau - spring_torques(model, q)
    if not friction:
        return without_springs + dynamics.friction(model, v, smoothing).force
    _check_movement(model, v, smoothing)
    return without_springs


def _check_movement(model: dynamics.RigidBodyModel, v: Array, smoothing: float) -> None:
    """NotExcitingError for joints that are never faster than the smoothing of their friction."""
    fastest = np.abs(v).max(axis=0)
    if np.all(fastest > smoothing):
        return
    joint = int(np.argmin(fastest))
    raise NotExcitingError(
        f"joint {model.joint_names[joint]!r} moves at most at {fastest[joint]:.2g} per second, so that its "
        'friction is not seen: move it, lock it by moves.robot(..., locked={"JOINT": q}), or take '
        "friction=False"
    )


def _joint_spreads(model: dynamics.RigidBodyModel, v: Array, a: Array, tau: Array) -> Array:
    """Possible error of friction and rotor inertia: what would explain all of a joint's torque."""
    torque, speed, acceleration = (np.sqrt(np.mean(each**2, axis=0)) for each in (tau, v, a))
    least = np.finfo(float).tiny
    found = []
    for joint in joint_columns(model):
        i, ratio = joint.coordinate, abs(joint.ratio)
        size = max(torque[i], 1e-12) / ratio
        found += [size / max(ratio * speed[i], least), size]
        found += [size / max(ratio * acceleration[i], least)] * (joint.rotor_inertia >= 0)
    return np.array(found)


def _with_friction_of(model: dynamics.RigidBodyModel, pi: Array, prior: Array) -> Array:
    """The parameters pi with the damping and Coulomb friction of `prior`, (parameters,) each."""
    found = pi.copy()
    kept = [column for joint in joint_columns(model) for column in (joint.damping, joint.friction)]
    found[kept] = prior[kept]
    return found


def _correlations(residual: Array, motions: list[FittedMotion]) -> Array:
    """(n,) correlation of residuals with those one sample later; near zero where noise is white."""
    ends = np.cumsum([len(motion.q) for motion in motions])[:-1]
    parts = np.split(residual, ends)
    products = sum(np.sum(part[1:] * part[:-1], axis=0) for part in parts)
    return products / np.sum(residual**2, axis=0)
