"""`trajopt.PhasesSolution`: the values of a solution of phases with its checks, its file and its card."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trajopt.api.solution import PublicAnswer, Solution
from trajopt.base.blas_threads import one_blas_thread
from trajopt.solution.phases_solution import PhasesSolutionData

if TYPE_CHECKING:
    from trajopt.certificates.phases_certificate import PhasesCertificate
    from trajopt.problem.links.phases import Phases
    from trajopt.verification.phases_report import PhasesReport


class PhasesSolution(PublicAnswer, PhasesSolutionData):
    __doc__ = PhasesSolutionData.__doc__

    phases: tuple[Solution, ...]

    @cached_property
    def certificate(self) -> PhasesCertificate | None:
        """A line for every constraint, cost and link; None where nothing was certified."""
        from trajopt.certificates.phases_certificate import certificate_of_phases

        return certificate_of_phases(self)

    def verify(self, accuracy: float | None = None) -> PhasesReport:
        """Check every phase as `Solution.verify` does, all links, and the optimality of all together."""
        from trajopt.verification.phases_report import verify_phases

        with one_blas_thread():
            return verify_phases(self, accuracy)

    @staticmethod
    def load(path: str | os.PathLike[str], phases: Phases | None = None) -> PhasesSolution:
        """Read saved phases; terms need the problems, given here or rebuilt by recipe.

        Raises SolutionFileError for a file that is unreadable, foreign or of other phases.
        """
        from trajopt.archive.phases_archive import load_phases

        return load_phases(path, phases).as_instance_of(Solution, PhasesSolution)

    def __getattr__(self, name: str) -> Any:
        known = hasattr(Solution, name) or name in Solution.__dataclass_fields__
        if name.startswith("_") or not known:
            raise AttributeError(f"a solution of phases has no '{name}'")
        raise AttributeError(f"every phase has its own '{name}': ask one, solution.phases[0].{name}")


def load_any(path: str | os.PathLike[str]) -> Solution | PhasesSolution:
    """A saved solution, or that of phases, whichever the file holds; SolutionFileError as of `load`."""
    from trajopt.archive.phases_archive import is_of_phases

    return (PhasesSolution if is_of_phases(path) else Solution).load(path)
