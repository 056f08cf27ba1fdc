"""Reads OpenSim's model files: kinematics in NumPy, dynamics by Pinocchio; runs OpenSim in a process."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

HERE = Path(__file__).parent
OPENSIM = importlib.util.find_spec("opensim") is not None
MODELS = Path(os.environ.get("OSIM_MODELS", "no folder"))  # of published files, which are not kept here


def published(name: str, beside_opensim: bool = False) -> Path:
    """A published file in the folder that OSIM_MODELS names; a test without it, or OpenSim, is skipped."""
    if not (MODELS / name).is_file():
        pytest.skip(f"OSIM_MODELS names no folder with {name}")
    if beside_opensim and not OPENSIM:
        pytest.skip("OpenSim is not installed")
    return MODELS / name


@dataclass(frozen=True)
class Motion:
    """One coordinate of a joint: a turn about or a slide along an axis by value - zero."""

    coordinate: str
    turns: bool
    axis: np.ndarray
    zero: float


@dataclass(frozen=True)
class Joint:
    """A joint moves `body` from a point of `parent`: its slides, then its turns."""

    parent: str
    body: str
    position: np.ndarray
    motions: tuple[Motion, ...]


@dataclass(frozen=True)
class OsimModel:
    """Content of a .osim file: joints from the ground outward, bodies (mass, centre, inertia), markers."""

    gravity: np.ndarray
    joints: list[Joint]
    bodies: dict[str, tuple[float, np.ndarray, np.ndarray]]
    markers: dict[str, tuple[str, np.ndarray]]

    @property
    def coordinates(self):
        return [motion.coordinate for joint in self.joints for motion in joint.motions]

    def poses(self, values):
        """Body -> rotation (3, 3) and origin (3,) in the ground, for coordinate -> value in rad and m."""
        found = {"ground": (np.eye(3), np.zeros(3))}
        for joint in self.joints:
            rotation, origin = found[joint.parent]
            origin = origin + rotation @ joint.position
            for motion in joint.motions:
                way = values[motion.coordinate] - motion.zero
                if motion.turns:
                    rotation = rotation @ turned(motion.axis, way)
                else:
                    origin = origin + rotation @ motion.axis * way
            found[joint.body] = (rotation, origin)
        return found

    def pinocchio(self):
        """A Pinocchio model with the same coordinates in the same order, and body -> number of its joint."""
        import pinocchio as pin

        model, numbers = pin.Model(), {"ground": 0}
        model.gravity.linear = self.gravity
        for joint in self.joints:
            at, place = numbers[joint.parent], pin.SE3(np.eye(3), joint.position)
            for motion in joint.motions:
                kind = pin.JointModelRevoluteUnaligned if motion.turns else pin.JointModelPrismaticUnaligned
                at = model.addJoint(at, kind(motion.axis), place, motion.coordinate)
                place = pin.SE3.Identity()
            model.appendBodyToJoint(at, pin.Inertia(*self.bodies[joint.body]), pin.SE3.Identity())
            numbers[joint.body] = at
        return model, numbers


def turned(axis, angle):
    """The rotation about an axis, by Rodrigues."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def read_osim(path):
    """The model of a .osim file whose joints are CustomJoints without turned frames."""
    root: Any = ElementTree.parse(path).getroot().find("Model")
    bodies = {}
    for body in root.find("BodySet/objects"):
        xx, yy, zz, xy, xz, yz = vector(body, "inertia")
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        bodies[body.get("name")] = (vector(body, "mass")[0], vector(body, "mass_center"), inertia)
    markers = {
        marker.get("name"): (name_of(marker, "socket_parent_frame"), vector(marker, "location"))
        for marker in root.find("MarkerSet/objects")
    }
    joints = [read_joint(joint) for joint in root.find("JointSet/objects")]
    return OsimModel(vector(root, "gravity"), joints, bodies, markers)


def read_joint(joint):
    frames = joint.findall("frames/PhysicalOffsetFrame")
    assert not any(np.any(vector(frame, "orientation")) for frame in frames)
    parent, child = ({"name": frame.get("name"), "body": name_of(frame, "socket_parent")} for frame in frames)
    assert (parent["name"], child["name"]) == tuple(
        joint.findtext(f"socket_{end}_frame") for end in ("parent", "child")
    )
    assert not np.any(vector(frames[1], "translation"))
    motions = []
    for axis in joint.findall("SpatialTransform/TransformAxis"):
        if axis.findtext("coordinates"):
            slope, shift = vector(axis, "LinearFunction/coefficients")
            assert slope == 1.0
            turns = axis.get("name").startswith("rotation")
            motions.append(Motion(axis.findtext("coordinates"), turns, vector(axis, "axis"), -shift))
    motions.sort(key=lambda motion: motion.turns)  # stable: slides first
    return Joint(parent["body"], child["body"], vector(frames[0], "translation"), tuple(motions))


def vector(element, tag):
    return np.array([float(number) for number in element.findtext(tag).split()])


def name_of(element, tag):
    """The last part of a path such as /bodyset/pelvis."""
    return element.findtext(tag).rpartition("/")[2]


def run_opensim(folder):
    """Run OpenSim's inverse dynamics and body kinematics on the files of a folder, in a process of its own.

    OpenSim's wheel carries a CasADi of its own under the same name, which a process that has loaded ours
    cannot load, and the other way round.
    """
    run = [sys.executable, str(HERE / "opensim_tools.py"), str(folder)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
