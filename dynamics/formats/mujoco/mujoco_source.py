"""A model compiled by MuJoCo, from a file, from XML, or given; MuJoCo itself is imported here alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from dynamics.arguments import list_names, short_repr
from dynamics.errors import MujocoError, MujocoWarning, warn_user


def mujoco_module() -> Any:
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
    is_xml = isinstance(text, str) and text.lstrip("\ufeff \t\r\n").startswith("<")
    if not is_xml and not Path(text).is_file():
        raise MujocoError(f"there is no file {short_repr(text)}; give a path, or XML that starts with '<'")
    try:
        with warnings_of(mujoco):
            spec = mujoco.MjSpec.from_string(text) if is_xml else mujoco.MjSpec.from_file(str(text))
            return without_missing_meshes(spec, mujoco).compile()
    except (ValueError, RuntimeError, OSError) as error:
        where = "the XML" if is_xml else short_repr(text)
        raise MujocoError(f"MuJoCo cannot compile {where}: {' '.join(str(error).split())}") from error


@contextmanager
def warnings_of(mujoco: Any) -> Iterator[None]:
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


def without_missing_meshes(spec: Any, mujoco: Any) -> Any:
    """The specification without shapes of meshes that no file has, where bodies state their inertia."""
    folder = Path(spec.modelfiledir or ".") / (spec.meshdir or "")
    missing = {mesh.name for mesh in spec.meshes if mesh.file and not (folder / mesh.file).is_file()}
    for body in spec.bodies if missing else ():
        for geom in list(body.geoms) if body.explicitinertial else ():
            if geom.type == mujoco.mjtGeom.mjGEOM_MESH and geom.meshname in missing:
                spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH}
    for mesh in list(spec.meshes):
        if mesh.name in missing and mesh.name not in used:
            spec.delete(mesh)
    return spec
