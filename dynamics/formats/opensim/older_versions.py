"""Model files of OpenSim 1.9 to 3 rewritten in the elements of version 4, as its own reader does.

There a joint stands inside the body that it moves and has its places in parent and child as vectors of its
own; markers and spheres of contact name their body; six elements hold an inertia; `isDisabled` turns off.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

from dynamics.formats.opensim.elements import (
    GROUND,
    OFFSET_FRAME,
    flag_of,
    name_of,
    number_of,
    objects,
    text_of,
    vector_of,
)

JOINTS_BESIDE_BODIES = 40000  # the first version that needs no rewriting
MOMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")
DIGITS = ".6g"  # of inertias and places in OpenSim's own rewriting, whose results are met by the same
SPLINES = ("natCubicSpline", "NatCubicSpline", "NaturalCubicSpline")  # former names of SimmSpline
ENABLED = {"ConstraintSet": "isEnforced", "ForceSet": "appliesForce", "ControllerSet": "enabled"}
BODY_OF = {"MarkerSet": ("body", "socket_parent_frame"), "ContactGeometrySet": ("body_name", "socket_frame")}


def rewrite(model: Element) -> None:
    """Change a <Model> of a version before 4 into one of version 4; what has its form already stays."""
    for element in model.iter():
        if element.tag in SPLINES:
            element.tag = "SimmSpline"
    held = model.find("JointSet/objects")
    if held is None:
        held = SubElement(SubElement(model, "JointSet"), "objects")
    for joint in held:
        ends = {each.get("name"): text_of(each, "connectee_name") for each in joint.findall("connectors/*")}
        if ends.keys() >= {"parent_body", "child_body"}:
            _place(joint, *(ends[name].rpartition("/")[2] for name in ("parent_body", "child_body")))
    for body in list(objects(model, "BodySet")):
        for joint in body.findall("Joint/*"):
            named = f"joint '{joint.get('name') or joint.tag}'"  # one without a name gets that of its type
            parent = text_of(joint, "parent_body", what=named)
            _place(joint, parent, name_of(body, "a body"))
            held.append(joint)
        _rewrite_body(model, body)
    for kind, tag in ENABLED.items():
        for each in objects(model, kind):
            if each.find("isDisabled") is not None and each.find(tag) is None:
                SubElement(each, tag).text = str(not flag_of(each, "isDisabled", False))
    for kind, (old, new) in BODY_OF.items():
        for each in objects(model, kind):
            if each.find(new) is None and each.find(old) is not None:
                SubElement(each, new).text = _path(text_of(each, old))


def _rewrite_body(model: Element, body: Element) -> None:
    """One inertia in place of six elements; the ground is no body, and keeps its surfaces."""
    bodies = model.find("BodySet/objects")
    if body.get("name") == GROUND and bodies is not None:
        bodies.remove(body)
        SubElement(model, "Ground").extend(body.findall("WrapObjectSet"))
    elif body.find("inertia") is None:
        what = f"body '{body.get('name')}'"
        moments = [number_of(body, f"inertia_{moment}", "0", what) for moment in MOMENTS]
        SubElement(body, "inertia").text = _written(moments)


def _place(joint: Element, parent: str, child: str) -> None:
    """Give a joint its two frames and its coordinates in the places of version 4.

    One that is reversed moves the parent in the child: there its frames are swapped.
    """
    ends = {
        "parent": (parent, "location_in_parent", "orientation_in_parent"),
        "child": (child, "location", "orientation"),
    }
    other = {"parent": "child", "child": "parent"} if flag_of(joint, "reverse", False) else {}
    frames = SubElement(joint, "frames")
    for end, (body, place, turn) in ends.items():
        frame = SubElement(frames, OFFSET_FRAME, name=f"{end}_offset")
        SubElement(frame, "socket_parent").text = _path(body)
        for tag, source in (("translation", place), ("orientation", turn)):
            vector = vector_of(joint, source, "0 0 0", f"joint '{joint.get('name')}'")
            SubElement(frame, tag).text = _written(vector)
        SubElement(joint, f"socket_{other.get(end, end)}_frame").text = f"{end}_offset"
    if joint.find("coordinates") is None:
        SubElement(joint, "coordinates").extend(joint.findall("CoordinateSet/objects/*"))


def _written(values: Iterable[float]) -> str:
    return " ".join(f"{value:{DIGITS}}" for value in values)


def _path(body: str) -> str:
    return f"/{GROUND}" if body == GROUND else f"/bodyset/{body}"
