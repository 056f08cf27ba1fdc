"""The build function of a problem that is named at the command line, as a value that workers can be sent."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from problems import catalogue
from problems.cli.problem_file import build_file, build_named, is_problem_file
from trajopt.studies.many.provenance import code_of_file, code_of_names


@dataclass(frozen=True)
class NamedBuild:
    """Builds the problem of a name of the catalogue or of a Python file.

    content : bytes of the file; a worker on another machine, where the file is not or is another, writes it
        into a temporary folder. Modules beside the file are not sent.
    code : digest of the modules that it is built by, so that a sweep does not resume where they have changed
    """

    name: str
    content: bytes | None = None
    code: str = ""

    @staticmethod
    def of(name_or_path: str) -> NamedBuild:
        """The build function of what was named; a file that cannot be read raises when it is built."""
        path = Path(name_or_path)
        if not is_problem_file(name_or_path) or not path.is_file():
            return NamedBuild(name_or_path, code=_code_of_library(name_or_path))
        try:
            return NamedBuild(str(path.resolve()), path.read_bytes(), code_of_file(path))
        except OSError:
            return NamedBuild(name_or_path)

    def __call__(self, **parameters: Any) -> Any:
        path = Path(self.name)
        if self.content is None or (path.is_file() and path.read_bytes() == self.content):
            return build_named(self.name, parameters)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            copy.write_bytes(self.content)
            return build_file(copy, parameters)


def _code_of_library(name: str) -> str:
    """Digest of the module of a problem of the catalogue; "" for a name that it does not have."""
    return code_of_names([catalogue.module(name).__name__]) if name in catalogue.names() else ""
