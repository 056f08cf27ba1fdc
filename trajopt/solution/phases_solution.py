"""`trajopt.PhasesSolution`: a solution of every phase, their costs, links, files, how the solver ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arrays import one_blas_thread
from trajopt.base.errors import SolutionFileError
from trajopt.problem.phases import Phases
from trajopt.solution.records import Certification
from trajopt.solution.solution import Answer, Solution

if TYPE_CHECKING:
    from trajopt.certificates.certificate import Certificate
    from trajopt.verification.report import Report


@dataclass(frozen=True, eq=False, repr=False)
class PhasesSolution(Answer):
    """The motions of all phases; converged or not, see `status`.

    phases : a `Solution` of every phase. What it shares with other phases, quantities where they meet and
        parameters of the same name, is a parameter that is held at its value, so that it is checked, drawn
        and saved like any other
    multipliers : link -> (width,) objective per unit of the link
    cost_terms : "PHASE: COST" -> weighted value; their sum is `objective`
    kkt : of all phases together
    point, scaling, journal, run : how they were found, see `Answer`
    certification : how `certificate` was asked for, or None
    """

    phases: tuple[Solution, ...]
    names: tuple[str, ...]
    multipliers: Mapping[str, NDArray[np.float64]]
    known_phases: Phases | None = None
    certification: Certification | None = None

    @property
    def asked(self) -> Phases:
        return self.known

    @property
    def named_parts(self) -> tuple[tuple[str, Solution], ...]:
        return tuple(zip(self.names, self.phases, strict=True))

    @property
    def duration(self) -> float:
        """Seconds of all phases together."""
        return float(sum(solution.duration for solution in self.phases))

    @property
    def objective(self) -> float:
        """The sum of all costs."""
        return float(sum(solution.objective for solution in self.phases))

    @cached_property
    def cost_terms(self) -> Mapping[str, float]:  # type: ignore[override]
        """Weighted value of every cost."""
        return {
            f"{name}: {cost}": value
            for name, solution in zip(self.names, self.phases, strict=True)
            for cost, value in solution.cost_terms.items()
        }

    @property
    def known(self) -> Phases:
        """The phases that were solved; SolutionFileError where a file was read and no library builds them."""
        if self.known_phases is None:
            raise SolutionFileError(
                f"the problems of '{self.name}' cannot be built again from what was saved: pass the phases, "
                "PhasesSolution.load(path, phases)"
            )
        return self.known_phases

    @cached_property
    def certificate(self) -> Certificate | None:
        """A line for every constraint, cost and link; None where nothing was certified."""
        from trajopt.certificates.certificate import certificate_of_phases

        return certificate_of_phases(self)

    def verify(self, accuracy: float | None = None) -> Report:
        """Check every phase as `Solution.verify` does, all links, and the optimality of all together."""
        from trajopt.verification.verify import verify_phases

        with one_blas_thread():
            return verify_phases(self, accuracy)

    @staticmethod
    def load(path: str | os.PathLike[str], phases: Phases | None = None) -> PhasesSolution:
        """Read saved phases; terms need the problems, given here or rebuilt by recipe.

        Raises SolutionFileError for a file that is unreadable, foreign or of other phases.
        """
        from trajopt.archive.solution_archive import load_phases

        return load_phases(path, phases)

    if not TYPE_CHECKING:  # editors know what there is

        def __getattr__(self, name: str) -> object:
            known = hasattr(Solution, name) or name in Solution.__dataclass_fields__
            if name.startswith("_") or not known:
                raise AttributeError(f"a solution of phases has no '{name}'")
            raise AttributeError(f"every phase has its own '{name}': ask one, solution.phases[0].{name}")


def load_any(path: str | os.PathLike[str]) -> Solution | PhasesSolution:
    """A saved solution, or that of phases, whichever the file holds; SolutionFileError as of `load`."""
    from trajopt.archive.solution_archive import is_of_phases

    return (PhasesSolution if is_of_phases(path) else Solution).load(path)
