"""How far a frame can move in every direction for a given effort of the joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trajopt.block import Array, Dynamics, Pairs, Values
from trajopt.block_term import BlockTerm, block_term


def manipulability(dynamics: Dynamics, frame: str, rows: slice = slice(3, 6)) -> BlockTerm:
    """w = sqrt(det(J J')), J (m, n) the chosen rows (linear by default) of a frame's Jacobian.

        dw/dq_k = w tr(J^+ dJ/dq_k)

    First derivatives only, so that a solve falls back to L-BFGS. Not defined at singular poses, where w = 0.
    Yoshikawa, Int. J. Robotics Research 4(2), 1985.
    """
    return block_term(Manipulability(dynamics, frame, rows), name=f"manipulability of {frame}")


class Manipulability:
    """w at K nodes from the velocity of a frame: its slope by v is J, its mixed second derivative dJ/dq."""

    def __init__(self, dynamics: Dynamics, frame: str, rows: slice) -> None:
        self._velocity = f"velocity:{frame}"
        self._block = dynamics.block([self._velocity])
        self._rows = range(6)[rows]
        self.inputs = {"q": dynamics.n}
        self.outputs = {"manipulability": 1}

    def value(self, u: Mapping[str, Array]) -> Values:
        J = self._jacobian(u["q"])
        return {"manipulability": np.sqrt(np.linalg.det(J @ J.swapaxes(1, 2)))[:, None]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        q, J = u["q"], self._jacobian(u["q"])
        size = np.sqrt(np.linalg.det(J @ J.swapaxes(1, 2)))[:, None]
        inverse = np.linalg.pinv(J)  # (K, n, m)
        slope = np.zeros(q.shape)
        for place, row in enumerate(self._rows):
            adjoint = np.zeros((q.shape[0], 6))
            adjoint[:, row] = 1.0
            found = self._block.curvature(self._at_rest(q), {self._velocity: adjoint})
            mixed = found["q", "v"] if ("q", "v") in found else found["v", "q"].swapaxes(1, 2)
            slope += np.einsum("kij,kj->ki", mixed, inverse[:, :, place])
        return {("manipulability", "q"): (size * slope)[:, None, :]}

    def _jacobian(self, q: Array) -> Array:
        return self._block.partials(self._at_rest(q))[self._velocity, "v"][:, list(self._rows), :]

    def _at_rest(self, q: Array) -> Values:
        return {"q": q, "v": np.zeros_like(q)}
