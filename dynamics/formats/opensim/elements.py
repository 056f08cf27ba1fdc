"""Elements of a model file of OpenSim: texts, numbers, vectors, flags, objects of sets, and frames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import short_repr
from dynamics.errors import OsimError, UrdfError
from dynamics.formats.urdf_elements import parsed
from dynamics.formats.xml_source import xml_root
from dynamics.model.mass_properties import IDENTITY, Pose
from dynamics.model.rotation import about_x, about_y, about_z

OLDEST = 40000  # of the versions whose joints stand beside bodies and whose frames are named
GROUND = "ground"
OFFSET_FRAME = "PhysicalOffsetFrame"
INFINITE = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf}


def model_element(path_or_xml: str | os.PathLike[str]) -> Element:
    """The <Model> of a file, or of XML that starts with "<"; OsimError where there is none of version 4."""
    try:
        root = xml_root(path_or_xml)
    except UrdfError as error:
        raise OsimError(str(error)) from error
    version, model = root.get("Version", ""), root.find("Model")
    if root.tag != "OpenSimDocument" or model is None:
        raise OsimError(f"the XML begins with <{root.tag}>; <OpenSimDocument> with a <Model> is expected")
    if not version.isdigit() or int(version) < OLDEST:
        raise OsimError(
            f"the file has version {short_repr(version)}; {OLDEST} or later is read: open it in OpenSim 4 "
            "and save it again"
        )
    return model


def objects(model: Element, kind: str) -> Iterator[Element]:
    """The objects of a set such as "BodySet", none where it is absent."""
    found = model.find(f"{kind}/objects")
    yield from () if found is None else found


def name_of(element: Element, what: str) -> str:
    """The name of an object; OsimError where it has none."""
    name = element.get("name", "")
    if not name:
        raise OsimError(f"{what} <{element.tag}> has no name: give it one")
    return name


def text_of(element: Element, tag: str, default: str | None = None, what: str = "") -> str:
    """The text of a child; OsimError where it is absent and has no default."""
    found = element.findtext(tag)
    if found is None and default is None:
        raise OsimError(f"{what or element.get('name')} has no <{tag}>: write it")
    return (default or "") if found is None else found.strip()


def numbers_of(text: str, what: str, count: int | None = None, unbounded: bool = False) -> np.ndarray:
    """Numbers with blanks or commas between; OsimError for what is none, or for another count.

    unbounded : whether they may be infinite
    """
    words = text.replace(",", " ").split()
    try:
        values = np.array(
            [
                INFINITE[word.lower()] if unbounded and word.lower() in INFINITE else parsed(word, what)
                for word in words
            ]
        )
    except UrdfError as error:
        raise OsimError(str(error)) from error
    if count is not None and len(values) != count:
        raise OsimError(f"{what} is {short_repr(text)}; {count} numbers are expected")
    return values


def vector_of(element: Element, tag: str, default: str, what: str, count: int = 3) -> np.ndarray:
    """The numbers of a child, (count,)."""
    return numbers_of(text_of(element, tag, default), f"{what}: {tag}", count)


def number_of(element: Element, tag: str, default: str | None, what: str, unbounded: bool = False) -> float:
    """The number of a child."""
    return float(numbers_of(text_of(element, tag, default, what), f"{what}: {tag}", 1, unbounded)[0])


def flag_of(element: Element, tag: str, default: bool) -> bool:
    """A child that is true or false; OsimError for another word."""
    text = text_of(element, tag, str(default)).lower()
    if text not in ("true", "false"):
        raise OsimError(f"{element.get('name')}: {tag} is {short_repr(text)}; write true or false")
    return text == "true"


@dataclass(frozen=True, eq=False)
class OffsetFrame:
    """A frame at a pose in another frame or body."""

    parent: str
    pose: Pose


def offset_frames(element: Element) -> dict[str, OffsetFrame]:
    """The frames among the children of an element, by name."""
    found = {}
    for frame in element.findall(OFFSET_FRAME):
        name = name_of(frame, "a frame")
        what = f"frame '{name}'"
        x, y, z = vector_of(frame, "orientation", "0 0 0", what).tolist()
        turned = about_x(x) @ about_y(y) @ about_z(z)
        pose = Pose(turned, vector_of(frame, "translation", "0 0 0", what))
        found[name] = OffsetFrame(text_of(frame, "socket_parent", what=what), pose)
    return found


def body_and_pose(
    path: str, own: Mapping[str, OffsetFrame], everywhere: Mapping[str, OffsetFrame]
) -> tuple[str, Pose]:
    """The body at the end of a path of frames, and the pose of the frame in it.

    own : frames of the element that names the path, which go before those `everywhere` in the model
    """
    pose, seen = IDENTITY, set[str]()
    while True:
        name = path.rpartition("/")[2]
        is_body = "/bodyset/" in f"/{path}" or path in ("/ground", GROUND)
        frame = None if is_body and name not in own else own.get(name) or everywhere.get(name)
        if frame is None:
            return name, pose
        if name in seen:
            raise OsimError(f"frame '{name}' is fixed to itself: give it a body as socket_parent")
        seen.add(name)
        pose, path = frame.pose.then(pose), frame.parent
        own = {}
