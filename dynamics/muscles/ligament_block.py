"""Ligaments on a moving robot as a block: their moments at its joints.

    moment = -(dL/dq)' T(L(q))

L are polynomials fitted to the paths, T is smooth but for the resting lengths.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dynamics.errors import MuscleError
from dynamics.muscles.ligaments import Straps
from dynamics.muscles.path_block import PathBlock, outer
from dynamics.muscles.path_polynomials import PathSurrogate

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]
LIGAMENTS = "ligament_moment"


class LigamentBlock(PathBlock):
    """Output "ligament_moment" (K, n) of the input "q" (K, n).

    Raises MuscleError where the polynomials are those of other ligaments.
    """

    derivatives_are_tested = True

    def __init__(self, paths: PathSurrogate, straps: Straps) -> None:
        if paths.names != straps.names:
            raise MuscleError("the polynomials are of other ligaments, or in another order")
        super().__init__(paths)
        self.straps = straps
        self.inputs: Mapping[str, int] = {"q": self.n}
        self.outputs: Mapping[str, int] = {LIGAMENTS: self.n}

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """The output, (nodes, n)."""
        along = self._along(u["q"])
        tension = self.straps.tensions(along.lengths)[0]
        moment = np.zeros((len(tension), self.n + 1))
        for i, own in enumerate(self.own):
            moment[:, own] -= along.first[:, i] * tension[:, i, None]
        return {LIGAMENTS: moment[:, : self.n]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d q, (nodes, n, n)."""
        along = self._along(u["q"])
        T, slope = self.straps.tensions(along.lengths, 1)
        G = along.first
        bent = along.second * T[:, :, None, None] + slope[:, :, None, None] * outer(G, G)
        return {(LIGAMENTS, "q"): -self._planes(bent)}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 (adjoint . output) / dq2, (nodes, n, n)."""
        along, mu = self._along(u["q"]), self._local(adjoints[LIGAMENTS])
        T, slope, bend = self.straps.tensions(along.lengths, 2)
        G, H = along.first, along.second
        along_mu = np.einsum("kmi,kmi->km", G, mu)
        turned = np.einsum("kmij,kmj->kmi", H, mu)
        found = self.paths.third(u["q"], T[:, :, None] * mu)
        found += (bend * along_mu)[:, :, None, None] * outer(G, G) + (slope * along_mu)[:, :, None, None] * H
        found += slope[:, :, None, None] * (outer(G, turned) + outer(turned, G))
        return {("q", "q"): -self._planes(found)}

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`."""
        spans = self._spans.astype(int)
        return {(LIGAMENTS, "q"): spans.T @ spans > 0}

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`."""
        return {("q", "q"): self.pattern()[LIGAMENTS, "q"]}
