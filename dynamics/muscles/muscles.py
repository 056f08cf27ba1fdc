"""`Muscles`: strengths and lengths of the muscles of a robot, as model files have them, with their paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from dynamics.arguments import real_array
from dynamics.errors import MuscleError
from dynamics.model.array_field import ArrayField
from dynamics.muscles.muscle_paths import MusclePaths

#: array -> whether zero is allowed, and the largest value
RANGES = {
    "max_isometric_force": (False, np.inf),
    "optimal_fiber_length": (False, np.inf),
    "tendon_slack_length": (True, np.inf),
    "pennation_angle": (True, 0.5 * np.pi),
    "max_contraction_velocity": (False, np.inf),
    "activation_time": (False, np.inf),
    "deactivation_time": (False, np.inf),
    "passive_strain": (False, np.inf),
    "tendon_strain": (False, np.inf),
    "fiber_damping": (True, np.inf),
}


@dataclass(frozen=True, eq=False)
class Muscles:
    """m muscles of a robot; every array is (m,), in the order of `names`.

    max_isometric_force : N;  optimal_fiber_length, tendon_slack_length : m
    pennation_angle : rad, at the optimal length
    max_contraction_velocity : optimal lengths per second
    activation_time, deactivation_time : s, time constants
    passive_strain : of the fibre at which its passive force is the largest isometric one
    tendon_strain : at which the tendon carries it
    fiber_damping : in largest isometric forces per largest velocity
    paths : where they pull

    Raises MuscleError naming the muscle: a value that is not finite, negative, or zero where none can be.
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
    fiber_damping: ArrayField
    paths: MusclePaths

    def __post_init__(self) -> None:
        if self.names != self.paths.names:
            raise MuscleError("the muscles and their paths have other names, or another order")
        for name, (zero, most) in RANGES.items():
            values = real_array(getattr(self, name), name).copy()
            if values.shape != (len(self.names),):
                raise MuscleError(f"{name} has shape {values.shape}; ({len(self.names)},) is expected")
            fine = np.isfinite(values) & (values < most) & ((values >= 0.0) if zero else (values > 0.0))
            for muscle, value in zip(self.names, values, strict=True):
                if not fine[self.names.index(muscle)]:
                    bound = "zero or more" if zero else "a positive one"
                    limit = "" if np.isinf(most) else f" below {most:.4g}"
                    raise MuscleError(f"muscle '{muscle}': {name} is {value:g}; give {bound}{limit}")
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    def only(self, names: Iterable[str]) -> Muscles:
        """These muscles alone, in this order; MuscleError for a name that none has."""
        chosen = tuple(names)
        paths = self.paths.only(chosen)
        rows = [self.names.index(name) for name in chosen]
        arrays = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name in RANGES}
        return Muscles(chosen, paths=paths, **arrays)
