"""Fibres and tendons of all muscles of a robot: forces of path length, path speed and activation.

    F = F_max [a f_l(l) f_v(v) + f_p(l) + d v] cos(alpha)

is the force along the tendon of fibres of length l and speed v at an angle alpha to it, whose width does not
change: l^2 = s^2 + w^2 and l' = s' cos(alpha), s being their length along the tendon. A rigid tendon leaves
s = L - l_slack of the path length L. A compliant one has its force F_t as a state, and F = F_t is an equation
(De Groote, Kinney, Rao and Fregly 2016, third formulation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from dynamics.errors import MuscleError
from dynamics.muscles.curves import (
    LONGEST,
    SHORTEST,
    TENDON_OFFSET,
    active_force,
    force_at_speed,
    passive_force,
    tendon_length,
)

Array = np.ndarray
LEAST_COSINE = 0.1  # of the angle between fibres and tendon, that of OpenSim's Millard2012 muscles
#: arguments of a muscle's force, in this order, by the compliance of the tendon
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "rigid": ("length", "speed", "activation"),
    "compliant": ("length", "speed", "activation", "tendon_force", "tendon_rate"),
}


@dataclass(frozen=True, eq=False)
class FibreForce:
    """Forces of muscles (K, m) and their derivatives by p arguments, as `ARGUMENTS` orders them.

    value : (K, m); first : (p, K, m); second : (p, p, K, m)
    """

    value: Array
    first: Array
    second: Array


@dataclass(frozen=True, eq=False)
class FibreState:
    """Fibres (K, m) each: length m, speed m/s, active and passive force along themselves N, cos(alpha).

    normal_length, normal_speed : in optimal lengths, and in largest speeds
    """

    length: Array
    speed: Array
    active: Array
    passive: Array
    cosine: Array
    normal_length: Array
    normal_speed: Array


@dataclass(frozen=True, eq=False)
class Fibres:
    """Parameters of m muscles, (m,) each, and their forces.

    max_isometric_force : N;  optimal_fiber_length, tendon_slack_length : m
    pennation_angle : rad, at the optimal length;  max_contraction_velocity : optimal lengths per s
    passive_strain, tendon_strain : at which fibre and tendon give the largest isometric force
    damping : d, in largest isometric forces at the largest speed
    width_scale : of active force over length; passive : False leaves out the passive force
    Raises MuscleError for names, numbers or shapes that no muscle has.
    """

    names: tuple[str, ...]
    max_isometric_force: Array
    optimal_fiber_length: Array
    tendon_slack_length: Array
    pennation_angle: Array
    max_contraction_velocity: Array
    passive_strain: Array | float = 0.6
    tendon_strain: Array | float = 0.049
    damping: Array | float = 0.01
    width_scale: float = 1.0
    passive: bool = True

    def __post_init__(self) -> None:
        m = len(self.names)
        for name in self.numbers():
            given = np.asarray(getattr(self, name), dtype=float)
            try:
                values = np.broadcast_to(given, (m,)).copy()
            except ValueError:
                raise MuscleError(
                    f"{name} has shape {given.shape} but there are {m} muscles: give one number each"
                ) from None
            may_be_zero = name in ("pennation_angle", "damping", "tendon_slack_length")
            wrong = ~np.isfinite(values) | (values < 0.0) | ((values == 0.0) & (not may_be_zero))
            if name == "pennation_angle":
                wrong |= values >= 0.5 * np.pi
            if np.any(wrong):
                i = int(np.argmax(wrong))
                needed = "a number that is not negative" if may_be_zero else "a positive number"
                raise MuscleError(
                    f"{name} of muscle '{self.names[i]}' is {values[i]:g}: expected {needed}"
                    f"{' below pi / 2' * (name == 'pennation_angle')}"
                )
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if not self.width_scale > 0.0:
            raise MuscleError(f"width_scale is {self.width_scale}: expected a positive number, 1 for none")

    @classmethod
    def numbers(cls) -> tuple[str, ...]:
        """The fields that have one number for every muscle."""
        others = "names", "width_scale", "passive", "paths"
        return tuple(field.name for field in fields(cls) if field.name not in others)

    @property
    def count(self) -> int:
        """m, the number of muscles."""
        return len(self.names)

    @cached_property
    def width(self) -> Array:
        """(m,) m, of the fibres across the tendon, which does not change."""
        return self.optimal_fiber_length * np.sin(self.pennation_angle)

    @cached_property
    def fastest(self) -> Array:
        """(m,) m/s, the speed of shortening at which a fibre gives no active force."""
        return self.optimal_fiber_length * self.max_contraction_velocity

    # --- force ------------------------------------------------------------------------------------------

    def force(self, tendon: str, *given: Array, order: int = 2) -> FibreForce:
        """Force along the tendon (K, m) N of the `ARGUMENTS` of this tendon, (K, m) each.

        tendon_force : in largest isometric forces;  tendon_rate : its rate, 1/s
        order : of the highest derivative that is computed, 0 to 2
        """
        if tendon == "rigid":
            length, speed, activation = given
            return self._along(length - self.tendon_slack_length, speed, activation, order)
        length, speed, activation, force, rate = given
        stretched = tendon_length(force, self.tendon_strain)
        l0, l1, l2 = (self.tendon_slack_length * part for part in stretched)
        inner = self._along(length - l0, speed - l1 * rate, activation, order)
        if order == 0:
            return inner
        l3 = -2.0 * l2 / (force + TENDON_OFFSET)  # third derivative of the tendon's length
        s, u, a = inner.first
        one, none = np.ones_like(s), np.zeros_like(s)
        # how s and u change with length, speed, tendon force and rate
        of_s = np.stack([one, none, none, -l1, none])
        of_u = np.stack([none, one, none, -l2 * rate, -l1])
        of_a = np.stack([none, none, one, none, none])
        first = s * of_s + u * of_u + a * of_a
        if order == 1:
            return FibreForce(inner.value, first, np.empty(0))
        tangents = np.stack([of_s, of_u, of_a])
        half = np.einsum("xykm,yqkm->xqkm", inner.second, tangents)
        second = np.einsum("xpkm,xqkm->pqkm", tangents, half)
        second[3, 3] += -s * l2 - u * l3 * rate
        second[3, 4] += -u * l2
        second[4, 3] += -u * l2
        return FibreForce(inner.value, first, second)

    def _along(self, s: Array, u: Array, a: Array, order: int) -> FibreForce:
        """Force of fibres with the length s and speed u along the tendon, and derivatives by s, u and a."""
        w2 = self.width**2
        length = np.sqrt(s**2 + w2)
        c = s / length
        speed = u * c / self.fastest
        lo = self.optimal_fiber_length
        P, p = self._lengths(length / lo)
        W = force_at_speed(speed)
        largest, damping = self.max_isometric_force, self.damping
        total = a * P[0] * W[0] + p[0] + damping * speed
        value = largest * total * c
        if order == 0:
            return FibreForce(value, np.empty(0), np.empty(0))
        c1 = w2 / length**3  # dc / ds, and the second derivative of the length
        v_s, v_u = u * c1 / self.fastest, c / self.fastest
        P1, p1 = P[1] * c / lo, p[1] * c / lo
        turning = a * P[0] * W[1] + damping  # d total / d speed
        n_s = a * P1 * W[0] + p1 + turning * v_s
        n_u, n_a = turning * v_u, P[0] * W[0]
        first = largest * np.stack([n_s * c + total * c1, n_u * c, n_a * c])
        if order == 1:
            return FibreForce(value, first, np.empty(0))
        c2 = -3.0 * c1 * s / length**2
        v_ss, v_su = u * c2 / self.fastest, c1 / self.fastest
        P2, p2 = ((x[2] * (c / lo) ** 2 + x[1] * c1 / lo) for x in (P, p))
        bending = a * P[0] * W[2]
        n_ss = a * P2 * W[0] + p2 + 2.0 * a * P1 * W[1] * v_s + bending * v_s**2 + turning * v_ss
        n_su = a * P1 * W[1] * v_u + bending * v_s * v_u + turning * v_su
        n_sa, n_ua = P1 * W[0] + P[0] * W[1] * v_s, P[0] * W[1] * v_u
        ss = n_ss * c + 2.0 * n_s * c1 + total * c2
        su, sa = n_su * c + n_u * c1, n_sa * c + n_a * c1
        uu, ua, aa = bending * v_u**2 * c, n_ua * c, np.zeros_like(c)
        second = largest * np.stack([np.stack([ss, su, sa]), np.stack([su, uu, ua]), np.stack([sa, ua, aa])])
        return FibreForce(value, first, second)

    def _lengths(self, length: Array) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
        """Active and passive force over the normal length, and their derivatives."""
        active = active_force(length, self.width_scale)
        if self.passive:
            return active, passive_force(length, self.passive_strain)
        none = np.zeros_like(length)
        return active, (none, none, none)

    # --- what fibres do -----------------------------------------------------------------------------------

    def state(self, tendon: str, *given: Array) -> FibreState:
        """Lengths, speeds and forces of the fibres, of the arguments of `force`; damping is passive."""
        length, speed, activation = given[:3]
        if tendon == "rigid":
            s, u = length - self.tendon_slack_length, speed
        else:
            force, rate = given[3:]
            l0, l1, _ = tendon_length(force, self.tendon_strain)
            s = length - self.tendon_slack_length * l0
            u = speed - self.tendon_slack_length * l1 * rate
        fibre = np.sqrt(s**2 + self.width**2)
        cosine = s / fibre
        normal, fast = fibre / self.optimal_fiber_length, u * cosine / self.fastest
        P, p = self._lengths(normal)
        largest = self.max_isometric_force
        active = largest * activation * P[0] * force_at_speed(fast)[0]
        passive = largest * (p[0] + self.damping * fast)
        return FibreState(fibre, u * cosine, active, passive, cosine, normal, fast)

    def beyond_curves(self, normal_length: Array, cosine: Array, time: Array) -> tuple[str, ...]:
        """A sentence for every muscle whose fibres leave the lengths and angles that the curves describe.

        normal_length : (K, m), optimal lengths, and cosine : (K, m), cos(alpha), at times (K,) s
        A cosine below 0.1 is that of a path hardly longer than its tendon, or shorter.
        """
        lines: list[str] = []
        passive = self._lengths(normal_length)[1][0]
        for i, name in enumerate(self.names):
            length, along = normal_length[:, i], cosine[:, i]
            for bad, values, at, fault in (
                (length > LONGEST, length, np.argmax(length), f"stretched above {LONGEST:g} optimal lengths"),
                (~(length >= SHORTEST), length, np.argmin(length),
                 f"shortened below {SHORTEST:g} optimal lengths"),
                (~(along >= LEAST_COSINE), along, np.argmin(along),
                 f"no longer along their tendon, cosine below {LEAST_COSINE:g}"),
            ):  # fmt: skip
                if np.any(bad):
                    pull = passive[at, i]
                    lines.append(
                        f"fibres of '{name}' are {fault}: {values[at]:.3g} at {time[at]:.4g} s; "
                        "check its tendon slack length and the motion"
                        + f", or leave out its passive force, {pull:.2g} of the largest (passive=False, in "
                        "commands --no-passive)" * bool(pull > 1.0)
                    )
        return tuple(lines)
