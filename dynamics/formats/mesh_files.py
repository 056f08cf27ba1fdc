"""Meshes that a URDF names: where their files are, and their triangles, read by the package trimesh."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.arguments import list_names
from dynamics.errors import UrdfError

PACKAGE = "package://"
HEAD = 65536  # bytes of a COLLADA file, whose <asset> with its unit comes first


def mesh_folders(
    path_or_xml: str | os.PathLike[str], folders: Sequence[str | os.PathLike[str]] = ()
) -> list[Path]:
    """Folders searched for the meshes of a URDF: those given, its own, and all above it."""
    text = os.fspath(path_or_xml)
    own = [] if text.lstrip().startswith("<") else [*Path(text).resolve().parents]
    return [*map(Path, folders), *own]


def found_mesh(name: str, folders: Sequence[Path], what: str) -> Path:
    """The file of a mesh called "package://p/m.stl" or "m.stl" in one of the folders; UrdfError in none.

    what : whose mesh it is, for messages
    """
    path = name.removeprefix("file://")
    tails = [path]
    if name.startswith(PACKAGE):
        path = name.removeprefix(PACKAGE)
        tails = [path, path.partition("/")[2]]
    for file in (folder / tail for folder in folders for tail in tails):
        if file.is_file():
            return file
    searched = f" {list_names([str(folder) for folder in folders])}" if folders else ", as none is known"
    raise UrdfError(
        f"{what}: the mesh {name!r} is in none of the folders{searched}: give folders=[...], "
        f"one of which holds {tails[0]}"
    )


def mesh_unit(file: Path) -> float:
    """The unit of a mesh, m: that of <unit meter="..."> of a COLLADA file, which trimesh passes over, or 1.

    Gazebo and RViz take it, coal does not. Raises ValueError where it is no positive number.
    """
    if file.suffix.lower() != ".dae":
        return 1.0
    with file.open("rb") as stream:
        found = re.search(rb"""<unit\b[^>]*\bmeter\s*=\s*["']([^"']*)""", stream.read(HEAD))
    unit = float(found[1]) if found else 1.0
    if not 0.0 < unit < math.inf:
        raise ValueError(f"its unit is {unit} m")
    return unit


def read_mesh(file: Path, what: str) -> Any:
    """The `trimesh.Trimesh` of a file, all its parts in one, in metres; UrdfError where it cannot be read.

    what : whose mesh it is, for messages
    """
    try:
        import trimesh
    except ImportError as error:
        raise UrdfError(
            f"{what} is the mesh {file.name!r}, which needs trimesh: pip install 'trajopt-splines[meshes]'"
        ) from error
    try:
        mesh: Any = trimesh.load(file, force="mesh")
        mesh.apply_scale(mesh_unit(file))
        vertices = np.asarray(mesh.vertices, dtype=float).reshape(-1, 3)
    except ImportError as error:
        raise UrdfError(
            f"{what}: the mesh {str(file)!r} needs a further package ({error}): "
            "pip install 'trajopt-splines[meshes]'"
        ) from error
    except Exception as error:  # a reader of a foreign format may raise anything
        raise UrdfError(f"{what}: the mesh {str(file)!r} cannot be read: {error}") from error
    if len(vertices) < 4 or not np.isfinite(vertices).all():
        raise UrdfError(f"{what}: the mesh {str(file)!r} has {len(vertices)} vertices, or some not finite")
    return mesh
