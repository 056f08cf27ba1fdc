"""`MuscledRobot`: a robot and its muscles, whose moments and forces are quantities of its dynamics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dynamics.blocks.declared_quantities import DeclaredQuantity
from dynamics.errors import MuscleError
from dynamics.muscles.fibres import ARGUMENTS, Fibres
from dynamics.muscles.ligament_block import LIGAMENTS, LigamentBlock
from dynamics.muscles.muscle_block import EQUILIBRIUM, FORCE, MOMENT, OF_MUSCLES, MuscleBlock
from dynamics.muscles.path_polynomials import PathSurrogate

MUSCLES = "muscles"  # the block that computes their quantities


@dataclass(frozen=True, eq=False)
class MuscledRobot:
    """A robot whose muscles pull along polynomials fitted to their paths.

    robot : a `RigidBodyModel` or `CoupledModel`;  tendon : "rigid" or "compliant"
    ligaments : that pull, too, None for none
    Its further quantities are "muscle_moment" (n,), "muscle_force" (m,) N and, with compliant tendons,
    "fibre_equilibrium" (m,), functions of q, v and the curves "activation", "tendon_force", "tendon_rate";
    with ligaments "ligament_moment" (n,), a function of q.
    All else are members of the robot. Raises MuscleError for polynomials of another robot or other muscles.
    """

    robot: Any
    paths: PathSurrogate
    fibres: Fibres
    tendon: str = "rigid"
    ligaments: LigamentBlock | None = None

    def __post_init__(self) -> None:
        if self.tendon not in ARGUMENTS:
            raise MuscleError(f"tendon is {self.tendon!r}: give one of {', '.join(ARGUMENTS)}")
        if tuple(self.paths.joint_names) != tuple(self.robot.joint_names):
            raise MuscleError(
                "the polynomials have other coordinates than the robot: fit them to its muscles"
            )
        assert self._muscles is not None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "robot":
            raise AttributeError(name)
        return getattr(self.robot, name)

    @cached_property
    def _muscles(self) -> MuscleBlock:
        return MuscleBlock(self.paths, self.fibres, self.tendon)

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return self.robot.n

    @property
    def joint_names(self) -> Sequence[str]:
        """Names of the coordinates."""
        return self.robot.joint_names

    @property
    def limits(self) -> Any:
        """Limits of the robot's coordinates."""
        return self.robot.limits

    @property
    def quantities(self) -> Mapping[str, DeclaredQuantity]:
        """The quantities of the robot, of the muscles and of the ligaments."""
        names, inputs = self.fibres.names, ("q", "v", *OF_MUSCLES[self.tendon])
        own = {
            MOMENT: DeclaredQuantity(inputs, None, "N m or N", "moments of all muscles", block=MUSCLES),
            FORCE: DeclaredQuantity(
                inputs, len(names), "N", "forces along the tendons", names, block=MUSCLES
            ),
        }
        if self.tendon == "compliant":
            own[EQUILIBRIUM] = DeclaredQuantity(
                inputs, len(names), "1", "force of fibres less that of their tendons", names, block=MUSCLES
            )
        if self.ligaments is not None:
            own[LIGAMENTS] = DeclaredQuantity(
                ("q",), None, "N m or N", "moments of all ligaments", block=LIGAMENTS
            )
        return {**self.robot.quantities, **own}

    def block(self, outputs: Iterable[str], loads: Sequence[str] = ()) -> Any:
        """The block of these quantities: all of muscles, of ligaments, or of the robot."""
        wanted = tuple(outputs)
        if set(wanted) <= set(self._muscles.outputs):
            return self._muscles
        if self.ligaments is not None and set(wanted) <= set(self.ligaments.outputs):
            return self.ligaments
        return self.robot.block(wanted, tuple(loads))
