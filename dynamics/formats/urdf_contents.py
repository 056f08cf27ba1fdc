"""Names of what a URDF holds and no robot of this package has."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from dynamics.arguments import list_names
from dynamics.errors import UrdfError
from dynamics.formats.urdf_transmission import is_read

OF_ROBOT = ("link", "joint", "transmission", "material")
OF_LINK = ("inertial", "visual", "collision")
OF_JOINT = ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic")
ATTRIBUTES = {
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "origin": ("xyz", "rpy", "quat_xyzw"),
}


def left_out(robot: Element) -> tuple[str, ...]:
    """A phrase for every kind of element or attribute that is not read, with the names of their owners."""
    found: dict[str, list[str]] = {}
    others: dict[str, list[Element]] = {}
    for element in elements(robot):
        if element.tag not in OF_ROBOT:
            others.setdefault(element.tag, []).append(element)
        elif element.tag == "transmission" and not is_read(element):
            found.setdefault("<transmission>", []).append(element.get("name", "without a name"))
        elif element.tag in ("link", "joint"):
            known = OF_LINK if element.tag == "link" else OF_JOINT
            for part in _unread(element, known):
                found.setdefault(f"{part} of {element.tag}s", []).append(element.get("name", ""))
    lines = [f"{what}: {list_names(dict.fromkeys(names))}" for what, names in found.items()]
    return (*lines, *(f"<{_local(tag)}>: {_inside(other)}" for tag, other in others.items()))


def _unread(element: Element, known: tuple[str, ...]) -> Iterable[str]:
    """The parts of a link or joint that are not read, as messages spell them."""
    for child in elements(element):
        if child.tag not in known:
            yield f"<{_local(child.tag)}>"
        for key in child.attrib:
            if element.tag == "joint" and key not in ATTRIBUTES.get(child.tag, (*child.attrib,)):
                yield f"{key} of <{child.tag}>"
    limit = element.find("limit")
    if element.get("type") == "continuous" and limit is not None and {"lower", "upper"} & {*limit.attrib}:
        yield "lower and upper of <limit>"


def _inside(found: list[Element]) -> str:
    """Number of these elements, and tags of what they hold, in words."""
    tags = dict.fromkeys(_local(child.tag) for each in found for child in elements(each))
    return f"{len(found)}" + (f", with {list_names(tags)}" if tags else "")


def _local(tag: str) -> str:
    """A tag with the last word of its namespace, "xacro:macro"."""
    space, _, name = tag.rpartition("}")
    return f"{space.rpartition('/')[2].lstrip('{')}:{name}" if space else name


def elements(parent: Element) -> Iterable[Element]:
    """The children that are elements, no comments."""
    return (child for child in parent if isinstance(child.tag, str))


def check_strict(found: tuple[str, ...]) -> None:
    """UrdfError that names what is left out, where there is anything."""
    if found:
        raise UrdfError(
            f"strict: the file holds what is no part of the robot: {'; '.join(found)}: remove it, or load "
            "with strict=False"
        )
