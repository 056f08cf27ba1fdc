"""Simulated measurements of arms whose parameters are known: exact torques and positions, with noise."""

from dataclasses import replace

import numpy as np

import dynamics
from dynamics import Body, Joint, RigidBodyModel
from problems import identification

RATE = 200.0


def planar_arm(friction=True):
    """Two links in a vertical plane, with friction."""
    y, size = np.array([0.0, 1.0, 0.0]), float(friction)
    return RigidBodyModel(
        (
            Body(
                "upper",
                Joint("shoulder", axis=y, damping=0.8 * size, friction=1.5 * size),
                None,
                3.0,
                (0.2, 0.0, 0.03),
                np.diag([0.02, 0.09, 0.08]),
            ),
            Body(
                "lower",
                Joint("elbow", axis=y, position=(0.4, 0.0, 0.0), damping=0.3 * size, friction=0.7 * size),
                "upper",
                1.5,
                (0.15, 0.0, -0.02),
                np.diag([0.01, 0.04, 0.035]),
            ),
        ),
        name="planar arm",
    )


def another(model, factor=1.4):
    """The same robot with inertial parameters that are off by a factor, and without friction."""
    bodies = [
        replace(
            body,
            mass=factor * body.mass,
            inertia=factor * body.inertia,
            joint=replace(body.joint, damping=0.0, friction=0.0),
        )
        for body in model.bodies
    ]
    return replace(model, bodies=tuple(bodies))


def harmonic_motion(n, seed, seconds=10.0, rate=RATE, harmonics=5):
    """q, v and a of a sum of sines of random sizes and phases, (3, k, n)."""
    rng, t = np.random.default_rng(seed), np.arange(int(seconds * rate) + 1)[:, None] / rate
    found = np.zeros((3, len(t), n))
    for k in range(1, harmonics + 1):
        size, phase = rng.normal(size=n) / np.sqrt(k), rng.uniform(0.0, 2.0 * np.pi, n)
        w = 2.0 * np.pi * k / 10.0
        angle = w * t + phase
        found += np.array([size * np.sin(angle), w * size * np.cos(angle), -(w**2) * size * np.sin(angle)])
    return found


def measured(model, seed, noise=0.1, position_noise=1e-5, seconds=10.0):
    """Measurements of a random motion of `model` with white noise of torques and positions."""
    q, v, a = harmonic_motion(model.n, seed, seconds)
    rng = np.random.default_rng(seed + 5000)
    tau = dynamics.rnea(model, q, v, a) - dynamics.friction(model, v).force
    q = q + position_noise * rng.normal(size=q.shape)
    return identification.measurements(model.joint_names, q, tau + noise * rng.normal(size=tau.shape), RATE)
