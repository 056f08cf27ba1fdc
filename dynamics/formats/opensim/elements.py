"""Elements of a model file of OpenSim: texts, numbers, vectors, flags, objects of sets, and frames."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import join, normpath
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import list_names, short_repr
from dynamics.errors import OsimError, UrdfError
from dynamics.formats.urdf_elements import parsed
from dynamics.formats.xml_source import xml_root
from dynamics.model.mass_properties import IDENTITY, Pose
from dynamics.model.rotation import about_x, about_y, about_z

OLDEST = 10901  # of the versions that are read, by OpenSim 4 as here
GROUND = "ground"
OFFSET_FRAME = "PhysicalOffsetFrame"
STATION_FRAME = "StationDefinedFrame"
STATIONS = ("Station", "Marker")
CORNERS = ("point_a", "point_b", "point_c", "origin_point")
STATION_AXES = {"ab_axis": "+x", "ab_x_ac_axis": "+y"}
ON_A_LINE = 1e-9  # sine of the angle between three stations, below which rounding would turn the frame
INFINITE = {f"{sign}{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "infinity")}
NAMED = ("JointSet", "ConstraintSet", "ForceSet", "ControllerSet", "ContactGeometrySet", "MarkerSet")


def model_element(path_or_xml: str | os.PathLike[str]) -> tuple[Element, int]:
    """The <Model> of a file, or of XML from "<" on, and its version; OsimError where there is none."""
    try:
        root = xml_root(path_or_xml)
    except UrdfError as error:
        raise OsimError(str(error)) from error
    version, model = root.get("Version", ""), root.find("Model")
    if root.tag != "OpenSimDocument" or model is None:
        other = "; read a URDF by dynamics.load_urdf" if root.tag == "robot" else ""
        raise OsimError(
            f"the XML begins with <{root.tag}>; <OpenSimDocument> with a <Model> is expected{other}"
        )
    if not (version.isascii() and version.isdigit()) or int(version) < OLDEST:
        raise OsimError(
            f"the file has version {short_repr(version)}; {OLDEST} or later is read: open it in OpenSim 3.3 "
            "and save it again"
        )
    return model, int(version)


def objects(model: Element, kind: str) -> Iterator[Element]:
    """The objects of a set such as "BodySet", none where it is absent."""
    found = model.find(f"{kind}/objects")
    yield from () if found is None else found


def complete_names(model: Element) -> None:
    """Name objects of sets as OpenSim does: by their type where they have none, with _0 where it is taken."""
    for kind in NAMED:
        taken = set[str]()
        for element in objects(model, kind):
            name = wanted = element.get("name") or element.tag.lower()
            number = 0
            while name in taken:
                name, number = f"{wanted}_{number}", number + 1
            taken.add(name)
            element.set("name", name)


def coordinate_named(text: str, coordinates: Collection[str], what: str) -> str:
    """The coordinate that an element names, alone or by path, of a shared name the first; else OsimError."""
    ends = [text, "/".join(text.split("/")[-2:]), text.rpartition("/")[2]]
    shared = (name for name in coordinates if name.endswith(f"/{text}"))
    found = next((name for name in ends if name in coordinates), None) or next(shared, None)
    if found is None:
        raise OsimError(f"{what} '{text}', which is no coordinate: there are {list_names(coordinates)}")
    return found


def name_of(element: Element, what: str) -> str:
    """The name of an object; OsimError where it has none."""
    name = element.get("name", "")
    if not name:
        raise OsimError(f"{what} <{element.tag}> has no name: give it one")
    return name


def text_of(element: Element, tag: str, default: str | None = None, what: str = "") -> str:
    """The text of a child, its default where that is absent or empty; OsimError where both are absent."""
    found = element.findtext(tag)
    if found is None and default is None:
        raise OsimError(f"{what or element.get('name')} has no <{tag}>: write it")
    return (found or "").strip() or default or ""


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
    """A frame at a pose in another frame or body, whose path is `parent`."""

    parent: str
    pose: Pose


def offset_frames(model: Element) -> dict[str, OffsetFrame]:
    """Frames of the joints, the bodies, the ground and the model, by path such as /bodyset/femur_r/knee."""
    holders = [("/ground", model.find("Ground/components")), ("", model.find("components"))]
    holders += [(f"/{kind.lower()}", model.find(f"{kind}/objects")) for kind in ("ComponentSet", "MarkerSet")]
    for folder, kind, tag in (("/bodyset", "BodySet", "components"), ("/jointset", "JointSet", "frames")):
        holders += [(f"{folder}/{each.get('name')}", each.find(tag)) for each in objects(model, kind)]
    found: dict[str, OffsetFrame] = {}
    stations: dict[str, Element] = {}
    of_stations: dict[str, Element] = {}
    for owner, holder in holders:
        for path, frame in _frames_below(owner, holder):
            if path in found or path in of_stations:
                raise OsimError(f"two frames are named '{path}': rename one")
            if frame.tag in STATIONS:
                stations[path] = frame
            elif frame.tag == STATION_FRAME:
                of_stations[path] = frame
            else:
                found[path] = _offset_frame(frame, path)
    while of_stations:
        waiting = {path.rpartition("/")[2] for path in of_stations}
        for path, frame in of_stations.items():
            what = f"frame '{frame.get('name')}'"
            ends = [_station_of(frame, socket, what, path, stations, found) for socket in CORNERS]
            if not waiting & {body for body, _ in ends}:
                found[path] = _station_frame(frame, what, ends)
        if not found.keys() & of_stations.keys():
            raise OsimError(f"frames by stations wait for one another: {list_names(of_stations)}")
        of_stations = {path: frame for path, frame in of_stations.items() if path not in found}
    return found


def _frames_below(owner: str, holder: Element | None) -> Iterator[tuple[str, Element]]:
    """The paths and elements of frames and stations in a list of components, and of those in their own."""
    for frame in () if holder is None else holder:
        if frame.tag in (OFFSET_FRAME, STATION_FRAME, *STATIONS):
            path = f"{owner}/{frame.get('name') or frame.tag.lower()}"
            yield path, frame
            yield from _frames_below(path, frame.find("components"))


def _station_of(
    frame: Element, socket: str, what: str, owner: str, stations: Mapping[str, Element],
    frames: Mapping[str, OffsetFrame],
) -> tuple[str, np.ndarray]:  # fmt: skip
    """The body, or the first frame that is not there yet, of a station that a socket names, and its place."""
    path = absolute(text_of(frame, f"socket_{socket}", what=what), owner)
    named = [path] if path in stations else [
        each for each in stations if each.rpartition("/")[2] == path.rpartition("/")[2]
    ]  # fmt: skip
    if len(named) != 1:
        raise OsimError(f"{what}: its {socket} is '{path}', the name of {len(named)} stations: name one")
    station, where = stations[named[0]], f"station '{named[0]}'"
    parent = text_of(station, "socket_parent_frame", what=where)
    body, pose = body_and_pose(parent, named[0], frames)
    return body, pose.position + pose.rotation @ vector_of(station, "location", "0 0 0", where)


def _station_frame(frame: Element, what: str, ends: Sequence[tuple[str, np.ndarray]]) -> OffsetFrame:
    """The frame at a station, one axis along b - a, another along (b - a) x (c - a) of three stations."""
    bodies = sorted({body for body, _ in ends})
    if len(bodies) > 1:
        raise OsimError(f"{what} has stations on {' and '.join(bodies)}: put all on one body")
    a, b, c, origin = (place for _, place in ends)
    along, across = (_signed_axis(frame, tag, default, what) for tag, default in STATION_AXES.items())
    sides, normal = (b - a, c - a), np.cross(b - a, c - a)
    size = np.linalg.norm(normal)
    if size <= ON_A_LINE * np.prod(np.linalg.norm(sides, axis=1)) or along @ across:
        raise OsimError(f"{what}: its stations are on a line, or its two axes are the same: correct them")
    first, second = sides[0] / np.linalg.norm(sides[0]), normal / size
    turned = np.column_stack([first, second, np.cross(first, second)])
    written = np.column_stack([along, across, np.cross(along, across)])
    path = f"/{GROUND}" if bodies[0] == GROUND else f"/bodyset/{bodies[0]}"
    return OffsetFrame(path, Pose(turned @ written.T, origin))


def _signed_axis(frame: Element, tag: str, default: str, what: str) -> np.ndarray:
    """The unit vector of +x, -y or z."""
    text = text_of(frame, tag, default).lower()
    axes: dict[str, np.ndarray] = dict(zip("xyz", np.eye(3), strict=True))
    if text.lstrip("+-") not in axes or len(text) > 2:
        raise OsimError(f"{what}: {tag} is {short_repr(text)}; write +x, -y or the like")
    return axes[text[-1]] * (-1.0 if text[0] == "-" else 1.0)


def _offset_frame(frame: Element, path: str) -> OffsetFrame:
    what = f"frame '{frame.get('name')}'"
    x, y, z = vector_of(frame, "orientation", "0 0 0", what).tolist()
    pose = Pose(about_x(x) @ about_y(y) @ about_z(z), vector_of(frame, "translation", "0 0 0", what))
    return OffsetFrame(absolute(text_of(frame, "socket_parent", what=what), path), pose)


def absolute(path: str, owner: str) -> str:
    """The path of a component that another one at the path `owner` names, such as .. or ../../bodyset/x."""
    return normpath(join(owner, path))


def body_and_pose(path: str, owner: str, frames: Mapping[str, OffsetFrame]) -> tuple[str, Pose]:
    """The body at the end of a path of frames, which the component at `owner` names, and the pose in it.

    Where nothing is at a path, its last name counts, as in OpenSim; OsimError where several frames have it.
    """
    path, pose, seen = absolute(path, owner), IDENTITY, set[str]()
    while True:
        name = path.rpartition("/")[2]
        is_body = path in (f"/bodyset/{name}", f"/{GROUND}")
        named = [path] if path in frames else [each for each in frames if each.endswith(f"/{name}")]
        if is_body or not named:
            return name, pose
        if len(named) > 1:
            raise OsimError(f"'{path}' may be {' or '.join(named)}: write the path of one")
        if named[0] in seen:
            raise OsimError(f"frame '{name}' is fixed to itself: give it a body as socket_parent")
        seen.add(named[0])
        frame = frames[named[0]]
        pose, path = frame.pose.then(pose), frame.parent
