"""What a model offers to trajectory optimization: functions of nodes with derivatives and structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamics.model.model import RigidBodyModel

INVERSE_DYNAMICS = ("tau", "base_wrench", "wrench")


def block(model: RigidBodyModel, outputs: tuple[str, ...], loads: tuple[str, ...] = ()) -> Any:
    """The block with these outputs: all of inverse dynamics, or all of kinematics and energy.

    Inverse dynamics: "tau", "base_wrench", "wrench:JOINT"; only it takes `loads`, names of links.
    """
    if any(name.partition(":")[0] in INVERSE_DYNAMICS for name in outputs) or loads:
        from dynamics.blocks.inverse_dynamics import InverseDynamicsBlock

        return InverseDynamicsBlock(model, outputs, loads)
    from dynamics.blocks.kinematics import KinematicsBlock

    return KinematicsBlock(model, outputs)
