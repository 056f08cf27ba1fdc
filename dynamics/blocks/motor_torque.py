"""Torques of motors beside springs and dampers of the joints, as outputs of a block.

A spring and a damper act on the displacement d = ratio q + offset of their joint, so that the motors of a
coordinate give what the joints transmit and what the springs and dampers of its joints take,

    motor_torque_i = tau_i + sum_j ratio_j (k_j (d_j - r_j) + c_j ratio_j v_i),   j: joints of coordinate i

with stiffness k, relaxed displacement r and viscous friction c. Coulomb friction is left out, as it jumps
(`dynamics.friction` smooths it). Linear in k, c and k r, so that all derivatives are written out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.model.properties import OF_SPRINGS, checked_value, model_property

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

MOTOR_TORQUE, TAU, DESIGN = "motor_torque", "tau", "design:"

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]


class MotorTorqueBlock:
    """The outputs of an inner block, and "motor_torque", (nodes, n).

    inner : a block of inverse dynamics with the output "tau", of a robot as it is or with designed properties
    outputs : those wanted; "tau" is left out where it is not among them
    fixed : "JOINT.stiffness", "JOINT.rest", "JOINT.damping" that are inputs "design:..." -> (1,), NaN, or the
        number where it does not vary
    """

    derivatives_are_tested = True

    def __init__(
        self,
        model: KinematicTree,
        inner: Any,
        outputs: Iterable[str],
        fixed: Mapping[str, Array],
    ) -> None:
        self.inner, self.n = inner, model.n
        wanted = set(outputs)
        widths = {name: width for name, width in inner.outputs.items() if name in wanted}
        self.outputs: Mapping[str, int] = {**widths, MOTOR_TORQUE: model.n}
        designed = {name: model_property(model, name) for name in fixed}
        self.inputs: Mapping[str, int] = {**inner.inputs, **{f"{DESIGN}{name}": 1 for name in fixed}}
        links = {part.index for part in designed.values()}
        links |= {i for i, joint in enumerate(model.joints) if joint.stiffness or joint.damping}
        self.links = sorted(links)
        joints = [model.joints[link] for link in self.links]
        self.coordinate = model.coordinate[self.links]
        self.ratio, self.offset = (np.array([getattr(j, key) for j in joints]) for key in ("ratio", "offset"))
        self.given = {key: np.array([getattr(j, key) for j in joints], float) for key in OF_SPRINGS}
        self.onto = (self.coordinate[:, None] == np.arange(model.n)).astype(float)  # (joints, n)
        self.varying: dict[tuple[str, int], str] = {}  # attribute and place among the joints -> input
        for name, part in designed.items():
            place, number = self.links.index(part.index), checked_value(fixed[name], 1, name)[0]
            if np.isnan(number):
                self.varying[part.attribute, place] = f"{DESIGN}{name}"
            else:
                self.given[part.attribute][place] = number

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        found = self.inner.value(u)
        (k, rest, c), (d, w) = self._springs(u), self._motion(u)
        motor = found[TAU] + (self.ratio * (k * (d - rest) + c * w)) @ self.onto
        return {name: motor if name == MOTOR_TORQUE else found[name] for name in self.outputs}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        """Outputs in any arithmetic; NotImplementedError where the inner block, or a design, has none."""
        if self.varying or not hasattr(self.inner, "value_over"):
            raise NotImplementedError("designed properties are computed in floating-point numbers alone")
        found = self.inner.value_over(u, number)
        motor = list(found[TAU])
        for j, i in enumerate(self.coordinate):
            k, rest, c = (float(self.given[key][j]) for key in OF_SPRINGS)
            ratio, offset = float(self.ratio[j]), float(self.offset[j])
            spring = (u["q"][i] * ratio + (offset - rest)) * k
            motor[i] = motor[i] + (spring + u["v"][i] * (c * ratio)) * ratio
        return {name: motor if name == MOTOR_TORQUE else found[name] for name in self.outputs}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, m_u)."""
        inner = self.inner.partials(u)
        found = {pair: part for pair, part in inner.items() if pair[0] in self.outputs}
        found |= {(MOTOR_TORQUE, name): part for (output, name), part in inner.items() if output == TAU}
        (k, rest, c), (d, w) = self._springs(u), self._motion(u)
        diagonal = np.arange(self.n)
        for name, factor in (("q", k), ("v", c)):
            part = found[MOTOR_TORQUE, name].copy()
            part[:, diagonal, diagonal] += (self.ratio**2 * factor) @ self.onto
            found[MOTOR_TORQUE, name] = part
        slopes = {"stiffness": self.ratio * (d - rest), "rest": -self.ratio * k, "damping": self.ratio * w}
        for (attribute, j), name in self.varying.items():
            found[MOTOR_TORQUE, name] = (slopes[attribute][:, j, None] * self.onto[j])[:, :, None]
        return found

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, m_u, m_w)."""
        motor = adjoints.get(MOTOR_TORQUE, np.zeros_like(u["q"]))
        of_inner = {name: part for name, part in adjoints.items() if name != MOTOR_TORQUE}
        found = self.inner.curvature(u, of_inner | {TAU: of_inner.get(TAU, 0.0) + motor})
        along = motor[:, self.coordinate] * self.ratio  # (nodes, joints)
        for (attribute, j), name in self.varying.items():
            if attribute == "rest":
                other = self.varying.get(("stiffness", j))
                if other is not None:
                    found[other, name] = -along[:, j, None, None]
                continue
            motion = "q" if attribute == "stiffness" else "v"
            found[motion, name] = (along[:, j] * self.ratio[j])[:, None, None] * self.onto[j][:, None]
        return found

    # --- structure ------------------------------------------------------------------------------------

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`."""
        inner = self.inner.pattern()
        found = {pair: part for pair, part in inner.items() if pair[0] in self.outputs}
        found |= {(MOTOR_TORQUE, name): part for (output, name), part in inner.items() if output == TAU}
        for name in ("q", "v"):
            found[MOTOR_TORQUE, name] = found[MOTOR_TORQUE, name] | np.eye(self.n, dtype=bool)
        for (_, j), name in self.varying.items():
            found[MOTOR_TORQUE, name] = self.onto[j][:, None] > 0.0
        return found

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`."""
        found = dict(self.inner.curvature_pattern())
        for (attribute, j), name in self.varying.items():
            if attribute == "rest":
                other = self.varying.get(("stiffness", j))
                if other is not None:
                    found[other, name] = np.ones((1, 1), dtype=bool)
                continue
            found["q" if attribute == "stiffness" else "v", name] = self.onto[j][:, None] > 0.0
        return found

    # --- springs at the nodes -------------------------------------------------------------------------

    def _springs(self, u: Mapping[str, Array]) -> list[Array]:
        """Stiffness, relaxed displacement and viscous friction of the joints, (nodes, joints) each."""
        kind = np.result_type(float, *(u[name] for name in self.varying.values()))
        found = {key: np.tile(self.given[key].astype(kind), (len(u["q"]), 1)) for key in OF_SPRINGS}
        for (attribute, j), name in self.varying.items():
            found[attribute][:, j] = u[name][:, 0]
        return [found[key] for key in OF_SPRINGS]

    def _motion(self, u: Mapping[str, Array]) -> tuple[Array, Array]:
        """Displacements of the joints and their rates, (nodes, joints) each."""
        q, v = (u[name][:, self.coordinate] for name in ("q", "v"))
        return self.ratio * q + self.offset, self.ratio * v
