"""Chooses the block that computes the quantities asked for: inverse dynamics or kinematics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dynamics.arguments import names_of
from dynamics.blocks.declared_quantities import INVERSE_DYNAMICS, QUANTITIES, family

if TYPE_CHECKING:
    from dynamics.model.model import RigidBodyModel


def block(model: RigidBodyModel, outputs: Iterable[str], loads: Iterable[str] = ()) -> Any:
    """The block with these outputs: all of inverse dynamics, or all of kinematics and energy.

    Inverse dynamics: "tau", "base_wrench", "wrench:JOINT"; only it takes `loads`, names of links.
    """
    outputs, loads = names_of(outputs, "outputs"), names_of(loads, "loads")
    asked = {QUANTITIES[family(name)].block for name in outputs if family(name) in QUANTITIES}
    if INVERSE_DYNAMICS in asked or loads:
        from dynamics.blocks.inverse_dynamics import InverseDynamicsBlock

        return InverseDynamicsBlock(model, outputs, loads)
    from dynamics.blocks.kinematics import KinematicsBlock

    return KinematicsBlock(model, outputs)
