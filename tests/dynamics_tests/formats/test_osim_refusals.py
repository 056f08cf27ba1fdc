"""Models of OpenSim that are no robot: what is wrong, where, and what to do."""

import pytest
from osim_text import body, constant, coupler, joint, linear, osim_text, spatial_transform, spline
from tiers import every

from dynamics import InertiaError, OsimError, OsimWarning, load_osim

X = body("x")
PIN = joint("PinJoint", "pin", "ground", "x", ["a"])
NONE = [("1 0 0", "", constant()), ("0 1 0", "", constant()), ("0 0 1", "", constant())]
BAR = joint("PinJoint", "bar", "x", "y", ["b"])


def custom(first, coordinate="a"):
    """A joint whose first turn has this function."""
    axes = spatial_transform(("1 0 0", coordinate, first), *NONE[1:], *NONE)
    return joint("CustomJoint", "j", "ground", "x", ["a"], transform=axes)


def actuator(coordinate, force=1, least=-1, most=1):
    return f"""<CoordinateActuator name="m"><coordinate>{coordinate}</coordinate><optimal_force>{force}
</optimal_force><min_control>{least}</min_control><max_control>{most}</max_control></CoordinateActuator>"""


def other_mass(mass, inertia="0.01 0.01 0.01 0 0 0"):
    return osim_text([body("x", mass, inertia=inertia)], [PIN])


MARKER = "<Marker name='m'><socket_parent_frame>/bodyset/x</socket_parent_frame></Marker>"
CORNERS = "".join(
    f"<socket_{end}>m</socket_{end}>" for end in ("point_a", "point_b", "point_c", "origin_point")
)
THREE = f"<StationDefinedFrame name='f'>{CORNERS}<ab_axis>+x</ab_axis></StationDefinedFrame>"
CONSTRAINT = '<PointConstraint name="shut"><isEnforced>true</isEnforced></PointConstraint>'
MULTIPLE = "<MultiplierFunction name='function'><function>", "</function></MultiplierFunction>"
CASES = {
    "a URDF": ("<robot name='a'/>", "begins with <robot>.*read a URDF by dynamics.load_urdf"),
    "no model": ("<OpenSimDocument Version='40000'/>", "with a <Model> is expected"),
    "no XML": ("<OpenSimDocument", "not well-formed XML"),
    "entities": ("<!DOCTYPE a []><OpenSimDocument/>", "document type"),
    "no file": ("not_there.osim", "there is no file 'not_there.osim'"),
    "negative mass": (other_mass(-1.0), "body 'x': mass is -1"),
    "no number": (other_mass("heavy"), "body 'x': mass is 'heavy', which is not a number"),
    "short inertia": (other_mass(1.0, "1 1 1"), r"body 'x': inertia is '1 1 1'; 6 numbers are expected"),
    "loop": (osim_text([X, body("y")], [PIN, BAR, joint("PinJoint", "c", "ground", "y", ["c"])]),
             "body 'y' is moved by joint 'c' and by 'bar': the joints close a loop"),
    "circle": (osim_text([X, body("y")], [joint("PinJoint", "pin", "y", "x", ["a"]), BAR]),
               "no chain of joints leads from the ground to x, y"),
    "no body": (osim_text([X], [PIN, BAR]), "joint 'bar' is on 'y', which is no body: there are ground, x"),
    "unknown joint": (osim_text([X], [PIN.replace("PinJoint", "RollJoint")]), "joint 'pin' is a RollJoint"),
    "curved joint": (osim_text([X], [PIN.replace("PinJoint", "ConstantCurvatureJoint")]),
                     "velocities in OpenSim are not the rates of its poses.*write a CustomJoint"),
    "coordinates": (osim_text([X], [joint("PinJoint", "pin", "ground", "x", ["a", "b"])]),
                    "joint 'pin', a PinJoint, has 2 coordinates; 1 are expected"),
    "range": (osim_text([X], [joint("PinJoint", "pin", "ground", "x",
                                    ["<Coordinate name='a'><range>1 0</range></Coordinate>"])]),
              "coordinate 'a': its range begins at 1.0 and ends at 0.0"),
    "flag": (osim_text([X], [joint("PinJoint", "pin", "ground", "x",
                                   ["<Coordinate name='a'><locked>maybe</locked></Coordinate>"])]),
             "a: locked is 'maybe'; write true or false"),
    "unknown function": (osim_text([X], [custom("<Sine name='function'/>")]),
                         "joint 'j', rotation1 has Sine; Constant"),
    "two coordinates": (osim_text([X], [custom(linear(), "a b")]), "of a and b; functions of one are read"),
    "foreign coordinate": (osim_text([X], [custom(linear(), "z")]), "follows 'z', which is no coordinate"),
    "points": (osim_text([X], [custom(spline([0, 1, 1], [0, 1, 2]))]), "j', rotation1: .*must increase"),
    "still": (osim_text([X], [joint("WeldJoint", "w", "ground", "x")]), "no joint of the model moves"),
    "coupled to none": (osim_text([X, body("y")], [PIN, BAR], coupler("a", "", linear())),
                        "follows no coordinate"),
    "no station": (osim_text([X], [PIN], markers=THREE), "point_a is .*, the name of 0 stations"),
    "stations on a line but for rounding": (
        osim_text([X], [PIN], markers="".join(
            MARKER.replace("'m'", f"'{name}'").replace("</M", f"<location>{place}</location></M")
            for name, place in (("m", "0.1 0.2 0.3"), ("n", "0.2 0.4 0.6"), ("k", "0.3 0.6 0.9"))
        ) + THREE.replace("b>m", "b>n").replace("c>m", "c>k")),
        "its stations are on a line",
    ),
    "stations on a line": (osim_text([X], [PIN], markers=MARKER + THREE), "its stations are on a line"),
    "axes of stations": (osim_text([X], [PIN], markers=MARKER + THREE.replace("+x", "w")),
                         "ab_axis is 'w'"),
    "coupled to nothing": (osim_text([X], [PIN], coupler("a", "z", linear())), "names 'z', which is no"),
    "coupled twice": (osim_text([X, body("y")], [PIN, BAR], 2 * coupler("a", "b", linear())), "another one"),
    "coupled to itself": (osim_text([X, body("y")], [PIN, BAR], coupler("a", "b", linear())
                                    + coupler("b", "a", linear())), "follows itself by couplers"),
    "marker": (osim_text([X], [PIN], markers="<Marker name='m'><socket_parent_frame>/bodyset/q"
                         "</socket_parent_frame></Marker>"), "marker 'm' is on 'q', which is no body"),
    "twice": (osim_text([X, X], [PIN]), "two bodies are named 'x'"),
    "axis without length": (osim_text([X], [custom(linear()).replace("<axis>1 0 0", "<axis>1e-200 0 0")]),
                            "rotation1: its axis has no direction"),
    "axes without names": (osim_text([X], [custom(linear()).replace('"rotation1"', '"first"')]),
                           "has the transform axes first, rotation2, .*are expected, each once"),
    "multiples": (osim_text([X], [custom(900 * MULTIPLE[0] + linear() + 900 * MULTIPLE[1])]),
                  "joint 'j', rotation1 has multiples of multiples without end"),
    "no version": (osim_text([X], [PIN], version="\u00b2"), "10901 or later is read"),
    "first versions": (osim_text([X], [PIN], version="10900"), "open it in OpenSim 3.3 and save it again"),
    "first joints": (
        osim_text(
            [X], [PIN.replace("PinJoint", "CustomJoint").replace("<coord", "<TransformAxisSet/><coord")]
        ),
        "joint '.*' has a <TransformAxisSet>, of the first versions",
    ),
    "endless range": (osim_text([X], [joint("PinJoint", "pin", "ground", "x",
                                            ["<Coordinate name='a'><range>inf inf</range></Coordinate>"])]),
                      "coordinate 'a': its range begins at inf and ends at inf"),
    "frame twice": (osim_text([X], [PIN.replace("x_offset", "ground_offset")]),
                    "two frames are named '/jointset/pin/ground_offset'"),
    "frame of two": (osim_text([X, body("y")], [PIN, BAR.replace("x_offset", "ground_offset")],
                     markers="<Marker name='m'><socket_parent_frame>ground_offset"
                     "</socket_parent_frame></Marker>"),
                     "may be /jointset/pin/ground_offset or /jointset/bar/ground_offset: write the path of"),
    "actuator": (osim_text([X], [PIN], forces=actuator("z")), "'m' is on 'z', which is no coordinate"),
    "coordinate twice": (osim_text([X], [joint("UniversalJoint", "j", "ground", "x", ["a", "a"])]),
                         "two coordinates are named 'j/a'"),
    "controls": (osim_text([X], [PIN], forces=actuator("a", 10, 1, -1)), "'m' has controls from 1 to -1"),
    "radius": (osim_text([X], [PIN], geometry="<ContactSphere name='s'><socket_frame>/bodyset/x"
                         "</socket_frame><radius>-1</radius></ContactSphere>"), "sphere 's' has radius -1"),
}  # fmt: skip


