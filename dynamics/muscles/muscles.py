"""`Muscles`: strengths and lengths of the muscles of a robot, as model files have them, with their paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dynamics.errors import MuscleError
from dynamics.model.array_field import ArrayField
from dynamics.muscles.fibres import Fibres
from dynamics.muscles.muscle_paths import MusclePaths


@dataclass(frozen=True, eq=False, kw_only=True)
class Muscles(Fibres):
    """m muscles of a robot: fibres and tendons, and where they pull.

    activation_time, deactivation_time : (m,) s, time constants
    paths : of the same names, in order

    Raises MuscleError as `Fibres`, for time constants that are not positive, too, and for other paths.
    """

    activation_time: ArrayField
    deactivation_time: ArrayField
    paths: MusclePaths

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names != self.paths.names:
            raise MuscleError("the muscles and their paths have other names, or another order")

    def only(self, names: Iterable[str]) -> Muscles:
        """These muscles alone, in this order; MuscleError for a name that none has."""
        paths = self.paths.only(tuple(names))
        rows = [self.names.index(name) for name in paths.names]
        arrays = {name: getattr(self, name)[rows] for name in self.numbers()}
        return replace(self, names=paths.names, paths=paths, **arrays)
