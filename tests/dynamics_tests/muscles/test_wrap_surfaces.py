"""Paths over cylinders, spheres, ellipsoids and tori: closed forms, limits that agree, brute force."""

import numpy as np
import pytest
from muscle_arms import arm
from scipy.optimize import minimize

from dynamics.muscles.geometry_path import GeometryPath, PathPoint, PathWrap, WrapSurface
from dynamics.muscles.muscle_paths import MusclePaths

ENDS = np.array([[-0.15, 0.01, 0.02], [0.14, 0.02, -0.01]])
STILL = np.zeros(2)


def length_over(kind, sizes, quadrant="all", ends=ENDS, method="hybrid", rotation=None):
    """Length of a path on the ground over a surface at the origin."""
    turn = np.eye(3) if rotation is None else rotation
    surface = WrapSurface("s", kind, sizes, None, turn, np.zeros(3), quadrant)
    points = tuple(PathPoint(None, end) for end in ends)
    path = GeometryPath("m", points, (PathWrap(surface, 0, len(points) - 1, method),))
    return float(MusclePaths(arm(), (path,)).lengths(STILL)[0])


def shortest_outside(sizes, ends, bulge, count=30):
    """Length of the shortest chain outside of an ellipsoid, of points evenly spaced along x."""
    share = np.linspace(0.0, 1.0, count + 2)[1:-1, None]
    start = ends[0] + share * (ends[1] - ends[0]) + np.sin(np.pi * share) * bulge

    def chain(x):
        return np.column_stack([start[:, 0], x.reshape(-1, 2)])

    def total(x):
        return float(np.linalg.norm(np.diff([ends[0], *chain(x), ends[1]], axis=0), axis=1).sum())

    outside = {"type": "ineq", "fun": lambda x: ((chain(x) / sizes) ** 2).sum(1) - 1.0}
    found = minimize(
        total, start[:, 1:].ravel(), constraints=outside, options={"ftol": 1e-12, "maxiter": 300}
    )
    assert found.success
    return found.fun


def test_a_path_over_a_sphere_is_two_tangents_and_an_arc():
    radius, (a, b) = 0.05, ENDS
    far = np.linalg.norm(ENDS, axis=1)
    opening = np.arccos(a @ b / far.prod()) - np.arccos(radius / far).sum()
    expected = np.sqrt(far**2 - radius**2).sum() + radius * opening
    assert length_over("sphere", (radius,)) == pytest.approx(expected, abs=1e-14)


def test_a_path_over_a_cylinder_is_straight_where_that_is_unrolled():
    radius, rise = 0.05, 0.08
    ends = np.array([[-0.15, 0.01, 0.02], [0.14, 0.02, 0.02 + rise]])
    a, b = ends[:, :2]
    far = np.linalg.norm([a, b], axis=1)
    opening = np.arccos(a @ b / far.prod()) - np.arccos(radius / far).sum()
    expected = np.hypot(np.sqrt(far**2 - radius**2).sum() + radius * opening, rise)
    longer = length_over("cylinder", (radius, 1.0), ends=ends) - expected
    assert 0.0 <= longer < 1e-6  # tangent points slide along the axis in steps, which end near the shortest


def test_the_other_half_of_a_sphere_is_farther():
    near, other = (length_over("sphere", (0.05,), quadrant) for quadrant in ("+y", "-y"))
    assert near == pytest.approx(length_over("sphere", (0.05,)), abs=1e-14)
    assert other > near + 0.01


def test_an_ellipsoid_of_equal_axes_is_a_sphere():
    """To the chords of a millimetre and the tolerance of the tangent points."""
    for method in ("hybrid", "midpoint", "axial"):
        found = length_over("ellipsoid", (0.05, 0.05, 0.05), method=method)
        assert found == pytest.approx(length_over("sphere", (0.05,)), abs=5e-5)


@pytest.mark.parametrize("method", ["hybrid", "midpoint"])
def test_which_axis_of_an_ellipsoid_is_the_first_does_not_matter(method):
    sizes, cycle = np.array([0.06, 0.05, 0.07]), np.roll(np.eye(3), 1, axis=0)
    found = length_over("ellipsoid", tuple(sizes), method=method)
    for turn in (cycle, cycle @ cycle):
        turned = length_over("ellipsoid", tuple(turn.T @ sizes), method=method, rotation=turn)
        assert turned == pytest.approx(found, abs=1e-9)


@pytest.mark.long
def test_a_path_over_an_ellipsoid_is_near_the_shortest_one():
    sizes = np.array([0.08, 0.05, 0.06])
    shortest = shortest_outside(sizes, ENDS, np.array([0.0, 0.07, 0.0]))
    found = length_over("ellipsoid", tuple(sizes), "+y")
    assert shortest < found < shortest + 5e-5  # the chain's chords cut through the surface


def test_a_path_through_a_torus_bends_over_the_inside_of_its_tube():
    ends = np.array([[0.045, 0.0, -0.1], [0.06, 0.0, 0.1]])
    ring, tube = 0.08, 0.03
    about = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # the axis of the tube along z
    moved = (ends - [ring, 0.0, 0.0]) @ about
    expected = length_over("cylinder", (tube, 1.0), "-x", moved)
    assert length_over("torus", (tube, ring), ends=ends) == pytest.approx(expected, abs=1e-9)
    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])  # about the axis of the ring
    assert length_over("torus", (tube, ring), ends=ends @ turn.T) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "sizes"), [("sphere", (0.03,)), ("ellipsoid", (0.03, 0.04, 0.02)), ("torus", (0.005, 0.3))]
)
def test_a_path_that_misses_or_begins_inside_is_straight(kind, sizes):
    above = ENDS + np.array([0.0, 0.1, 0.0])
    straight = np.linalg.norm(above[1] - above[0])
    assert length_over(kind, sizes, ends=above) == pytest.approx(straight, abs=1e-14)
    if kind != "torus":
        inside = np.array([[0.0, 0.001, 0.0], [0.2, 0.0, 0.0]])
        straight = np.linalg.norm(inside[1] - inside[0])
        assert length_over(kind, sizes, ends=inside) == pytest.approx(straight, abs=1e-14)


def test_an_inactive_surface_is_passed_through():
    surface = WrapSurface("s", "sphere", (0.05,), None, np.eye(3), np.zeros(3), active=False)
    path = GeometryPath("m", tuple(PathPoint(None, end) for end in ENDS), (PathWrap(surface, 0, 1),))
    straight = np.linalg.norm(ENDS[1] - ENDS[0])
    assert MusclePaths(arm(), (path,)).lengths(STILL)[0] == pytest.approx(straight, abs=1e-14)
