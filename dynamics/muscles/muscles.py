"""`Muscles`: strengths and lengths of the muscles of a robot, as model files have them, with their paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from dynamics.arguments import real_array
from dynamics.errors import MuscleError
from dynamics.model.array_field import ArrayField
from dynamics.muscles.fibres import Fibres
from dynamics.muscles.muscle_paths import MusclePaths

TIMES = ("activation_time", "deactivation_time")


@dataclass(frozen=True, eq=False)
class Muscles:
    """m muscles of a robot; every array is (m,), in the order of `names`.

    max_isometric_force : N;  optimal_fiber_length, tendon_slack_length : m
    pennation_angle : rad, at the optimal length
    max_contraction_velocity : optimal lengths per second
    activation_time, deactivation_time : s, time constants
    passive_strain, tendon_strain : at which fibre and tendon give the largest isometric force
    damping : in largest isometric forces at the largest speed
    paths : where they pull

    Raises MuscleError naming the muscle, as `Fibres`, and for time constants that are not positive.
    """

    names: tuple[str, ...]
    max_isometric_force: ArrayField
    optimal_fiber_length: ArrayField
    tendon_slack_length: ArrayField
    pennation_angle: ArrayField
    max_contraction_velocity: ArrayField
    activation_time: ArrayField
    deactivation_time: ArrayField
    passive_strain: ArrayField
    tendon_strain: ArrayField
    damping: ArrayField
    paths: MusclePaths

    def __post_init__(self) -> None:
        if self.names != self.paths.names:
            raise MuscleError("the muscles and their paths have other names, or another order")
        for field in fields(self)[1:-1]:
            values = real_array(getattr(self, field.name), field.name).copy()
            if values.shape != (len(self.names),):
                raise MuscleError(
                    f"{field.name} has shape {values.shape} but there are {len(self.names)} muscles"
                )
            values.flags.writeable = False
            object.__setattr__(self, field.name, values)
        for name in TIMES:
            wrong = ~(np.isfinite(getattr(self, name)) & (getattr(self, name) > 0.0))
            if wrong.any():
                i = int(np.argmax(wrong))
                raise MuscleError(
                    f"{name} of muscle '{self.names[i]}' is {getattr(self, name)[i]:g}: expected a positive "
                    "number of seconds"
                )
        assert self.fibres is not None

    @cached_property
    def fibres(self) -> Fibres:
        """Their fibres and tendons, which compute forces."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in (*TIMES, "paths")}
        return Fibres(**given)

    def only(self, names: Iterable[str]) -> Muscles:
        """These muscles alone, in this order; MuscleError for a name that none has."""
        chosen = tuple(names)
        paths = self.paths.only(chosen)
        rows = [self.names.index(name) for name in chosen]
        arrays = {field.name: getattr(self, field.name)[rows] for field in fields(self)[1:-1]}
        return replace(self, names=chosen, paths=paths, **arrays)
