"""Errors and warnings of the package.

DynamicsError (ValueError)
├── ShapeError          an array has the wrong shape, a wrong type, or numbers that are not finite
├── UnknownNameError    a link, joint, frame or quantity the model does not have
└── ModelError          a model that cannot exist
    ├── TreeError       names, parents, cycles, mimic joints
    ├── JointError      kind, axis, frame, limits, rotor
    ├── InertiaError    mass, inertia, a leaf without mass, a singular mass matrix
    ├── CouplingError   joints that follow functions of coordinates
    ├── MuscleError     muscles: their paths, fibres and tendons
    └── SourceError     a table or file a model is read from
        ├── DhError     rows of Denavit-Hartenberg parameters
        ├── UrdfError   a URDF
        ├── MujocoError a model of MuJoCo, or no MuJoCo
        ├── OsimError   a model file of OpenSim
        └── JsonError   a saved model

DegreesWarning (UserWarning)   angles that look like degrees where radians are meant
MujocoWarning (UserWarning)    what of a model of MuJoCo is no part of the robot
OsimWarning (UserWarning)      constraints of a model of OpenSim that the robot leaves open
JointWarning (UserWarning)     joints that their limits hold at one position, limits of 0 that are none
InertiaWarning (UserWarning)   an inertia of a file that no body can have, harmless or repaired
"""

from __future__ import annotations

import sys
import warnings

PACKAGES = ("dynamics", "problems", "trajopt")


class DynamicsError(ValueError):
    """Base of every error of this package; catch it to catch them all."""


class ShapeError(DynamicsError):
    """An array has the wrong shape, a wrong type, or numbers that are not finite."""


class UnknownNameError(DynamicsError):
    """A link, joint, frame or quantity was asked for that the model does not have."""


class ModelError(DynamicsError):
    """The parts given do not make a model that can exist."""


class TreeError(ModelError):
    """The bodies do not form a tree: names, parents, cycles, mimic joints."""


class JointError(ModelError):
    """A joint or its rotor is not well defined: kind, axis, frame, limits, gear ratio."""


class InertiaError(ModelError):
    """A mass or inertia is not physical, or the mass matrix is singular."""


class CouplingError(ModelError):
    """A joint does not follow a coordinate by a function that can be: its name, its points, its order."""


class MuscleError(ModelError):
    """A muscle cannot exist: its path, its numbers, or how it is to drive a robot."""


class SourceError(ModelError):
    """A table or file does not describe a model."""


class DhError(SourceError):
    """A row of Denavit-Hartenberg parameters is not usable."""


class UrdfError(SourceError):
    """A URDF is malformed, refused, or says something this package cannot represent."""


class MujocoError(SourceError):
    """MuJoCo is not installed or refuses a model, or the model has no joint."""


class OsimError(SourceError):
    """A model file of OpenSim is malformed, or says something that no robot of this package can be."""


class JsonError(SourceError):
    """A text is not a model saved by `RigidBodyModel.to_json`."""


class DegreesWarning(UserWarning):
    """An angle is so large that it looks like degrees."""


class MeshWarning(UserWarning):
    """A mesh is open, so that it may lack a part of the body that shapes are fitted to."""


class ShapeWarning(UserWarning):
    """Links that are seen have no shape, so that distances do not count them."""


class MujocoWarning(UserWarning):
    """A part of a model of MuJoCo that no robot of this package has is left out."""


class OsimWarning(UserWarning):
    """A constraint of a model of OpenSim that no tree can hold is left open."""


class JointWarning(UserWarning):
    """Limits of a joint leave it one position or are 0 and taken as none, or its place seems to be in mm."""


class InertiaWarning(UserWarning):
    """An inertia of a file is one that no body can have, but it is harmless (merged away) or repaired."""


class MuscleWarning(UserWarning):
    """The equations of a muscle reward what no muscle does, or are used beyond what they describe."""


def warn_user(message: str, category: type[Warning]) -> None:
    """A warning at the line that called these packages, whatever of Python's library lies between."""
    level, frame = 2, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in PACKAGES and package not in sys.stdlib_module_names:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
