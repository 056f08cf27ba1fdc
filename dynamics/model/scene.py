"""`Scene`, the shapes that stand around a robot, and its files."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dynamics.arguments import list_names, short_repr
from dynamics.errors import DynamicsError, JsonError, ModelError
from dynamics.model.shape import KINDS, Shape, pose_of

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"

FORMAT = "scene"
KEYS = ("kind", "size", "position", "rotation", "quaternion_xyzw", "name", "points")


@dataclass(frozen=True, eq=False)
class Scene:
    """Obstacles in the world, `Scene([dynamics.box((1, 1, 0.1), name="table")])`; it is never changed.

    shapes : in the world, their `carrier` None; those without a name are called after kind and place, "box 3"
    Raises ModelError for shapes on a link of a robot and for a name twice.
    """

    shapes: tuple[Shape, ...] = ()

    if TYPE_CHECKING:

        def __init__(self, shapes: Iterable[Shape] = ()) -> None: ...

    def __post_init__(self) -> None:
        named: list[Shape] = []
        for index, shape in enumerate(_listed(self.shapes)):
            if not isinstance(shape, Shape):
                raise ModelError(f"a scene holds {short_repr(shape)}; give shapes, `dynamics.box(...)` say")
            if shape.carrier is not None:
                raise ModelError(f"{shape!r} is part of a scene; shapes on links belong to the robot's model")
            named.append(shape if shape.name else replace(shape, name=f"{shape.kind} {index}"))
        times = Counter(shape.name for shape in named)
        twice = sorted(name for name, count in times.items() if count > 1)
        if twice:
            raise ModelError(f"the scene has several shapes called {list_names(twice)}; every name is unique")
        object.__setattr__(self, "shapes", tuple(named))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the shapes, in order."""
        return tuple(shape.name for shape in self.shapes)

    def with_shapes(self, *shapes: Shape) -> Scene:
        """The same scene with further shapes."""
        return Scene((*self.shapes, *shapes))

    def to_data(self) -> dict[str, Any]:
        """Keys and values of `to_json`."""
        shapes: list[dict[str, Any]] = []
        for shape in self.shapes:
            entry: dict[str, Any] = {"name": shape.name, "kind": shape.kind, "size": shape.size.tolist()}
            entry |= {"position": shape.position.tolist(), "rotation": shape.rotation.tolist()}
            shapes.append(entry | ({"points": shape.points.tolist()} if len(shape.points) else {}))
        return {"format": FORMAT, "shapes": shapes}

    def to_json(self) -> str:
        """The scene as JSON text, {"format": "scene", "shapes": [{"kind": "box", ...}]}, see `from_json`."""
        return json.dumps(self.to_data(), indent=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @staticmethod
    def from_json(text: str) -> Scene:
        """The scene of a JSON text: an object with "shapes", a list, or that list alone.

        Of every shape: "kind" and "size" as in `Shape` are needed (no size: "half_space"); "name"; "position"
        (3,) m; either "rotation", a matrix, quaternion or rotation vector as in `dynamics.box`, or
        "quaternion_xyzw"; "points" of a cloud. Raises JsonError, naming the entry.
        """
        try:
            content: Json = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise JsonError(f"this is not JSON text: {error}") from error
        entries = content.get("shapes") if isinstance(content, dict) else content
        if not isinstance(entries, list):
            raise JsonError(
                f'this is no scene but {short_repr(content)}; an object with the list "shapes" is expected, '
                'which may be empty: {"shapes": []}'
            )
        return Scene(tuple(_read(entry, f"shapes[{index}]") for index, entry in enumerate(entries)))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scene:
        """The scene of a file, see `from_json`. Raises JsonError, also where the file cannot be read."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise JsonError(f"the scene {os.fspath(path)!r} cannot be read: {error}") from error
        try:
            return Scene.from_json(text)
        except JsonError as error:
            raise JsonError(f"the scene {os.fspath(path)!r}: {error}") from error

    def __repr__(self) -> str:
        return f"<Scene of {len(self.shapes)} shapes: {list_names(self.names)}>"


def _listed(given: Iterable[Shape]) -> tuple[Shape, ...]:
    try:
        return tuple(given)
    except TypeError as error:
        raise ModelError(f"a scene is made of {short_repr(given)}; give a list of shapes") from error


def _read(content: Json, what: str) -> Shape:
    """The shape of one entry; JsonError names it."""
    if not isinstance(content, dict):
        raise JsonError(f"{what} is {short_repr(content)}; an object with kind and size is expected")
    entry: dict[str, Any] = dict(content)
    unknown = sorted(set(entry) - set(KEYS))
    if unknown:
        raise JsonError(f"{what} has the unknown key {short_repr(unknown[0])}; a shape has {', '.join(KEYS)}")
    if "rotation" in entry and "quaternion_xyzw" in entry:
        raise JsonError(f"{what} has both rotation and quaternion_xyzw; give one of them")
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise JsonError(f"{what} has the kind {short_repr(kind)}; it is one of {', '.join(KINDS)}")
    turned = entry.get("rotation", entry.get("quaternion_xyzw"))
    try:
        position, rotation = pose_of(entry.get("position", (0.0, 0.0, 0.0)), turned, what)
        points = entry.get("points", np.empty((0, 3)))
        return Shape(kind, entry.get("size", ()), rotation, position, None, entry.get("name", ""), points)
    except DynamicsError as error:
        raise JsonError(f"{what}: {error}") from error
