"""The values of a solution of phases: one solution per phase, their costs, and how the solver ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.errors import SolutionFileError
from trajopt.problem.links.phases import Phases
from trajopt.solution.solution import Answer, SolutionData

if TYPE_CHECKING:
    from trajopt.solution.records import Certification


@dataclass(frozen=True, eq=False, repr=False)
class PhasesSolutionData(Answer):
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

    phases: tuple[SolutionData, ...]
    names: tuple[str, ...]
    multipliers: Mapping[str, NDArray[np.float64]]
    known_phases: Phases | None = None
    certification: Certification | None = None

    @property
    def asked(self) -> Phases:
        return self.known

    @property
    def named_parts(self) -> tuple[tuple[str, SolutionData], ...]:
        return tuple(zip(self.names, self.phases, strict=True))

    def as_instance_of(self, single: type, several: type | None = None) -> Any:
        """See `Answer`."""
        assert several is not None
        if isinstance(self, several) and all(isinstance(part, single) for part in self.phases):
            return self
        solution = object.__new__(type(self) if isinstance(self, several) else several)
        vars(solution).update(vars(self), phases=tuple(part.as_instance_of(single) for part in self.phases))
        return solution

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
