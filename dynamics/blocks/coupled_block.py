"""The block of a coupled robot, from the one of its tree by the chain rule of `coupled_motion`.

Outputs are those of the tree's block, generalized forces ("tau", "motor_torque") summed over the joints that
follow a coordinate; inputs are the robot's own q, v and a, and the loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.blocks.model_block import block
from dynamics.couplings.coupled_motion import MOTION, CoupledMotion

if TYPE_CHECKING:
    from dynamics.couplings.coupled_tree import CoupledTree

FORCES = ("tau", "motor_torque")
#: what a motion of the tree depends on
SOURCES = {"q": ("q",), "v": ("q", "v"), "a": ("q", "v", "a")}

Array = np.ndarray
Pair = tuple[str, str]
Pairs = dict[Pair, Array]


class CoupledBlock:
    """Outputs of a coupled robot as functions of its own coordinates, with first and second derivatives.

    Every array is (nodes, width). Where a joint's function has a break in its third derivative, as splines
    have at their points, derivatives are those of the piece behind it. Bounds for all times (Taylor models)
    are not offered. Raises UnknownNameError for outputs or links that the tree does not have.
    """

    derivatives_are_tested = True  # by complex step and Taylor slopes: users need not check them again

    def __init__(self, model: CoupledTree, outputs: Iterable[str], loads: Iterable[str]) -> None:
        self.model, self.inner = model, block(model.tree, outputs, loads)
        self.outputs: Mapping[str, int] = {
            name: model.n if name in FORCES else width for name, width in self.inner.outputs.items()
        }
        self.motion = tuple(name for name in MOTION if name in self.inner.inputs)
        self.inputs: Mapping[str, int] = {
            name: model.n if name in MOTION else width for name, width in self.inner.inputs.items()
        }

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        motion, inner = self._motion(u, 0)
        found = self.inner.value(inner)
        return {name: motion.forces(y) if name in FORCES else y for name, y in found.items()}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, m_u)."""
        motion, inner = self._motion(u, 1)
        found: Pairs = {}
        for (output, name), part in self.inner.partials(inner).items():
            for by in self._sources(name):
                own = own_columns(motion, part, name, by)
                if own is not None:
                    add(found, (output, by), motion.rows(own) if output in FORCES else own)
        if any(name in FORCES for name in self.outputs):
            for name, forces in self.inner.value(inner).items():
                if name in FORCES:
                    add(found, (name, "q"), motion.diagonal(forces * motion.f[2]))
        return {pair: found[pair] for pair in self._pattern}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, m_u, m_w)."""
        motion, inner = self._motion(u, 2)
        weights = {
            name: motion.virtual(given) if name in FORCES else given for name, given in adjoints.items()
        }
        found: Pairs = {}
        for pair, plane in self.inner.curvature(inner, weights).items():
            self._add_plane(found, motion, pair, plane)
        partials, gradient = self.inner.partials(inner), dict[str, Array]()
        for (output, name), part in partials.items():
            if output in weights and name in MOTION:
                add(gradient, name, np.einsum("ki,kij->kj", weights[output], part))
        self._add_gradient(found, motion, gradient)
        for name in set(FORCES) & set(adjoints):
            multipliers = adjoints[name][:, motion.follows]
            forces = self.inner.value(inner)[name]
            add(found, ("q", "q"), motion.diagonal(motion.f[3] * multipliers * forces))
            turning = motion.f[2] * multipliers  # d weights / d q
            for (output, by), part in partials.items():
                if output == name:
                    self._add_turning(found, motion, turning, by, part)
        return {pair: found[pair] for pair in self._curvature_pattern}

    def _add_plane(self, found: Pairs, motion: CoupledMotion, pair: Pair, plane: Array) -> None:
        """Second derivatives by two inputs of the tree, as those by the robot's own."""
        one, other = pair
        halves = [(one, other, plane)] if one == other else [
            (one, other, plane), (other, one, np.swapaxes(plane, 1, 2))
        ]  # fmt: skip
        for z, w, part in halves:
            for y in self._sources(w):
                half = own_columns(motion, part, w, y)
                for x in self._sources(z):
                    if half is None or self._rank(x) > self._rank(y):
                        continue
                    own = own_columns(motion, np.swapaxes(half, 1, 2), z, x)
                    if own is not None:
                        add(found, (x, y), np.swapaxes(own, 1, 2))

    def _add_gradient(self, found: Pairs, motion: CoupledMotion, gradient: Mapping[str, Array]) -> None:
        """First derivatives by the tree's motion times the second ones of that motion."""
        f, v, a = motion.f, motion.v, motion.a
        if "q" in gradient:
            add(found, ("q", "q"), motion.diagonal(gradient["q"] * f[2]))
        if "v" in gradient:
            add(found, ("q", "q"), motion.diagonal(gradient["v"] * f[3] * v))
            add(found, ("q", "v"), motion.diagonal(gradient["v"] * f[2]))
        if "a" in gradient:
            assert v is not None
            add(found, ("q", "q"), motion.diagonal(gradient["a"] * (f[3] * a + f[4] * v**2)))
            add(found, ("q", "v"), motion.diagonal(2.0 * gradient["a"] * f[3] * v))
            add(found, ("q", "a"), motion.diagonal(gradient["a"] * f[2]))
            add(found, ("v", "v"), motion.diagonal(2.0 * gradient["a"] * f[2]))

    def _add_turning(
        self, found: Pairs, motion: CoupledMotion, turning: Array, name: str, part: Array
    ) -> None:
        """Add the terms of f' in tau where its derivative by q meets those of the tree's forces."""
        rows = turning[:, :, None] * part
        for by in self._sources(name):
            own = own_columns(motion, rows, name, by)
            if own is None:
                continue
            plane = self.model.selection.T @ own
            add(found, ("q", by), plane + np.swapaxes(plane, 1, 2) if by == "q" else plane)

    # --- structure ------------------------------------------------------------------------------------

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`."""
        return dict(self._pattern)

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`."""
        return dict(self._curvature_pattern)

    @cached_property
    def _pattern(self) -> Pairs:
        found: Pairs = {}
        for (output, name), part in self.inner.pattern().items():
            own = self._own(part, name)
            for by in self._sources(name):
                either(found, (output, by), self._own(own.T, "q").T if output in FORCES else own)
        for name in set(FORCES) & set(self.outputs):
            either(found, (name, "q"), np.eye(self.model.n, dtype=bool))
        return found

    @cached_property
    def _curvature_pattern(self) -> Pairs:
        found: Pairs = {}
        for (one, other), plane in self.inner.curvature_pattern().items():
            for z, w, part in ((one, other, plane), (other, one, plane.T)):
                own = self._own(self._own(part, w).T, z).T
                for x in self._sources(z):
                    for y in self._sources(w):
                        if self._rank(x) <= self._rank(y):
                            either(found, (x, y), own)
        for (output, name), part in self._pattern.items():
            if output in FORCES:
                either(found, ("q", name), part | part.T if name == "q" else part)
        diagonal = np.eye(self.model.n, dtype=bool)
        for pair in [("q", "q"), ("q", "v"), ("q", "a"), ("v", "v")]:
            if set(pair) <= set(self.motion) and ("a" in self.motion or pair != ("v", "v")):
                either(found, pair, diagonal)
        return found

    def _own(self, part: Array, name: str) -> Array:
        """The robot's coordinates on which a row depends."""
        return (part.astype(float) @ self.model.selection) > 0.0 if name in MOTION else part

    def _sources(self, name: str) -> Iterable[str]:
        return [each for each in SOURCES.get(name, (name,)) if each in self.inputs]

    def _rank(self, name: str) -> int:
        return list(self.inputs).index(name)

    # --- inputs ---------------------------------------------------------------------------------------

    def _motion(self, u: Mapping[str, Array], derivatives: int) -> tuple[CoupledMotion, dict[str, Any]]:
        """The motion of the joints at the nodes, and the inputs of the tree's block."""
        given = {name: u[name] for name in self.motion}
        motion = CoupledMotion(self.model, given, len(given) - 1 + derivatives)
        return motion, {name: motion.arrays.get(name, u[name]) for name in self.inputs}


def own_columns(motion: CoupledMotion, part: Array, name: str, by: str) -> Array | None:
    """Columns of the tree's input `name` as those of the robot's input `by`; None where that adds nothing."""
    return motion.columns(part, name, by) if name in MOTION else part


def add(found: dict[Any, Array], key: Any, part: Array) -> None:
    """Add to an entry, which is zero at first."""
    found[key] = found[key] + part if key in found else part


def either(found: Pairs, pair: Pair, part: Array) -> None:
    """Join a pattern with what an entry has."""
    found[pair] = found[pair] | part if pair in found else part
