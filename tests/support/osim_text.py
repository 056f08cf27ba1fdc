"""Model files of OpenSim as text: bodies on joints of every type, functions of every kind, one coupler."""

BODY = """<Body name="{name}"><mass>{mass}</mass><mass_center>{centre}</mass_center>
<inertia>{inertia}</inertia></Body>"""
JOINT = """<{kind} name="{name}"><socket_parent_frame>{parent}_offset</socket_parent_frame>
<socket_child_frame>{child}_offset</socket_child_frame><coordinates>{coordinates}</coordinates><frames>
<PhysicalOffsetFrame name="{parent}_offset"><socket_parent>{parent_path}</socket_parent>
<translation>{at}</translation><orientation>{turned}</orientation></PhysicalOffsetFrame>
<PhysicalOffsetFrame name="{child}_offset"><socket_parent>/bodyset/{child}</socket_parent>
<translation>{child_at}</translation><orientation>{child_turned}</orientation></PhysicalOffsetFrame>
</frames>{transform}</{kind}>"""


def osim_text(bodies, joints, constraints="", markers="", geometry="", forces="", version="40000"):
    """The file of these parts."""
    return f"""<OpenSimDocument Version="{version}"><Model name="parts"><gravity>0 -9.80665 0</gravity>
<BodySet><objects>{"".join(bodies)}</objects></BodySet><JointSet><objects>{"".join(joints)}</objects></JointSet>
<ConstraintSet><objects>{constraints}</objects></ConstraintSet><ForceSet><objects>{forces}</objects></ForceSet>
<MarkerSet><objects>{markers}</objects></MarkerSet>
<ContactGeometrySet><objects>{geometry}</objects></ContactGeometrySet></Model></OpenSimDocument>"""


def body(name, mass=1.0, centre="0.02 -0.2 0.01", inertia="0.02 0.015 0.018 0.001 -0.002 0.0015"):
    """A <Body>."""
    return BODY.format(name=name, mass=mass, centre=centre, inertia=inertia)


def joint(
    kind, name, parent, child, coordinates=(), at="0 0 0", turned="0 0 0", child_at="0 0 0",
    child_turned="0 0 0", transform="",
):  # fmt: skip
    """A joint; coordinates : names, or whole <Coordinate> elements."""
    written = "".join(
        each if each.startswith("<") else f'<Coordinate name="{each}"><range>-1.5 1.5</range></Coordinate>'
        for each in coordinates
    )
    path = "/ground" if parent == "ground" else f"/bodyset/{parent}"
    return JOINT.format(
        kind=kind, name=name, parent=parent, child=child, parent_path=path, coordinates=written, at=at,
        turned=turned, child_at=child_at, child_turned=child_turned, transform=transform,
    )  # fmt: skip


def spatial_transform(*axes):
    """A <SpatialTransform> of six (axis, coordinate, function) with the function as XML."""
    names = [f"{kind}{k}" for kind in ("rotation", "translation") for k in (1, 2, 3)]
    written = [
        f'<TransformAxis name="{name}"><coordinates>{coordinate}</coordinates><axis>{axis}</axis>'
        f"{function}</TransformAxis>"
        for name, (axis, coordinate, function) in zip(names, axes, strict=True)
    ]
    return f"<SpatialTransform>{''.join(written)}</SpatialTransform>"


def constant(value=0.0):
    return f'<Constant name="function"><value>{value}</value></Constant>'


def linear(slope=1.0, shift=0.0):
    return f'<LinearFunction name="function"><coefficients>{slope} {shift}</coefficients></LinearFunction>'


def spline(x, y, kind="SimmSpline"):
    x, y = (" ".join(map(str, values)) for values in (x, y))
    return f'<{kind} name="function"><x>{x}</x><y>{y}</y></{kind}>'


