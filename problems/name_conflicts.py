"""A user's own file or folder `trajopt`, which hides the package that would name it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def refuse_another_trajopt() -> None:
    """Raise ImportError where `import trajopt` finds another module; the package itself names the others."""
    spec = find_spec("trajopt")
    places = () if spec is None else spec.submodule_search_locations or ()
    if spec is not None and not any((Path(place) / "py.typed").is_file() for place in places):
        raise ImportError(
            f"{spec.origin or ', '.join(places)} has the name of the package 'trajopt' and hides it: "
            "rename that file or folder"
        )
