"""Chooses the block that computes the quantities asked for: inverse dynamics or kinematics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from dynamics.arguments import names_of
from dynamics.blocks.declared_quantities import INVERSE_DYNAMICS, QUANTITIES, family, needs_mass

if TYPE_CHECKING:
    from dynamics.blocks.inverse_dynamics import InverseDynamicsBlock
    from dynamics.blocks.kinematics import KinematicsBlock
    from dynamics.blocks.motor_torque import MotorTorqueBlock
    from dynamics.blocks.rotation_vectors import RotationVectorBlock
    from dynamics.model.kinematic_tree import KinematicTree

ModelBlock: TypeAlias = "InverseDynamicsBlock | KinematicsBlock | MotorTorqueBlock | RotationVectorBlock"


def block(model: KinematicTree, outputs: Iterable[str], loads: Iterable[str] = ()) -> ModelBlock:
    """The block with these outputs: all of inverse dynamics, or all of kinematics and energy.

    Inverse dynamics: "tau", "motor_torque", "base_wrench", "wrench:JOINT"; only it takes `loads`, names of
    links.
    """
    outputs, loads = names_of(outputs, "outputs"), names_of(loads, "loads")
    for name in filter(needs_mass, (*outputs, *(["tau"] if loads else []))):
        model.check_mass(f"the quantity {name!r}")
    if model.rotation_joints:
        from dynamics.blocks.rotation_vectors import RotationVectorBlock

        return RotationVectorBlock(model, block, outputs, loads)
    if "motor_torque" in outputs:
        from dynamics.blocks.motor_torque import MotorTorqueBlock

        return MotorTorqueBlock(model, block(model, with_tau(outputs), loads), outputs, {})
    asked = {QUANTITIES[family(name)].block for name in outputs if family(name) in QUANTITIES}
    if INVERSE_DYNAMICS in asked or loads:
        from dynamics.blocks.inverse_dynamics import InverseDynamicsBlock

        return InverseDynamicsBlock(model, outputs, loads)
    from dynamics.blocks.kinematics import KinematicsBlock

    return KinematicsBlock(model, outputs)


def with_tau(outputs: tuple[str, ...]) -> tuple[str, ...]:
    """The outputs from which a motor torque follows: "tau" in its place, once."""
    return tuple(dict.fromkeys("tau" if name == "motor_torque" else name for name in outputs))
