"""Meshes that a URDF names: where their files are, and their triangles, read by the package trimesh."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import unquote

import numpy as np

from dynamics.arguments import list_names
from dynamics.errors import UrdfError
from dynamics.formats.xml_source import lfs_hint

PACKAGES = ("package", "model")  # schemes of ROS and Gazebo
HEAD = 65536  # bytes of a COLLADA file, whose <asset> with its unit comes first
ODD_SIZE = (
    'meshes larger than 50 m or smaller than 1 mm: {}: a file in millimetres needs scale="0.001 0.001 0.001"'
    ", one in metres none"
)
SMALLEST, LARGEST = 1e-3, 50.0  # m, of links' meshes: 300 in mm is 300 m, and 0.3 m times 0.001 is 0.3 mm


def mesh_folders(
    path_or_xml: str | os.PathLike[str], folders: Sequence[str | os.PathLike[str]] = ()
) -> list[Path]:
    """Folders searched for the meshes of a URDF: those given, its own, and all above it."""
    text = os.fspath(path_or_xml)
    own = [] if text.lstrip().startswith("<") else [*Path(text).resolve().parents]
    return [*map(Path, folders), *own]


def found_mesh(name: str, folders: Sequence[Path], what: str) -> Path:
    """The file of a mesh called "package://p/m.stl" or "m.stl" in one of the folders; UrdfError in none.

    Backslashes separate folders, and %20 is a blank, where no file is called as it is written.
    what : whose mesh it is, for messages
    """
    slashed = name.replace("\\", "/")
    tails = [tail for each in dict.fromkeys((name, slashed, unquote(slashed))) for tail in _tails(each)]
    files = [folder / tail for folder in folders for tail in dict.fromkeys(tails)]
    for file in files:
        if file.is_file():
            return file
    searched = f" {list_names([str(folder) for folder in folders])}" if folders else ", as none is known"
    near = next((path for file in files for path in _in_other_case(file)), None)
    if near is not None:
        advice = f"there is {str(near)!r}: write its letters alike"
    elif PureWindowsPath(tails[-1]).drive:
        advice = "it is a path of another machine: write package://NAME/FILE in the URDF"
    else:
        advice = f"give folders=[...], one of which holds {_tails(slashed)[0]}"
    raise UrdfError(f"{what}: the mesh {name!r} is in none of the folders{searched}: {advice}")


def _tails(name: str) -> list[str]:
    """The paths below a folder at which a mesh may be: of a package with and without its name."""
    scheme, separator, path = name.rpartition("://")
    if separator and scheme in PACKAGES:
        path = path.lstrip("/")
        return [path, path.partition("/")[2].lstrip("/")]
    return [path]


def _in_other_case(file: Path) -> list[Path]:
    """The files beside one that is not there whose names differ from its own in capitals alone."""
    try:
        beside = [each for each in file.parent.iterdir() if each.name.lower() == file.name.lower()]
        return [each for each in beside if each.is_file()]
    except OSError:
        return []


def odd_size(vertices: np.ndarray) -> str:
    """The length of a mesh, "300 m", where no link is that large or small; otherwise empty."""
    return odd_length(float(np.ptp(vertices, axis=0).max()))


def odd_length(length: float) -> str:
    """The length of a link (m), "300 m", where none is that large or small; otherwise empty."""
    return "" if SMALLEST <= length <= LARGEST else f"{length:.3g} m"


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
        with file.open("rb") as stream:
            if hint := lfs_hint(stream.read(HEAD)):
                raise ValueError(f"it holds no mesh{hint}")
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
