"""The option `--out` of the commands: a folder to write into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class ResultFolder(click.ParamType):
    """A folder to write into; an empty one, from a variable that was not set, is refused."""

    name = "directory"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        if not str(value).strip():
            self.fail("the name of the folder is empty: name one, or leave the option out", param, ctx)
        return Path(value)
