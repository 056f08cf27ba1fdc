"""Tables of the solves that an answer came from: its meshes, coarse to fine, and its starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

HEADER = f"{'spans':>6} {'objective':>16} {'iter.':>6} {'seconds':>9}  outcome"


@dataclass(frozen=True)
class MeshSolve:
    """One solve on one mesh.

    spans : knot spans over all arcs
    status : how it ended, or the message of what it raised
    """

    spans: int
    status: str
    converged: bool
    objective: float
    iterations: int
    seconds: float

    def __str__(self) -> str:
        figures = f"{self.spans:>6} {self.objective:>16.9g} {self.iterations:>6} {self.seconds:>9.3f}"
        return f"{figures}  {self.status}"


@dataclass(frozen=True)
class StartSolves:
    """One start: its solves from the coarsest mesh to the finest that it was carried to.

    number : 0 is the problem's own guess; every other one was searched for, or perturbs that guess or the
        best optimum of those before, seeded by its number
    same_as : number of the earlier start that found the same optimum on the same mesh, None where none did
    finished : whether it was carried to the problem's own mesh
    """

    number: int
    solves: tuple[MeshSolve, ...]
    same_as: int | None = None
    finished: bool = False

    def __str__(self) -> str:
        note = f", as start {self.same_as}" if self.same_as is not None else ""
        return f"{self.number:>5} {self.solves[-1]}{note}"


@dataclass(frozen=True, repr=False)
class StartTable:
    """All starts of an answer; what is known of it: a local optimum, the best of so many starts.

    chosen : number of the start whose solution was returned
    """

    starts: tuple[StartSolves, ...]
    chosen: int

    @property
    def converged_count(self) -> int:
        """How many starts converged on the last mesh that they were solved on."""
        return sum(start.solves[-1].converged for start in self.starts)

    @property
    def known(self) -> str:
        """What is known of the answer, in a sentence."""
        finished = [start for start in self.starts if start.finished]
        different = sum(start.same_as is None for start in finished)
        optima = "optimum" if different == 1 else "optima"
        if self.converged_count == 0:
            return f"none of {len(self.starts)} starts converged"
        own = self.starts[0].solves[-1]
        failed = "" if own.converged else f"; the problem's own guess did not ({own.status})"
        return (
            f"a local optimum, the best of {len(self.starts)} starts: {self.converged_count} converged, "
            f"{len(finished)} were carried to the final mesh and ended in {different} different {optima}"
            f"{failed}"
        )

    def __str__(self) -> str:
        return "\n".join([f"{'start':>5} {HEADER}", *map(str, self.starts), self.known])

    __repr__ = __str__


def recorded(levels: Sequence[MeshSolve], starts: StartTable | None) -> dict[str, Any]:
    """Both tables as JSON values."""
    return {
        "levels": [asdict(level) for level in levels],
        "starts": None if starts is None else asdict(starts),
    }
