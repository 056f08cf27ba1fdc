"""Check that estimated brackets contain the optimum: local refinement of problems whose optimum is known.

Every problem is refined as if no switching structure had been confirmed, and on every mesh the estimated
lower end is compared with the certified optimum: `coverage(name, build)`. `python -m benchmarks.certified`
writes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trajopt
from trajopt.certified.bracket import BracketSearch, Mesh
from trajopt.certified.search_settings import SearchSettings
from trajopt.certified.switching.structure_detection import is_regular
from trajopt.solution.journal import Journal

RESOLVED = 1e-9  # of the objective: nearer to the optimum than this an objective says nothing


@dataclass(frozen=True)
class Coverage:
    """The meshes of one local refinement, beside the optimum that is known."""

    name: str
    optimum: float
    meshes: Sequence[Mesh]
    ended: str

    @property
    def ratios(self) -> list[float]:
        """Estimated over true distance from objective to optimum, of every mesh that is not yet there."""
        return [
            (mesh.objective - mesh.lower) / (mesh.objective - self.optimum)
            for mesh in self.meshes
            if mesh.objective - self.optimum > RESOLVED * abs(self.optimum)
        ]

    @property
    def contained(self) -> bool:
        """True where no lower end lies above the optimum."""
        return all(mesh.lower <= self.optimum + RESOLVED * abs(self.optimum) for mesh in self.meshes)

    @property
    def narrowest(self) -> Mesh:
        """The mesh with the narrowest bracket."""
        return min(self.meshes, key=lambda mesh: mesh.width)

    @property
    def width(self) -> float:
        """Width of the narrowest bracket, relative to the optimum."""
        return self.narrowest.width / abs(self.optimum)


def coverage(
    name: str,
    build: Callable[[], trajopt.Problem],
    settings: SearchSettings | None = None,
) -> Coverage | None:
    """Local refinement of a problem; None where no structure is confirmed, or another optimum was met."""
    settings = settings or SearchSettings()
    exact = trajopt.solve(build(), refine=trajopt.Certified())
    if exact.certificate is None or exact.certificate.structure is None:
        return None
    plain = trajopt.solve(build())
    search = BracketSearch(
        plain, Journal.after(plain, trajopt.Ipopt()), is_regular(plain, settings), settings
    )
    search.run()
    same = search.meshes and abs(search.refined.objective - exact.objective) < 1e-3 * abs(exact.objective)
    return Coverage(name, exact.objective, search.meshes, search.why_ended) if same else None
