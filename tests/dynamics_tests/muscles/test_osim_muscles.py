"""Muscles of OpenSim's model files: points and surfaces of both forms of file, defaults, what is refused."""

import numpy as np
import pytest
from osim_text import body, joint, osim_text

import dynamics

FUNCTION = '<SimmSpline name="function"><x>-1 0 1</x><y>0.02 0.03 0.02</y></SimmSpline>'
NUMBERS = """<max_isometric_force>{force}</max_isometric_force><optimal_fiber_length>{fibre}
</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length>"""


def point(at, on="/bodyset/x", kind="PathPoint", more=""):
    return f"""<{kind} name="p"><socket_parent_frame>{on}</socket_parent_frame><location>{at}</location>{more}
</{kind}>"""


FROM, TO = point("0.1 0.1 0", "/ground"), point("0.05 -0.2 0")
RANGE = "<socket_coordinate>/jointset/pin/a</socket_coordinate><range>-0.5 0.5</range>"
VIA = point("0 0.05 0", "/ground", "ConditionalPathPoint", RANGE)
MOVING = point(
    "0 0 0",
    kind="MovingPathPoint",
    more=f"""<x_location>{FUNCTION}</x_location>
<socket_x_coordinate>/jointset/pin/a</socket_x_coordinate>""",
)
OLD = """<PathPoint name="p"><location>0.05 -0.2 0</location><body>x</body></PathPoint>"""


def muscle(points, wraps="", force=100.0, fibre=0.1, kind="Thelen2003Muscle", more=""):
    return f"""<{kind} name="m">{NUMBERS.format(force=force, fibre=fibre)}{more}<GeometryPath><PathPointSet>
<objects>{"".join(points)}</objects></PathPointSet><PathWrapSet><objects>{wraps}</objects></PathWrapSet>
</GeometryPath></{kind}>"""


def wrap(name="ring", span="-1 -1", method="hybrid"):
    return f"""<PathWrap><wrap_object>{name}</wrap_object><range>{span}</range><method>{method}</method>
</PathWrap>"""


def surface(kind="WrapCylinder", radius=0.03):
    return f"""<WrapObjectSet><objects><{kind} name="ring"><radius>{radius}</radius><length>1</length>
<translation>0 -0.05 0</translation><quadrant>+x</quadrant></{kind}></objects></WrapObjectSet>"""


def loaded(muscles, surfaces="", pendulums=1):
    """A pendulum on ground with these muscles; surfaces stand on it. Further ones turn by an `a`, too."""
    on_x = body("x").replace("</Body>", f"{surfaces}</Body>")
    bodies, joints = [on_x, body("y")], [joint("PinJoint", "pin", "ground", "x", ["a"])]
    joints.append(joint("PinJoint", "bar", "ground", "y", ["a"]))
    text = osim_text(bodies[:pendulums], joints[:pendulums], forces=muscles)
    return dynamics.load_osim(text, muscles=True)


def test_points_and_numbers_are_those_of_the_file():
    found = loaded(muscle([FROM, TO], more="<pennation_angle_at_optimal>0.2</pennation_angle_at_optimal>"))
    assert found.muscles is not None and found.muscles.names == ("m",)
    assert "muscles" not in found.left_out and found.joints[0].name == "pin"
    assert found.muscles.paths.lengths([0.0])[0] == pytest.approx(np.hypot(0.05, 0.3), abs=1e-14)
    values = {"max_isometric_force": 100.0, "pennation_angle": 0.2, "activation_time": 0.015}
    for name, value in (values | {"deactivation_time": 0.05, "tendon_strain": 0.04}).items():
        assert getattr(found.muscles, name) == pytest.approx([value])


@pytest.mark.parametrize("others", [[], [0.6]], ids=["own name", "shared name"])
def test_conditional_and_moving_points_follow_their_coordinate(others):
    found = loaded(muscle([FROM, VIA, MOVING]), pendulums=1 + len(others))
    assert found.muscles is not None
    inside, outside = found.muscles.paths.lengths([[0.0, *others], [0.6, *others]])[:, 0]
    via = np.hypot(0.1, 0.05) + np.hypot(0.03, 0.05)  # the spline is 0.03 m at zero
    assert inside == pytest.approx(via, abs=1e-14)
    turn = np.array([np.cos(0.6), np.sin(0.6)])
    between = [np.linalg.norm(x * turn - [0.1, 0.1]) for x in (0.02, 0.03)]
    assert min(between) < outside < max(between)


def test_a_moving_point_keeps_its_coordinate_that_does_not_move():
    constant = "<y_location><Constant><value>0.06</value></Constant></y_location>"
    held = MOVING.replace("</Moving", f"{constant}</Moving")
    found = loaded(muscle([FROM, held]))
    assert found.muscles is not None
    assert found.muscles.paths.lengths([0.0])[0] == pytest.approx(np.hypot(0.07, 0.04), abs=1e-14)


def test_files_of_former_versions_name_bodies():
    found = loaded(muscle([FROM, OLD]))
    assert found.muscles is not None
    assert found.muscles.paths.lengths([0.0])[0] == pytest.approx(np.hypot(0.05, 0.3), abs=1e-14)


