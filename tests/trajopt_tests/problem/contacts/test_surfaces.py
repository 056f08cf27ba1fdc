"""Contacts on planes, boxes and moving links: gaps and velocities against differences, forces in pairs."""

import itertools
from types import SimpleNamespace

import casadi
import numpy as np
import pytest
from tiers import fast_first

import dynamics
import trajopt
from problems.gallery.legged.solo import solo
from trajopt.base.errors import KinkWarning, OptionError, ShapeError
from trajopt.problem.problem_graph import graph_of
from trajopt.transcription.transcribe import transcribe

SOLO, NUMBERS = solo(), itertools.count()
TILTED = np.array([[0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, 0.8]])
OFF = np.array([0.02, -0.01, 0.03])  # m, of a point of the foot
WALL = trajopt.Plane((0.5, 0.0, 0.0), (-2.0, 0.0, 0.0))
RAMP = trajopt.Plane((0.0, 0.0, 0.1), (0.3, -0.2, 1.0), along=(1.0, 0.0, 0.0))
BOX = trajopt.Box((0.4, 0.3, 0.2), (0.6, 0.1, 0.1), tuple(map(tuple, TILTED)))
ON_TRUNK = trajopt.Plane((0.1, 0.0, -0.05), (0.0, 0.0, -1.0), frame="base_link")


def contact_on(surface, **options):
    problem = trajopt.Problem(SOLO, trajopt.Schedule.standing(("FL",), 0.4).trajectory(2))
    return problem, problem.contact("FL_FOOT", [0], ground=surface, sole=[OFF], **options)


def values_of(problem, function, q, v):
    term = trajopt.term(name=f"looked at, {next(NUMBERS)}")(function)
    graph = graph_of(problem, [term])
    leaves = {leaf: np.zeros((len(q), width)) for leaf, width in graph.leaves.items()}
    return graph.values(leaves | {"q": q, "v": v})[term.quantity]


def random_motion():
    rng = np.random.default_rng(11)
    return rng.uniform(-0.6, 0.6, (4, SOLO.n)), rng.uniform(-1.0, 1.0, (4, SOLO.n))


@pytest.mark.parametrize("surface", [WALL, RAMP, BOX.face("+z"), BOX.face("-y"), ON_TRUNK])
@fast_first("held", ["xyz", "z"], 1)
def test_what_is_held_on_a_surface_is_the_velocity_of_the_point_against_it(surface, held):
    """Against differences of the point's place, seen from the link of a surface that moves."""
    problem, contact = contact_on(surface, held=held)
    (q, v), step = random_motion(), 1e-6
    there, here = (
        values_of(problem, lambda node: contact.footing(node, 0), q + sign * step * v, v) for sign in (1, -1)
    )
    speed = (there - here) / (2.0 * step)
    if surface.frame is not None:
        R = dynamics.forward_kinematics(SOLO, q, [surface.frame]).rotation[:, 0]
        speed = np.einsum("kij,kj->ki", R, speed)
    if held == "z":
        above = [
            values_of(problem, lambda node: contact.height(node, 0, contact.points), q + sign * step * v, v)
            for sign in (1, -1)
        ]
        speed = (above[0] - above[1]) / (2.0 * step)
    found = values_of(problem, lambda node: contact.velocity(node, 0), q, v)
    np.testing.assert_allclose(found, speed, atol=1e-6)
    assert np.abs(speed).max() > 0.04


def test_what_moves_feels_the_opposite_force_at_the_same_place():
    problem, contact = contact_on(ON_TRUNK)
    assert set(problem.loads) == {"FL_LOWER_LEG", "base_link"}
    q, v = random_motion()
    push = np.random.default_rng(2).uniform(0.0, 1.0, 4)

    def both(node):
        pushed = SimpleNamespace(
            position=node.position, orientation=node.orientation, extra=lambda _: casadi.DM(push)
        )
        return [
            a + b for a, b in zip(contact.wrench(pushed), contact.reaction(pushed, "base_link"), strict=True)
        ]

    assert np.abs(values_of(problem, both, q, v)).max() < 1e-12


