"""Motion and forces of a robot with rotation vectors, carried to its serial form and back.

At a node, e(p) are the displacements of three joints in series that give the rotation of p, zero at the node
itself (`rotation_chart`). With E, E2, ... the derivatives of e by p there,
    e' = E p',  e'' = E p'' + E2 p' p',  tau = E' tau_e,
and a function f(e, e', e'') has by p, p' and p'' the derivatives
    f_e E + f_e' D1 + f_e'' D2,  f_e' E + 2 f_e'' D1,  f_e'' E,   D1 = E2 p',  D2 = E2 p'' + E3 p' p'.
Other coordinates are the same in both forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from dynamics.kernels.node_batch import Batch, batch
from dynamics.kernels.rotation_vectors.polynomial import derivatives_at_zero
from dynamics.kernels.rotation_vectors.rotation_chart import serial_chart
from dynamics.kernels.rotation_vectors.serial_planes import carry_outputs, carry_rows
from dynamics.kernels.rotation_vectors.serial_products import (
    carry_forces,
    chart_derivatives,
    chart_stiffness,
    held_angles,
)
from dynamics.model.body import Frame
from dynamics.model.kinematic_tree import KinematicTree, packed_of

MOTION = ("q", "v", "a")
#: inputs that a motion of the serial form depends on, by its order
SOURCES = {"q": ("q",), "v": ("q", "v"), "a": ("q", "v", "a")}
WHOLE = slice(None)

Array = np.ndarray
Part = tuple[slice, Array]  # of an axis: where it stands, and what stands there


class SerialChart:
    """e of one rotation vector as polynomials in p around the nodes, and its derivatives there.

    rotation : (nodes, 9) Exp(p), row by row; E : (nodes, 3, 3), [i, j] = d e_i / d p_j
    """

    def __init__(self, coordinates: slice, rotation: Array, polynomials: Array, E: Array) -> None:
        self.coordinates, self.rotation, self.polynomials, self.E = coordinates, rotation, polynomials, E

    def derivatives(self, order: int) -> Array:
        """(nodes, 3, 3, ..., 3)."""
        return derivatives_at_zero(self.polynomials.reshape(len(self.E), 3, -1), order)

    @cached_property
    def E2(self) -> Array:
        return self.derivatives(2)

    @cached_property
    def E3(self) -> Array:
        return self.derivatives(3)

    @cached_property
    def E4(self) -> Array:
        return self.derivatives(4)


class SerialMotion:
    """q, v and a of a model with rotation vectors at nodes, and the same motion of its serial form.

    degree : 1 to 4, of the derivatives of e by p that are needed; E at 1, D1 and e'' at 2, D2 at 3
    arrays : q, v and a of the serial form, as far as they are given, (nodes, n')
    """

    def __init__(self, model: KinematicTree, nodes: Batch, degree: int) -> None:
        self.model, self.form, self.nodes, self.degree = model, model.serial_bodies, nodes, degree
        self.q, *rates = nodes.arrays[:3]
        self.v = rates[0] if rates else None
        self.a = rates[1] if len(rates) > 1 else None
        self.firsts = np.array([joint.coordinates.start for joint in model.rotation_joints])
        self.arrays = tuple(self._widened(array) for array in (self.q, *rates))
        count, none = len(self.q), np.empty((0, 0), nodes.dtype)
        E, D1, D2 = (np.empty((count, 9 * len(self.firsts)), nodes.dtype) for _ in range(3))
        self.rows_of_E, self.rows_of_D1, self.rows_of_D2 = E, D1, D2
        v, a = (none if each is None else each for each in (self.v, self.a))
        moved_v, moved_a = (*self.arrays[1:], none, none)[:2]
        self.charts: list[SerialChart] = []
        for at, joint in enumerate(model.rotation_joints):
            places = joint.coordinates
            rotation, polynomials = serial_chart(np.ascontiguousarray(self.q[:, places]), degree)
            self._turn(rotation, int(self.form.own[places.start]))
            sizes = polynomials.shape[1] // 3, degree, places.start
            chart_derivatives(polynomials, *sizes, v, a, self.form.own, E, D1, D2, moved_v, moved_a, 9 * at)
            chart = SerialChart(places, rotation, polynomials, entries(E, at))
            self.charts.append(chart)

    def _widened(self, array: Array) -> Array:
        """(nodes, n) -> (nodes, n'), held coordinates zero."""
        found = np.zeros((len(array), self.model.serial.n), self.nodes.dtype)
        found[:, self.form.own] = array
        return found

    def _turn(self, rotation: Array, at: int) -> None:
        """The angles of a rotation, held and of roll, into q of the serial form."""
        q = self.arrays[0]
        if q.dtype == np.float64:
            held_angles(rotation, q, at)
            return
        angles = yaw_pitch_roll(rotation.reshape(-1, 3, 3))
        q[:, at - 2], q[:, at - 1], q[:, at] = angles
        q[:, at + 1] = q[:, at + 2] = 0.0

    def rate(self, chart: SerialChart) -> Array:
        """p', (nodes, 3)."""
        assert self.v is not None
        return self.v[:, chart.coordinates]

    @cached_property
    def D1(self) -> list[Array]:
        """d e' / d p = E2 p', of every rotation vector."""
        return [entries(self.rows_of_D1, at) for at in range(len(self.charts))]

    @cached_property
    def D2(self) -> list[Array]:
        """d e'' / d p = E2 p'' + E3 p' p', of every rotation vector."""
        return [entries(self.rows_of_D2, at) for at in range(len(self.charts))]

    def batch(self, *further: Array | None) -> Batch:
        """The motion of the serial form and further rows of nodes, as its algorithms take them."""
        given = [array for array in further if array is not None]
        return Batch((*self.arrays, *given), self.nodes.shape, self.nodes.dtype)

    # --- there and back -------------------------------------------------------------------------------

    def groups(self) -> Iterator[tuple[slice, Array]]:
        """(places of p in q, E) of every rotation vector."""
        for chart in self.charts:
            yield chart.coordinates, chart.E

    def columns(self, by_serial: Array) -> Array:
        """(nodes, ..., n') derivatives by e, or by its rates -> (nodes, ..., n) by p, or by its rates."""
        found = by_serial[..., self.form.own]
        for places, E in self.groups():
            part = found[..., places]
            found[..., places] = (part.reshape(len(E), -1, 3) @ E).reshape(part.shape)
        return found

    def forces(self, serial: Array) -> Array:
        """(nodes, n') generalized forces of the serial form -> (nodes, n)."""
        out = np.empty((len(serial), self.model.n), np.result_type(serial, self.rows_of_E))
        carry_forces(serial, self.form.own, self.firsts, self.rows_of_E, out)
        return out

    def stiffness(self, forces: Array) -> Array:
        """tau_e . E2 of every rotation vector: of tau = E' tau_e, what E depends on p; (nodes, 9) each."""
        out = np.empty(self.rows_of_E.shape, np.result_type(forces, self.rows_of_E))
        for at, chart in enumerate(self.charts):
            size = chart.polynomials.shape[1] // 3
            first = chart.coordinates.start
            chart_stiffness(chart.polynomials, size, first, forces, self.form.own, out, 9 * at)
        return out

    def rows(self, serial: Array) -> Array:
        """(nodes, n', m) rows of forces -> (nodes, n, m)."""
        out = np.empty((len(serial), self.model.n, *serial.shape[2:]), np.result_type(serial, self.rows_of_E))
        flat = (len(serial), -1, serial[0, 0].size if len(serial) else 1)
        carry_rows(serial.reshape(flat), self.form.own, self.firsts, self.rows_of_E, out.reshape(flat))
        return out

    def matrix(self, serial: Array) -> Array:
        """(nodes, n', n') -> (nodes, n, n): a bilinear form of two rates."""
        return self.rows(self.columns(serial))

    def velocities(self, rates: Array) -> Array:
        """(nodes, n) rates or virtual rates -> (nodes, n') of the serial form."""
        found = np.zeros((len(rates), self.model.serial.n), rates.dtype)
        found[:, self.form.own] = rates
        for places, E in self.groups():
            found[:, self.form.own[places]] = times(E, rates[:, places])
        return found

    def parts(self, serial: Array, name: str, by: str) -> list[Part]:
        """Parts that derivatives by `name` of the serial form, (nodes, m, n'), add to those by `by`."""
        if name not in MOTION:
            return [(WHOLE, serial)]
        if name == by:
            return [(WHOLE, self.columns(serial))]
        slopes = self.D2 if (name, by) == ("a", "q") else self.D1
        factor = 2.0 if (name, by) == ("a", "v") else 1.0
        return [
            (chart.coordinates, factor * serial[:, :, self.form.own[chart.coordinates]] @ slope)
            for chart, slope in zip(self.charts, slopes, strict=True)
        ]

    def outputs(self, *serial: Array | None) -> list[Array]:
        """Derivatives of outputs by q, v and a, (nodes, m, n') as far as given -> (nodes, m, n) each."""
        given = [each for each in serial if each is not None]
        kind = np.result_type(*given, self.rows_of_E)
        absent = np.empty((0, 0, 0), kind)
        found = [np.empty((*each.shape[:2], self.model.n), kind) for each in given]
        before, after = ([*arrays, *[absent] * (3 - len(given))] for arrays in (given, found))
        matrices = self.rows_of_E, self.rows_of_D1, self.rows_of_D2
        carry_outputs(
            *(each.astype(kind, copy=False) for each in before), self.form.own, self.firsts, *matrices, *after
        )
        return found

    def add_chart_stiffness(self, by_q: Array, forces: Array) -> None:
        """Add tau_e . E2 to (nodes, n, n); forces : (nodes, n') of the serial form."""
        found = self.stiffness(forces)
        for at, chart in enumerate(self.charts):
            by_q[:, chart.coordinates, chart.coordinates] += entries(found, at)

    def wrenches(self, on_links: Array | None) -> Array | None:
        """(nodes, 6 links) on the model's links -> on those of the serial form; None stays None."""
        if on_links is None:
            return None
        found = np.zeros((len(on_links), len(self.form.bodies), 6), on_links.dtype)
        given = on_links.reshape(len(on_links), -1, 6)
        for own, place in enumerate(self.form.links.tolist()):
            found[:, place] += given[:, own]
        return found.reshape(len(on_links), -1)


def yaw_pitch_roll(R: Array) -> tuple[Array, Array, Array]:
    """Angles of R = Rz(yaw) Ry(pitch) Rx(roll), (nodes, 3, 3).

    Their product is R to rounding at a pitch of 90 degrees, too, where one of yaw and roll is arbitrary.
    """
    yaw = angle_of(R[:, 1, 0], R[:, 0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = angle_of(-R[:, 2, 0], c * R[:, 0, 0] + s * R[:, 1, 0])
    roll = angle_of(s * R[:, 0, 2] - c * R[:, 1, 2], c * R[:, 1, 1] - s * R[:, 0, 1])
    return yaw, pitch, roll


def angle_of(sine: Array, cosine: Array) -> Array:
    """The angle of a vector of any length of complex numbers, its imaginary part to its own rounding."""
    angle = np.arctan2(np.real(sine), np.real(cosine))
    s, c = np.sin(angle), np.cos(angle)
    return angle + np.arctan((sine * c - cosine * s) / (cosine * c + sine * s))


def entries(rows: Array, at: int) -> Array:
    """The matrices (nodes, 3, 3) of one rotation vector among rows of nine numbers each."""
    return rows[:, 9 * at : 9 * at + 9].reshape(-1, 3, 3)


def times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[:, :, None])[:, :, 0]


def solved(matrix: Array, vector: Array) -> Array:
    """matrix^-1 vector, (nodes, 3); infinite or NaN where |p| is a multiple of 2 pi and there is none."""
    a, b, c = (matrix[:, :, i] for i in range(3))
    rows = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
    return times(rows, vector) / np.einsum("ki,ki->k", a, rows[:, 0])[:, None]


def once(tensor: Array, vector: Array) -> Array:
    """The last axis of (nodes, ..., 3) contracted with (nodes, 3)."""
    flat = tensor.reshape(len(vector), -1, 3) @ vector[:, :, None]
    return flat.reshape(tensor.shape[:-1])


def twice(tensor: Array, one: Array, other: Array) -> Array:
    """The last two axes of (nodes, ..., 3, 3) contracted."""
    return once(once(tensor, one), other)


def computed_motion(
    model: KinematicTree, degree: int, **arrays: Any
) -> tuple[KinematicTree, Batch, SerialMotion | None]:
    """The tree and the motion to compute with, from q and v that a user gave, (..., n) each.

    The model and its own motion, or those of the serial form, and then how to come back.
    """
    nodes = batch(packed_of(model), **arrays)
    if not model.rotation_joints:
        return model, nodes, None
    motion = SerialMotion(model, nodes, degree)
    return model.serial, motion.batch(), motion


def computed_frame(model: KinematicTree, name: str) -> Frame:
    """The frame of the tree to compute with that is a frame of the model."""
    frame = model.frame(name)
    if not model.rotation_joints or name not in model.link_names:
        return model.serial.frame(name) if model.rotation_joints else frame
    form = model.serial_bodies
    return model.serial.frame(form.bodies[form.links[model.link_index(name)]].name)
