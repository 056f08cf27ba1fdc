"""Two dynamics written by hand, for tests of trajopt that must not depend on the dynamics package."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import trajopt


def absent_limits(n: int, torque: float = np.inf):
    """No limits but, where given, a symmetric one on the torques."""
    unbounded = np.full(n, np.inf)
    return SimpleNamespace(
        q_lower=-unbounded,
        q_upper=unbounded,
        velocity=unbounded,
        torque_lower=np.full(n, -torque),
        torque_upper=np.full(n, torque),
    )


class PointMasses:
    """n masses on straight lines, tau = m a - g: everything about them is known in closed form."""

    def __init__(self, n: int = 1, mass: float = 1.0, force: float = np.inf) -> None:
        self.n, self.mass = n, mass
        self.joint_names = tuple(f"slider {i}" for i in range(n))
        self.limits = absent_limits(n, force)

    def block(self, outputs, loads=()):
        return MassBlock(self.n, self.mass)

    def forward_dynamics(self, q, v, tau):
        return np.asarray(tau) / self.mass


class MassBlock:
    """tau = m a."""

    def __init__(self, n: int, mass: float) -> None:
        self.inputs, self.outputs = {"a": n}, {"tau": n}
        self._slope = mass * np.eye(n)

    def value(self, u):
        return {"tau": u["a"] @ self._slope}

    def partials(self, u):
        return {("tau", "a"): np.broadcast_to(self._slope, (u["a"].shape[0], *self._slope.shape))}

    def curvature(self, u, adjoints):
        return {}

    def pattern(self):
        return {("tau", "a"): self._slope != 0.0}

    def curvature_pattern(self):
        return {}


class CubicSpringBlock:
    """y = (q1^2 v2 + a1 jerk2, q1 q2 q2): polynomials in the spline leaves, complex inputs welcome."""

    inputs = {"q": 2, "v": 2, "a": 2, "jerk": 2, "t": 1}  # noqa: RUF012
    outputs = {"y": 2}  # noqa: RUF012

    def value(self, u):
        q, v, a, j, t = (u[name] for name in self.inputs)
        first = q[:, 0] ** 2 * v[:, 1] + a[:, 0] * j[:, 1] + t[:, 0] * v[:, 0] ** 2
        return {"y": np.stack([first, q[:, 0] * q[:, 1] ** 2], axis=1)}

    def partials(self, u):
        q, v, a, j, t = (u[name] for name in self.inputs)
        parts = {("y", name): np.zeros((len(q), 2, width), q.dtype) for name, width in self.inputs.items()}
        parts["y", "q"][:, 0, 0] = 2 * q[:, 0] * v[:, 1]
        parts["y", "v"][:, 0, 1] = q[:, 0] ** 2
        parts["y", "v"][:, 0, 0] = 2 * t[:, 0] * v[:, 0]
        parts["y", "a"][:, 0, 0] = j[:, 1]
        parts["y", "jerk"][:, 0, 1] = a[:, 0]
        parts["y", "t"][:, 0, 0] = v[:, 0] ** 2
        parts["y", "q"][:, 1, 0] = q[:, 1] ** 2
        parts["y", "q"][:, 1, 1] = 2 * q[:, 0] * q[:, 1]
        return parts

    def curvature(self, u, adjoints):
        q, v, t, w = u["q"], u["v"], u["t"], adjoints["y"]
        zero = np.zeros((len(q), 2, 2))
        qq, qv, vv, aj, tv = zero.copy(), zero.copy(), zero.copy(), zero.copy(), zero[:, :1].copy()
        qq[:, 0, 0] = 2 * v[:, 1] * w[:, 0]
        qq[:, 0, 1] = qq[:, 1, 0] = 2 * q[:, 1] * w[:, 1]
        qq[:, 1, 1] = 2 * q[:, 0] * w[:, 1]
        qv[:, 0, 1] = 2 * q[:, 0] * w[:, 0]
        vv[:, 0, 0] = 2 * t[:, 0] * w[:, 0]
        aj[:, 0, 1] = w[:, 0]
        tv[:, 0, 0] = 2 * v[:, 0] * w[:, 0]
        return {
            ("q", "q"): qq,
            ("q", "v"): qv,
            ("v", "v"): vv,
            ("jerk", "a"): aj.swapaxes(1, 2),
            ("t", "v"): tv,
        }

    def pattern(self):
        ones = {name: np.zeros((2, width), bool) for name, width in self.inputs.items()}
        ones["q"][:] = [[True, False], [True, True]]
        ones["v"][0] = True
        ones["a"][0, 0] = ones["jerk"][0, 1] = ones["t"][0, 0] = True
        return {("y", name): mask for name, mask in ones.items()}

    def curvature_pattern(self):
        def mask(*places, shape=(2, 2)):
            result = np.zeros(shape, bool)
            for place in places:
                result[place] = True
            return result

        return {
            ("q", "q"): mask((0, 0), (0, 1), (1, 0), (1, 1)),
            ("q", "v"): mask((0, 1)),
            ("v", "v"): mask((0, 0)),
            ("jerk", "a"): mask((1, 0)),
            ("t", "v"): mask((0, 0), shape=(1, 2)),
        }


class CubicTerm:
    """The block above as a term."""

    name, quantity = "cubic", "y"

    def blocks(self, width_of):
        return (CubicSpringBlock(),)

    def __pow__(self, exponent):
        from trajopt.terms.arithmetic import Squared

        assert exponent == 2
        return Squared(self)


class TwoLinkArm:
    """The planar arm of Barman 2020, table 4.2, from its textbook equations, as CasADi expressions."""

    n, joint_names = 2, ("shoulder", "elbow")
    length, mass, inertia, centre = 0.4, 0.5, 0.1, 0.2

    def __init__(self, torque: float = 10.0) -> None:
        self.limits = absent_limits(2, torque)

    def _coefficients(self):
        lever = self.mass * self.length * self.centre
        outer = self.inertia + self.mass * self.centre**2
        return 2 * outer + self.mass * self.length**2, lever, outer

    def block(self, outputs, loads=()):
        import casadi

        from trajopt.graph.trace import trace

        whole, lever, outer = self._coefficients()

        def tau(node):
            q, v, a = node.q, node.v, node.a
            cosine, sine = lever * casadi.cos(q[1]), lever * casadi.sin(q[1])
            return [
                (whole + 2 * cosine) * a[0] + (outer + cosine) * a[1] - sine * (2 * v[0] * v[1] + v[1] ** 2),
                (outer + cosine) * a[0] + outer * a[1] + sine * v[0] ** 2,
            ]

        return trace(tau, "tau", lambda quantity: 2)

    def forward_dynamics(self, q, v, tau):
        whole, lever, outer = self._coefficients()
        cosine, sine = lever * np.cos(q[..., 1]), lever * np.sin(q[..., 1])
        rows = [[whole + 2 * cosine, outer + cosine], [outer + cosine, outer + 0.0 * cosine]]
        M = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
        bias = np.stack(
            [-sine * (2 * v[..., 0] * v[..., 1] + v[..., 1] ** 2), sine * v[..., 0] ** 2], axis=-1
        )
        return np.linalg.solve(M, (tau - bias)[..., None])[..., 0]


def two_link_minimum_time(intervals: int = 20, **trajectory) -> trajopt.Problem:
    """Barman 2020, section 4.1."""
    problem = trajopt.Problem(
        TwoLinkArm(), trajopt.Trajectory.uniform(intervals, **trajectory), name="two-link arm"
    )
    problem.start_at(q=[0.0, -2.0], v=0.0)
    problem.end_at(q=[1.0, -1.0], v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    return problem


def least_effort(intervals: int = 5):
    """One metre in one second, rest to rest, at least effort."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(intervals, 4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    return problem


def fastest(dynamics, start, end, intervals=20, **limits):
    """Rest to rest in minimum time."""
    for name, value in limits.items():
        setattr(dynamics.limits, name, np.full(dynamics.n, value))
    problem = trajopt.Problem(dynamics, trajopt.Trajectory.uniform(intervals, duration=(0.05, 10.0)))
    problem.start_at(q=start, v=0.0)
    problem.end_at(q=end, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    return problem
