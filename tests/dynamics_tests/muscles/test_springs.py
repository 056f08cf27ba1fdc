"""Limit forces and linear springs of OpenSim's files: numbers of OpenSim 4.6, signs, bad input, use."""

from dataclasses import replace

import numpy as np
import pytest
from muscled_arm import muscled_arm  # pyright: ignore  (tests/support is on the path)
from osim_text import (  # pyright: ignore
    body,
    constant,
    joint,
    linear,
    osim_text,
    spatial_transform,
    spline,
)

import dynamics
import trajopt
from dynamics.errors import OsimError
from dynamics.formats.opensim.naming import OsimNames, OwnCoordinate
from problems.human.muscles.driven import muscle_problem

LIMIT = """<CoordinateLimitForce name="{name}"><coordinate>{coordinate}</coordinate>
<upper_stiffness>{upper}</upper_stiffness><upper_limit>{high}</upper_limit>
<lower_stiffness>{lower}</lower_stiffness><lower_limit>{low}</lower_limit>
<damping>{damping}</damping><transition>{transition}</transition></CoordinateLimitForce>"""
ANGLE = LIMIT.format(
    name="of the angle", coordinate="angle", upper=2, high=60, lower=3, low=-30, damping=0.5, transition=10
)
WAY = LIMIT.format(
    name="of the way", coordinate="way", upper=200, high=0.6, lower=300, low=-0.3, damping=50, transition=0.1
)
LINEAR = """<SpringGeneralizedForce name="linear"><coordinate>{coordinate}</coordinate>
<stiffness>5</stiffness><rest_length>0.2</rest_length><viscosity>0.7</viscosity></SpringGeneralizedForce>"""
# q in rad and m, v, and what OpenSim's getRecordValues gives of the three
OPENSIM = np.array([
    (1.1, 0.3, -2.43768783932500, -115.0, -4.71), (1.3, -0.4, -17.5098708313976, -120.0, -5.22),
    (-0.6, 0.3, 1.74476548812694, 75.0, 3.79), (-0.8, -2.0, 104.80565034447991, 250.0, 6.4),
    (0.0, 1.0, 0.0, 0.0, 0.3), (1.05, 0.2, -0.0002444940859228754, -100.0, -4.39),
])  # fmt: skip


def two_coordinates(forces):
    bodies = [body(name, 1.0, "0 -0.2 0", "0.02 0.02 0.02 0 0 0") for name in ("one", "other")]
    hinge = joint("PinJoint", "hinge", "ground", "one", ("angle",))
    slide = joint("SliderJoint", "slide", "ground", "other", ("way",))
    return osim_text(bodies, [hinge, slide], forces=forces)


def test_forces_are_those_of_opensim():
    osim = dynamics.load_osim(two_coordinates(ANGLE + WAY))
    q, v = (OPENSIM[:, [column, column]] for column in (0, 1))
    found = osim.spring_moments(q, v)
    assert found["angle"] == pytest.approx(OPENSIM[:, 2], abs=1e-12)
    assert found["way"] == pytest.approx(OPENSIM[:, 3], abs=1e-12)
    both = dynamics.load_osim(two_coordinates(ANGLE + LINEAR.format(coordinate="angle")))
    assert both.spring_moments(q, v)["angle"] == pytest.approx(OPENSIM[:, 2] + OPENSIM[:, 4], abs=1e-12)
    assert not both.left_out


def test_another_sign_and_zero_of_a_coordinate_turn_the_force_with_it():
    names = OsimNames(coordinates={"angle": OwnCoordinate("bend", -1.0, 0.4)})
    osim = dynamics.load_osim(two_coordinates(ANGLE), names=names)
    bend = np.stack([0.4 - OPENSIM[:, 0], 0.0 * OPENSIM[:, 0]], axis=1)
    found = osim.spring_moments(bend, -OPENSIM[:, [1, 1]])
    assert found["bend"] == pytest.approx(-OPENSIM[:, 2], abs=1e-12)


@pytest.mark.parametrize(
    ("turn", "slide", "is_angle"),
    [
        (linear(-1.0, 0.3), spline([-2, 0, 2], [-0.2, 0, 0.2]), True),
        (linear(2.0), constant(), False),
        (spline([-2, 0, 1, 2], [-2, 0, 1.1, 2]), constant(), False),
        (f"<MultiplierFunction><function>{linear()}</function></MultiplierFunction>", constant(), False),
        (linear(), linear(), False),
    ],
    ids=["an angle", "twice", "by a spline", "a multiple", "a slide, too"],
)
def test_limits_are_in_degrees_where_opensim_takes_a_coordinate_for_an_angle(turn, slide, is_angle):
    """Numbers of OpenSim 4.6 at 1.3 rad and -0.4 rad/s."""
    axes = ("0 0 1", "angle", turn), *((axis, "", constant()) for axis in ("0 1 0", "1 0 0"))
    slides = ("1 0 0", "angle", slide), *((axis, "", constant()) for axis in ("0 1 0", "0 0 1"))
    transform = spatial_transform(*axes, *slides)
    knee = joint("CustomJoint", "knee", "ground", "one", ("angle",), transform=transform)
    in_radians = ANGLE.replace(">60<", ">0.2<").replace("<transition>10", "<transition>2")
    forces = ANGLE if is_angle else in_radians
    osim = dynamics.load_osim(osim_text([body("one")], [knee], forces=forces))
    moment = osim.spring_moments(np.array([1.3]), np.array([-0.4]))["angle"]
    assert moment == pytest.approx(-17.50987083139759 if is_angle else -1.1862537500000003, abs=1e-12)


def test_springs_that_do_nothing_or_cannot_be_are_named():
    off = ANGLE.replace("<coordinate>", "<appliesForce>false</appliesForce><coordinate>")
    osim = dynamics.load_osim(two_coordinates(off + WAY), hold=["way"])
    assert osim.springs == () and osim.left_out["forces (CoordinateLimitForce)"] == (
        "of the angle",
        "of the way",
    )
    with pytest.raises(OsimError, match="transition of 0: give a positive one"):
        dynamics.load_osim(two_coordinates(ANGLE.replace("<transition>10", "<transition>0")))
    with pytest.raises(OsimError, match="is on 'angel'"):
        dynamics.load_osim(two_coordinates(ANGLE.replace("<coordinate>angle", "<coordinate>angel")))


@pytest.mark.long
def test_a_spring_bears_an_arm_that_muscles_drive_with_exact_derivatives():
    spring = replace(
        dynamics.load_osim(two_coordinates(ANGLE)).springs[0], coordinate="elbow", upper=(-0.1, 500.0)
    )
    osim = replace(dynamics.load_osim(muscled_arm(), muscles=True), springs=(spring,))
    mesh = trajopt.Trajectory.collocation(intervals=4, order=3, duration=0.4)
    problem = muscle_problem(osim, mesh)
    problem.start_at(q=[-0.4], v=[0.0])
    problem.end_at(q=[0.1], v=[0.0])
    solution = trajopt.solve(problem, refine=None, starts=1, coarse_to_fine=False)
    assert solution.converged and solution.iterations < 60
    t = np.array([0.4])
    q, v = solution.q(t), solution.v(t)
    borne = osim.spring_moments(q, v)["elbow"]
    driven = solution.value(trajopt.Quantity("muscle_moment"), t) + solution.value(
        trajopt.state("reserve"), t
    )
    assert borne[0] < -20.0 and solution.tau(t)[0, 0] == pytest.approx((driven[0, 0] + borne[0]), abs=1e-5)