def coupler(dependent, independent, function):
    return f"""<CoordinateCouplerConstraint name="coupler"><isEnforced>true</isEnforced>
<coupled_coordinates_function>{function}</coupled_coordinates_function>
<independent_coordinate_names>{independent}</independent_coordinate_names>
<dependent_coordinate_name>{dependent}</dependent_coordinate_name><scale_factor>1</scale_factor>
</CoordinateCouplerConstraint>"""


def every_joint():
    """A chain with all joints that are read, turned frames on both ends, and functions of every kind."""
    bodies = ["slid", "pinned", "crossed", "custom", "gimballed", "plane", "welded", "follower"]
    knee = spatial_transform(
        ("0 0 1", "knee", linear(1.0, 0.1)),
        ("0 1 0.2", "knee", spline([-2.0, -0.5, 0.3, 1.1, 2.0], [0.05, 0.0, 0.04, -0.03, 0.02])),
        ("1 0 0", "", constant(0.3)),
        ("1 0 0", "knee", "<PolynomialFunction name='function'><coefficients>0.01 -0.02 0.03"
         "</coefficients></PolynomialFunction>"),
        ("0 1 0", "knee", "<MultiplierFunction name='function'><function>" + spline([-2.0, 0.0, 2.0],
         [0.01, -0.4, 0.03]) + "</function><scale>1.3</scale></MultiplierFunction>"),
        ("0 0 1", "", constant(0.05)),
    )  # fmt: skip
    lid = spatial_transform(
        ("0 0 1", "lid", linear(-0.8, 0.2)),
        ("0 1 0", "", constant()),
        ("1 0 0", "", constant()),
        ("1 0 0", "lid", spline([-3.0, 0.1, 3.0], [0.1, -0.1, 0.2], "PiecewiseLinearFunction")),
        ("0 1 0", "", constant()),
        ("0 0 1", "", constant()),
    )
    joints = [
        joint("SliderJoint", "slide", "ground", "slid", ["way"], turned="0.3 -0.2 0.5", child_at="0.1 0 0.2"),
        joint("PinJoint", "pin", "slid", "pinned", ["angle"], "0.1 0.2 -0.1", "0.1 0.4 0",
              child_turned="0 0.7 0.1"),
        joint("UniversalJoint", "cross", "pinned", "crossed", ["one", "two"], "0 -0.4 0",
              child_at="0 0.1 0.05", child_turned="0.2 0 -0.3"),
        joint("CustomJoint", "knee_joint", "crossed", "custom", ["knee"], "0.02 -0.4 0", "0.1 0.1 0.3",
              "0 0.05 0", "0.2 -0.1 0", knee),
        joint("GimbalJoint", "gimbal", "custom", "gimballed", ["roll", "pitch", "yaw"], "0 -0.3 0.1"),
        joint("PlanarJoint", "plane_joint", "gimballed", "plane", ["turn", "along", "across"], "0 0.1 0",
              "0.4 0 0.2", "0.03 0.02 0.01"),
        joint("WeldJoint", "weld", "plane", "welded", (), "0.1 0 0", "0 0.5 0", "0 0.1 0", "0.3 0 0"),
        joint("CustomJoint", "lid_joint", "crossed", "follower", ["lid"], "0 0 0.2", transform=lid),
    ]  # fmt: skip
    marker = '<Marker name="tip"><socket_parent_frame>/bodyset/welded</socket_parent_frame>'
    return osim_text(
        [body(name, 0.5 + 0.3 * i) for i, name in enumerate(bodies)], joints,
        coupler("lid", "knee", spline([-2.0, -0.4, 0.2, 0.9, 2.0], [-1.0, -0.3, 0.2, 0.5, 1.4])),
        marker + "<location>0.1 -0.2 0.05</location></Marker>",
        '<ContactSphere name="ball"><socket_frame>/bodyset/plane</socket_frame><location>0 -0.1 0</location>'
        "<radius>0.04</radius></ContactSphere>",
    )  # fmt: skip
