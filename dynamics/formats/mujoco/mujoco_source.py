"""A model compiled by MuJoCo, from a file, from XML, or given; MuJoCo itself is imported here alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dynamics.arguments import list_names, short_repr
from dynamics.errors import MujocoError, MujocoWarning, warn_user


def mujoco_module() -> ModuleType:
    """The package; MujocoError where it is not installed."""
    try:
        return import_module("mujoco")
    except ImportError as error:
        raise MujocoError(
            "MuJoCo is not installed: pip install 'trajopt-splines[mujoco]', or read a URDF by load_urdf"
        ) from error


def compiled(model: Any) -> Any:
    """The `mujoco.MjModel` of a model, a path, or XML that starts with "<"."""
    mujoco = mujoco_module()
    if isinstance(model, mujoco.MjModel):
        return model
    if not isinstance(model, str | os.PathLike):
        raise MujocoError(f"the model is {short_repr(model)}; give a mujoco.MjModel, a path, or XML")
    text = os.fspath(model)
    is_xml = isinstance(text, str) and _begins_as_xml(text)
    if not is_xml and not Path(text).is_file():
        raise MujocoError(f"there is no file {short_repr(text)}; give a path, or XML that starts with '<'")
    try:
        with warnings_of(mujoco):
            spec = mujoco.MjSpec.from_string(text) if is_xml else _read_file(Path(os.fsdecode(text)), mujoco)
            return without_missing_files(spec, mujoco).compile()
    except (ValueError, RuntimeError, OSError) as error:
        where = "the XML" if is_xml else f"'{os.fsdecode(text)}'"
        reason = " ".join(str(error).split()).removeprefix("Error: ")
        way = ""
        if "Error opening file" in reason:
            way = ": put it there, or write <inertial> in each body whose mesh is missing"
        raise MujocoError(f"MuJoCo cannot compile {where}: {reason}{way}") from error


def _begins_as_xml(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def _read_file(path: Path, mujoco: ModuleType) -> Any:
    """The specification in a file; MuJoCo reads XML into one from names that end with .xml or .urdf alone."""
    content = path.read_bytes()
    if path.suffix in (".xml", ".urdf") or not _begins_as_xml(content[:1000].decode("utf-8", "replace")):
        return mujoco.MjSpec.from_file(str(path))
    named = path.with_name(f"{path.name}.xml")
    return mujoco.MjSpec.from_file(str(named), include={named.name: content})


@contextmanager
def warnings_of(mujoco: ModuleType) -> Iterator[None]:
    """Warnings of MuJoCo as a `MujocoWarning`; by itself it writes them to a file in the current folder."""
    texts: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(texts.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
    if texts:
        warn_user(f"MuJoCo warns: {list_names(texts)}", MujocoWarning)


def without_missing_files(spec: Any, mujoco: ModuleType) -> Any:
    """The specification without textures, which are looks, and without shapes of meshes that no file has.

    Shapes are kept where they give a mass that counts: that of a body that states no inertia and moves, or
    that MuJoCo is told to take from shapes or to scale with all others.
    """
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)
    folder = Path(spec.modelfiledir or ".") / (spec.meshdir or "")
    missing = {mesh.name for mesh in spec.meshes if mesh.file and not (folder / mesh.file).is_file()}
    shapes_weigh = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    scaled = spec.compiler.settotalmass > 0.0
    for body in spec.bodies if missing and not shapes_weigh else ():
        free_of_mass = body.explicitinertial or not (scaled or _moves(body))
        for geom in list(body.geoms) if free_of_mass else ():
            if geom.meshname in missing:
                spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name in missing and mesh.name not in used:
            spec.delete(mesh)
    return spec


def _moves(body: Any) -> bool:
    """True for a body that has a joint, or hangs on one that has."""
    return bool(body.joints) or (body.parent is not None and _moves(body.parent))
