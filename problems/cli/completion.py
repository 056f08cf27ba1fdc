"""Types of arguments, with completion while a command is typed: problems, parameters, solver options, files.

Nothing is imported and no problem file is run for it: names are read from the sources.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
VARIABLE = "_TRAJOPT_COMPLETE"  # in which the shell's function asks for names
MOST = 200  # files of a folder
LAST_OF_BASH = "    return 0\n"
#: A parameter is followed by its value and a folder by its files, so no space is added after them.
NO_SPACE = "    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace\n\n"


class Bash(BashComplete):
    """Click's completion for bash, without a space after "intervals=" and "results/"."""

    source_template = BashComplete.source_template.replace(LAST_OF_BASH, NO_SPACE + LAST_OF_BASH)


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


class NewFile(click.Path):
    """The path of a file to write; its folder is made at once, so that no work is done for nothing.

    endings : those that its name may have
    """

    def __init__(self, *endings: str) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix.lower() not in self.endings:
            self.fail(f"{path.name}: write a name that ends in {', '.join(self.endings)}", param, ctx)
        if ctx is None or not ctx.resilient_parsing:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                self.fail(f"'{path.parent}' is no folder that can be made: {error.strerror}", param, ctx)
        return path


FIGURE_FILE = NewFile(".png", ".pdf", ".svg")
VIEW_FILE = NewFile(".html", ".gif", ".mp4")


class ProblemName(click.ParamType):
    """The name of a problem of the library, or the path of a problem file."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        return [*library(incomplete), *paths(incomplete, (".py",))]


class ShownFile(click.ParamType):
    """Argument of `trajopt show`: a problem, a robot, a saved solution or its folder."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        return [*library(incomplete), *paths(incomplete, (".py", ".npz", ".urdf", ".osim", ".xml"))]


class SavedFile(click.Path):
    """A saved solution."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        return paths(incomplete, (".npz",))


class ResultFolder(click.ParamType):
    """A folder to write into; an empty one, from a variable that was not set, is refused."""

    name = "directory"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        if not str(value).strip():
            self.fail("the name of the folder is empty: name one, or leave the option out", param, ctx)
        return Path(value)


def words() -> list[str]:
    """The words typed so far, as the shell passes them.

    Click's own context lacks them here: it gives up at an option whose value is not there yet.
    """
    return split_arg_string(os.environ.get("COMP_WORDS", ""))[1:]


def settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Parameters of the problem that the command names, with their defaults as help."""
    sources = (source_of(word) for word in words())
    source = next((text for text in sources if text is not None), "")
    items = parameters_in(source)
    return [
        CompletionItem(f"{name}=", help=f"default {default}")
        for name, default in items.items()
        if name.startswith(incomplete)
    ]


def solver_options(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Settings of the solver that the command names, or of the default one."""
    from trajopt.solvers.run import DEFAULT, SOLVERS

    typed = words()
    place = typed.index("--solver") + 1 if "--solver" in typed else len(typed)
    name = typed[place] if place < len(typed) else DEFAULT
    names = SOLVERS[name].options if name in SOLVERS else ()
    return [CompletionItem(f"{name}=") for name in names if f"{name}=".startswith(incomplete)]


#: The option of commands that read a saved solution whose problem is a user's own.
own_problem = click.option(
    "--problem", metavar="FILE.py", type=ProblemName(), help="The user's own problem that was solved."
)


def settings_option(text: str, metavar: str = "KEY=VALUE", *, required: bool = False) -> Callable[..., Any]:
    """The option `--set` of a command, which may repeat, with its help."""
    return _assignments("--set", "assignments", text, settings, metavar, required)


def solver_option(text: str) -> Callable[..., Any]:
    """The option `--option` of a command, which may repeat, with its help."""
    return _assignments("--option", "options", text, solver_options, "KEY=VALUE")


def _assignments(
    option: str, name: str, text: str, complete: Any, metavar: str, required: bool = False
) -> Callable[..., Any]:
    more: dict[str, Any] = {"multiple": True, "metavar": metavar, "required": required}
    return click.option(option, name, help=text, shell_complete=complete, **more)


def library(incomplete: str) -> list[CompletionItem]:
    """Problems of the library whose names begin so."""
    from problems import catalogue

    known = catalogue.descriptions().items()
    return [CompletionItem(name, help=text) for name, text in known if name.startswith(incomplete)]


def paths(incomplete: str, endings: Iterable[str]) -> list[CompletionItem]:
    """Folders, and files with these endings, whose paths begin so; hidden ones only where a dot was typed."""
    typed, _, start = incomplete.rpartition("/")
    head = f"{typed}/" if "/" in incomplete else ""
    try:
        entries = sorted(Path(head or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # no such folder, no such user
        return []
    found = []
    for entry in entries:
        if entry.name.startswith(start) and (start.startswith(".") or not entry.name.startswith(".")):
            if entry.is_dir():
                found.append(CompletionItem(f"{head}{entry.name}/"))
            elif entry.suffix in endings:
                found.append(CompletionItem(f"{head}{entry.name}"))
    return found[:MOST]


def source_of(problem: str) -> str | None:
    """The text of a problem of the library or of a file; None where it cannot be read."""
    from problems import catalogue

    path = catalogue.path(problem) if problem in catalogue.names() else Path(problem).expanduser()
    try:
        return path.read_text(encoding="utf-8") if path.suffix == ".py" else None
    except (OSError, ValueError, RuntimeError):
        return None


def parameters_in(source: str) -> dict[str, str]:
    """Parameter -> default as written, of the function `build` in the text of a problem; it is not run."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    for statement in statements:
        if isinstance(statement, ast.FunctionDef) and statement.name == "build":
            given = statement.args
            placed = [*given.posonlyargs, *given.args]
            pairs = [
                *zip(placed[len(placed) - len(given.defaults) :], given.defaults, strict=True),
                *zip(given.kwonlyargs, given.kw_defaults, strict=True),
            ]
            return {each.arg: ast.unparse(default) for each, default in pairs if default is not None}
    return {}
