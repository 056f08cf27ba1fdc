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
    "Joint": "joint",
    "JointLimits": "joint",
    "Rotor": "joint",
    "Body": "body",
    "Frame": "body",
    "RigidBodyModel": "model",
    "DhRow": "dh",
    "from_dh": "dh",
    "from_modified_dh": "dh",
    "load_urdf": "urdf",
    "GeneralizedForce": "generalized_forces",
    "friction": "generalized_forces",
    "joint_springs": "generalized_forces",
    "point_spring": "generalized_forces",
    "in_threads": "threads",
    "ArmatureError": "armature_error",
    "armature_error": "armature_error",
    "aba": "aba",
    "AbaDerivatives": "aba_derivatives",
    "aba_derivatives": "aba_derivatives",
    "coriolis_product": "coriolis_product",
    "coriolis_transposed_product": "coriolis_product",
    "ExternalDerivatives": "external_derivatives",
    "external_derivatives": "external_derivatives",
    "crba": "crba",
    "Poses": "kinematics",
    "centre_of_mass": "kinematics",
    "forward_kinematics": "kinematics",
    "frame_jacobian": "kinematics",
    "frame_velocity": "kinematics",
    "kinetic_energy": "kinematics",
    "momentum": "kinematics",
    "potential_energy": "kinematics",
    "base_wrench": "rnea",
    "joint_wrenches": "rnea",
    "rnea": "rnea",
    "RneaDerivatives": "rnea_derivatives",
    "WrenchDerivatives": "rnea_derivatives",
    "base_wrench_derivatives": "rnea_derivatives",
    "joint_wrench_derivatives": "rnea_derivatives",
    "rnea_derivatives": "rnea_derivatives",
    "RneaSecondDerivatives": "rnea_second_derivatives",
    "rnea_second_derivatives": "rnea_second_derivatives",
    "CoriolisMatrices": "coriolis",
    "coriolis_matrix": "coriolis",
    "christoffel_symbols": "christoffel",
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
