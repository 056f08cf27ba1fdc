"""Reads SRDF, which says beside a URDF which links may touch, and names groups of joints and their states."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from xml.etree.ElementTree import Element

from dynamics.arguments import list_names
from dynamics.errors import UrdfError
from dynamics.formats.urdf_elements import required, required_number
from dynamics.formats.xml_source import xml_root
from dynamics.model.kinematic_tree import KinematicTree, checked_model

READ = ("disable_collisions", "disable_default_collisions", "enable_collisions", "group", "group_state")


@dataclass(frozen=True, eq=False)
class Srdf:
    """Content of an SRDF: groups, poses, disabled collisions.

    allowed_pairs : two links that may touch each other, and why, for `model.with_shapes`
    groups : name -> joints with a coordinate, in the robot's order
    states : name of a group, "" where none is named -> name of a state -> joint -> rad or m
    left_out : what the file holds beside, a phrase each
    """

    allowed_pairs: tuple[tuple[str, str, str], ...]
    groups: Mapping[str, tuple[str, ...]]
    states: Mapping[str, Mapping[str, Mapping[str, float]]]
    left_out: tuple[str, ...]


def load_srdf(path_or_xml: str | os.PathLike[str], model: KinematicTree) -> Srdf:
    """The SRDF of a robot, from a file or a string that starts with "<".

    Links and joints that the robot does not have, and groups that the file does not define, are passed over
    and named in `left_out`, as planners pass over them. Raises UrdfError naming the element.
    """
    checked_model(model)
    root = xml_root(path_or_xml)
    if root.tag != "robot" or root.find("link") is not None:
        raise UrdfError(
            f"this is no SRDF, whose <robot> holds <group> and <disable_collisions>, no links: its root is "
            f"<{root.tag}>{' with links' if root.tag == 'robot' else ''}"
        )
    reading = _Reading(root, model)
    pairs, groups = reading.pairs(), {name: reading.group(name, ()) for name in reading.groups}
    states: dict[str, dict[str, Mapping[str, float]]] = {}
    for element in root.findall("group_state"):
        name = required(element, "name", "a <group_state>")
        group = element.get("group", "")  # without one it is a state of the joints that it holds
        states.setdefault(group, {})[name] = MappingProxyType(reading.state(element, name))
    frozen = {group: MappingProxyType(named) for group, named in states.items()}
    return Srdf(pairs, MappingProxyType(groups), MappingProxyType(frozen), reading.left_out())


class _Reading:
    """One SRDF being read; unknown : kind -> names that the robot does not have."""

    def __init__(self, root: Element, model: KinematicTree) -> None:
        self.root, self.model = root, model
        self.carried = {name: name for name in model.link_names}
        self.carried |= {frame.name: frame.body or "" for frame in model.frames}  # "" is the ground
        self.groups = {required(each, "name", "a <group>"): each for each in root.findall("group")}
        self.unknown: dict[str, list[str]] = {"links": [], "joints": [], "groups": []}

    def pairs(self) -> tuple[tuple[str, str, str], ...]:
        """The pairs of links that may touch, each once."""
        found: dict[frozenset[str], tuple[str, str, str]] = {}
        for element in self.root.findall("disable_default_collisions"):
            link = required(element, "link", "<disable_default_collisions>")
            for other in self.carried if self._has(link) else ():
                if other != link:
                    found[frozenset((link, other))] = (link, other, "SRDF: off by default")
        for element in self.root.findall("enable_collisions"):
            found.pop(frozenset(self._ends(element)), None)
        for element in self.root.findall("disable_collisions"):
            first, second = self._ends(element)
            if all([self._has(first), self._has(second)]) and first != second:
                why = element.get("reason", "").strip() or "no reason given"
                found[frozenset((first, second))] = (first, second, f"SRDF: {why}")
        return tuple(found.values())

    def _ends(self, element: Element) -> tuple[str, str]:
        what = f"<{element.tag}>"
        return required(element, "link1", what), required(element, "link2", what)

    def _has(self, link: str) -> bool:
        if link not in self.carried:
            self.unknown["links"].append(link)
        return link in self.carried

    def group(self, name: str, outer: tuple[str, ...]) -> tuple[str, ...]:
        """The joints of a group; outer : the groups that hold it."""
        if name in outer:
            raise UrdfError(f"group {name!r} holds itself")
        if name not in self.groups:
            self.unknown["groups"].append(name)
            return ()
        found: set[str] = set()
        for part in self.groups[name]:
            what = f"group {name!r}: <{part.tag}>"
            if part.tag == "group":
                found.update(self.group(required(part, "name", what), (*outer, name)))
            elif part.tag == "joint":
                found.add(required(part, "name", what))
            elif part.tag == "link":
                found.update(self._path(required(part, "name", what))[:1])
            elif part.tag == "chain":
                base, tip = (required(part, end, what) for end in ("base_link", "tip_link"))
                found.update(self._chain(base, tip))
        return tuple(joint for joint in self.model.joint_names if joint in found)

    def _path(self, link: str) -> list[str]:
        """The joints from a link inward to the ground."""
        body, found = self.carried[link] if self._has(link) else "", list[str]()
        while body:
            index = self.model.link_index(body)
            found.append(self.model.bodies[index].joint.name)
            body = self.model.bodies[index].parent or ""
        return found

    def _chain(self, base: str, tip: str) -> Iterable[str]:
        inner = set(self._path(base))
        return [joint for joint in self._path(tip) if joint not in inner]

    def state(self, element: Element, name: str) -> dict[str, float]:
        """The values of a state's joints."""
        found: dict[str, float] = {}
        for part in element.findall("joint"):
            joint = required(part, "name", f"state {name!r}: <joint>")
            if joint in self.model.joint_names:
                found[joint] = required_number(part, "value", f"state {name!r}, joint {joint!r}")
            else:
                self.unknown["joints"].append(joint)
        return found

    def left_out(self) -> tuple[str, ...]:
        """Elements that are not read, and names that the robot does not have."""
        tags = [each.tag for each in self.root if isinstance(each.tag, str) and each.tag not in READ]
        lines = [f"<{tag}> of the SRDF: {tags.count(tag)}" for tag in dict.fromkeys(tags)]
        missing = {"links": "that the robot does not have", "joints": "that do not move in the robot"}
        missing["groups"] = "that it does not define, without which their groups are read"
        for kind, names in self.unknown.items():
            if names:
                lines.append(f"{kind} of the SRDF {missing[kind]}: {list_names(dict.fromkeys(names))}")
        return tuple(lines)
