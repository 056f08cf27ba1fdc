"""The command `trajopt new`: writes a commented problem file that solves as it stands."""

from __future__ import annotations

import keyword
import sys
from importlib.resources import files
from pathlib import Path

import click

from problems.cli.command_errors import Complaint, explained
from problems.cli.output import Output, output_options
from trajopt.base.arguments import short_repr
from trajopt.base.files import write_text

KINDS = ("arm", "robot", "system", "walk")
OURS = ("trajopt", "dynamics", "problems")


@click.command()
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="arm",
    show_default=True,
    help="A planar arm, a robot from its URDF, a system x' = f(x, u), or a walk.",
)
@output_options("quiet")
@explained
def new(name: str, kind: str, output: Output) -> None:
    """Write NAME.py, a commented problem to change; it solves as it is written."""
    path = Path(name if name.endswith(".py") else f"{name}.py")
    check_name(path)
    if path.exists():
        raise Complaint(f"{path} is there already and is not overwritten: choose another name")
    if not path.parent.is_dir():
        raise Complaint(f"the folder {path.parent} does not exist: make it first")
    write_text(path, written(kind, path.stem))
    output.answer(f"written: {path}\nsolve it: trajopt solve {path} --plot --report")


def written(kind: str, name: str) -> str:
    """The text of a problem file with this name."""
    template = files("problems.templates").joinpath(f"{kind}.py").read_text(encoding="utf-8")
    return template.replace("NAME", name)


def check_name(path: Path) -> None:
    """Raise Complaint unless a file of this name can be a module and hides no other."""
    stem = path.stem
    if not stem.isidentifier() or keyword.iskeyword(stem):
        raise Complaint(
            f"{short_repr(stem)} is no name of a module: write letters, digits and underscores, "
            "such as my_arm"
        )
    if stem in OURS or stem in sys.stdlib_module_names:
        raise Complaint(
            f"a file {stem}.py would hide the module {stem} of Python or of trajopt: "
            f"give another name, such as my_{stem}"
        )
