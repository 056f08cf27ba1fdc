"""Capsules that cover the convex hull of a mesh: as few and as tight as halving the hull makes them."""

from __future__ import annotations

import math

import numpy as np

from dynamics.errors import UrdfError
from dynamics.model.packed_model import axes_with_z
from dynamics.model.shape import Shape

MOST = 4  # capsules of a mesh
WORTH = 0.9  # of a capsule's volume: above, its halves are not worth one more
STEPS = 400  # of the search for the smallest circle, whose error falls with their number
FLAT = 1e-4  # of a hull's size, by which one that is flat is thickened


def fitted_capsules(points: np.ndarray) -> tuple[Shape, ...]:
    """At most four capsules that cover the convex hull of points (m, 3), m.

    The hull is cut across its longest axis as long as the capsules' volume falls by a tenth; that of a
    capsule is the smallest over its three principal axes. Raises UrdfError for points that have no hull.
    """
    parts = [(hull, _capsule(hull)) for hull in [_hull(points)]]
    while len(parts) < MOST:
        gains = []
        for hull, capsule in parts:
            halves = [(half, _capsule(half)) for half in _halves(hull)]
            gains.append((sum(volume(half) for _, half in halves) / volume(capsule), halves))
        best = min(range(len(parts)), key=lambda index: gains[index][0])
        if gains[best][0] > WORTH:
            break
        parts[best : best + 1] = gains[best][1]
    return tuple(capsule for _, capsule in parts)


def volume(capsule: Shape) -> float:
    """Volume of a sphere or capsule, m^3."""
    radius = float(capsule.size[0])
    return (
        math.pi
        * radius**2
        * (4.0 / 3.0 * radius + (float(capsule.size[1]) if len(capsule.size) > 1 else 0.0))
    )


def _hull(points: np.ndarray) -> np.ndarray:
    """The vertices of the convex hull."""
    from scipy.spatial import ConvexHull, QhullError

    size = float(np.ptp(points, axis=0).max(initial=0.0))
    if size == 0.0:
        raise UrdfError("all vertices of a mesh are one point")
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # flat: a thin plate about it
        corners = FLAT * size * np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
        thick = (points[:, None] + corners).reshape(-1, 3)
        return thick[ConvexHull(thick).vertices]


def _principal_axes(points: np.ndarray) -> np.ndarray:
    """(3, 3), rows from the longest to the shortest."""
    return np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]


def _capsule(points: np.ndarray) -> Shape:
    """The capsule of least volume about points along one of their principal axes."""
    return min((_capsule_along(points, axis) for axis in _principal_axes(points)), key=volume)


def _capsule_along(points: np.ndarray, axis: np.ndarray) -> Shape:
    axes = axes_with_z(axis / np.linalg.norm(axis))
    local = points @ axes
    centre = _circle_centre(local[:, :2])
    apart = np.linalg.norm(local[:, :2] - centre, axis=1)
    radius = float(apart.max())
    reach = np.sqrt(np.maximum(radius**2 - apart**2, 0.0))  # of a half sphere beyond the end of the axis
    low, high = float((local[:, 2] + reach).min()), float((local[:, 2] - reach).max())
    if low > high:  # a sphere of the radius covers all
        low = high = 0.5 * (low + high)
        radius = float(np.sqrt(apart**2 + (local[:, 2] - low) ** 2).max())
    middle = axes @ np.array([*centre, 0.5 * (low + high)])
    return Shape("capsule", (radius, high - low), axes, middle)


def _circle_centre(points: np.ndarray) -> np.ndarray:
    """Centre of the smallest circle about points (m, 2), nearly: Badoiu and Clarkson, 2003."""
    centre = points.mean(axis=0)
    for step in range(1, STEPS):
        farthest = points[np.argmax(((points - centre) ** 2).sum(axis=1))]
        centre = centre + (farthest - centre) / (step + 1)
    return centre


def _halves(vertices: np.ndarray) -> list[np.ndarray]:
    """The vertices of both halves of a hull, cut across its longest axis."""
    from scipy.spatial import ConvexHull

    along = (vertices - vertices.mean(axis=0)) @ _principal_axes(vertices)[0]
    along -= 0.5 * (along.min() + along.max())
    triangles = ConvexHull(vertices).simplices
    first, last = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).T
    crossing = (along[first] > 0.0) & (along[last] <= 0.0) | (along[first] <= 0.0) & (along[last] > 0.0)
    first, last = first[crossing], last[crossing]
    share = (along[first] / (along[first] - along[last]))[:, None]
    cut = vertices[first] + share * (vertices[last] - vertices[first])
    return [_hull(np.concatenate([side, cut])) for side in (vertices[along > 0.0], vertices[along <= 0.0])]