def test_a_wrap_is_read_with_its_surface():
    straight, bent = (loaded(muscle([FROM, TO], wraps), surface()) for wraps in ("", wrap()))
    assert straight.muscles is not None and bent.muscles is not None
    q = [[0.3]]
    assert bent.muscles.paths.paths[0].wraps[0].surface.quadrant == "+x"
    assert bent.muscles.paths.lengths(q) >= straight.muscles.paths.lengths(q)


def test_a_wrap_over_no_more_than_one_point_bends_nothing():
    straight, bent, point_alone = (
        loaded(muscle([FROM, TO], wraps), surface(radius=0.1)).muscles.paths.lengths([[0.3]])
        for wraps in ("", wrap(), wrap(span="-1 1"))
    )
    assert point_alone == straight < bent


def test_muscles_that_apply_no_force_are_left_out():
    found = loaded(muscle([FROM, TO], more="<appliesForce>false</appliesForce>"))
    assert found.left_out["muscles"] == ("m",) and found.muscles is not None and found.muscles.names == ()


REFUSED = {
    "no joint": (muscle([TO, TO]), "", "muscle 'm' passes no joint: all its points are on 'x'"),
    "no surface": (muscle([FROM, TO], wrap()), "", "wraps over 'ring', which is no surface"),
    "radius": (muscle([FROM, TO], wrap()), surface(radius=0.0), "wrap surface 'ring' has radius 0 m"),
    "kind": (muscle([FROM, TO], wrap()), surface("WrapCone"), "wrap surface 'ring' is a WrapCone"),
    "range": (muscle([FROM, TO], wrap(span="1 3")), surface(), "between its points 1 and 3, but has 2"),
    "method": (muscle([FROM, TO], wrap(method="best")), surface(), "wraps over 'ring' by 'best'"),
    "fibre": (muscle([FROM, TO], fibre=0.0), "", "optimal_fiber_length of muscle 'm' is 0"),
    "force": (muscle([FROM, TO], force=-1.0), "", "max_isometric_force of muscle 'm' is -1"),
    "time": (
        muscle([FROM, TO], more="<activation_time_constant>0</activation_time_constant>"), "",
        "activation_time of muscle 'm' is 0",
    ),
    "body": (muscle([FROM, point("0 0 0", "/bodyset/y")]), "", "muscle 'm', point 2 is on 'y'"),
    "point": (muscle([FROM, TO.replace("PathPoint", "Knot")]), "", "muscle 'm', point 2 is a Knot"),
    "coordinate": (muscle([FROM, VIA.replace("pin/a", "pin/b"), TO]), "", "point 2 names .*/pin/b'"),
    "socket": (muscle([FROM, "<PathPoint name='p'/>"]), "", "has no <socket_parent_frame>"),
    "number": (
        muscle([FROM, TO]).replace("tendon_slack_length", "tendon"), "", "has no <tendon_slack_length>"
    ),
    "path": (muscle([]).replace("GeometryPath", "Path"), "", "muscle 'm' has no <GeometryPath>"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_muscle_is_refused_by_name(case):
    muscles, surfaces, message = REFUSED[case]
    with pytest.raises(dynamics.ModelError, match=message):
        loaded(muscles, surfaces)


POLYNOMIALS = """<OpenSimDocument><Set><objects><FunctionBasedPath name="/forceset/m"><coordinate_paths>
/jointset/j/x /jointset/j/y</coordinate_paths><length_function><MultivariatePolynomialFunction><coefficients>
1 2 3 4 5 6</coefficients><order>2</order></MultivariatePolynomialFunction></length_function>
</FunctionBasedPath></objects></Set></OpenSimDocument>"""


@pytest.mark.parametrize("names", [("y", "other", "x"), ("j/y", "other/x", "j/x")])
def test_polynomials_of_a_file_have_the_order_of_terms_that_opensim_documents(names):
    """a + b y + c y^2 + d x + e x y + f x^2."""
    found = dynamics.load_function_paths(POLYNOMIALS, names)
    x, y = 0.3, -0.7
    expected = 1 + 2 * y + 3 * y**2 + 4 * x + 5 * x * y + 6 * x**2
    assert found.names == ("m",)
    assert found.lengths([[y, 9.0, x]])[0, 0] == pytest.approx(expected, abs=1e-14)
    assert found.gradient([[y, 9.0, x]])[0, 0] == pytest.approx([2 + 6 * y + 5 * x, 0, 4 + 5 * y + 12 * x])


WRONG = {
    "none": ("<OpenSimDocument/>", "has no <FunctionBasedPath>"),
    "coordinate": (
        POLYNOMIALS.replace("j/x", "j/z"),
        "'m' follows '/jointset/j/z', which is no",
    ),
    "function": (POLYNOMIALS.replace("Multivariate", "Other"), "no length_function"),
    "coefficients": (POLYNOMIALS.replace("5 6", "5"), "6 numbers are expected"),
    "order": (POLYNOMIALS.replace(">2<", ">2.5<"), "order 2.5: a whole number"),
    "negative": (POLYNOMIALS.replace(">2<", ">-1<"), "order -1: a whole number"),
    "high": (POLYNOMIALS.replace(">2<", ">100000<"), "5000150001 numbers are expected"),
    "twice": (POLYNOMIALS.replace("j/y", "j/x"), "follows x, x: name every coordinate once"),
}


@pytest.mark.parametrize("case", WRONG)
def test_other_polynomials_are_refused(case):
    text, message = WRONG[case]
    with pytest.raises(dynamics.OsimError, match=message):
        dynamics.load_function_paths(text, ("x", "y"))
