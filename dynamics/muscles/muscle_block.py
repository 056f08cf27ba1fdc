"""Muscles on a moving robot as a block: moments at its joints, forces, and the balance of fibres and tendons.

    L = L(q),   V = dL/dq v,   T = F_max F(L, V, a),   moment = -(dL/dq)' T            rigid tendons
    T = F_max F,   0 = F(L, V, a, F, F') - F                                          compliant tendons

L are polynomials fitted to the paths. A muscle depends on the few coordinates that it passes: derivatives are
those by its own coordinates, placed among all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dynamics.errors import MuscleError
from dynamics.muscles.fibres import FibreForce, Fibres
from dynamics.muscles.path_block import PathBlock, outer
from dynamics.muscles.path_polynomials import PathSurrogate, SurrogateValues

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]
MOMENT, FORCE, EQUILIBRIUM = "muscle_moment", "muscle_force", "fibre_equilibrium"
#: inputs that are states or controls of muscles, by the compliance of the tendon
OF_MUSCLES: Mapping[str, tuple[str, ...]] = {
    "rigid": ("extra:activation",),
    "compliant": ("extra:activation", "extra:tendon_force", "extra:tendon_rate"),
}


class MuscleBlock(PathBlock):
    """Outputs "muscle_moment" (K, n), "muscle_force" (K, m) N, and "fibre_equilibrium" (K, m).

    inputs : "q", "v" (K, n), and (K, m) each "extra:activation" and, with compliant tendons,
        "extra:tendon_force" in largest isometric forces and "extra:tendon_rate" 1/s: the third output's
    Raises MuscleError where the polynomials are those of other muscles.
    """

    derivatives_are_tested = True

    def __init__(self, paths: PathSurrogate, fibres: Fibres, tendon: str) -> None:
        if paths.names != fibres.names:
            raise MuscleError("the polynomials and the fibres are of other muscles, or in another order")
        super().__init__(paths)
        self.fibres, self.tendon, self.is_rigid = fibres, tendon, tendon == "rigid"
        widths = dict.fromkeys(OF_MUSCLES[tendon], self.m)
        self.inputs: Mapping[str, int] = {"q": self.n, "v": self.n, **widths}
        balance = {} if self.is_rigid else {EQUILIBRIUM: self.m}
        self.outputs: Mapping[str, int] = {MOMENT: self.n, FORCE: self.m, **balance}

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        along, _, force = self._at(u, 0)
        tension = self._tension(u, force)
        moment = np.zeros((len(tension), self.n + 1))
        for i, own in enumerate(self.own):
            moment[:, own] -= along.first[:, i] * tension[:, i, None]
        found = {MOMENT: moment[:, : self.n], FORCE: tension}
        if not self.is_rigid:
            pull = u["extra:tendon_force"]
            found[EQUILIBRIUM] = force.value / self.fibres.max_isometric_force - pull
        return found

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, m_u)."""
        along, v, force = self._at(u, 1)
        G, H, largest = along.first, along.second, self.fibres.max_isometric_force
        by_q, by_v = self._by_motion(along, v, force)
        states, tension = OF_MUSCLES[self.tendon], self._tension(u, force)
        bent = H * tension[:, :, None, None]
        found: Pairs = {}
        if self.is_rigid:
            bent = bent + G[:, :, :, None] * by_q[:, :, None, :]
            found[MOMENT, "v"] = -self._planes(G[:, :, :, None] * by_v[:, :, None, :])
            found[FORCE, "q"], found[FORCE, "v"] = self.paths.among_all(by_q), self.paths.among_all(by_v)
            slope, pulling = force.first[2], states[0]
        else:
            slope, pulling = np.broadcast_to(largest, tension.shape), states[1]
        found[MOMENT, "q"] = -self._planes(bent)
        found[MOMENT, pulling] = -self.paths.among_all(G * slope[:, :, None]).transpose(0, 2, 1)
        found[FORCE, pulling] = diagonal(slope)
        if not self.is_rigid:
            found[EQUILIBRIUM, "q"] = self.paths.among_all(by_q / largest[:, None])
            found[EQUILIBRIUM, "v"] = self.paths.among_all(by_v / largest[:, None])
            for i, name in enumerate(states):
                found[EQUILIBRIUM, name] = diagonal(force.first[2 + i] / largest - (i == 1))
        return found

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, m_u, m_w)."""
        along, v, force = self._at(u, 2)
        G, H, largest = along.first, along.second, self.fibres.max_isometric_force
        f, ff, tension = force.first[..., None], force.second, self._tension(u, force)
        none = np.zeros_like(tension)
        mu = self._local(adjoints.get(MOMENT, np.zeros_like(u["q"])))
        pulled = adjoints.get(FORCE, none) - np.einsum("kmi,kmi->km", G, mu)
        turned = np.einsum("kmij,kmj->kmi", H, mu)  # how the weight of a tension changes with q
        w = pulled if self.is_rigid else adjoints.get(EQUILIBRIUM, none) / largest
        A = np.einsum("kmij,kmj->kmi", H, v)  # dV / dq
        W = w[:, :, None]
        LL, LV, VV = (W * ff[i, j][:, :, None] for i, j in ((0, 0), (0, 1), (1, 1)))
        bend = self.paths.third(u["q"], W * f[1] * v - tension[:, :, None] * mu)
        bend += outer(LL * G + LV * A, G) + outer(LV * G + VV * A, A) + (W * f[0])[..., None] * H
        mixed = outer(LV * G + VV * A, G) + (W * f[1])[..., None] * H
        if self.is_rigid:
            by_q, by_v = self._by_motion(along, v, force)
            bend -= outer(by_q, turned) + outer(turned, by_q)
            mixed -= outer(turned, by_v)
        found = {
            ("q", "q"): self._planes(bend),
            ("q", "v"): self._planes(mixed),
            ("v", "v"): self._planes(outer(VV * G, G)),
        }
        states = OF_MUSCLES[self.tendon]
        for i, name in enumerate(states):
            Ls, Vs = (W * ff[j, 2 + i][:, :, None] for j in (0, 1))
            by = Ls * G + Vs * A
            if self.is_rigid:
                by = by - turned * f[2]
            elif i == 1:
                by = by - turned * largest[:, None]
            found["q", name] = self.paths.among_all(by).transpose(0, 2, 1)
            found["v", name] = self.paths.among_all(Vs * G).transpose(0, 2, 1)
            for j, other in enumerate(states[i:], i):
                if not self.is_rigid:
                    found[name, other] = diagonal(w * ff[2 + i, 2 + j])
        return found

    # --- structure ------------------------------------------------------------------------------------

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`."""
        spans, eye = self._spans, np.eye(self.m, dtype=bool)
        pairs = np.einsum("mi,mj->ij", spans.astype(int), spans.astype(int)) > 0
        pulling = OF_MUSCLES[self.tendon][0 if self.is_rigid else 1]
        found: Pairs = {(MOMENT, "q"): pairs, (MOMENT, pulling): spans.T, (FORCE, pulling): eye}
        if self.is_rigid:
            return found | {(MOMENT, "v"): pairs, (FORCE, "q"): spans, (FORCE, "v"): spans}
        of_states = {(EQUILIBRIUM, name): eye for name in OF_MUSCLES[self.tendon]}
        return found | {(EQUILIBRIUM, "q"): spans, (EQUILIBRIUM, "v"): spans} | of_states

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`."""
        spans, eye = self._spans, np.eye(self.m, dtype=bool)
        pairs = self.pattern()[MOMENT, "q"]
        found: Pairs = {("q", "q"): pairs, ("q", "v"): pairs, ("v", "v"): pairs}
        states = OF_MUSCLES[self.tendon]
        for i, name in enumerate(states):
            found |= {("q", name): spans.T, ("v", name): spans.T}
            if not self.is_rigid:
                found |= {(name, other): eye for other in states[i:]}
        return found

    # --- parts ----------------------------------------------------------------------------------------

    def _at(self, u: Mapping[str, Array], order: int) -> tuple[SurrogateValues, Array, FibreForce]:
        """Paths, own rates (K, m, k) of the coordinates, and forces with derivatives up to an order."""
        along, v = self._along(u["q"]), self._local(u["v"])
        speed = np.einsum("kmi,kmi->km", along.first, v)
        given = (u[name] for name in OF_MUSCLES[self.tendon])
        return along, v, self.fibres.force(self.tendon, along.lengths, speed, *given, order=order)

    def _tension(self, u: Mapping[str, Array], force: FibreForce) -> Array:
        largest = self.fibres.max_isometric_force
        return force.value if self.is_rigid else largest * u["extra:tendon_force"]

    def _by_motion(self, along: SurrogateValues, v: Array, force: FibreForce) -> tuple[Array, Array]:
        """Derivatives of the force by own coordinates and rates, (K, m, k) each."""
        f = force.first[..., None]
        turning = np.einsum("kmij,kmj->kmi", along.second, v)
        return f[0] * along.first + f[1] * turning, f[1] * along.first


def diagonal(values: Array) -> Array:
    """(K, m, m) matrices with these diagonals (K, m)."""
    found = np.zeros((*values.shape, values.shape[1]))
    i = np.arange(values.shape[1])
    found[:, i, i] = values
    return found