def test_faces_of_a_box_are_planes_with_edges_and_outside_is_away_from_them():
    normals = [BOX.face(sign + axis).normal for axis in "xyz" for sign in "+-"]
    np.testing.assert_allclose(np.sum(normals, axis=0), 0.0, atol=1e-15)
    top = BOX.face("+z")
    assert top.region.tolist() == [[-0.2, 0.2], [-0.15, 0.15]]
    for x, y, height in ((0.0, 0.0, 0.03), (0.1, -0.1, 0.2), (0.19, 0.0, -0.01)):
        place = np.array(top.point) + TILTED @ [x, y, height]
        assert float(top.gap(place)) == pytest.approx(height, abs=1e-12)
        assert float(BOX.distance(casadi.DM(place))) == pytest.approx(height, abs=1e-12)
        np.testing.assert_allclose(top.coordinates(place), [x, y], atol=1e-12)
    corner = np.array(BOX.centre) + TILTED @ [0.2 + 0.03, 0.15 + 0.04, 0.0]
    assert float(BOX.distance(casadi.DM(corner))) == pytest.approx(0.04, abs=1e-12)
    assert float(BOX.distance(casadi.DM(BOX.centre))) == pytest.approx(-0.1, abs=1e-12)


def test_swinging_points_are_kept_outside_of_boxes():
    step = trajopt.Schedule([(("FL",), 0.2), ((), 0.2), (("FL",), 0.2)])
    problem = trajopt.Problem(SOLO, step.trajectory(2))
    ground = {0: trajopt.Ground(), 1: trajopt.Ground(), 2: BOX.face("+z")}
    problem.contact("FL_FOOT", [0, 2], ground=ground, obstacles=[BOX])
    names = [each.name for each in problem.constraints]
    assert "FL_FOOT outside of box 0, arc 1" in names and "FL_FOOT lands on the ground, arc 2" in names
    assert not any("box" in name and ("arc 0" in name or "arc 2" in name) for name in names)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: trajopt.Plane((0, 0, 0), (0, 0, 0)), OptionError, "normal of a plane is zero"),
        (lambda: trajopt.Plane((0, 0), (0, 0, 1)), ShapeError, "give three numbers"),
        (lambda: trajopt.Plane((0, 0, 0), (0, 0, 1), (0, 0, 2)), OptionError, "x axis"),
        (lambda: trajopt.Plane((0, 0, 0), (0, 0, 1), frame=3), OptionError, "give its name"),
        (lambda: trajopt.Box((1, 0, 1)), OptionError, "above zero"),
        (lambda: trajopt.Box((1, 1, 1), rotation=((1, 0, 0), (0, 2, 0), (0, 0, 1))), ShapeError, "rotation"),
        (lambda: BOX.face("top"), OptionError, "no face 'top'"),
        (lambda: contact_on(WALL, obstacles=[WALL]), OptionError, "list of trajopt.Box"),
        (
            lambda: contact_on(trajopt.Plane((0, 0, 0), (0, 0, 1), frame="FL_LOWER_LEG")),
            OptionError,
            "part of its own link",
        ),
        (lambda: contact_on(ON_TRUNK, impact=True), OptionError, "lands with an impact on what moves"),
    ],
)
def test_what_is_no_surface_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_nobody_is_warned_of_the_kinks_of_distances_from_boxes(recwarn):
    """They are meant: the checks of a user's terms would name four of them."""
    ground = {0: trajopt.Ground(), 1: trajopt.Ground()}
    problem = trajopt.Problem(SOLO, trajopt.Schedule([(("FL",), 0.2), ((), 0.2)]).trajectory(2))
    problem.contact("FL_FOOT", [0], ground=ground, obstacles=[BOX])
    problem.minimize(trajopt.tau**2)
    start = np.zeros(SOLO.n)
    problem.guess(np.array([start, start + 0.8 * np.eye(SOLO.n)[0]]))
    transcribe(problem, check=True)
    assert not [each for each in recwarn if issubclass(each.category, KinkWarning)]
