"""An arm of two links in the plane, with a muscle over a pulley at its elbow."""

import numpy as np

from dynamics import Body, Joint, RigidBodyModel
from dynamics.muscles.geometry_path import GeometryPath, PathPoint, PathWrap, WrapSurface

INERTIA = np.diag([0.01, 0.01, 0.01])
RADIUS = 0.05


def arm():
    """An upper arm that turns about z at the origin, and a forearm 0.3 m along its x axis."""
    upper = Body("upper", Joint("shoulder"), None, mass=2.0, inertia=INERTIA)
    elbow = Joint("elbow", position=(0.3, 0.0, 0.0))
    return RigidBodyModel([upper, Body("fore", elbow, "upper", mass=1.0, inertia=INERTIA)])


def pulley(quadrant="all", length=1.0):
    """A cylinder about the elbow's axis."""
    return WrapSurface("pulley", "cylinder", (RADIUS, length), "upper", np.eye(3), (0.3, 0.0, 0.0), quadrant)


def over_pulley(surface, first=(0.1, 0.07, 0.0), last=(0.2, 0.06, 0.0), name="flexor"):
    points = (PathPoint("upper", first), PathPoint("fore", last))
    return GeometryPath(name, points, (PathWrap(surface, 0, 1),))
