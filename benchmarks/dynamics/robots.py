"""The robots that are timed, from seven to fifty-five joints."""

from __future__ import annotations

from benchmarks.papers.models import binary, biped, quadruped, serial
from dynamics import RigidBodyModel

CHAIN, TREE = "serial 20", "binary tree 20"


def robots() -> dict[str, RigidBodyModel]:
    """Tubes of 1 m and 1 kg on revolute joints; legged robots have six more joints under their main body."""
    return {
        "serial 7": serial(7),
        CHAIN: serial(20),
        "serial 36": serial(36),
        TREE: binary(20),
        "binary tree 55": binary(55),
        "biped 20": biped(20),
        "quadruped 20": quadruped(20),
    }