@every("text, message", CASES.values())
def test_what_no_robot_can_be_is_refused(text, message):
    with pytest.raises(OsimError, match=message):
        load_osim(text)


def test_a_body_that_no_robot_can_have_is_refused_by_its_name():
    with pytest.raises(InertiaError, match="link 'x'"):
        load_osim(other_mass(1.0, "1 0.1 0.1 0 0 0"))


def test_a_coordinate_to_hold_must_exist():
    with pytest.raises(OsimError, match="hold names 'knee', which is no coordinate: there are a"):
        load_osim(osim_text([X], [PIN]), hold=["knee"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None])
def test_a_coordinate_is_held_at_a_finite_number(value):
    with pytest.raises(OsimError, match=r"hold has .* for 'a': give a finite number, rad or m"):
        load_osim(osim_text([X], [PIN]), hold={"a": value})


@pytest.mark.parametrize("words", [CONSTRAINT, coupler("a", "b c", linear()).replace("coupler", "shut")])
def test_constraints_that_no_tree_holds_are_left_open_with_a_warning(words):
    text = osim_text([X, body("y"), body("z")], [PIN, BAR, joint("PinJoint", "p", "y", "z", ["c"])], words)
    with pytest.warns(OsimWarning, match=r"left open, which the robot may move against: shut \("):
        osim = load_osim(text)
    assert osim.robot.joint_names == ("a", "b", "c")
    assert osim.left_out["constraints, left open"][0].startswith("shut (")


def test_constraints_that_are_not_enforced_and_couplers_that_are_off_leave_coordinates_free():
    off = CONSTRAINT.replace("true", "false") + coupler("a", "b", linear()).replace("true", "false")
    assert load_osim(osim_text([X, body("y")], [PIN, BAR], off)).robot.joint_names == ("a", "b")
