"""Robot models as JSON text and back; every float comes back bit for bit."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from dynamics.arguments import short_repr
from dynamics.errors import JsonError
from dynamics.model.body import Body, Frame
from dynamics.model.joint import Joint
from dynamics.model.joint_limits import JointLimits
from dynamics.model.rotor import Rotor
from dynamics.model.shape import Shape

FORMAT = "rigid-body model"
VERSION = 1
NESTED = {"joint": Joint, "limits": JointLimits, "rotor": Rotor}
LISTS = {"bodies": Body, "frames": Frame, "shapes": Shape}

Model = TypeVar("Model")


def model_to_json(model: object) -> str:
    """The text of `KinematicTree.to_json`: the fields by name, infinite limits left out."""
    content = {"format": FORMAT, "version": VERSION, **plain(model)}
    return json.dumps(content, indent=1, allow_nan=False)


def plain(value: Any) -> Any:
    """`value` as dictionaries, lists, numbers and strings; what most models have not is left out."""
    if is_dataclass(value):
        entries = {f.name: getattr(value, f.name) for f in fields(value)}
        for key in ("centre", "neighbour"):
            if entries.get(key, entries) is None:
                del entries[key]
        if entries.get("ground_mass") == 0.0:
            del entries["ground_mass"]
        entries.pop("source", None)  # a path of this machine
        for key in ("may_lack_mass", "continuous"):
            if entries.get(key) is False:
                del entries[key]
        for key in ("shapes", "allowed_pairs", "points", "left_out"):
            if key in entries and len(entries[key]) == 0:
                del entries[key]
        return {key: plain(entry) for key, entry in entries.items() if not is_infinite(entry)}
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def model_from_json(text: str, kind: type[Model]) -> Model:
    """The model of class `kind`, a `KinematicTree`, saved by `model_to_json`; JsonError otherwise."""
    try:
        content = json.loads(text, parse_constant=refuse_constant)
    except (TypeError, ValueError, RecursionError) as error:
        raise JsonError(f"this is not JSON text: {error}") from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise JsonError(f'this is not a saved model; the key "format" must be "{FORMAT}"')
    version = content.pop("version", None)
    if version != VERSION:
        raise JsonError(
            f"the saved model has version {short_repr(version)}, this program reads version {VERSION}"
        )
    return built(kind, content, "the model")


def refuse_constant(name: str) -> float:
    raise JsonError(f"{name} is no number of a model; leave a limit out when there is none")


def built(kind: type, content: Any, what: str) -> Any:
    """A `kind` from its dictionary; JsonError when keys are missing, unknown or of the wrong type."""
    if not isinstance(content, dict):
        found = type(content).__name__
        raise JsonError(f"{what} is {found}; an object with the keys of {kind.__name__} is expected")
    known = [f.name for f in fields(kind)]
    for key in content:
        if key not in known:
            raise JsonError(
                f"{what} has the unknown key {short_repr(key)}; {kind.__name__} has {', '.join(known)}"
            )
    required = [key for key in ("bodies", "name", "joint", "gear_ratio") if key in known]
    for key in required:
        if key not in content:
            raise JsonError(f"{what} lacks the key {key!r}")
    return kind(**{key: entry_of(key, entry, what) for key, entry in content.items()})


def entry_of(key: str, entry: Any, what: str) -> Any:
    if key in LISTS:
        if not isinstance(entry, list):
            raise JsonError(f"{what}: {key} is {type(entry).__name__}; a list is expected")
        return tuple(built(LISTS[key], item, f"{key}[{i}]") for i, item in enumerate(entry))
    if key in NESTED and entry is not None:
        return built(NESTED[key], entry, f"{what}: {key}")
    return entry
