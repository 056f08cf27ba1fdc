"""Contracted second derivatives of a robot with rotation vectors, from those of its serial form.

For a scalar L(z, u), z = (e, e', e'') functions of motion (p, p', p'') and u anything else,
    L_xy = sum over z, w of z_x' L_zw w_y + sum over z of L_z . z_xy;
the second derivatives z_xy are those of `rotation_chart`: e has E2, e' has E3 p' and E2, e'' has E3 p'' +
E4 p' p', 2 E3 p' and E2. Where L is lambda . tau = (E lambda) . tau_e, E lambda depends on p as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dynamics.kernels.rotation_vectors.polynomial import derivative_places
from dynamics.kernels.rotation_vectors.serial_motion import MOTION, SOURCES, WHOLE, Part, SerialMotion, once
from dynamics.kernels.rotation_vectors.serial_planes import add_chart_curvature, carry_planes

PLANES = (("q", "q"), ("q", "v"), ("q", "a"), ("v", "v"))

Array = np.ndarray
Pair = tuple[str, str]


class SerialCurvature:
    """Collects second derivatives by pairs of inputs, q before v before a before others."""

    def __init__(self, motion: SerialMotion, widths: Mapping[str, int]) -> None:
        self.motion, self.widths = motion, widths
        self.names = [name for name in MOTION if name in widths]
        self.found: dict[Pair, Array] = {}

    # --- L_zw -----------------------------------------------------------------------------------------

    def add_planes(self, planes: Mapping[Pair, Array]) -> None:
        """Second derivatives of the serial form, each pair once, (nodes, width, width) each."""
        motion, left = self.motion, dict(planes)
        shape = (motion.nodes.nodes, motion.model.serial.n, motion.model.serial.n)
        absent = np.empty((0, 0, 0), motion.nodes.dtype)
        given, found = [], []
        for pair in PLANES:
            wanted = set(pair) <= set(self.names)
            plane = left.pop(pair, None)
            given.append(absent if not wanted else np.zeros(shape, absent.dtype) if plane is None else plane)
            found.append(self.pair(*pair) if wanted else absent)
        half = np.empty((motion.model.n, shape[1]), absent.dtype)
        matrices = motion.rows_of_E, motion.rows_of_D1, motion.rows_of_D2
        kind = absent.dtype
        given = [each.astype(kind, copy=False) for each in given]
        carry_planes(*given, motion.form.own, motion.firsts, *matrices, half, *found)
        for (one, other), plane in left.items():
            self._add_plane(one, other, plane)
            if one != other:
                self._add_plane(other, one, np.swapaxes(plane, 1, 2))

    def _add_plane(self, one: str, other: str, plane: Array) -> None:
        for column in self.sources(other):
            rows = [row for row in self.sources(one) if self.rank(row) <= self.rank(column)]
            for to, half in self.motion.parts(plane, other, column) if rows else ():
                for row in rows:
                    for at, part in self.rows(half, one, row):
                        self.pair(row, column)[:, at, to] += part

    def sources(self, name: str) -> Iterable[str]:
        return [each for each in SOURCES.get(name, (name,)) if each in self.widths]

    def rank(self, name: str) -> int:
        return self.names.index(name) if name in self.names else len(self.names)

    def pair(self, one: str, other: str) -> Array:
        """The plane of a pair, zero at first."""
        if (one, other) not in self.found:
            shape = (self.motion.nodes.nodes, self.widths[one], self.widths[other])
            self.found[one, other] = np.zeros(shape, self.motion.nodes.dtype)
        return self.found[one, other]

    def rows(self, half: Array, name: str, by: str) -> list[Part]:
        if name == by and name in MOTION:
            return [(WHOLE, self.motion.rows(half))]
        transposed = self.motion.parts(np.swapaxes(half, 1, 2), name, by)
        return [(at, np.swapaxes(part, 1, 2)) for at, part in transposed]

    # --- L_z . z_xy -----------------------------------------------------------------------------------

    def add_gradient(self, gradient: Mapping[str, Array]) -> None:
        """First derivatives of L by q, v and a of the serial form, (nodes, n') each."""
        motion = self.motion
        absent = np.empty((0, 0), motion.nodes.dtype)
        of = [gradient.get(name, absent) for name in MOTION]
        v, a = (absent if each is None else each for each in (motion.v, motion.a))
        none = np.empty((0, 0, 0), motion.nodes.dtype)
        found = [self.pair(*pair) if set(pair) <= set(self.names) else none for pair in PLANES]
        for chart in motion.charts:
            size, first = chart.polynomials.shape[1] // 3, chart.coordinates.start
            fourth = derivative_places(4)
            add_chart_curvature(chart.polynomials, size, *fourth, first, v, a, *of, motion.form.own, *found)

    def add_multiplier(self, multiplier: Array, forces: Array, partials: Mapping[str, Array]) -> None:
        """Add the part of E lambda, where L is multiplier . tau; planes and gradient hold it constant.

        multiplier : (nodes, n) lambda; forces : (nodes, n') tau_e
        partials : input -> (nodes, n', width) derivatives of tau_e by the robot's own q, v and a, as
            `SerialMotion.outputs` gives them, and by others
        """
        motion = self.motion
        for chart in motion.charts:
            at = chart.coordinates
            first = int(motion.form.own[at.start])
            own = slice(first, first + 3)  # one behind the other, as the angles are that hold them
            bent = once(chart.E3, multiplier[:, at])
            by_q = self.pair("q", "q")
            by_q[:, at, at] += contracted(forces[:, own], bent)
            turned = np.swapaxes(once(chart.E2, multiplier[:, at]), 1, 2)
            products = turned @ np.concatenate([part[:, own] for part in partials.values()], axis=2)
            column = 0
            for name, part in partials.items():
                product = products[:, :, column : column + part.shape[2]]
                self.pair("q", name)[:, at] += product
                if name == "q":
                    by_q[:, :, at] += np.swapaxes(product, 1, 2)
                column += part.shape[2]


def contracted(adjoint: Array, tensor: Array) -> Array:
    """(nodes, 3) with the first axis of (nodes, 3, 3, 3)."""
    flat = adjoint[:, None, :] @ tensor.reshape(len(adjoint), 3, 9)
    return flat.reshape(len(adjoint), 3, 3)
