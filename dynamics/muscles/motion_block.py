"""Muscles along a given motion: what of its joint moments they do not give, and the balance of their tendons.

Path lengths L, lengthening speeds V, moment arms r and moments tau of the motion are splines of time, so that
the unknowns are activations a and, of compliant tendons, tendon forces F and their rates:

    tau_c - sum over muscles of r_c F_max F(L, V, a)                                  rigid tendons
    tau_c - sum over muscles of r_c F_max F,   and   0 = F(L, V, a, F, F') - F        compliant tendons
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dynamics.muscles.fibres import FibreForce, Fibres

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]
MISSING, EQUILIBRIUM = "missing_moment", "fibre_equilibrium"
STATES, RATE = "q", "extra:tendon_rate"  # activations, then tendon forces; the rates of the latter
DEGREE = 5  # of the splines


@dataclass(frozen=True, eq=False)
class PathMotion:
    """Paths of m muscles along a motion, at times (K,) s.

    length : (K, m) m;  speed : (K, m) m/s;  arms : (K, m, c) m, of c coordinates
    moment : (K, c) N m, of the joints there
    """

    time: Array
    length: Array
    speed: Array
    arms: Array
    moment: Array
    spanned: tuple[Array, Array] = field(init=False)  # muscle and coordinate of every arm

    def __post_init__(self) -> None:
        from scipy.interpolate import make_interp_spline

        muscle, coordinate = np.nonzero(np.abs(self.arms).max(axis=0) > 0.0)
        parts = [self.length, self.speed, self.moment, self.arms[:, muscle, coordinate]]
        object.__setattr__(self, "spanned", (muscle, coordinate))
        object.__setattr__(self, "_curve", make_interp_spline(self.time, np.hstack(parts), DEGREE))

    def at(self, time: Array) -> Array:
        """(3, K, 2 m + c + arms) lengths, speeds, moments, arms, and first and second derivatives by time."""
        return np.stack([self._curve(time, order) for order in range(3)])  # type: ignore[attr-defined]


class MotionBlock:
    """Moments (K, c) N m that muscles leave to others, and the balance (K, m) of their tendons.

    inputs : "t" s, "q" (K, m) activations, or (K, 2 m) with tendon forces in largest isometric forces
        behind them, and then "extra:tendon_rate" (K, m) 1/s
    """

    derivatives_are_tested = True

    def __init__(self, fibres: Fibres, tendon: str, motion: PathMotion) -> None:
        self.fibres, self.tendon, self.motion = fibres, tendon, motion
        self.m, self.c = fibres.count, motion.arms.shape[2]
        self.muscle, self.coordinate = motion.spanned
        self.onto = (self.coordinate[:, None] == np.arange(self.c)).astype(float)
        self.of = (self.muscle[:, None] == np.arange(self.m)).astype(float)
        self.is_rigid = tendon == "rigid"
        self.inputs: Mapping[str, int] = {"t": 1, STATES: self.m} if self.is_rigid else {
            "t": 1, STATES: 2 * self.m, RATE: self.m
        }  # fmt: skip
        self.outputs: Mapping[str, int] = {MISSING: self.c} | ({} if self.is_rigid else {EQUILIBRIUM: self.m})
        self._known: tuple[Array, Array] | None = None

    def paths(self, time: Array) -> tuple[Array, Array, Array, Array]:
        """Lengths, speeds, arms and moments at times (K,), each with derivatives by time first."""
        if self._known is None or not np.array_equal(self._known[0], time):
            self._known = time.copy(), self.motion.at(time)
        of, m, c = self._known[1], self.m, self.c
        return of[:, :, :m], of[:, :, m : 2 * m], of[:, :, 2 * m + c :], of[:, :, 2 * m : 2 * m + c]

    def arguments(self, u: Mapping[str, Array]) -> list[Array]:
        """The arguments of `Fibres.force`."""
        length, speed, _, _ = self.paths(u["t"][:, 0])
        states = u[STATES]
        if self.is_rigid:
            return [length[0], speed[0], states]
        return [length[0], speed[0], states[:, : self.m], states[:, self.m :], u[RATE]]

    def _force(self, u: Mapping[str, Array], order: int) -> FibreForce:
        return self.fibres.force(self.tendon, *self.arguments(u), order=order)

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        _, _, arms, moment = self.paths(u["t"][:, 0])
        if self.is_rigid:
            return {MISSING: moment[0] - (arms[0] * self._force(u, 0).value[:, self.muscle]) @ self.onto}
        pull, largest = u[STATES][:, self.m :], self.fibres.max_isometric_force
        return {
            MISSING: moment[0] - (arms[0] * (largest * pull)[:, self.muscle]) @ self.onto,
            EQUILIBRIUM: self._force(u, 0).value / largest - pull,
        }

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, m_u)."""
        length, speed, arms, needed = self.paths(u["t"][:, 0])
        force, K, m = self._force(u, 1), len(length[0]), self.m
        by_time = force.first[0] * length[1] + force.first[1] * speed[1]
        largest, i = self.fibres.max_isometric_force, np.arange(m)
        if self.is_rigid:
            pull, rate, slope, column = force.value, by_time, force.first[2], self.muscle
        else:
            pull, rate = largest * u[STATES][:, m:], np.zeros((K, m))
            slope, column = np.broadcast_to(largest, (K, m)), self.muscle + m
        kind = np.result_type(force.value, *u.values())
        moment = np.zeros((K, self.c, self.inputs[STATES]), kind)
        moment[:, self.coordinate, column] = -arms[0] * slope[:, self.muscle]
        turning = needed[1] - (arms[1] * pull[:, self.muscle] + arms[0] * rate[:, self.muscle]) @ self.onto
        found = {(MISSING, "t"): turning[:, :, None], (MISSING, STATES): moment}
        if not self.is_rigid:
            states, rates = np.zeros((K, m, 2 * m), kind), np.zeros((K, m, m), kind)
            states[:, i, i] = force.first[2] / largest
            states[:, i, m + i] = force.first[3] / largest - 1.0
            rates[:, i, i] = force.first[4] / largest
            found |= {
                (EQUILIBRIUM, "t"): (by_time / largest)[:, :, None],
                (EQUILIBRIUM, STATES): states,
                (EQUILIBRIUM, RATE): rates,
            }
        return found

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, m_u, m_w)."""
        length, speed, arms, needed = self.paths(u["t"][:, 0])
        m, largest = self.m, self.fibres.max_isometric_force
        force = self._force(u, 2)
        of_moments = adjoints.get(MISSING, 0.0 * needed[0])
        weights = of_moments[:, self.coordinate]
        y = [-(part * weights) @ self.of for part in arms]  # the weight of every force and its rates
        weight = y[0] if self.is_rigid else adjoints.get(EQUILIBRIUM, 0.0 * y[0]) / largest
        # arguments by time and by the unknowns, in the order of the arguments
        moving = np.zeros((len(force.first), *length[0].shape))
        moving[0], moving[1] = length[1], speed[1]
        along = np.einsum("pqkm,qkm->pkm", force.second, moving) * weight  # by time and by each argument
        time = np.einsum("pkm,pkm->km", moving, along)
        time = time + weight * (force.first[0] * length[2] + force.first[1] * speed[2])
        own = along[2:].copy()
        if self.is_rigid:
            rate = force.first[0] * length[1] + force.first[1] * speed[1]
            time = time + 2.0 * y[1] * rate + y[2] * force.value
            own[0] += y[1] * force.first[2]
        else:
            time = time + y[2] * largest * u[STATES][:, m:]
            own[1] += y[1] * largest
        bend = time.sum(axis=1) + (of_moments * needed[2]).sum(axis=1)
        found = {("t", "t"): bend[:, None, None]}
        second = force.second[2:, 2:] * weight
        if self.is_rigid:
            return found | {("t", STATES): own[0][:, None, :]}
        i, K = np.arange(m), len(time)
        states, rates, mixed = np.zeros((K, 2 * m, 2 * m)), np.zeros((K, m, m)), np.zeros((K, 2 * m, m))
        for p in range(2):
            mixed[:, p * m + i, i] = second[p, 2]
            for q in range(2):
                states[:, p * m + i, q * m + i] = second[p, q]
        rates[:, i, i] = second[2, 2]
        return found | {
            ("t", STATES): np.concatenate([own[0], own[1]], axis=1)[:, None, :],
            ("t", RATE): own[2][:, None, :],
            (STATES, STATES): states,
            (STATES, RATE): mixed,
            (RATE, RATE): rates,
        }

    # --- structure ------------------------------------------------------------------------------------

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`."""
        m, eye = self.m, np.eye(self.m, dtype=bool)
        moment = np.zeros((self.c, self.inputs[STATES]), dtype=bool)
        moment[self.coordinate, self.muscle + (0 if self.is_rigid else m)] = True
        found = {(MISSING, "t"): np.ones((self.c, 1), dtype=bool), (MISSING, STATES): moment}
        if self.is_rigid:
            return found
        return found | {
            (EQUILIBRIUM, "t"): np.ones((m, 1), dtype=bool),
            (EQUILIBRIUM, STATES): np.hstack([eye, eye]),
            (EQUILIBRIUM, RATE): eye,
        }

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`."""
        m, eye = self.m, np.eye(self.m, dtype=bool)
        found = {
            ("t", "t"): np.ones((1, 1), dtype=bool),
            ("t", STATES): np.ones((1, self.inputs[STATES]), dtype=bool),
        }
        if self.is_rigid:
            return found
        return found | {
            ("t", RATE): np.ones((1, m), dtype=bool),
            (STATES, STATES): np.tile(eye, (2, 2)),
            (STATES, RATE): np.vstack([eye, eye]),
            (RATE, RATE): eye,
        }
