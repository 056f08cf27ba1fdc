"""Rigid-body dynamics of trees: models, torques, internal wrenches and their exact derivatives.

Names are imported on first use, so that `import dynamics` costs nothing and compiles nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# exported name -> module that defines it
_HOME = {
    "DegreesWarning": "errors",
    "DhError": "errors",
    "DynamicsError": "errors",
    "InertiaError": "errors",
    "InertiaWarning": "errors",
    "JointError": "errors",
    "JsonError": "errors",
    "ModelError": "errors",
    "ShapeError": "errors",
    "SourceError": "errors",
    "TreeError": "errors",
    "UnknownNameError": "errors",
    "UrdfError": "errors",
    "Joint": "model.joint",
    "JointLimits": "model.joint",
    "Rotor": "model.joint",
    "Body": "model.body",
    "Frame": "model.body",
    "RigidBodyModel": "model.model",
    "DhRow": "formats.dh",
    "from_dh": "formats.dh",
    "from_modified_dh": "formats.dh",
    "load_urdf": "formats.urdf",
    "GeneralizedForce": "quantities.generalized_forces",
    "friction": "quantities.generalized_forces",
    "joint_springs": "quantities.generalized_forces",
    "point_spring": "quantities.generalized_forces",
    "in_threads": "threads",
    "ArmatureError": "quantities.armature_error",
    "armature_error": "quantities.armature_error",
    "aba": "algorithms.aba",
    "AbaDerivatives": "algorithms.aba_derivatives",
    "aba_derivatives": "algorithms.aba_derivatives",
    "coriolis_product": "algorithms.coriolis_product",
    "coriolis_transposed_product": "algorithms.coriolis_product",
    "ExternalDerivatives": "algorithms.external_derivatives",
    "external_derivatives": "algorithms.external_derivatives",
    "crba": "algorithms.crba",
    "Poses": "quantities.kinematics",
    "centre_of_mass": "quantities.kinematics",
    "forward_kinematics": "quantities.kinematics",
    "frame_jacobian": "quantities.kinematics",
    "frame_velocity": "quantities.kinematics",
    "kinetic_energy": "quantities.kinematics",
    "momentum": "quantities.kinematics",
    "potential_energy": "quantities.kinematics",
    "base_wrench": "algorithms.rnea",
    "joint_wrenches": "algorithms.rnea",
    "rnea": "algorithms.rnea",
    "RneaDerivatives": "algorithms.rnea_derivatives",
    "WrenchDerivatives": "algorithms.rnea_derivatives",
    "base_wrench_derivatives": "algorithms.rnea_derivatives",
    "joint_wrench_derivatives": "algorithms.rnea_derivatives",
    "rnea_derivatives": "algorithms.rnea_derivatives",
    "RneaSecondDerivatives": "algorithms.rnea_second_derivatives",
    "rnea_second_derivatives": "algorithms.rnea_second_derivatives",
    "CoriolisMatrices": "algorithms.coriolis",
    "coriolis_matrix": "algorithms.coriolis",
    "christoffel_symbols": "algorithms.christoffel",
    "christoffel_symbols_serial": "papers.safeea",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dynamics' has no attribute {name!r}")
    value = getattr(import_module(f"dynamics.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds every submodule to its name in the package: the file rnea.py would hide
        # the function rnea as soon as anything imports it.
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
